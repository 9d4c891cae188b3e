"""Where the partitions of a cluster's topics are, for a server that does not read its Kafka itself, or not yet."""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol

from controlplane.background.topic_placement.packed import unpacked, unpacked_sizes
from controlplane.background.topic_placement.reconciler import look_of, sizes_of
from controlplane.background.topic_placement.store import PlacementStore
from controlplane.storage.latest_values import LatestStore, LatestValue
from events.clock import Clock
from events.ids import ClusterUid
from planner.observed import KafkaSnapshot, PartitionSeen, QuorumSeen, ThrottlesSeen, TopicPartition

LOOK_EVERY = timedelta(seconds=5)
"""Between two looks at what was recorded of one cluster."""

_REMEMBERED = 4
"""Clusters that are held unpacked: one of 50,000 partitions takes some 25 MB."""


class Placements(Protocol):
    """What is recorded of the topics of clusters; `RecordedPlacements` is one."""

    def of(self, uid: ClusterUid) -> KafkaSnapshot | None:
        """The partitions as they were recorded, `at` the look they are known to hold for; None where there is no look.

        Nothing else of such a snapshot is known but sizes, as of `sizes_at`: no broker, no quorum. It is shown; nothing
        is decided by it.
        Raises StoreUnavailable.
        """


@dataclass(frozen=True, slots=True)
class _HeldPlacements:
    looked_at: datetime
    written_at: str
    sized_at: str
    snapshot: KafkaSnapshot
    topics: Mapping[str, tuple[str, tuple[PartitionSeen, ...]]]
    """The hash of each topic, and its partitions."""


class RecordedPlacements:
    """`Placements`, thread-safe. A page reads one row, and where rows were written since, those."""

    def __init__(self, store: PlacementStore, latest: LatestStore, clock: Clock) -> None:
        self._store, self._latest, self._clock = store, latest, clock
        self._lock = threading.Lock()
        self._held: OrderedDict[ClusterUid, _HeldPlacements] = OrderedDict()

    def of(self, uid: ClusterUid) -> KafkaSnapshot | None:
        now = self._clock()
        with self._lock:
            held = self._held.get(uid)
        if held is not None and timedelta(0) <= now - held.looked_at < LOOK_EVERY:
            return held.snapshot
        look = look_of(self._latest, uid)
        if look is None:
            return None
        written_at, sized_at = (str(look.value.get(name, "")) for name in ("written_at", "sized_at"))
        at = look.observed_at
        if held is None or (held.written_at, held.sized_at) != (written_at, sized_at):
            is_same = held is not None and held.written_at == written_at
            before = held.topics if held is not None else {}
            topics = before if is_same else self._read(uid, before)
            sizes = sizes_of(self._latest, uid)
            snapshot = _snapshot_of(topics, str(look.value.get("cluster_id", "")), at, sizes)
        else:
            topics = held.topics
            snapshot = held.snapshot if held.snapshot.at == at else replace(held.snapshot, at=at)
        with self._lock:
            self._held[uid] = _HeldPlacements(now, written_at, sized_at, snapshot, topics)
            self._held.move_to_end(uid)
            while len(self._held) > _REMEMBERED:
                self._held.popitem(last=False)
        return snapshot

    def _read(
        self, uid: ClusterUid, held: Mapping[str, tuple[str, tuple[PartitionSeen, ...]]]
    ) -> Mapping[str, tuple[str, tuple[PartitionSeen, ...]]]:
        """What is held is taken over where its hash is still that: unpacking a whole cluster takes half a second."""
        hashes = self._store.hashes(uid)
        topics = {topic: held[topic] for topic, sha256 in hashes.items() if topic in held and held[topic][0] == sha256}
        others = hashes.keys() - topics.keys()
        for record in self._store.records(uid, None if len(others) == len(hashes) else others):
            topics[record.topic] = record.sha256, unpacked(record.topic, record.packed) or ()
        return topics


def _snapshot_of(
    topics: Mapping[str, tuple[str, tuple[PartitionSeen, ...]]],
    cluster_id: str,
    at: datetime,
    sizes: LatestValue | None,
) -> KafkaSnapshot:
    known = unpacked_sizes(str(sizes.value.get("sizes", ""))) if sizes is not None else {}
    return KafkaSnapshot(
        at=at,
        cluster_id=cluster_id,
        brokers={},
        partitions=tuple(_sized(p, known) for _, (_, partitions) in sorted(topics.items()) for p in partitions),
        quorum=QuorumSeen(-1, -1, ()),
        features={},
        log_dirs={},
        throttles=ThrottlesSeen(),
        sizes_at=sizes.observed_at if sizes is not None and known else None,
    )


def _sized(partition: PartitionSeen, sizes: Mapping[TopicPartition, int]) -> PartitionSeen:
    """An empty log is said to be empty on its leader, too: that is what tells it from one nobody told of."""
    size = sizes.get(partition.name)
    if size is None:
        return partition
    return replace(partition, size_bytes=size, leader_bytes=-1 if size else 0)
