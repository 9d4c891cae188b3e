"""Lists put into another order for even leaders: who comes first, what stays, and what holds whatever the lists are."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from hypothesis import given, settings, strategies as st

from planner.demotion import Orders
from planner.heartbeats import HEARTBEAT_TOPIC
from planner.observed import KafkaSnapshot, TopicPartition
from planner.placement.leaders import even_orders
from tests.builders import a_partition, a_snapshot

THREE = frozenset({1, 2, 3})


def reordered(kafka: KafkaSnapshot, orders: Orders) -> KafkaSnapshot:
    return replace(
        kafka, partitions=tuple(replace(p, replicas=orders.get(p.name, p.replicas)) for p in kafka.partitions)
    )


def heads(kafka: KafkaSnapshot, brokers: frozenset[int] = THREE) -> Mapping[int, int]:
    """How many lists each broker stands first in."""
    counted = Counter(p.replicas[0] for p in kafka.partitions)
    return {b: counted[b] for b in sorted(brokers)}


def all_headed_by_one(partitions: int) -> KafkaSnapshot:
    return a_snapshot(*(a_partition(f"t-{n}", (1, 2, 3)) for n in range(partitions)), brokers=tuple(THREE))


def test_lists_that_one_broker_heads_are_shared_out_by_the_fewest_changes() -> None:
    kafka = all_headed_by_one(9)
    orders = even_orders(kafka, THREE)
    assert len(orders) == 6
    assert heads(reordered(kafka, orders)) == {1: 3, 2: 3, 3: 3}
    assert orders[TopicPartition("t", 0)] == (2, 1, 3), "the others keep the order they had"


def test_what_is_even_already_is_left_alone() -> None:
    even = [a_partition(f"t-{n}", (1 + n % 3, 1 + (n + 1) % 3)) for n in range(7)]
    assert even_orders(a_snapshot(*even, brokers=tuple(THREE)), THREE) == {}


def test_a_broker_hands_on_by_way_of_another_where_it_shares_nothing_with_who_heads_least() -> None:
    """1 and 3 are in no list together: 1 gives to 2, and 2 gives to 3."""
    lists = [(1, 2)] * 3 + [(2, 3)] * 2
    kafka = a_snapshot(*(a_partition(f"t-{n}", r) for n, r in enumerate(lists)), brokers=tuple(THREE))
    orders = even_orders(kafka, THREE)
    assert heads(reordered(kafka, orders)) == {1: 2, 2: 2, 3: 1}
    assert len(orders) == 2


def test_nobody_comes_first_who_is_out_of_sync_down_or_not_among_those_who_are_to_lead() -> None:
    late = a_snapshot(*(a_partition(f"t-{n}", (1, 2, 3), isr=(1,)) for n in range(6)), brokers=tuple(THREE))
    assert even_orders(late, THREE) == {}
    orders = even_orders(all_headed_by_one(9), frozenset({1, 3}))
    assert {order[0] for order in orders.values()} == {3}
    assert len(orders) == 4


def test_what_moves_and_heartbeats_stay_as_they_are() -> None:
    moving = [a_partition(f"m-{n}", (1, 2, 3), adding=(3,)) for n in range(6)]
    beats = [a_partition(f"{HEARTBEAT_TOPIC}-{n}", (1, 2, 3)) for n in range(6)]
    assert even_orders(a_snapshot(*moving, *beats, brokers=tuple(THREE)), THREE) == {}


def test_a_batch_is_bounded_and_each_of_them_is_a_gain() -> None:
    kafka, worst = all_headed_by_one(30), 30
    for _ in range(5):
        orders = even_orders(kafka, THREE, most=4)
        assert len(orders) == 4
        kafka = reordered(kafka, orders)
        assert max(heads(kafka).values()) < worst
        worst = max(heads(kafka).values())
    assert even_orders(kafka, THREE, most=4) == {}
    assert heads(kafka) == {1: 10, 2: 10, 3: 10}


def test_a_thousand_brokers_that_can_hand_nothing_on_are_looked_at_once_each() -> None:
    """Single replicas: nobody can take one. The worst case of a search without an end of its own."""
    lone = [a_partition(f"t-{n}", (n % 1000 if n < 1000 else n % 7,)) for n in range(5000)]
    assert even_orders(a_snapshot(*lone, brokers=tuple(range(1000))), frozenset(range(1000))) == {}


@st.composite
def clusters(draw: st.DrawFn) -> tuple[KafkaSnapshot, frozenset[int], int]:
    """Up to 7 brokers, some of which are not to lead; up to 30 partitions anyhow; a bound of a batch."""
    ids = tuple(range(draw(st.integers(1, 7))))
    brokers = frozenset(b for b in ids if draw(st.integers(0, 4)))
    parts = []
    for n in range(draw(st.integers(0, 30))):
        replicas = tuple(draw(st.permutations(ids))[: draw(st.integers(1, min(4, len(ids))))])
        isr = tuple(b for b in replicas if draw(st.integers(0, 3))) or replicas[:1]
        parts.append(a_partition(f"t-{n}", replicas, isr=isr, leader=isr[0]))
    return a_snapshot(*parts, brokers=ids), brokers, draw(st.integers(1, 40))


@settings(max_examples=300, deadline=None)
@given(clusters())
def test_replicas_stay_the_same_and_the_spread_is_never_worse(
    drawn: tuple[KafkaSnapshot, frozenset[int], int],
) -> None:
    kafka, brokers, most = drawn
    orders = even_orders(kafka, brokers, most=most)
    assert len(orders) <= most
    for name, order in orders.items():
        was = kafka.by_name[name]
        assert sorted(order) == sorted(was.replicas), "the same replicas: racks and bytes are what they were"
        assert order[0] != was.replicas[0]
        assert order[0] in was.isr
        assert {order[0], was.replicas[0]} <= brokers
        assert [b for b in was.replicas if b != order[0]] == list(order[1:])
    if not brokers:
        return
    before, after = heads(kafka, brokers), heads(reordered(kafka, orders), brokers)
    assert sum(after.values()) == sum(before.values())
    assert max(after.values()) <= max(before.values())
    assert min(after.values()) >= min(before.values())
    assert not orders or sum(c * c for c in after.values()) < sum(c * c for c in before.values())


@settings(max_examples=150, deadline=None)
@given(clusters())
def test_batch_after_batch_it_ends_where_no_other_order_is_more_even(
    drawn: tuple[KafkaSnapshot, frozenset[int], int],
) -> None:
    kafka, brokers, _ = drawn
    rounds = 0
    while orders := even_orders(kafka, brokers, most=8):
        kafka, rounds = reordered(kafka, orders), rounds + 1
        assert rounds <= 40
    if brokers and len(kafka.partitions) <= 7:
        assert max(heads(kafka, brokers).values()) == _least_possible(kafka, brokers)


def _least_possible(kafka: KafkaSnapshot, brokers: frozenset[int]) -> int:
    """By trying every choice of heads."""
    counts = [dict.fromkeys(brokers, 0)]
    for p in kafka.partitions:
        able = [b for b in p.replicas if b in brokers and (b in p.isr or b == p.replicas[0])]
        if p.replicas[0] not in brokers:
            continue
        counts = [{**c, b: c[b] + 1} for c in counts for b in able]
    return min(max(c.values()) for c in counts)
