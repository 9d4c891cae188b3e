"""Who depends on a broker: who writes to and reads from it, who copies from it, and what nobody else could lead. Pure.

Clients write to and read from the leader of a partition, and each group commits to its coordinator. Kafka tells of
producers nothing but what they wrote; of consumers it tells each member and what it was given.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planner.consumers.reported import GroupsStatus
from planner.observed import KafkaSnapshot, PartitionSeen, TopicPartition


@dataclass(frozen=True, slots=True)
class LedTopic:
    """A topic with partitions that it leads. `written_per_s`: bytes, of those partitions; None is not known."""

    topic: str
    led: int
    of: int
    written_per_s: float | None


@dataclass(frozen=True, slots=True)
class Reader:
    """A group that reads from it or commits to it. `clients` were given partitions it leads, as `client at host`."""

    group: str
    word: str
    coordinated: bool
    led: int
    of: int
    clients: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Dependents:
    """`sole`: led by it, and no other replica is in sync. `followers`: partitions each other broker copies from it."""

    topics: tuple[LedTopic, ...]
    followers: Mapping[int, int]
    sole: tuple[PartitionSeen, ...]
    readers: tuple[Reader, ...]


def dependents_of(
    broker: int, kafka: KafkaSnapshot, written: Mapping[TopicPartition, float], groups: GroupsStatus | None
) -> Dependents:
    """By the metadata that was read last, and by the groups where they are known. `written`: bytes a second."""
    led = [p for p in kafka.partitions if p.leader == broker]
    followers = Counter(r for p in led for r in p.replicas if r != broker)
    return Dependents(
        topics=_topics(led, kafka, written),
        followers=dict(sorted(followers.items())),
        sole=tuple(p for p in led if p.isr == (broker,) and len(p.replicas) > 1),
        readers=_readers(broker, {p.name for p in led}, groups) if groups else (),
    )


def _topics(
    led: Sequence[PartitionSeen], kafka: KafkaSnapshot, written: Mapping[TopicPartition, float]
) -> tuple[LedTopic, ...]:
    here = Counter(p.name.topic for p in led)
    every = Counter(p.name.topic for p in kafka.partitions if p.name.topic in here)
    rates: dict[str, float] = {}
    for p in led:
        if p.name in written:
            rates[p.name.topic] = rates.get(p.name.topic, 0.0) + written[p.name]
    found = [LedTopic(t, n, every[t], rates.get(t)) for t, n in here.items()]
    return tuple(sorted(found, key=lambda t: (-(t.written_per_s or 0.0), -t.led, t.topic)))


def _readers(broker: int, led: set[TopicPartition], groups: GroupsStatus) -> tuple[Reader, ...]:
    found = []
    for group in groups.groups:
        mine = [p for p in group.partitions if TopicPartition(p.topic, p.partition) in led]
        if mine or group.coordinator == broker:
            clients = tuple(sorted({p.member for p in mine if p.member}))
            is_its = group.coordinator == broker
            found.append(Reader(group.name, group.word, is_its, len(mine), len(group.partitions), clients))
    return tuple(sorted(found, key=lambda r: (-len(r.clients), -r.led, r.group)))
