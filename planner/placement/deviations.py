"""Replicas that are where they should not be: one walk over all partitions of a look at the metadata."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from events.spec.broker_sets import NO_SET, set_words
from planner.heartbeats import HEARTBEAT_TOPIC
from planner.observed import KafkaSnapshot, PartitionSeen, TopicPartition
from planner.placement.policy import AntiAffinity, ClusterBrokers, Policies, TopicPolicy
from planner.quantities import brokers_named
from planner.topics.step import Replicas


class Rule(StrEnum):
    """What is broken, the gravest first."""

    GONE = "gone"
    """A replica on a broker that does not exist: nobody will ever bring it back."""
    COPIES = "copies"
    """Fewer replicas than are declared, or than writes of acks=all need."""
    SETS = "sets"
    """A replica on a broker outside of the set its topic stays in."""
    ZONES = "zones"
    """Two replicas share a zone though another one could take one of them."""


_GRAVEST_FIRST = {rule: rank for rank, rule in enumerate(Rule)}


@dataclass(frozen=True, slots=True)
class Deviation:
    """One partition and the gravest rule its replicas break, in words with the numbers. `strict`: by its policy no
    cluster that has the zones may leave it so, even where nothing can be done now."""

    name: TopicPartition
    rule: Rule
    replicas: Replicas
    words: str
    strict: bool = False


def misplaced(kafka: KafkaSnapshot, ground: ClusterBrokers, policies: Policies) -> tuple[Deviation, ...]:
    """What breaks a rule now: the gravest first, strict before the rest, small logs before large ones.

    What moves is left alone until it has moved, and so are heartbeats, which nobody reads. How many replicas a declared
    topic has is not looked at: topics have a step of their own for it.
    """
    seen = _SeenReplicas(ground)
    found = [d for p in kafka.partitions if (d := _broken(p, seen, policies)) is not None]
    sizes = {d.name: kafka.by_name[d.name].size_bytes for d in found}
    return tuple(sorted(found, key=lambda d: (_GRAVEST_FIRST[d.rule], not d.strict, sizes[d.name], d.name)))


def judged(p: PartitionSeen, replicas: Replicas, ground: ClusterBrokers, policy: TopicPolicy) -> tuple[Deviation, ...]:
    """Every rule that this partition would break with these replicas, wherever they come from."""
    found = (
        _gone(p.name, replicas, ground),
        _copies(p, replicas, policy),
        (seen := _SeenReplicas(ground)).away(p.name, replicas),
        seen.zones(p.name, replicas, policy.anti_affinity),
    )
    return tuple(d for d in found if d is not None)


@dataclass(slots=True)
class _SeenReplicas:
    """Replica lists that were looked at already: most partitions share theirs with others."""

    ground: ClusterBrokers
    apart: dict[Replicas, bool] = field(default_factory=dict)
    shared: dict[tuple[Replicas, AntiAffinity, str], str] = field(default_factory=dict)
    sets: dict[str, str] = field(default_factory=dict)
    """The set of each topic."""
    strays: dict[tuple[Replicas, str], tuple[int, ...]] = field(default_factory=dict)

    def are_apart(self, replicas: Replicas) -> bool:
        """Whether all of them exist, each in a zone of its own."""
        known = self.apart.get(replicas)
        if known is None:
            zones = {self.ground.racks.get(b) for b in replicas}
            known = self.apart[replicas] = len(zones) == len(replicas) and None not in zones
        return known

    def set_of(self, topic: str) -> str:
        known = self.sets.get(topic)
        if known is None:
            known = self.sets[topic] = self.ground.sets.of_topic(topic)
        return known

    def outside(self, topic: str, replicas: Replicas) -> tuple[int, ...]:
        """The replicas that are not in the topic's set."""
        if not self.ground.sets:
            return ()
        key = replicas, self.set_of(topic)
        if key not in self.strays:
            self.strays[key] = self.ground.sets.outside(topic, replicas)
        return self.strays[key]

    def away(self, name: TopicPartition, replicas: Replicas) -> Deviation | None:
        strays = self.outside(name.topic, replicas)
        if not strays:
            return None
        own = set_words(self.set_of(name.topic))
        words = f"{name} has {len(strays)} of {len(replicas)} replicas on {brokers_named(strays)}, outside of {own}"
        return Deviation(name, Rule.SETS, replicas, words, strict=True)

    def zones(self, name: TopicPartition, replicas: Replicas, asked: AntiAffinity) -> Deviation | None:
        own = self.set_of(name.topic) if self.ground.sets else NO_SET
        key = replicas, asked, own
        if key not in self.shared:
            self.shared[key] = _shared_words(replicas, self.ground, asked, own)
        words = self.shared[key]
        return Deviation(name, Rule.ZONES, replicas, f"{name} {words}", asked == "strict") if words else None


