"""What is told of plans: Spark's jobs, and plans that the server made itself. Pure."""

from collections.abc import Iterator
from typing import get_args

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from spark.plan_jobs import Away, PlanningTotals

NOT_COUNTED = "off"
"""A server that is to plan itself does what it was told."""


def plan_families(totals: PlanningTotals | None) -> Iterator[Metric]:
    """Of the server that leads; nothing where nobody says, or no Spark is used."""
    if totals is None:
        return
    jobs = totals.jobs
    yield CounterMetricFamily("kedge_plan_jobs", "Spark jobs that made plans.", value=float(jobs.jobs))
    yield CounterMetricFamily("kedge_plan_jobs_failed", "Of them, those without an answer.", value=float(jobs.failed))
    yield CounterMetricFamily("kedge_plan_job_clusters", "Clusters in those jobs.", value=float(jobs.clusters))
    yield CounterMetricFamily("kedge_plan_job_seconds", "What those jobs took.", value=jobs.seconds)
    if jobs.last is not None:
        last = jobs.last
        clusters = float(last.drains + last.rebalances)
        yield GaugeMetricFamily("kedge_plan_job_last_clusters", "Clusters in the last one.", value=clusters)
        yield GaugeMetricFamily("kedge_plan_job_last_seconds", "What the last one took.", value=last.seconds)
        yield GaugeMetricFamily(
            "kedge_plan_job_last_timestamp_seconds", "When the last one began.", value=last.at.timestamp()
        )
    itself = CounterMetricFamily(
        "kedge_plans_in_process", "Plans the server made itself, as Spark gave none.", labels=["reason"]
    )
    for away in (name for name in get_args(Away) if name != NOT_COUNTED):
        itself.add_metric([away], float(totals.in_process.get(away, 0)))
    yield itself
