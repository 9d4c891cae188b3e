"""Consumer groups of the cluster in memory. Part of `FakeKafka`."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from planner.asked import LogBounds, TopicLogs
from planner.consumers.seen import GroupSeen, GroupsSeen, MemberSeen
from planner.observed import TopicPartition
from tests.fakes.kafka_parts import FakeBroker, FakePartition


@dataclass(slots=True)
class FakeGroup:
    """One group: its members, its offsets, the broker that coordinates it."""

    coordinator: int
    kind: str = "classic"
    state: str = "Empty"
    members: dict[str, MemberSeen] = field(default_factory=dict)
    committed: dict[TopicPartition, int] = field(default_factory=dict)


class FakeGroups:
    """Who reads what. `ends`: where the logs end; a log nobody wrote to ends at 0."""

    def __init__(self, brokers: Mapping[int, FakeBroker], partitions: Mapping[TopicPartition, FakePartition]) -> None:
        self._brokers, self._partitions = brokers, partitions
        self.ends: dict[TopicPartition, int] = {}
        self.by_name: dict[str, FakeGroup] = {}
        self.firsts: dict[TopicPartition, int] = {}
        """Where logs begin once retention has taken something away; else at 0."""
        self.asked = 0
        """How often somebody looked."""

    def produce(self, topic: str, partition: int, records: int) -> None:
        """The log grows."""
        name = TopicPartition(topic, partition)
        self.ends[name] = self.ends.get(name, 0) + records

    def join(self, group: str, topic: str, *, kind: str = "classic") -> None:
        """One member more, which is given every partition there is now."""
        known = self.by_name.setdefault(group, FakeGroup(min(self._brokers), kind))
        given = tuple(sorted(p for p in self._partitions if p.topic == topic))
        known.members["member-1"] = MemberSeen("member-1", "client-1", "127.0.0.1", (topic,), given)
        known.state = "Stable"

    def leave(self, group: str) -> None:
        """Its members go; its offsets stay."""
        self.by_name[group].members.clear()
        self.by_name[group].state = "Empty"

    def commit(self, group: str, topic: str, partition: int, offset: int) -> None:
        """Moves an offset."""
        known = self.by_name.setdefault(group, FakeGroup(min(self._brokers)))
        known.committed[TopicPartition(topic, partition)] = offset

    def seen(self, names: Collection[str] | None, at: datetime) -> GroupsSeen:
        """As the port tells it."""
        self.asked += 1
        serving = {n for n, b in self._brokers.items() if b.serves}
        groups = tuple(
            GroupSeen(name, g.state, g.kind, g.coordinator, tuple(g.members.values()), dict(g.committed))
            for name, g in sorted(self.by_name.items())
            if (names is None or name in names) and g.coordinator in serving
        )
        counts: dict[str, int] = {}
        for p in self._partitions:
            counts[p.topic] = counts.get(p.topic, 0) + 1
        topics = {t for g in groups for t in g.topics} | {p.topic for g in groups for p in g.committed}
        partitions = {t: n for t, n in counts.items() if t in topics}
        wanted = {p for g in groups for p in g.every_partition(partitions)}
        ends = {p: self.ends.get(p, 0) for p in wanted if self._partitions[p].seen().leader >= 0}
        silent = tuple(sorted({g.coordinator for g in self.by_name.values()} - serving))
        return GroupsSeen(at, groups, ends, partitions, silent)

    def logs(self, topic: str, at: datetime) -> TopicLogs | None:
        """Where the logs of a topic begin and end; a partition without a leader tells neither."""
        there = sorted(name for name in self._partitions if name.topic == topic)
        told = {name.partition: self._bounds(name) for name in there}
        return TopicLogs(at, told) if told else None

    def _bounds(self, name: TopicPartition) -> LogBounds:
        if self._partitions[name].seen().leader < 0:
            return LogBounds(None, None)
        return LogBounds(self.firsts.get(name, 0), self.ends.get(name, 0))