def _broken(p: PartitionSeen, seen: _SeenReplicas, policies: Policies) -> Deviation | None:
    is_sound = seen.are_apart(p.replicas) and p.name not in seen.ground.offline
    if p.is_moving or p.name.topic == HEARTBEAT_TOPIC or (is_sound and not seen.outside(p.name.topic, p.replicas)):
        return None
    wrong = _gone(p.name, p.replicas, seen.ground) or seen.away(p.name, p.replicas)
    return wrong or seen.zones(p.name, p.replicas, policies(p.name.topic).anti_affinity)


def _gone(name: TopicPartition, replicas: Replicas, ground: ClusterBrokers) -> Deviation | None:
    missing = [b for b in replicas if ground.is_gone(name, b)]
    if not missing:
        return None
    is_offline = all(b in ground.racks for b in missing)
    how = "given up" if is_offline or set(missing) <= ground.given_up else "which nobody has"
    where = "in failed log directories of" if is_offline else "on"
    words = f"{name} has {len(missing)} of {len(replicas)} replicas {where} {brokers_named(missing)}, {how}"
    return Deviation(name, Rule.GONE, replicas, words, strict=True)


def _copies(p: PartitionSeen, replicas: Replicas, policy: TopicPolicy) -> Deviation | None:
    wanted, needed = policy.replicas, p.configured_min_isr
    if wanted is not None and len(replicas) < wanted:
        return Deviation(p.name, Rule.COPIES, replicas, f"{p.name} gets {len(replicas)} of {wanted} replicas", True)
    if len(replicas) < needed and len(replicas) < len(p.replicas):
        words = f"{p.name} gets {len(replicas)} replicas, fewer than its min ISR of {needed}"
        return Deviation(p.name, Rule.COPIES, replicas, words, True)
    return None


def _shared_words(replicas: Replicas, ground: ClusterBrokers, asked: AntiAffinity, own: str) -> str:
    """What is wrong with them in their set, "" when nothing is. Counted by distinct zones, as drains and rebalances
    keep them: none of them makes what another one mends."""
    shared = shared_zones(replicas, ground.racks) if asked != "none" else {}
    if not shared:
        return ""
    zones = {ground.racks[b] for b in replicas if b in ground.racks}
    possible = ground.zones_of(own) if asked == "strict" else len(zones | ground.open_zones(own))
    if len(zones) >= min(len(replicas), possible):
        return ""
    crowd = max(shared, key=lambda zone: (shared[zone], zone))
    return (
        f"has {shared[crowd]} of {len(replicas)} replicas {list(replicas)} in zone {crowd}, "
        f"{possible - len(zones)} of {possible} zones hold none"
    )


def shared_zones(replicas: Sequence[int], racks: Mapping[int, str]) -> dict[str, int]:
    """Zones that hold two of these replicas or more, and how many."""
    counted = Counter(racks[b] for b in replicas if b in racks)
    return {zone: count for zone, count in counted.items() if count > 1}
