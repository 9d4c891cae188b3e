"""The smallest moves that mend what breaks a rule: a replica is replaced where it stands, all others stay.

Leaders stay where they can. Arrivals and departures of one batch are spread over brokers, and over the links between
them: no broker gets, and no leader gives, more than `MOST_A_BROKER` of its copies, and no pair of a leader and a
receiver carries more than `MOST_A_PAIR`: Kafka copies from the leader alone, so these share one way. What cannot be
mended now is left, with the reason.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from events.spec.broker_sets import set_words
from planner.drain.plan import Move
from planner.drain.release import MOST_A_PAIR
from planner.observed import KafkaSnapshot, PartitionSeen, TopicPartition
from planner.placement.deviations import Deviation, Rule, shared_zones
from planner.placement.policy import ClusterBrokers
from planner.topics.placement import replica_hosts_of, verified

MOST_AT_A_TIME = 20
"""Partitions in one batch."""

MOST_BYTES = 20 * 1024**3
"""Bytes one batch copies, but for a single partition that is larger."""

MOST_A_BROKER = 5
"""Copies of one batch onto one broker, or off one leader."""

MOST_LOOKED_AT = 5000
"""Partitions a batch is sought among: the others have their turn when these are in place."""

Refusal = Callable[[PartitionSeen, tuple[int, ...]], str]
"""Why a partition may not move to these replicas now, "" when it may."""


@dataclass(frozen=True, slots=True)
class Corrections:
    """`moves` of the next batch, and why nothing can be done now about the rest of what was looked at (`left`)."""

    moves: tuple[Move, ...] = ()
    left: Mapping[TopicPartition, str] = field(default_factory=dict)


NONE = Corrections()


def corrections(
    kafka: KafkaSnapshot,
    found: Sequence[Deviation],
    ground: ClusterBrokers,
    room: Mapping[int, int],
    *,
    refusal: Refusal = lambda partition, after: "",
    most_bytes: int = MOST_BYTES,
) -> Corrections:
    """The next batch, in the order of `found`. `room`: bytes each receiver has left for copies; one that is not in it
    gets none."""
    if not found:
        return NONE
    batch = _Batch(kafka, ground, room, most_bytes)
    for deviation in found[:MOST_LOOKED_AT]:
        if len(batch.moves) == MOST_AT_A_TIME:
            break
        batch.mend(deviation, refusal)
    return Corrections(tuple(batch.moves), batch.left)


class _Batch:
    """One batch in the making: counts what it deals out, so that the next choice knows it."""

    def __init__(self, kafka: KafkaSnapshot, ground: ClusterBrokers, room: Mapping[int, int], most_bytes: int) -> None:
        self._kafka, self._ground, self._most_bytes = kafka, ground, most_bytes
        self._room = {b: room[b] for b in ground.receivers if b in room}
        self._into: Counter[int] = Counter()
        self._out: Counter[int] = Counter()
        self._between: Counter[tuple[int, int]] = Counter()
        """Leader and receiver -> copies."""
        hosts = replica_hosts_of(kafka, ground.receivers)
        self._stored, self._held = hosts.stored_bytes, hosts.replicas
        self._bytes = 0
        self.moves: list[Move] = []
        self.left: dict[TopicPartition, str] = {}

    def mend(self, deviation: Deviation, refusal: Refusal) -> None:
        p = self._kafka.by_name[deviation.name]
        if p.leader < 0:
            self.left[p.name] = "no replica of it is left that could be copied"
            return
        after, why = self._after(p, deviation.rule)
        if after == p.replicas:
            self.left[p.name] = why
            return
        comes_home = deviation.rule is Rule.SETS
        wrong = verified(p.replicas, after, self._ground.racks, may_all_move=comes_home) or refusal(p, after)
        if wrong:
            self.left[p.name] = wrong
            return
        self._take(Move(p.name.topic, p.name.partition, p.replicas, after, 0), p)

    def _take(self, planned: Move, p: PartitionSeen) -> None:
        """Into the batch, or not: then it has its turn later."""
        size = p.size_bytes * len(planned.added)
        if self.moves and self._bytes + size > self._most_bytes:
            return
        if self._out[p.leader] >= MOST_A_BROKER or any(self._is_taken(p.leader, b) for b in planned.added):
            return
        self.moves.append(Move(planned.topic, planned.partition, planned.before, planned.after, size))
        self._bytes += size
        self._out[p.leader] += len(planned.added)
        for broker in planned.added:
            self._into[broker] += 1
            self._between[p.leader, broker] += 1
            self._room[broker] -= p.size_bytes
            self._shift(broker, p.size_bytes, 1)
        for broker in planned.removed:
            self._shift(broker, -p.size_bytes, -1)

    def _is_taken(self, leader: int, receiver: int) -> bool:
        return self._into[receiver] >= MOST_A_BROKER or self._between[leader, receiver] >= MOST_A_PAIR

    def _shift(self, broker: int, size_bytes: int, replicas: int) -> None:
        self._stored[broker] += size_bytes
        self._held[broker] += replicas

    def _after(self, p: PartitionSeen, rule: Rule) -> tuple[tuple[int, ...], str]:
        """The partition's replicas once as much is mended as can be now, and why the rest cannot."""
        after = p.replicas
        for _ in p.replicas:
            leaving = self._leaving(p, after, rule)
            if leaving is None:
                break
            home, why = self._home(p, after, leaving, rule)
            if home is None:
                return after, why
            after = tuple(home if b == leaving else b for b in after)
        return after, ""

    def _leaving(self, p: PartitionSeen, replicas: Sequence[int], rule: Rule) -> int | None:
        if rule is Rule.GONE:
            return self._gone(p, replicas)
        if rule is Rule.SETS:
            away = self._ground.sets.outside(p.name.topic, replicas)
            return min(away, key=lambda b: (b == p.leader, p.replicas.index(b)), default=None)
        return self._surplus(p, replicas)

    def _gone(self, p: PartitionSeen, replicas: Sequence[int]) -> int | None:
        return next((b for b in replicas if self._ground.is_gone(p.name, b)), None)

    def _surplus(self, p: PartitionSeen, replicas: Sequence[int]) -> int | None:
        """Who leaves a zone that has another replica: nobody who leads or is to, of the others who stores most."""
        shared = shared_zones(replicas, self._ground.racks)
        crowded = [b for b in replicas if self._ground.racks.get(b) in shared and b in p.replicas]
        if not crowded or not self._has_free_zone(p, replicas):
            return None
        return min(crowded, key=lambda b: (b == p.leader, b == p.replicas[0], -self._stored[b], -p.replicas.index(b)))

    def _has_free_zone(self, p: PartitionSeen, replicas: Sequence[int]) -> bool:
        """Whether it has a zone without a replica: one is to be tried, or its lack is to be told."""
        zones = self._ground.zones_of(self._ground.sets.of_topic(p.name.topic))
        return len({self._ground.racks[b] for b in replicas if b in self._ground.racks}) < zones

    def _home(self, p: PartitionSeen, replicas: Sequence[int], leaving: int, rule: Rule) -> tuple[int | None, str]:
        """The broker of its set that takes the place: a zone without a replica, then who gets least of this batch,
        least of it from this leader, then who stores least. Or why there is none. No zone is lost by coming home."""
        racks, new_zone = self._ground.racks, rule is Rule.ZONES
        used = Counter(racks[b] for b in replicas if b != leaving and b in racks)
        free = [b for b in self._ground.open_to(p.name.topic) if b not in p.replicas and b not in replicas]
        if new_zone or (rule is Rule.SETS and leaving in racks and not used[racks[leaving]]):
            free = [b for b in free if not used[racks[b]]]
            new_zone = True
        if not free:
            where = "of a zone without a replica of it" if new_zone else "without a replica of it"
            own = f" of {set_words(self._ground.sets.of_topic(p.name.topic))}" if self._ground.sets else ""
            return None, f"no broker{own} {where} may take one now"
        able = [b for b in free if self._room.get(b, -1) >= p.size_bytes]
        if not able:
            return None, "no broker that may take one has room for it on its disk"

        def burden(b: int) -> tuple[int, ...]:
            taken, between = self._is_taken(p.leader, b), self._between[p.leader, b]
            return used[racks[b]], taken, self._into[b], between, self._stored[b], self._held[b], b

        return min(able, key=burden), ""
