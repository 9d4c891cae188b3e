"""Replicas in the wrong place, and the moves that mend them: single cases, in figures."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest

from planner.drain.plan import Move
from planner.heartbeats import HEARTBEAT_TOPIC
from planner.observed import KafkaSnapshot, PartitionSeen, TopicPartition
from planner.placement.corrections import MOST_A_BROKER, MOST_A_PAIR, MOST_AT_A_TIME, corrections
from planner.placement.deviations import Deviation, Rule, judged, misplaced
from planner.placement.policy import AntiAffinity, ClusterBrokers, TopicPolicy
from tests.builders import a_partition, a_snapshot

RACKS = {1000: "a", 1001: "b", 1002: "c", 1003: "a", 1004: "b", 1005: "c"}
EVERYBODY = ClusterBrokers(RACKS, frozenset(RACKS), 3)
ROOM = dict.fromkeys(RACKS, 10**9)
TOGETHER = (1000, 1003, 1001)
"""Two of three replicas in zone a."""


def look(*parts: PartitionSeen) -> KafkaSnapshot:
    return a_snapshot(*parts, brokers=tuple(RACKS))


def found(
    *parts: PartitionSeen, ground: ClusterBrokers = EVERYBODY, policy: AntiAffinity = "best-effort"
) -> list[Deviation]:
    return list(misplaced(look(*parts), ground, lambda topic: TopicPolicy(policy)))


def mended(
    *parts: PartitionSeen, ground: ClusterBrokers = EVERYBODY, room: dict[int, int] | None = None
) -> dict[str, object]:
    kafka = look(*parts)
    said = corrections(kafka, found(*parts, ground=ground), ground, ROOM if room is None else room)
    return {str(m.name): m.after for m in said.moves} | {str(n): why for n, why in said.left.items()}


def test_replicas_that_share_a_zone_are_found_with_the_numbers() -> None:
    (one,) = found(a_partition("orders-0", TOGETHER), a_partition("orders-1"))
    assert one.rule is Rule.ZONES
    assert one.words == "orders-0 has 2 of 3 replicas [1000, 1003, 1001] in zone a, 1 of 3 zones hold none"


def test_the_follower_that_shares_is_replaced_where_it_stands_and_the_leader_stays() -> None:
    assert mended(a_partition("orders-0", TOGETHER)) == {"orders-0": (1000, 1002, 1001)}


def test_it_is_not_the_leader_that_goes_though_it_stands_last() -> None:
    led_by_the_last = a_partition("orders-0", (1001, 1000, 1003), leader=1003)
    assert mended(led_by_the_last) == {"orders-0": (1001, 1002, 1003)}


def test_all_replicas_in_one_zone_are_moved_apart_in_one_move_that_keeps_the_leader() -> None:
    racks = {n: "abc"[n // 3] for n in range(9)}
    ground = ClusterBrokers(racks, frozenset(racks), 3)
    parts = [a_partition("orders-0", (0, 1, 2))]
    kafka = a_snapshot(*parts, brokers=tuple(racks))
    bad = misplaced(kafka, ground, lambda topic: TopicPolicy())
    (move,) = corrections(kafka, bad, ground, dict.fromkeys(racks, 10**9)).moves
    assert move.after[0] == 0
    assert sorted(racks[b] for b in move.after) == ["a", "b", "c"]
    assert move.bytes == 2000


def test_no_zone_to_go_to_is_no_deviation_but_under_a_strict_policy_it_is_told() -> None:
    no_c = replace(EVERYBODY, receivers=frozenset({1000, 1001, 1003, 1004}))
    part = a_partition("orders-0", TOGETHER)
    assert found(part, ground=no_c) == []
    (one,) = found(part, ground=no_c, policy="strict")
    assert one.strict
    said = corrections(look(part), [one], no_c, ROOM)
    assert said.moves == ()
    assert said.left == {one.name: "no broker of a zone without a replica of it may take one now"}


def test_more_replicas_than_zones_are_in_place_once_every_zone_has_one() -> None:
    assert found(a_partition("orders-0", (1000, 1003, 1001, 1002)), policy="strict") == []


def test_a_topic_without_anti_affinity_is_left_where_it_is() -> None:
    assert found(a_partition("orders-0", TOGETHER), policy="none") == []


def test_what_moves_and_what_beats_is_left_alone() -> None:
    moving = a_partition("orders-0", TOGETHER, adding=(1003,))
    beat = replace(a_partition("x-0", TOGETHER), name=TopicPartition(HEARTBEAT_TOPIC, 0))
    assert found(moving, beat) == []


def test_a_replica_on_a_broker_nobody_has_is_replaced_first_of_all() -> None:
    parts = (a_partition("orders-0", TOGETHER), a_partition("orders-1", (1001, 9, 1002), isr=(1001, 1002)))
    gone, shared = found(*parts)
    assert (gone.rule, shared.rule) == (Rule.GONE, Rule.ZONES)
    assert gone.words == "orders-1 has 1 of 3 replicas on broker 9, which nobody has"
    assert mended(*parts)["orders-1"] == (1001, 1000, 1002), "of zone a, which has none of it"


def test_a_partition_of_which_no_replica_is_left_is_told() -> None:
    lost = a_partition("orders-0", (9,), isr=(), leader=-1)
    assert mended(lost) == {"orders-0": "no replica of it is left that could be copied"}


def test_nothing_goes_where_there_is_no_room_or_room_is_not_known() -> None:
    part = a_partition("orders-0", TOGETHER)
    assert mended(part, room={**ROOM, 1002: 999, 1005: 1000}) == {"orders-0": (1000, 1005, 1001)}
    told = {"orders-0": "no broker that may take one has room for it on its disk"}
    assert mended(part, room={1002: 999}) == told


def test_links_carry_even_shares_of_a_batch_and_the_rest_comes_later() -> None:
    parts = [a_partition(f"orders-{n}", TOGETHER if n % 2 else (1001, 1004, 1000)) for n in range(60)]
    kafka = look(*parts)
    said = corrections(kafka, found(*parts), EVERYBODY, ROOM)
    into = [b for m in said.moves for b in m.added]
    leaders = [m.before[0] for m in said.moves]
    assert len(said.moves) == 2 * MOST_A_BROKER <= MOST_AT_A_TIME
    assert {into.count(b) for b in (1002, 1005)} == {MOST_A_BROKER}
    assert {leaders.count(b) for b in (1000, 1001)} == {MOST_A_BROKER}
    assert said.left == {}


def pairs(moves: Sequence[Move]) -> Counter[tuple[int, int]]:
    """Copies by leader and receiver; the leader stands first in these tests."""
    return Counter((m.before[0], b) for m in moves for b in m.added)


def test_a_pair_of_brokers_carries_no_more_than_its_share_where_all_come_from_one_leader() -> None:
    parts = [a_partition(f"orders-{n}", TOGETHER) for n in range(20)]
    said = corrections(look(*parts), found(*parts), EVERYBODY, ROOM)
    assert pairs(said.moves) == {(1000, 1002): MOST_A_PAIR, (1000, 1005): MOST_A_BROKER - MOST_A_PAIR}
    alone = corrections(look(*parts), found(*parts), EVERYBODY, {b: r for b, r in ROOM.items() if b != 1005})
    assert pairs(alone.moves) == {(1000, 1002): MOST_A_PAIR}, "the rest has its turn in the next batch"


def test_what_leaders_give_is_dealt_out_over_the_links_and_not_pair_by_pair() -> None:
    """Two leaders in turn, two receivers in turn: by arrivals alone each leader would always meet the same receiver."""
    parts = [a_partition(f"orders-{n}", ((1000, 1003, 1001), (1003, 1000, 1004))[n % 2]) for n in range(8)]
    said = corrections(look(*parts), found(*parts), EVERYBODY, ROOM)
    carried = pairs(said.moves)
    assert len(said.moves) == 8
    assert len(carried) == 4, carried
    assert set(carried.values()) == {2}, carried


def test_a_batch_ends_at_its_bytes_but_a_single_log_goes_whatever_its_size() -> None:
    parts = [a_partition(f"orders-{n}", TOGETHER, size_bytes=700) for n in range(3)]
    kafka = look(*parts)
    bad = found(*parts)
    assert len(corrections(kafka, bad, EVERYBODY, ROOM, most_bytes=1500).moves) == 2
    assert len(corrections(kafka, bad, EVERYBODY, ROOM, most_bytes=10).moves) == 1


def test_a_move_that_is_refused_is_left_with_the_reason() -> None:
    part = a_partition("orders-0", TOGETHER)
    said = corrections(look(part), found(part), EVERYBODY, ROOM, refusal=lambda p, after: f"{p.name}: not now")
    assert (said.moves, said.left) == ((), {part.name: "orders-0: not now"})


@pytest.mark.parametrize(
    ("replicas", "policy", "words"),
    [
        ((1000, 1001), TopicPolicy(replicas=3), "orders-0 gets 2 of 3 replicas"),
        ((1000,), TopicPolicy(), "orders-0 gets 1 replicas, fewer than its min ISR of 2"),
        ((1000, 1003, 1001), TopicPolicy(), "in zone a, 1 of 3 zones hold none"),
        ((1000, 1001, 9), TopicPolicy("none"), "1 of 3 replicas on broker 9, which nobody has"),
    ],
)
def test_any_list_can_be_judged_whoever_thought_of_it(
    replicas: tuple[int, ...], policy: TopicPolicy, words: str
) -> None:
    broken = judged(a_partition("orders-0"), replicas, EVERYBODY, policy)
    assert any(words in d.words for d in broken), broken
    assert judged(a_partition("orders-0"), (1000, 1001, 1002), EVERYBODY, policy) == ()
