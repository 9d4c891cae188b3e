"""What is told of consumer groups: of clusters whose groups were looked at a moment ago, and of no others. Pure."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from controlplane.api.metrics.snapshot import ClusterSnapshot

YOUNG = timedelta(minutes=10)
"""An older look is not told: nobody asks for these groups any more, and a lag that stands still would be a lie."""


def group_families(clusters: Iterable[ClusterSnapshot], now: datetime) -> Iterator[Metric]:
    """Lag, members and partitions in trouble, by group."""
    where = ["cluster", "group"]
    lag = GaugeMetricFamily("kedge_group_lag", "Records not read yet, over its partitions.", labels=where)
    members = GaugeMetricFamily("kedge_group_members", "Its members.", labels=where)
    stuck = GaugeMetricFamily(
        "kedge_group_stuck_partitions", "Partitions whose offset stands still while the log grows.", labels=where
    )
    unread = GaugeMetricFamily(
        "kedge_group_unread_partitions", "Partitions of subscribed topics that no member reads.", labels=where
    )
    read_at = GaugeMetricFamily(
        "kedge_cluster_groups_timestamp_seconds", "When its groups were looked at.", labels=where[:1]
    )
    for cluster in clusters:
        noted, name = cluster.groups, cluster.view.name
        if noted is None or now - noted.at > YOUNG:
            continue
        read_at.add_metric([name], noted.at.timestamp())
        for group in noted.groups:
            at = [name, group.name]
            if group.lag is not None:
                lag.add_metric(at, float(group.lag))
            members.add_metric(at, float(group.members))
            stuck.add_metric(at, float(group.stuck))
            unread.add_metric(at, float(group.unread))
    yield from (lag, members, stuck, unread, read_at)
