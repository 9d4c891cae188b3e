"""Two clusters in memory, record by record, and what a pair's server asks of their copy.

The comparisons are the real ones: what stands in is each cluster's edge. Answers come in small pieces, as a broker's
that is at its limits.
"""

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime

from controlplane.kafka.deadline import Deadline
from controlplane.kafka.errors import KafkaRefused, KafkaUnavailable
from controlplane.kafka.pair_copies.log_edge import KeyedRecord, LogRecord, LogStretch
from controlplane.kafka.pair_copies.logs import CopyLogs
from controlplane.kafka.pair_copies.values import FlowEnd, LogExtent
from planner.consumers.seen import GroupSeen, MemberSeen
from planner.observed import TopicPartition
from tests.builders import NOW

_PIECE = 3
_ids = itertools.count(1)


@dataclass(slots=True)
class MemoryLog:
    """By offset; what has no record below `end` is a marker, or was compacted away."""

    records: dict[int, LogRecord] = field(default_factory=dict)
    first: int = 0
    end: int = 0

    def append(self, record: LogRecord) -> None:
        self.records[self.end] = replace(record, offset=self.end)
        self.end += 1

    def mark(self) -> None:
        """The marker of a transaction."""
        self.end += 1

    def trim(self, before: int) -> None:
        self.first = before
        self.records = {o: r for o, r in self.records.items() if o >= before}

    def compact(self) -> None:
        last = {r.key: o for o, r in sorted(self.records.items())}
        self.records = {o: r for o, r in self.records.items() if last[r.key] == o}


@dataclass(slots=True)
class MemoryCluster:
    """`is_silent`: nobody answers. `unread`: partitions whose records are not read, and why."""

    name: str
    is_silent: bool = False
    unread: dict[TopicPartition, str] = field(default_factory=dict)
    logs: dict[TopicPartition, MemoryLog] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    known_groups: dict[str, GroupSeen] = field(default_factory=dict)
    read_records: int = 0
    """How many were handed out."""

    def create_topic(self, topic: str, partitions: int) -> None:
        self.ids[topic] = f"id-{next(_ids)}"
        self.logs |= {TopicPartition(topic, n): MemoryLog() for n in range(partitions)}

    def delete_topic(self, topic: str) -> None:
        del self.ids[topic]
        self.logs = {p: log for p, log in self.logs.items() if p.topic != topic}

    def join(self, group: str, topic: str) -> None:
        known = self.known_groups.get(group) or GroupSeen(group, "Empty", "classic", 1)
        self.known_groups[group] = replace(known, members=(MemberSeen("m-1", "c-1", "127.0.0.1", (topic,)),))

    # --- ClusterLogs --------------------------------------------------------------------------------------------

    def extents(self, topics: Collection[str]) -> Mapping[TopicPartition, LogExtent]:
        return {p: LogExtent(log.first, log.end) for p, log in sorted(self.logs.items()) if p.topic in topics}

    def topic_ids(self, topics: Collection[str]) -> Mapping[str, str]:
        return {t: self.ids[t] for t in topics if t in self.ids}

    def stretches(self, at: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, LogStretch | str]:
        return {p: self._stretch(p, offset) for p, offset in at.items()}

    def first_at(self, times: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        return {
            p: min((o for o, r in self.logs[p].records.items() if r.timestamp_ms >= time), default=-1)
            for p, time in times.items()
        }

    def groups(self, names: Collection[str] | None) -> Sequence[GroupSeen]:
        return [g for n, g in sorted(self.known_groups.items()) if names is None or n in names]

    def commit(self, group: str, offsets: Mapping[TopicPartition, int]) -> None:
        known = self.known_groups.get(group) or GroupSeen(group, "Empty", "classic", 1)
        if known.members:
            raise KafkaRefused(what="committing", where=self.name, words="it has members", error="UnknownMemberId")
        self.known_groups[group] = replace(known, committed={**known.committed, **offsets})

    def make_compacted(self, topic: str, replication_factor: int) -> None:
        if TopicPartition(topic, 1) in self.logs:
            raise KafkaRefused(what=f"making {topic}", where=self.name, words="2 partitions", error="InvalidPartitions")
        if topic not in self.ids:
            self.create_topic(topic, 1)

    def append(self, partition: TopicPartition, records: Sequence[KeyedRecord]) -> None:
        for key, value in records:
            self.logs[partition].append(LogRecord(0, 0, key, value))

    def _stretch(self, p: TopicPartition, offset: int) -> LogStretch | str:
        log = self.logs[p]
        if p in self.unread:
            return self.unread[p]
        if not log.first <= offset <= log.end:
            return "OffsetOutOfRange"
        after = min(log.end, offset + _PIECE)
        found = tuple(log.records[o] for o in range(offset, after) if o in log.records)
        self.read_records += len(found)
        return LogStretch(found, offset, after)


class FakePairLogs(CopyLogs):
    """See PairLogs. `clusters` by uid; `at` is what its clock says."""

    def __init__(self, *clusters: MemoryCluster, at: datetime = NOW) -> None:
        self.clusters = {c.name: c for c in clusters}
        self.at = at
        super().__init__(self._opened, now=lambda: self.at)

    @contextmanager
    def _opened(self, end: FlowEnd, deadline: Deadline) -> Iterator[MemoryCluster]:
        cluster = self.clusters.get(end.cluster)
        if cluster is None or cluster.is_silent:
            raise KafkaUnavailable(what="dialling", where=end.cluster, why="no broker answered")
        yield cluster
