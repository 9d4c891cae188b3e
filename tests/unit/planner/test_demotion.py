"""Leadership taken off a broker and given back, by the order of replica lists alone."""

from collections import Counter
from dataclasses import replace

from planner.demotion import demoted_orders, restored_orders
from planner.observed import KafkaSnapshot
from tests.builders import a_partition, a_snapshot

LISTS = [(1000, 1001, 1002), (1001, 1002, 1000), (1002, 1000, 1001)]


def a_cluster(count: int = 12) -> KafkaSnapshot:
    return a_snapshot(*(a_partition(f"orders-{n}", LISTS[n % 3]) for n in range(count)))


def after(kafka: KafkaSnapshot, orders: object) -> KafkaSnapshot:
    made = dict(orders)  # type: ignore[call-overload]
    parts = tuple(replace(p, replicas=made.get(p.name, p.replicas)) for p in kafka.partitions)
    return replace(kafka, partitions=parts)


def heads(kafka: KafkaSnapshot) -> Counter[int]:
    return Counter(p.replicas[0] for p in kafka.partitions)


def test_the_demoted_goes_last_and_its_leaders_are_shared_among_the_others() -> None:
    kafka = a_cluster()
    orders, left = demoted_orders(kafka, [1000])
    assert left == 0
    assert {order[-1] for order in orders.values()} == {1000}
    assert all(sorted(order) == [1000, 1001, 1002] for order in orders.values()), "nothing is copied"
    assert heads(after(kafka, orders)) == {1001: 6, 1002: 6}
    assert demoted_orders(after(kafka, orders), [1000]) == ({}, 0)


def test_what_nobody_else_in_sync_could_lead_stays_and_what_moves_is_left_alone() -> None:
    alone = a_partition("orders-0", isr=(1000,))
    moving = a_partition("orders-1", adding=(1002,))
    lagging = a_partition("orders-2", isr=(1000, 1002))
    orders, left = demoted_orders(a_snapshot(alone, moving, lagging), [1000])
    assert left == 1
    assert {str(name): order for name, order in orders.items()} == {"orders-2": (1002, 1001, 1000)}


def test_it_gets_its_even_share_back_from_those_that_head_most() -> None:
    kafka = after(a_cluster(), demoted_orders(a_cluster(), [1000])[0])
    back = restored_orders(kafka, 1000)
    assert heads(after(kafka, back)) == {1000: 4, 1001: 4, 1002: 4}
    assert restored_orders(after(kafka, back), 1000) == {}


def test_a_broker_that_is_down_gets_nothing_back() -> None:
    kafka = replace(a_cluster(), brokers={b: s for b, s in a_cluster().brokers.items() if b != 1000})
    assert restored_orders(kafka, 1000) == {}
