"""What is told of anomalies and of those who are told of them. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from controlplane.api.metrics.snapshot import ClusterSnapshot
from controlplane.background.notifications.service import NotifierSeen


def anomaly_families(clusters: Iterable[ClusterSnapshot]) -> Iterator[Metric]:
    """Open anomalies by kind and state, and how many were ever found."""
    open_ = GaugeMetricFamily("kedge_anomalies", "Open anomalies.", labels=["cluster", "kind", "state"])
    found = CounterMetricFamily("kedge_anomalies_found", "Anomalies found, ever.", labels=["cluster"])
    for cluster in clusters:
        noted, name = cluster.anomalies, cluster.view.name
        if noted is None:
            continue
        found.add_metric([name], float(noted.found))
        for (kind, state), count in sorted(Counter((a.kind, a.state) for a in noted.open_).items()):
            open_.add_metric([name, kind.value, state.value], float(count))
    yield from (open_, found)


def notifier_families(notifiers: Iterable[NotifierSeen]) -> Iterator[Metric]:
    """How each notifier does."""
    waiting = GaugeMetricFamily("kedge_notifier_waiting", "Notices that wait to be told.", labels=["notifier"])
    failing = GaugeMetricFamily(
        "kedge_notifier_failing_since_timestamp_seconds", "Since when it cannot be told.", labels=["notifier"]
    )
    delivered = CounterMetricFamily("kedge_notifier_delivered", "Notices it took.", labels=["notifier"])
    dropped = CounterMetricFamily("kedge_notifier_dropped", "Notices that were too many.", labels=["notifier"])
    for notifier in notifiers:
        status, name = notifier.status, [notifier.binding.name]
        if status is None:
            continue
        waiting.add_metric(name, float(status.waiting))
        delivered.add_metric(name, float(status.delivered))
        dropped.add_metric(name, float(status.dropped))
        if status.failing_since is not None:
            failing.add_metric(name, status.failing_since.timestamp())
    yield from (waiting, failing, delivered, dropped)
