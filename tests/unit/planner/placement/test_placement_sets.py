"""Replicas outside of the brokers their topic stays on: found, and moved there as others are moved apart."""

from dataclasses import replace

from events.spec.broker_sets import BrokerSets
from planner.observed import KafkaSnapshot
from planner.placement.corrections import corrections
from planner.placement.deviations import Rule, judged, misplaced
from planner.placement.leaders import even_orders
from planner.placement.policy import ClusterBrokers, TopicPolicy
from tests.unit.planner.drain.drain_cases import partition, snapshot

RACKS = {1000: "a", 1001: "b", 1002: "c", 1003: "a", 1004: "b", 1005: "c"}
SETS = BrokerSets({1003: "fast", 1004: "fast", 1005: "fast"}, {"orders": "fast"})
ROOM = dict.fromkeys(RACKS, 10**12)


def ground(**changes: object) -> ClusterBrokers:
    return replace(ClusterBrokers(RACKS, frozenset(RACKS), 3, sets=SETS), **changes)  # type: ignore[arg-type]


def policy(_: str) -> TopicPolicy:
    return TopicPolicy()


def seen(*lists: tuple[str, tuple[int, ...]]) -> KafkaSnapshot:
    return snapshot(RACKS, [partition(topic, n, replicas) for n, (topic, replicas) in enumerate(lists)])


def test_replicas_outside_of_their_set_are_found_though_they_are_in_zones_of_their_own() -> None:
    kafka = seen(("orders", (1003, 1001, 1002)), ("orders", (1003, 1004, 1005)), ("audit", (1000, 1001, 1005)))
    found = misplaced(kafka, ground(), policy)
    assert [(d.rule, d.name.topic, d.name.partition) for d in found] == [
        (Rule.SETS, "audit", 2),
        (Rule.SETS, "orders", 0),
    ]
    assert found[1].words == "orders-0 has 2 of 3 replicas on brokers 1001, 1002, outside of broker set fast"
    assert "outside of the brokers of no set" in found[0].words
    assert not misplaced(kafka, ground(sets=BrokerSets()), policy)


def test_they_come_home_each_into_the_rack_it_leaves() -> None:
    kafka = seen(("orders", (1000, 1001, 1002)))
    found = misplaced(kafka, ground(), policy)
    batch = corrections(kafka, found, ground(), ROOM)
    (move,) = batch.moves
    assert move.after == (1003, 1004, 1005)
    assert not judged(kafka.partitions[0], move.after, ground(), TopicPolicy())
    assert [d.rule for d in judged(kafka.partitions[0], (1003, 1004, 1002), ground(), TopicPolicy())] == [Rule.SETS]


def test_no_zone_is_lost_by_coming_home_and_the_set_is_named() -> None:
    narrow = BrokerSets({1003: "fast", 1000: "fast"}, {"orders": "fast"})
    kafka = seen(("orders", (1001, 1002)))
    found = misplaced(kafka, ground(sets=narrow), policy)
    batch = corrections(kafka, found, ground(sets=narrow), ROOM)
    assert not batch.moves or {RACKS[b] for b in batch.moves[0].after} != {"a"}
    full = seen(("orders", (1003, 1002)))
    why = corrections(full, misplaced(full, ground(sets=narrow), policy), ground(sets=narrow), ROOM).left
    assert list(why.values()) == ["no broker of broker set fast of a zone without a replica of it may take one now"]


def test_replicas_that_share_a_zone_go_apart_within_their_set() -> None:
    kafka = seen(("orders", (1003, 1004, 1005)), ("audit", (1000, 1001)))
    crowded = {**RACKS, 1004: "a"}
    base = ground(racks=crowded, sets=SETS)
    found = misplaced(kafka, base, policy)
    assert not found, "broker 1004 is the set's own, and it has no third zone to go to"
    wider = BrokerSets({**SETS.of_broker, 1001: "fast"}, SETS.of_topics)
    found = misplaced(kafka, ground(racks=crowded, sets=wider), policy)
    assert [(d.rule, d.name.topic) for d in found] == [(Rule.SETS, "audit"), (Rule.ZONES, "orders")]
    (move,) = corrections(kafka, found[1:], ground(racks=crowded, sets=wider), ROOM).moves
    assert move.added == (1001,)


def test_what_is_gone_is_made_anew_within_its_set() -> None:
    kafka = seen(("orders", (1003, 1004, 9999)))
    found = misplaced(kafka, ground(), policy)
    assert found[0].rule is Rule.GONE
    (move,) = corrections(kafka, found, ground(), ROOM).moves
    assert move.after == (1003, 1004, 1005)


def test_leaders_are_evened_out_within_each_set() -> None:
    fast = [("orders", (1003, 1004)) for _ in range(4)]
    kafka = seen(*fast, ("audit", (1000, 1001)))
    orders = even_orders(kafka, list(RACKS), sets=SETS)
    assert len(orders) == 2
    assert {name.topic for name in orders} == {"orders"}
