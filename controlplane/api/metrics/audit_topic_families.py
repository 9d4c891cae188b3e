"""What is told of the topic the audit is written to, by a server or by a relay apart. Pure.

Labels are words of ours and names of roles in the database: nothing of an entry, nothing a relay says.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from controlplane.api.audit.status import AuditTopicState, TopicStatus

YOUNG = timedelta(minutes=1)
"""It is looked at every 5 s. Of an older look only its time is told, and that it became unhealthy: how far the topic
is, and who waits, is known no more.
"""


def audit_topic_families(status: TopicStatus | None, now: datetime) -> Iterator[Metric]:
    """By the server that leads, where `[audit_topic]` is set."""
    newest = GaugeMetricFamily("kedge_audit_topic_newest_entry", "The newest entry of the audit, by its position.")
    last = GaugeMetricFamily("kedge_audit_topic_last_entry", "The last entry the topic is known to have.")
    problem = GaugeMetricFamily("kedge_audit_topic_problem", "1 while something keeps the audit from its topic.")
    state = GaugeMetricFamily(
        "kedge_audit_topic_state", "1 for what is in the way, or `reached`.", labels=["by", "state"]
    )
    reached = GaugeMetricFamily(
        "kedge_audit_topic_reached_timestamp_seconds", "When nothing was last found in the way."
    )
    waiting = GaugeMetricFamily(
        "kedge_audit_topic_waiting_relays", "Relays that wait for the one at work to end.", labels=["role"]
    )
    if status is not None:
        is_young = now - status.at <= YOUNG
        is_unhealthy = status.state is not AuditTopicState.REACHED
        if is_young or is_unhealthy:
            problem.add_metric([], float(is_unhealthy))
        if status.reached_at is not None:
            reached.add_metric([], status.reached_at.timestamp())
        if is_young:
            state.add_metric([status.by, status.state], 1.0)
            for family, position in ((newest, status.newest), (last, status.last)):
                if position is not None:
                    family.add_metric([], float(position))
            for role, count in sorted((status.waiting or {}).items()):
                waiting.add_metric([role], float(count))
    yield from (newest, last, problem, state, reached, waiting)
