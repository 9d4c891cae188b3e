"""Replica lists that take leadership off a broker, and those that give it back. Order alone: no byte is copied. Pure.

`planner.balance.leadership.demote` does the same for a state file as one plan of many; here it is read off the metadata
at each look, so that what Kafka or others change meanwhile is seen.
"""

from collections import Counter
from collections.abc import Collection, Mapping

from planner.observed import KafkaSnapshot, PartitionSeen, TopicPartition

Orders = Mapping[TopicPartition, tuple[int, ...]]
"""Partition -> its replicas in another order."""


def demoted_orders(kafka: KafkaSnapshot, brokers: Collection[int]) -> tuple[Orders, int]:
    """Lists headed by one of `brokers` with those last, and how many stay as nobody else in sync could lead them.

    What moves is left alone until it has moved.
    """
    live = kafka.live_brokers()
    orders: dict[TopicPartition, tuple[int, ...]] = {}
    left = 0
    for p in kafka.partitions:
        if p.is_moving or not p.replicas or p.replicas[0] not in brokers:
            continue
        able = [r for r in p.replicas if r not in brokers and r in p.isr and r in live]
        if not able:
            left += 1
            continue
        lagging = [r for r in p.replicas if r not in brokers and r not in able]
        orders[p.name] = (*_fewest_first(able, orders, p), *lagging, *(r for r in p.replicas if r in brokers))
    return orders, left


def restored_orders(kafka: KafkaSnapshot, broker: int, avoid: Collection[int] = ()) -> Orders:
    """Lists that give the broker its even share of leaders back, taken from those that head most."""
    live = kafka.live_brokers()
    still = [p for p in kafka.partitions if p.replicas and not p.is_moving]
    heads: Counter[int] = Counter(p.replicas[0] for p in still)
    serving = [b for b in live if b not in avoid]
    if broker not in serving:
        return {}
    share = len(still) // len(serving)
    orders: dict[TopicPartition, tuple[int, ...]] = {}
    mine = [p for p in still if broker in p.isr and p.replicas[0] != broker]
    while heads[broker] < share and mine:
        p = max(mine, key=lambda p: (heads[p.replicas[0]], p.name))
        mine.remove(p)
        if heads[p.replicas[0]] <= share:
            break
        heads[p.replicas[0]] -= 1
        heads[broker] += 1
        orders[p.name] = (broker, *(r for r in p.replicas if r != broker))
    return orders


def _fewest_first(able: list[int], orders: Orders, p: PartitionSeen) -> list[int]:
    """Those that took over fewest so far go first, so that no single peer gets everything."""
    taken = Counter(order[0] for order in orders.values())
    return sorted(able, key=lambda r: (taken[r], p.replicas.index(r)))
