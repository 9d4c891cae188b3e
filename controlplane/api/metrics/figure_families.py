"""What is told of brokers by the metric lake: the newest minute of each. Pure."""

from collections.abc import Iterable, Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from controlplane.api.metrics.snapshot import ClusterSnapshot

_SHARES = {
    "cpu": ("kedge_broker_cpu_ratio", "Share of its machine's processors, 0 to 1."),
    "gc_share": ("kedge_broker_gc_ratio", "Share of the time spent in garbage collections, 0 to 1."),
}
_RATES = {
    "nic_in_bytes_per_s": ("kedge_broker_network_receive_bytes_per_second", "Of Kafka: clients and replication."),
    "nic_out_bytes_per_s": ("kedge_broker_network_transmit_bytes_per_second", "Of Kafka: clients and replication."),
    "disk_read_bytes_per_s": ("kedge_broker_disk_read_bytes_per_second", "What its process read from disks."),
    "disk_write_bytes_per_s": ("kedge_broker_disk_write_bytes_per_second", "What its process wrote to disks."),
}
_TIMES = {
    "produce_total_p99_ms": ("kedge_broker_produce_p99_seconds", "How long clients waited, replication with it."),
    "produce_local_p99_ms": ("kedge_broker_produce_local_p99_seconds", "How long the broker itself took."),
    "fetch_local_p99_ms": ("kedge_broker_fetch_local_p99_seconds", "How long the broker itself took."),
    "request_queue_p99_ms": ("kedge_broker_request_queue_p99_seconds", "How long requests waited for a handler."),
}


def figure_families(clusters: Iterable[ClusterSnapshot]) -> Iterator[Metric]:
    """By cluster and broker; a figure nobody knows is absent."""
    one = ["cluster", "broker"]
    at = GaugeMetricFamily("kedge_broker_measured_timestamp_seconds", "When the minute told here began.", labels=one)
    scaled = {figure: (*told, 1.0) for figure, told in (*_SHARES.items(), *_RATES.items())}
    scaled |= {figure: (*told, 1e-3) for figure, told in _TIMES.items()}
    families = {figure: GaugeMetricFamily(name, words, labels=one) for figure, (name, words, _) in scaled.items()}
    for cluster in clusters:
        for broker, measured in sorted(cluster.measured.items()):
            labels = [cluster.view.name, str(broker)]
            at.add_metric(labels, measured.at.timestamp())
            for figure, family in families.items():
                if figure in measured.figures:
                    family.add_metric(labels, measured.figures[figure] * scaled[figure][2])
    yield from (at, *families.values())
