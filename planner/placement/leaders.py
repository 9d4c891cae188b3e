"""Even leaders by the order of replica lists alone: who stands first is to lead. Not a byte is copied. Pure.

Leadership is handed along paths: a partition goes from the broker that heads most to one of its own replicas, which
hands one of its own on, until one is reached that heads fewer by two or more. Where no such path is left, no order of
these lists spreads heads more evenly (semi-matchings: Harvey, Ladner, Lovász, Tamir 2006, J. Algorithms 59(1)). Each
path makes the spread smaller and none makes any broker worse than the worst, so any number of them is a gain.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Collection
from itertools import pairwise

from events.spec.broker_sets import NO_SETS, BrokerSets
from planner.demotion import Orders
from planner.heartbeats import HEARTBEAT_TOPIC
from planner.observed import KafkaSnapshot, TopicPartition

MOST_AT_A_TIME = 200
"""Lists in one batch: each is a record in the metadata log, and an election after it."""


def even_orders(
    kafka: KafkaSnapshot, brokers: Collection[int], *, sets: BrokerSets = NO_SETS, most: int = MOST_AT_A_TIME
) -> Orders:
    """The lists to be put into another order, at most so many, so that `brokers` head as evenly as they can.

    A replica comes to the front only if it is in sync on one of `brokers`; what others head stays theirs. What moves
    is left alone until it has moved, and so are heartbeats, of which each broker leads one. The same set of replicas
    stays in each list, so racks and bytes are what they were. Within `sets`, each by itself: no topic is led from two.
    """
    orders: dict[TopicPartition, tuple[int, ...]] = {}
    for name in sorted({sets.set_of(b) for b in brokers}):
        mine = frozenset(b for b in brokers if sets.set_of(b) == name)
        orders.update(_Heads(kafka, mine).evened(most - len(orders)))
    return orders


class _Heads:
    """Who heads what, and what each could hand on to whom."""

    def __init__(self, kafka: KafkaSnapshot, brokers: frozenset[int]) -> None:
        self._seen = {p.name: p for p in kafka.partitions if p.replicas and p.replicas[0] in brokers}
        self._able: dict[TopicPartition, tuple[int, ...]] = {}
        self._head: dict[TopicPartition, int] = {}
        self._count: Counter[int] = Counter(dict.fromkeys(brokers, 0))
        self._to: dict[int, dict[int, set[TopicPartition]]] = defaultdict(lambda: defaultdict(set))
        self._settled: set[int] = set()
        for p in self._seen.values():
            self._count[p.replicas[0]] += 1
            if not p.is_moving and p.name.topic != HEARTBEAT_TOPIC:
                self._able[p.name] = tuple(b for b in p.replicas if b in brokers and (b in p.isr or b == p.replicas[0]))
                self._leads(p.name, p.replicas[0])

    def evened(self, most: int) -> Orders:
        orders: dict[TopicPartition, tuple[int, ...]] = {}
        while path := self._path():
            changed = [(min(self._to[giver][taker]), taker) for giver, taker in pairwise(path)]
            if len(orders.keys() | {name for name, _ in changed}) > most:
                break
            for name, taker in changed:
                self._hand(name, taker)
                p = self._seen[name]
                orders[name] = (taker, *(b for b in p.replicas if b != taker))
        return {name: order for name, order in orders.items() if order[0] != self._seen[name].replicas[0]}

    def _path(self) -> list[int]:
        """The shortest from a broker that heads most to one that heads at least two fewer; empty where there is none.

        Of those that head less, the one that heads least. Who reaches nobody with less is settled for good, and so is
        whom it reaches: they head as much, or one fewer, and hand on among themselves alone.
        """
        least = min(self._count.values(), default=0)
        for giver in sorted(self._count.keys() - self._settled, key=lambda b: (-self._count[b], b)):
            if self._count[giver] - least < 2:
                break
            came_from = self._reached(giver)
            fewer = [b for b in came_from if self._count[b] <= self._count[giver] - 2]
            if fewer:
                return _back(came_from, min(fewer, key=lambda b: (self._count[b], b)))
            self._settled |= came_from.keys()
        return []

    def _reached(self, giver: int) -> dict[int, int]:
        """Brokers that heads can be handed to from there, each with the broker before it; breadth first."""
        came_from, waiting = {giver: giver}, deque([giver])
        while waiting:
            at = waiting.popleft()
            takers = (b for b, names in self._to[at].items() if names and b not in came_from)
            for taker in sorted(set(takers) - self._settled):
                came_from[taker] = at
                waiting.append(taker)
        return came_from

    def _hand(self, name: TopicPartition, taker: int) -> None:
        giver = self._head[name]
        for other in self._able[name]:
            self._to[giver][other].discard(name)
        self._count[giver] -= 1
        self._count[taker] += 1
        self._leads(name, taker)

    def _leads(self, name: TopicPartition, broker: int) -> None:
        self._head[name] = broker
        for other in self._able[name]:
            if other != broker:
                self._to[broker][other].add(name)


def _back(came_from: dict[int, int], last: int) -> list[int]:
    path = [last]
    while came_from[path[-1]] != path[-1]:
        path.append(came_from[path[-1]])
    return path[::-1]
