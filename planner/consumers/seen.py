"""Consumer groups at one time, as brokers tell of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from planner.observed import TopicPartition


@dataclass(frozen=True, slots=True)
class MemberSeen:
    """One member. `topics`: what it subscribes to; `partitions`: what it was given to read. `unreadable`: why one of
    the two is not known, "" where both are."""

    id: str
    client: str
    host: str
    topics: tuple[str, ...] = ()
    partitions: tuple[TopicPartition, ...] = ()
    unreadable: str = ""


@dataclass(frozen=True, slots=True)
class GroupSeen:
    """One group. `kind`: `classic`, or `consumer` for the protocol of KIP-848. `state` in Kafka's own word."""

    name: str
    state: str
    kind: str
    coordinator: int
    members: tuple[MemberSeen, ...] = ()
    committed: Mapping[TopicPartition, int] = field(default_factory=dict)
    """The next offset to read, of the partitions that have one."""

    @property
    def topics(self) -> frozenset[str]:
        """What its members subscribe to; what a pattern has matched shows in what they were given."""
        return frozenset(t for m in self.members for t in (*m.topics, *(p.topic for p in m.partitions)))

    def every_partition(self, counts: Mapping[str, int]) -> frozenset[TopicPartition]:
        """What it has read, was given, or subscribes to, of the topics that are there with so many partitions."""
        named = {*self.committed, *(p for m in self.members for p in m.partitions)}
        named |= {TopicPartition(t, n) for t in self.topics for n in range(counts.get(t, 0))}
        return frozenset(p for p in named if p.topic in counts)


@dataclass(frozen=True, slots=True)
class GroupsSeen:
    """The groups of a cluster by name. What was not told is missing, never guessed."""

    at: datetime
    """Before the first request."""
    groups: tuple[GroupSeen, ...] = ()
    ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    """Log end offset (high watermark) of every partition the groups know, where its leader told it."""
    partitions: Mapping[str, int] = field(default_factory=dict)
    """How many partitions each of these topics has; one that is gone is missing."""
    silent: tuple[int, ...] = ()
    """Brokers that did not answer: groups they coordinate are missing."""
    left_out: int = 0
    """Groups beyond what one look reads."""
    unread: tuple[str, ...] = ()
    """Groups of brokers that answered, and not for them: their coordinator is loading, or they are gone by now."""
