"""`PairLogs` over a way to each cluster's logs: the comparisons, and their order."""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from controlplane.kafka.deadline import CALL_LIMIT_S, Deadline
from controlplane.kafka.dialer import Dialer
from controlplane.kafka.errors import KafkaRefused, KafkaUnavailable
from controlplane.kafka.pair_copies.aligning import DrainedCopy, aligned_groups, exact_places, places_of
from controlplane.kafka.pair_copies.broker_logs import BrokerLogs
from controlplane.kafka.pair_copies.committed import CommittedOffsets
from controlplane.kafka.pair_copies.log_edge import ClusterLogs
from controlplane.kafka.pair_copies.offset_records import offsets_partition, seed_records
from controlplane.kafka.pair_copies.tails import (
    LastRecord,
    find_copies,
    last_records,
    records_from,
    require_readable,
    tail_of,
)
from controlplane.kafka.pair_copies.values import (
    CopyPositions,
    FlowEnd,
    FlowEnds,
    LogExtent,
    PartitionTail,
    TailMatch,
)
from planner.consumers.seen import GroupSeen
from planner.observed import TopicPartition

OpenLogs = Callable[[FlowEnd, Deadline], AbstractContextManager[ClusterLogs]]
"""A cluster's logs for one block."""


class CopyLogs:
    """See PairLogs. `limit_s` bounds each call."""

    def __init__(
        self,
        open_logs: OpenLogs,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        limit_s: float = CALL_LIMIT_S,
    ) -> None:
        self._open, self._now, self._limit_s = open_logs, now, limit_s
        self._committed = CommittedOffsets()

    def positions(self, flow: FlowEnds, topics: Collection[str]) -> CopyPositions:
        deadline = Deadline.after(self._limit_s)
        copied = self._copied(flow, topics, deadline)
        with self._open(flow.source, deadline) as source:
            source_ids = source.topic_ids(topics)
            ahead = source.extents(topics)
        known = {p: o for p, o in copied.committed.items() if p in ahead}
        return replace(copied, source=ahead, committed=known, source_ids=source_ids)

    def copied(self, flow: FlowEnds, topics: Collection[str]) -> CopyPositions:
        found = self._copied(flow, topics, Deadline.after(self._limit_s))
        return replace(found, committed={p: o for p, o in found.committed.items() if p in found.target})

    def _copied(self, flow: FlowEnds, topics: Collection[str], deadline: Deadline) -> CopyPositions:
        at = self._now()
        with self._open(flow.target, deadline) as target:
            committed = self._committed.of(flow.source.cluster, target)
            ids = target.topic_ids(topics)
            behind = target.extents(topics)
        return CopyPositions(at, {}, behind, committed, target_ids=ids)

    def write_seeds(self, flow: FlowEnds, seeds: Mapping[TopicPartition, int]) -> None:
        if any(end < 0 for end in seeds.values()):
            raise ValueError("a seed is an offset")
        source, deadline = flow.source.cluster, Deadline.after(self._limit_s)
        partition = offsets_partition(source)
        with self._open(flow.target, deadline) as target:
            target.make_compacted(partition.topic, flow.replication_factor)
            target.append(partition, seed_records(source, seeds))
            written = self._committed.of(source, target)
        wrong = sorted(str(p) for p, end in seeds.items() if written.get(p, -1) + 1 != end)
        if wrong:
            why = (
                f"what is read back of {wrong[0]} ({len(wrong)} in all) is not what was written: does a replicator run?"
            )
            raise KafkaUnavailable(what="writing where the copy begins", where=flow.target.cluster, why=why)

    def read_tails(
        self, flow: FlowEnds, partitions: Iterable[TopicPartition]
    ) -> Mapping[TopicPartition, PartitionTail]:
        with self._both(flow) as (source, target):
            return _Ends.read(source, target, frozenset(partitions)).tails

    def seed_positions(
        self, flow_back: FlowEnds, partitions: Iterable[TopicPartition]
    ) -> Mapping[TopicPartition, int | None]:
        wanted = frozenset(partitions)
        with self._both(flow_back) as (new, old):
            old_extents, new_extents = _extents(old, wanted), _extents(new, wanted)
            lasts = last_records(old, {p: old_extents[p] for p in wanted if p in old_extents})
            for p, found in lasts.items():
                if isinstance(found, str):
                    require_readable(old, p, found)
            known = {p: f.record for p, f in lasts.items() if isinstance(f, LastRecord) and f.record is not None}
            same_place = records_from(new, {p: r.offset for p, r in known.items()}, new_extents)
            at = {p: r.offset for p, r in same_place.items() if r is not None and r.is_copy_of(known[p])}
            at |= find_copies(new, {p: r for p, r in known.items() if p not in at}, new_extents)
        never = {p for p in wanted if p in old_extents and old_extents[p].end == 0}
        return {p: 0 if p in never else at[p] + 1 if p in at else None for p in sorted(wanted)}

    def groups_to_align(self, flow: FlowEnds, topics: Collection[str], not_groups: Collection[str]) -> tuple[str, ...]:
        with self._both(flow) as (source, target):
            groups = _of_topics(aligned_groups(source.groups(None), not_groups), topics)
            _known_there(target, groups)
        return tuple(g.name for g in groups)

    def align(self, flow: FlowEnds, topics: Collection[str], groups: Collection[str]) -> Mapping[str, int]:
        with self._both(flow) as (source, target):
            found = _of_topics(source.groups(sorted(groups)), topics)
            known = _known_there(target, found)
            wanted = {(p, offset) for g in found for p, offset in g.committed.items() if p.topic in topics}
            copy = _drained(source, target, frozenset(p for p, _ in wanted))
            exact = exact_places(copy, {(p, o) for p, o in wanted if p in copy.tails})
            again = {}
            for group in found:
                synced = known[group.name].committed if group.name in known else {}
                places = places_of(copy, group, topics, exact, synced)
                if places.offsets:
                    target.commit(group.name, places.offsets)
                    again[group.name] = places.read_again
            return again

    @contextmanager
    def _both(self, flow: FlowEnds) -> Iterator[tuple[ClusterLogs, ClusterLogs]]:
        """Both clusters, always in one order: two calls of flows that go both ways would wait for each other."""
        deadline = Deadline.after(self._limit_s)
        first, second = sorted((flow.source, flow.target), key=lambda end: end.cluster)
        with self._open(first, deadline) as one, self._open(second, deadline) as other:
            yield (one, other) if first is flow.source else (other, one)


