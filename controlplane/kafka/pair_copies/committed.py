"""How far MirrorMaker says it has come, read from its topic at the target; between looks only what is new is read."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

from controlplane.kafka.errors import KafkaUnavailable
from controlplane.kafka.pair_copies.log_edge import ClusterLogs, LogStretch
from controlplane.kafka.pair_copies.offset_records import offset_of, offsets_partition, partition_of
from planner.observed import TopicPartition


@dataclass(slots=True)
class _Read:
    """Of one flow, under its lock: brokers of another one that do not answer hold nobody up."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    topic_id: str = ""
    next: int = 0
    offsets: dict[TopicPartition, int] = field(default_factory=dict)

    def begin(self, topic_id: str) -> None:
        self.topic_id, self.next = topic_id, 0
        self.offsets.clear()


class CommittedOffsets:
    """Keeps what was read of each flow. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._read: dict[tuple[str, str], _Read] = {}

    def of(self, source: str, target: ClusterLogs) -> Mapping[TopicPartition, int]:
        """The last offset copied of each partition that has one. A topic that was made anew, or whose end went back,
        is read from its beginning. Raises KafkaUnavailable where it is not read to its end."""
        partition, key = offsets_partition(source), (source, target.name)
        with self._lock:
            known = self._read.setdefault(key, _Read())
        with known.lock:
            topic_id = target.topic_ids([partition.topic]).get(partition.topic)
            extent = target.extents([partition.topic]).get(partition) if topic_id is not None else None
            if topic_id is None or extent is None:
                known.begin("")
                return {}
            if known.topic_id != topic_id or known.next > extent.end:
                known.begin(topic_id)
            known.next = max(known.next, extent.first)
            while known.next < extent.end:
                self._read_on(source, target, partition, known, extent.end)
            return dict(known.offsets)

    def _read_on(self, source: str, target: ClusterLogs, partition: TopicPartition, known: _Read, end: int) -> None:
        found = target.stretches({partition: known.next})[partition]
        if not isinstance(found, LogStretch):
            raise KafkaUnavailable(what=f"reading {partition.topic}", where=target.name, why=found)
        for record in found.records:
            if record.offset < known.next or (name := partition_of(source, record.key)) is None:
                continue
            offset = offset_of(record.value)
            if offset is None:
                known.offsets.pop(name, None)
            else:
                known.offsets[name] = offset
        known.next = found.next if found.next > known.next else end
