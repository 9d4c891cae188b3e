"""Where replicas of topics go: a rack each as far as there are racks, then the brokers that hold least. Pure.

The order of preference is that of `planner.balance` (rack first, then load); a topic is placed partition by partition,
so no search is needed: each choice is the best there is at its time, and `ReplicaHosts` counts it.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from planner.observed import KafkaSnapshot, PartitionSeen
from planner.topics.step import Replicas

Load = Callable[[int], tuple[int, int]]


class NoPlace(ValueError):
    """There are fewer brokers than replicas. What now: wait for brokers, or ask for fewer replicas."""


@dataclass(slots=True)
class ReplicaHosts:
    """Brokers that may get replicas, with their racks, and what every broker holds. Counts what it deals out."""

    racks: Mapping[int, str]
    replicas: Counter[int] = field(default_factory=Counter)
    leaders: Counter[int] = field(default_factory=Counter)
    stored_bytes: Counter[int] = field(default_factory=Counter)

    def within(self, brokers: Collection[int]) -> "ReplicaHosts":
        """The same, counted together, with only these to get any."""
        return replace(self, racks={b: rack for b, rack in self.racks.items() if b in brokers})

    def place(self, count: int, replicas: int) -> tuple[Replicas, ...]:
        """Replicas of `count` new partitions. Raises NoPlace."""
        if replicas > len(self.racks):
            raise NoPlace(f"{replicas} replicas need {replicas} brokers, and {len(self.racks)} can take any")
        return tuple(self._one(replicas) for _ in range(count))

    def grown(self, partition: PartitionSeen, replicas: int) -> Replicas:
        """The partition's replicas with others behind them, up to `replicas` of them. Raises NoPlace."""
        chosen = list(partition.replicas)
        while len(chosen) < replicas:
            broker = self._next(chosen, lambda b: (self.stored_bytes[b], self.replicas[b]))
            chosen.append(broker)
            self._count(broker, partition.size_bytes)
        return tuple(chosen)

    def _one(self, replicas: int) -> Replicas:
        chosen: list[int] = []
        while len(chosen) < replicas:
            if chosen:
                chosen.append(self._next(chosen, lambda b: (self.replicas[b], self.leaders[b])))
            else:
                chosen.append(self._next(chosen, lambda b: (self.leaders[b], self.replicas[b])))
        self.leaders[chosen[0]] += 1
        for broker in chosen:
            self._count(broker, 0)
        return tuple(chosen)

    def _next(self, chosen: Collection[int], load: Load) -> int:
        """The broker for the next replica: in the rack with fewest of them, the least loaded, the lowest id."""
        used = Counter(self.racks.get(b, "") for b in chosen)
        free = [b for b in self.racks if b not in chosen]
        if not free:
            raise NoPlace(f"another replica needs another broker than {', '.join(map(str, chosen))}")
        return min(free, key=lambda b: (used[self.racks[b]], load(b), b))

    def _count(self, broker: int, size_bytes: int) -> None:
        self.replicas[broker] += 1
        self.stored_bytes[broker] += size_bytes


def replica_hosts_of(kafka: KafkaSnapshot, receivers: Collection[int]) -> ReplicaHosts:
    """What live brokers among `receivers` may get, with what all brokers hold now and are about to get."""
    live = kafka.live_brokers()
    hosts = ReplicaHosts({b: kafka.brokers[b].rack for b in sorted(receivers) if b in live})
    for p in kafka.partitions:
        hosts.leaders[p.target[0] if p.target else -1] += 1
        for broker in p.target:
            hosts.replicas[broker] += 1
            hosts.stored_bytes[broker] += p.size_bytes
    return hosts


def shrunk(partition: PartitionSeen, racks: Mapping[int, str]) -> Replicas | None:
    """The partition's replicas without one of them; None when none may go.

    One at a time, so that of those in sync a majority stays. First goes who is out of sync, then who shares a rack,
    then the last. The leader stays, what stays in sync is as many as writes need, and at least one.
    """
    kept = list(partition.replicas)
    shared = Counter(racks.get(b, "") for b in kept)
    order = sorted(
        (b for b in kept if b != partition.leader),
        key=lambda b: (b in partition.isr, -shared[racks.get(b, "")], -kept.index(b)),
    )
    for broker in order:
        rest = tuple(b for b in kept if b != broker)
        in_sync = [b for b in rest if b in partition.isr]
        needed = min(max(partition.configured_min_isr, partition.min_isr), len(rest))
        if in_sync and len(in_sync) >= needed:
            return rest
    return None


def verified(
    before: Sequence[int], after: Sequence[int], racks: Mapping[int, str], *, may_all_move: bool = False
) -> str:
    """Why a new list of replicas is not to be used; "" when it is sound. An independent look at what was chosen.
    `may_all_move`: none of those before has to stay."""
    if len(set(after)) != len(after) or not after:
        return f"{list(after)} names a broker twice, or none"
    if not may_all_move and not set(before) & set(after):
        return f"{list(after)} keeps no replica of {list(before)}"
    added = [b for b in after if b not in before]
    unknown = [b for b in added if b not in racks]
    if unknown:
        return f"broker {unknown[0]} may get no replica"
    return ""
