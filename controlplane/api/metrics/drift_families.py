"""What is told of audits: how many values were changed by hand in the cloud, and when that was last looked at."""

from collections.abc import Iterable, Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from controlplane.api.metrics.snapshot import ClusterSnapshot
from controlplane.cluster.observed.cloud_drift import audited_places


def drift_families(clusters: Iterable[ClusterSnapshot]) -> Iterator[Metric]:
    """By cluster and place. A place that was never audited has none of it."""
    where = ["cluster", "place"]
    drifted = GaugeMetricFamily("kedge_cloud_drift", "Values changed by hand in the cloud.", labels=where)
    audited = GaugeMetricFamily(
        "kedge_cloud_audit_timestamp_seconds", "When the last audit that ended well began.", labels=where
    )
    for cluster in clusters:
        for place, noted in audited_places(cluster.view, cluster.drift).items():
            if noted.at is not None:
                drifted.add_metric([cluster.view.name, str(place)], float(len(noted.drifts)))
                audited.add_metric([cluster.view.name, str(place)], noted.at.timestamp())
    yield from (drifted, audited)
