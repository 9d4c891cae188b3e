"""Replication throttles (KIP-73): what is wanted, what is set, and the changes between the two, as pure
values.

A throttle needs both halves: a rate on the broker and, per topic, the list of replicas it applies to. Kafka
reaches about 0.8 of a configured rate. A throttle that is left behind slows the normal catch-up of replicas
for ever, so every change is computed from what Kafka reports, never from what we remember having set.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from planner.observed import ThrottlesSeen, TopicPartition

CLUSTER_DEFAULT = -1
"""Broker id that stands for the cluster-wide default in rates."""

LEADER_RATE = "leader.replication.throttled.rate"
FOLLOWER_RATE = "follower.replication.throttled.rate"
LEADER_REPLICAS = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS = "follower.replication.throttled.replicas"

LOG_DIRS_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
"""Of moves between the log directories of one broker (KIP-113), all of them together."""

CORDON, EVERY_DIR = "cordoned.log.dirs", "*"
"""KIP-1066: set on a broker, no new replica is placed in any of its directories."""

ReplicaList = tuple[str, ...]
"""Replicas as Kafka writes them: `partition:broker`."""


@dataclass(frozen=True, slots=True)
class ThrottlePlan:
    """Rates in bytes/s by broker id and, by topic, (leader list, follower list) of `partition:broker`.

    The leader list names the replicas data is copied *from* (all old ones), the follower list those copied
    *to*. An empty plan means no throttle at all. What is set in Kafka is a plan too.
    """

    leader_bytes_per_s: Mapping[int, int] = field(default_factory=dict)
    follower_bytes_per_s: Mapping[int, int] = field(default_factory=dict)
    topics: Mapping[str, tuple[ReplicaList, ReplicaList]] = field(default_factory=dict)

    @property
    def seen(self) -> ThrottlesSeen:
        """The same as a snapshot shows it."""
        return ThrottlesSeen(
            leader_rate=dict(self.leader_bytes_per_s),
            follower_rate=dict(self.follower_bytes_per_s),
            topics=frozenset(self.topics),
        )


@dataclass(frozen=True, slots=True, order=True)
class ConfigChange:
    """One key of one broker (`CLUSTER_DEFAULT` = cluster default) or topic. `value` None deletes the key."""

    kind: str
    name: str
    key: str
    value: str | None


def throttle_for(
    moves: Iterable[tuple[TopicPartition, tuple[int, ...], tuple[int, ...]]], *, bytes_per_s: int
) -> ThrottlePlan:
    """The throttle for moves given as (partition, replicas before, replicas after): one rate on every broker
    involved."""
    leaders: dict[str, set[str]] = {}
    followers: dict[str, set[str]] = {}
    sources: set[int] = set()
    targets: set[int] = set()
    for name, before, after in moves:
        added = [b for b in after if b not in before]
        if not added:
            continue
        leaders.setdefault(name.topic, set()).update(f"{name.partition}:{b}" for b in before)
        followers.setdefault(name.topic, set()).update(f"{name.partition}:{b}" for b in added)
        sources.update(before)
        targets.update(added)
    return ThrottlePlan(
        leader_bytes_per_s=dict.fromkeys(sorted(sources), bytes_per_s),
        follower_bytes_per_s=dict.fromkeys(sorted(targets), bytes_per_s),
        topics={t: (_ordered(leaders[t]), _ordered(followers[t])) for t in sorted(leaders)},
    )


def reconcile(seen: ThrottlePlan, wanted: ThrottlePlan, *, live: frozenset[int]) -> tuple[ConfigChange, ...]:
    """The changes that turn `seen` into `wanted`, deletions included; empty when nothing is to do.

    Brokers that are not live are left alone: only a broker itself takes its own dynamic configs, so asking
    for a dead one's hangs until the call times out (KAFKA-13392), and its throttle means nothing while it is
    away. A stale rate on it is found and cleared once it is back.
    """
    changes = [
        *_rate_changes(LEADER_RATE, seen.leader_bytes_per_s, wanted.leader_bytes_per_s, live),
        *_rate_changes(FOLLOWER_RATE, seen.follower_bytes_per_s, wanted.follower_bytes_per_s, live),
    ]
    for topic in sorted(set(seen.topics) | set(wanted.topics)):
        has, wants = seen.topics.get(topic, ((), ())), wanted.topics.get(topic, ((), ()))
        for key, before, after in zip((LEADER_REPLICAS, FOLLOWER_REPLICAS), has, wants, strict=True):
            if set(before) != set(after):
                changes.append(ConfigChange("topic", topic, key, ",".join(after) or None))
    return tuple(changes)


def _rate_changes(
    key: str, seen: Mapping[int, int], wanted: Mapping[int, int], live: frozenset[int]
) -> Iterable[ConfigChange]:
    for broker in sorted(set(seen) | set(wanted)):
        reachable = broker == CLUSTER_DEFAULT or broker in live
        rate = wanted.get(broker)
        if reachable and seen.get(broker) != rate:
            yield ConfigChange("broker", str(broker), key, None if rate is None else str(rate))


def _ordered(replicas: set[str]) -> ReplicaList:
    return tuple(sorted(replicas, key=lambda r: tuple(int(x) for x in r.split(":"))))
