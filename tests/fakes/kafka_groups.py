"""Consumer groups of the cluster in memory. Part of `FakeKafka`."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from controlplane.kafka.groups import MOST_GROUPS
from planner.broker_answers import LogBounds, TopicLogs
from planner.consumers.reset import LogSpan, OffsetSeen
from planner.consumers.seen import GroupSeen, GroupsSeen, MemberSeen
from planner.observed import TopicPartition
from tests.fakes.kafka_parts import FakeBroker, FakePartition

_UNDATED = datetime(2020, 1, 1, tzinfo=UTC)


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
        self.written: dict[TopicPartition, list[tuple[int, datetime]]] = {}
        """When records were written, by offset, as far as a test says so."""
        self.asked = 0
        """How often somebody looked."""
        self.most = MOST_GROUPS
        """One look reads so many."""

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
        left_out, groups = max(0, len(groups) - self.most), groups[: self.most]
        counts: dict[str, int] = {}
        for p in self._partitions:
            counts[p.topic] = counts.get(p.topic, 0) + 1
        topics = {t for g in groups for t in g.topics} | {p.topic for g in groups for p in g.committed}
        partitions = {t: n for t, n in counts.items() if t in topics}
        wanted = {p for g in groups for p in g.every_partition(partitions)}
        ends = {p: self.ends.get(p, 0) for p in wanted if self._partitions[p].seen().leader >= 0}
        silent = tuple(sorted({g.coordinator for g in self.by_name.values()} - serving))
        return GroupsSeen(at, groups, ends, partitions, silent, left_out)

    def offsets(self, group: str, topics: Collection[str], at: datetime | None, now: datetime) -> OffsetSeen | None:
        """As the port tells it."""
        seen = self.seen([group], now)
        if not seen.groups:
            return None
        (found,) = seen.groups
        wanted = [p for p in self._partitions if p in found.committed or p.topic in topics]
        return OffsetSeen(found, {p: self._span(p, at) for p in wanted})

    def put(self, group: str, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, str]:
        """Somebody who is no member commits: Kafka takes that while nobody is one."""
        known = self.by_name[group]
        if known.members:
            return dict.fromkeys(offsets, "The coordinator is not aware of this member (UnknownMemberIdError)")
        known.committed |= offsets
        return {}

    def _span(self, name: TopicPartition, at: datetime | None) -> LogSpan:
        bounds = self._bounds(name)
        if at is None or bounds.end is None:
            return LogSpan(bounds.first, bounds.end)
        # What a test has not dated was written in 2020.
        dated = self.written.get(name) or [(offset, _UNDATED) for offset in range(bounds.first or 0, bounds.end)]
        later = [offset for offset, written in dated if written >= at]
        return LogSpan(bounds.first, bounds.end, min(later, default=bounds.end))

    def logs(self, topic: str, at: datetime) -> TopicLogs | None:
        """Where the logs of a topic begin and end; a partition without a leader tells neither."""
        there = sorted(name for name in self._partitions if name.topic == topic)
        told = {name.partition: self._bounds(name) for name in there}
        return TopicLogs(at, told) if told else None

    def _bounds(self, name: TopicPartition) -> LogBounds:
        if self._partitions[name].seen().leader < 0:
            return LogBounds(None, None)
        return LogBounds(self.firsts.get(name, 0), self.ends.get(name, 0))


class GroupCalls:
    """The calls of the port that concern groups and logs. `FakeKafka` has the rest."""

    consumers: FakeGroups

    def now(self) -> datetime:
        raise NotImplementedError

    def _require_quorum(self, what: str) -> None:
        raise NotImplementedError

    def topic_logs(self, topic: str) -> TopicLogs | None:
        self._require_quorum("reading log offsets")
        return self.consumers.logs(topic, self.now())

    def groups(self, names: Collection[str] | None = None) -> GroupsSeen:
        self._require_quorum("listing groups")
        return self.consumers.seen(names, self.now())

    def group_offsets(self, group: str, topics: Collection[str], at: datetime | None) -> OffsetSeen | None:
        self._require_quorum("reading the group")
        return self.consumers.offsets(group, topics, at, self.now())

    def commit_offsets(self, group: str, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, str]:
        self._require_quorum("committing offsets")
        return self.consumers.put(group, offsets)
