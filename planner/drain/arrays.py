"""The cluster as arrays: what kernels can compute on, small enough to cross a process or a Spark partition.

One row per partition, one row per broker. Columns that a deeper planner will want (write rates, ISR, leaders)
are here already; a kernel reads those it understands.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from planner.observed import BrokerSeen, KafkaSnapshot, LogDirsSeen, PartitionSeen, TopicPartition

Int32s: TypeAlias = npt.NDArray[np.int32]
Int64s: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]

UNKNOWN = -1
"""A size, rate or leader nobody reported. Never the same as zero."""


def _no_rows() -> Int64s:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class LogDirTable:
    """Log directories of brokers that have told of them one by one, D rows by broker row and path.

    `free_bytes` as in BrokerTable; what is on its way to a directory nobody knows counts in every one of the broker's.
    """

    broker: Int64s = field(default_factory=_no_rows)
    path: tuple[str, ...] = ()
    total_bytes: Int64s = field(default_factory=_no_rows)
    free_bytes: Int64s = field(default_factory=_no_rows)

    def one_of_several(self) -> Int64s:
        """Rows of directories that are not their broker's only one: where a replica goes there is a choice."""
        count = np.bincount(self.broker, minlength=1)
        return np.flatnonzero(count[self.broker] > 1).astype(np.int64)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LogDirTable) and _same(self, other)


@dataclass(frozen=True, slots=True, eq=False)
class BrokerTable:
    """Brokers sorted by id; B rows. A broker some replica list names but nobody registered is here too, not
    live.

    `free_bytes` is what the filesystem still takes, less what running reassignments may yet write (both
    copies are held until a move ends). `log_bytes` is what Kafka's logs use. `free_bytes` falls below 0 when
    too much is on its way; `total_bytes` of -1: nothing was reported.
    """

    id: Int32s
    rack: Int32s
    racks: tuple[str, ...]
    live: Bools
    total_bytes: Int64s
    free_bytes: Int64s
    log_bytes: Int64s
    log_dirs: LogDirTable = field(default_factory=LogDirTable)

    def rack_name(self, row: int) -> str:
        return self.racks[int(self.rack[row])]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BrokerTable) and _same(self, other)


@dataclass(frozen=True, slots=True, eq=False)
class ClusterModel:
    """Partitions of one cluster; P rows. `replicas` and `isr` are broker ids, padded on the right with -1.

    `replicas` is in preferred order. For a moving partition it is what Kafka reports (target, then removing).
    `size_bytes` is one copy; `write_bytes_per_s` is produce traffic into the leader, -1 when unknown.
    """

    topics: tuple[str, ...]
    topic: Int32s
    partition: Int32s
    leader: Int32s
    replicas: Int32s
    isr: Int32s
    min_isr: Int32s
    moving: Bools
    size_bytes: Int64s
    write_bytes_per_s: Int64s
    brokers: BrokerTable

    def __len__(self) -> int:
        return int(self.topic.size)

    def name(self, row: int) -> TopicPartition:
        return TopicPartition(self.topics[int(self.topic[row])], int(self.partition[row]))

    def replicas_of(self, row: int) -> tuple[int, ...]:
        return tuple(int(r) for r in self.replicas[row] if r >= 0)

    def rows_hosted_by(self, ids: Iterable[int]) -> Int64s:
        """Rows with a replica on any of the brokers, ascending."""
        wanted = np.array(sorted(ids), dtype=np.int32)
        return np.flatnonzero(np.isin(self.replicas, wanted).any(axis=1)).astype(np.int64)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClusterModel) and _same(self, other)


def model_of(snapshot: KafkaSnapshot, write_bytes_per_s: Mapping[TopicPartition, int] | None = None) -> ClusterModel:
    """Arrays of a snapshot; partitions in (topic, partition) order, so equal snapshots give equal models."""
    seen = sorted(snapshot.partitions, key=lambda p: p.name)
    topics = tuple(sorted({p.name.topic for p in seen}))
    code = {topic: i for i, topic in enumerate(topics)}
    rates = write_bytes_per_s or {}
    return ClusterModel(
        topics=topics,
        topic=np.array([code[p.name.topic] for p in seen], dtype=np.int32),
        partition=np.array([p.name.partition for p in seen], dtype=np.int32),
        leader=np.array([p.leader for p in seen], dtype=np.int32),
        replicas=padded([p.replicas for p in seen]),
        isr=padded([p.isr for p in seen]),
        min_isr=np.array([p.min_isr for p in seen], dtype=np.int32),
        moving=np.array([p.is_moving for p in seen], dtype=np.bool_),
        size_bytes=np.array([p.size_bytes for p in seen], dtype=np.int64),
        write_bytes_per_s=np.array([rates.get(p.name, UNKNOWN) for p in seen], dtype=np.int64),
        brokers=_brokers_of(snapshot),
    )