def broker_pair_logs(
    dialer: Dialer, *, now: Callable[[], datetime] = lambda: datetime.now(UTC), limit_s: float = CALL_LIMIT_S
) -> CopyLogs:
    """To real brokers. `dialer` knows where each cluster, by its uid, may be dialled, and its TLS. A call holds a
    cluster's connection to the dialer until it ends: one of their own keeps others from waiting."""

    @contextmanager
    def opened(end: FlowEnd, deadline: Deadline) -> Iterator[ClusterLogs]:
        with dialer.dial(end.cluster, end.bootstrap, deadline) as connection:
            yield BrokerLogs(connection, deadline, now, time.sleep)

    return CopyLogs(opened, now=now, limit_s=limit_s)


@dataclass(frozen=True, slots=True)
class _Ends:
    """Both logs of partitions, and their tails."""

    tails: Mapping[TopicPartition, PartitionTail]
    source: Mapping[TopicPartition, LogExtent]
    target: Mapping[TopicPartition, LogExtent]

    @classmethod
    def read(cls, source: ClusterLogs, target: ClusterLogs, wanted: frozenset[TopicPartition]) -> "_Ends":
        """Raises KafkaUnavailable."""
        ahead, behind = _extents(source, wanted), _extents(target, wanted)
        lasts = last_records(source, ahead), last_records(target, behind)
        tails = {p: tail_of(lasts[0].get(p), lasts[1].get(p), ahead.get(p), behind.get(p)) for p in sorted(wanted)}
        return cls(tails, ahead, behind)


def _extents(logs: ClusterLogs, wanted: frozenset[TopicPartition]) -> dict[TopicPartition, LogExtent]:
    return {p: e for p, e in logs.extents({p.topic for p in wanted}).items() if p in wanted}


def _drained(source: ClusterLogs, target: ClusterLogs, wanted: frozenset[TopicPartition]) -> DrainedCopy:
    """Partitions that the source has no more have no unread record, and are left out."""
    ends = _Ends.read(source, target, wanted)
    tails = {p: t for p, t in ends.tails.items() if p in ends.source}
    left = [f"{p} ({t.why})" for p, t in tails.items() if t.match not in (TailMatch.SAME, TailMatch.EMPTY)]
    if left:
        why = f"{len(left)} partitions are not drained, as {left[0]}"
        raise KafkaUnavailable(what="aligning offsets", where=target.name, why=why)
    return DrainedCopy(source, target, tails, ends.source, ends.target)


def _of_topics(groups: Iterable[GroupSeen], topics: Collection[str]) -> list[GroupSeen]:
    return [g for g in groups if any(p.topic in topics for p in g.committed)]


def _known_there(target: ClusterLogs, groups: Collection[GroupSeen]) -> dict[str, GroupSeen]:
    """As the target knows these groups. Raises KafkaRefused where one has members."""
    known = {g.name: g for g in target.groups([g.name for g in groups])} if groups else {}
    if busy := sorted(g.name for g in known.values() if g.members):
        words = f"members of {', '.join(busy)} are at the standby: stop them"
        raise KafkaRefused(what="aligning offsets", where=target.name, words=words, error="NonEmptyGroup")
    return known
