"""Where the partitions of the heartbeats go: each broker leads one, so that a record can be sent through it. Pure.

The topic holds nothing anybody needs: a partition is given to another broker without a thought for its records, and one
that is left over is used for the next broker.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from events.spec.topic_names import HEARTBEATS
from planner.observed import KafkaSnapshot, PartitionSeen, TopicPartition
from planner.topics.placement import ReplicaHosts, replica_hosts_of
from planner.topics.step import Growth, NewTopic, Replicas, TopicStep

HEARTBEAT_TOPIC = HEARTBEATS
"""A leading double underscore: no `KafkaTopic` may have such a name, and lists of a user's topics leave it out."""

MOST_REPLICAS = 3

HEARTBEAT_CONFIG = {
    "min.insync.replicas": "1",
    "cleanup.policy": "delete",
    "retention.ms": "600000",
    "segment.ms": "600000",
    "segment.bytes": "1048576",
    "max.message.bytes": "16384",
}
"""One replica in sync is enough: no broker's restart or replacement ever waits for heartbeats. A beat of 100
bytes every two seconds is 30 KB in the ten minutes they are kept."""


@dataclass(frozen=True, slots=True)
class HeartbeatWork:
    """What is to be asked of Kafka; `words` say it."""

    step: TopicStep = field(default_factory=TopicStep)
    moves: Mapping[TopicPartition, Replicas] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.step) or bool(self.moves)

    @property
    def words(self) -> str:
        made = sum(len(t.partitions) for t in self.step.create.values())
        made += sum(len(g.added) for g in self.step.grow.values())
        parts = ([f"{made} made"] if made else []) + ([f"{len(self.moves)} placed anew"] if self.moves else [])
        return f"partitions of the heartbeats: {', '.join(parts)}"


NOTHING_TO_DO = HeartbeatWork()


def heartbeat_work(kafka: KafkaSnapshot, receivers: Collection[int], known: Collection[int]) -> HeartbeatWork:
    """What brings it about that every live broker of `receivers` is the first replica of a partition.

    `known` are the brokers of the cluster, those that are down just now among them: they keep theirs. While a partition
    of the topic moves there is nothing to do. Replicas are spread over racks, as many as there are brokers, three at
    most.
    """
    parts = sorted((p for p in kafka.partitions if p.name.topic == HEARTBEAT_TOPIC), key=lambda p: p.name)
    live = sorted(kafka.live_brokers() & frozenset(receivers))
    if not live or any(p.is_moving for p in parts):
        return NOTHING_TO_DO
    hosts, factor = replica_hosts_of(kafka, live), min(MOST_REPLICAS, len(live))
    if not parts:
        placed = tuple(_placed(hosts, b, factor) for b in live)
        return HeartbeatWork(TopicStep(create={HEARTBEAT_TOPIC: NewTopic(placed, HEARTBEAT_CONFIG)}))
    homes: dict[int, PartitionSeen] = {}
    spare = []
    for p in parts:
        first = p.replicas[0] if p.replicas else -1
        if first in known and first not in homes:
            homes[first] = p
        else:
            spare.append(p)
    moves = {p.name: _placed(hosts, b, factor) for b, p in homes.items() if b in live and len(p.replicas) < factor}
    homeless = [b for b in live if b not in homes]
    moves |= {p.name: _placed(hosts, b, factor) for p, b in zip(spare, homeless, strict=False) if p.leader >= 0}
    left = homeless[len(spare) :]
    added = tuple(_placed(hosts, b, factor) for b in left)
    grow = {HEARTBEAT_TOPIC: Growth(len(parts) + len(added), added)} if added else {}
    return HeartbeatWork(TopicStep(grow=grow), moves)


def _placed(hosts: ReplicaHosts, broker: int, factor: int) -> Replicas:
    """Replicas of a partition which that broker leads."""
    lone = PartitionSeen(TopicPartition(HEARTBEAT_TOPIC, 0), leader=broker, replicas=(broker,), isr=(), min_isr=1)
    return hosts.grown(lone, factor)