def padded(lists: Iterable[Iterable[int]]) -> Int32s:
    """Ragged id lists as an int32 matrix, padded with -1; at least one column wide."""
    rows = [tuple(ids) for ids in lists]
    width = max((len(ids) for ids in rows), default=1) or 1
    matrix = np.full((len(rows), width), UNKNOWN, dtype=np.int32)
    for row, ids in enumerate(rows):
        matrix[row, : len(ids)] = ids
    return matrix


def _brokers_of(snapshot: KafkaSnapshot) -> BrokerTable:
    named = {b for p in snapshot.partitions for b in (*p.replicas, *p.isr, p.leader) if b >= 0}
    ids = sorted(named | set(snapshot.brokers))
    seen: list[BrokerSeen | None] = [snapshot.brokers.get(i) for i in ids]
    names = [b.rack if b else "" for b in seen]
    racks = tuple(sorted(set(names)))
    disks: list[LogDirsSeen | None] = [snapshot.log_dirs.get(i) for i in ids]
    pending = _bytes_on_the_way(snapshot.partitions)
    return BrokerTable(
        id=np.array(ids, dtype=np.int32),
        rack=np.array([racks.index(n) for n in names], dtype=np.int32),
        racks=racks,
        live=np.array([b is not None and not b.fenced for b in seen], dtype=np.bool_),
        total_bytes=np.array([_total(d) for d in disks], dtype=np.int64),
        free_bytes=np.array([_free(d, pending.get(i, 0)) for i, d in zip(ids, disks, strict=True)], dtype=np.int64),
        log_bytes=np.array([d.used_bytes if d else UNKNOWN for d in disks], dtype=np.int64),
        log_dirs=_log_dirs_of(snapshot, ids),
    )


def _log_dirs_of(snapshot: KafkaSnapshot, ids: list[int]) -> LogDirTable:
    rows = [
        (row, seen)
        for row, broker in enumerate(ids)
        if broker in snapshot.log_dirs
        for seen in sorted(snapshot.log_dirs[broker].dirs, key=lambda d: d.path)
    ]
    coming = _coming_to_dirs(snapshot)
    free = [seen.usable_bytes - coming.get((ids[row], seen.path), 0) for row, seen in rows]
    return LogDirTable(
        broker=np.array([row for row, _ in rows], dtype=np.int64),
        path=tuple(seen.path for _, seen in rows),
        total_bytes=np.array([seen.total_bytes for _, seen in rows], dtype=np.int64),
        free_bytes=np.array(free, dtype=np.int64),
    )


def _coming_to_dirs(snapshot: KafkaSnapshot) -> dict[tuple[int, str], int]:
    """As `_bytes_on_the_way`, by broker and path."""
    coming: dict[tuple[int, str], int] = {}
    for partition in snapshot.partitions:
        for broker in partition.adding:
            log_dirs = snapshot.log_dirs.get(broker)
            known = log_dirs.dir_of(partition.name) if log_dirs else None
            for seen in (known,) if known else log_dirs.dirs if log_dirs else ():
                coming[broker, seen.path] = coming.get((broker, seen.path), 0) + partition.size_bytes
    return coming


def _bytes_on_the_way(partitions: Iterable[PartitionSeen]) -> dict[int, int]:
    """What running reassignments may still write per broker. How far each copy is, is not known: count all of
    it.
    """
    pending: dict[int, int] = {}
    for seen in partitions:
        for broker in seen.adding:
            pending[broker] = pending.get(broker, 0) + seen.size_bytes
    return pending


def _total(disk: LogDirsSeen | None) -> int:
    return disk.total_bytes if disk and disk.total_bytes > 0 else UNKNOWN


def _free(disk: LogDirsSeen | None, pending: int) -> int:
    return disk.usable_bytes - pending if disk and disk.total_bytes > 0 else UNKNOWN


def _same(left: BrokerTable | ClusterModel | LogDirTable, right: BrokerTable | ClusterModel | LogDirTable) -> bool:
    return all(_equal(getattr(left, f.name), getattr(right, f.name)) for f in fields(left))


def _equal(left: object, right: object) -> bool:
    if isinstance(left, np.ndarray):
        return bool(np.array_equal(left, np.asarray(right)))
    return left == right
