"""How much data a cluster holds, by broker and by pool, from the metadata as it was last read."""

from collections import Counter
from collections.abc import Mapping

from controlplane.cluster.view import ClusterView
from planner.observed import KafkaSnapshot, once_a_reading


def bytes_by_broker(snapshot: KafkaSnapshot | None) -> Mapping[int, int]:
    """Replica bytes by broker id: what a drain of that broker copies. Empty when Kafka was never read."""
    return _bytes_by_broker(snapshot) if snapshot else {}


def bytes_per_pool(view: ClusterView, snapshot: KafkaSnapshot | None) -> Mapping[str, int] | None:
    """Bytes on the disks of each broker pool; None unless every broker has told: a guess refuses nothing."""
    if snapshot is None:
        return None
    held: Counter[str] = Counter()
    for broker in view.brokers():
        log_dirs = snapshot.log_dirs.get(broker.service_id)
        if log_dirs is None:
            return None
        held[broker.planned.pool] += log_dirs.used_bytes
    return held


@once_a_reading
def _bytes_by_broker(snapshot: KafkaSnapshot) -> Mapping[int, int]:
    held: Counter[int] = Counter()
    for partition in snapshot.partitions:
        for broker in partition.replicas:
            held[broker] += partition.size_bytes
    return held
