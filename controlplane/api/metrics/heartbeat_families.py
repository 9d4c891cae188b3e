"""What is told of heartbeats: how long a client's record takes through each broker, and since when none has come back.

Latencies are summaries of the last minute, as the agents have them: gauges by quantile, in seconds.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from controlplane.api.metrics.snapshot import ClusterSnapshot

YOUNG = timedelta(minutes=2)
"""An agent that has not been heard for longer says nothing of now."""


def heartbeat_families(clusters: Iterable[ClusterSnapshot], now: datetime) -> Iterator[Metric]:
    """By cluster and broker; `watcher` is the VM whose agent says so. Clusters without heartbeats have none of it."""
    where = ["cluster", "broker", "watcher"]
    latency = GaugeMetricFamily(
        "kedge_heartbeat_latency_seconds",
        "Of the last minute's heartbeats: `produce` until the leader had it, `end_to_end` until it was read.",
        labels=[*where, "way", "quantile"],
    )
    silent = GaugeMetricFamily("kedge_heartbeat_silent_seconds", "Since the last one came back.", labels=where)
    beats = GaugeMetricFamily("kedge_heartbeats", "That came back in the last minute.", labels=where)
    for cluster in clusters:
        young = ((key, report) for key, (report, at) in sorted(cluster.reports.items()) if now - at <= YOUNG)
        for watcher, report in young:
            for heartbeat in report.heartbeats:
                at = [cluster.view.name, str(heartbeat.broker), watcher]
                silent.add_metric(at, heartbeat.silent_s)
                beats.add_metric(at, float(heartbeat.beats))
                for way, quantile, value in (
                    ("produce", "0.5", heartbeat.produce_p50_s),
                    ("produce", "0.99", heartbeat.produce_p99_s),
                    ("end_to_end", "0.5", heartbeat.end_to_end_p50_s),
                    ("end_to_end", "0.99", heartbeat.end_to_end_p99_s),
                ):
                    if value is not None:
                        latency.add_metric([*at, way, quantile], value)
    yield from (latency, silent, beats)
