"""The judge rule by rule: exactly what is wrong with a move or a disk is said, and at the very limit nothing is."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from planner.drain.check import DrainViolation, check
from planner.drain.plan import DrainPlan
from planner.drain.solve import solve
from planner.observed import BrokerSeen, KafkaSnapshot
from tests.unit.planner.drain.drain_cases import MIB, partition, request, scale_down, snapshot
from tests.unit.planner.drain.rule_cases import jbod, of_kind, planned, with_move, with_partition, wrong

# --- whose plan it is -------------------------------------------------------------------------------------------------


def test_a_plan_of_another_cluster_drain_or_round_is_named_as_such() -> None:
    plan, seen, asked = planned()
    assert wrong(replace(plan, cluster_uid="u2"), seen, asked) == ["identity plan: cluster_uid is 'u2', asked for 'u1'"]
    assert wrong(replace(plan, drain_id="d2"), seen, asked) == ["identity plan: drain_id is 'd2', asked for 'd1'"]
    assert wrong(replace(plan, round=2), seen, asked) == ["identity plan: round is 2, asked for 1"]


def test_a_partition_moved_twice_is_told_once_with_its_count() -> None:
    plan, seen, asked = planned()
    twice = replace(plan, moves=(*plan.moves, plan.moves[-1]), checkpoints=(13,))
    assert "orders-0: moved 2 times in one plan" in of_kind("shape", twice, seen, asked)


# --- each move --------------------------------------------------------------------------------------------------------


def test_a_partition_that_is_gone_moving_or_elsewhere_by_now_is_stale() -> None:
    plan, seen, asked = planned()
    gone = replace(seen, partitions=seen.partitions[:-1])
    assert of_kind("stale", plan, gone, asked) == ["orders-11: no such partition in the newest metadata"]
    moving = with_partition(seen, 11, replicas=(1002, 1000, 1001, 1003), adding=(1003,), removing=(1000,))
    assert of_kind("stale", plan, moving, asked) == ["orders-11: is being reassigned to [1002, 1001, 1003]"]
    turned = with_partition(seen, 11, replicas=(1000, 1001, 1002))
    assert of_kind("stale", plan, turned, asked) == [
        "orders-11: replicas are [1000, 1001, 1002], planned from [1002, 1000, 1001]"
    ]


def test_as_many_replicas_as_before_and_none_twice() -> None:
    plan, seen, asked = planned()
    fewer = with_move(plan, after=(1002, 1003))
    assert of_kind("shape", fewer, seen, asked) == ["orders-11: 3 replicas before, 2 after"]
    doubled = with_move(plan, after=(1003, 1003, 1001))
    assert of_kind("shape", doubled, seen, asked) == ["orders-11: a broker twice in [1003, 1003, 1001]"]
    assert of_kind("shape", with_move(plan, after=plan.moves[0].before), seen, asked) == ["orders-11: moves nothing"]


def test_who_is_not_leaving_keeps_its_replica_and_who_leaves_gets_none() -> None:
    plan, seen, asked = planned()
    robbed = with_move(plan, after=(1003, 1000, 1001))
    assert of_kind("stays", robbed, seen, asked) == ["orders-11: broker 1002 is not outgoing but loses its replica"]
    assert of_kind("target", robbed, seen, asked) == [
        "orders-11: broker 1000 is outgoing and may not hold a replica after"
    ]


def test_only_targets_that_live_receive() -> None:
    plan, seen, asked = planned()
    strange = with_move(plan, after=(1002, 4242, 1001))
    assert of_kind("target", strange, seen, asked) == [
        "orders-11: broker 4242 is not among the targets",
        "orders-11: broker 1000 is succeeded by 1003, which gets no replica",
    ]
    fenced = replace(seen, brokers={**seen.brokers, 1003: replace(seen.brokers[1003], fenced=True)})
    assert len(of_kind("target", plan, fenced, asked)) == 12
    assert "orders-11: broker 1003 is fenced or not registered" in of_kind("target", plan, fenced, asked)


def rules(
    replicas: tuple[int, ...], after: tuple[int, ...], racks: Mapping[int, str], successors: Mapping[int, int]
) -> list[str]:
    """What is wrong with this one move's targets. Broker 1 leaves; all others are targets."""
    row = partition("t", 0, replicas)
    seen = snapshot(dict(racks), [row])
    targets = tuple(b for b in racks if b != 1)
    free = request(seen, outgoing=(1,), targets=targets)
    plan = solve(free)
    assert isinstance(plan, DrainPlan)
    asked = request(seen, outgoing=(1,), targets=targets, successors=dict(successors))
    forged = with_move(plan, after=after, bytes=row.size_bytes)
    return of_kind("target", forged, seen, asked)


def test_a_successor_gets_what_its_predecessor_had() -> None:
    racks = {1: "a", 2: "b", 3: "a", 4: "a"}
    passed_over = ["t-0: broker 1 is succeeded by 4, which gets no replica"]
    assert rules((1, 2), (3, 2), racks, {1: 4}) == passed_over
    assert rules((1, 2), (4, 2), racks, {1: 4}) == []


def test_a_successor_that_had_a_replica_already_takes_no_second_one() -> None:
    assert rules((1, 4), (3, 4), {1: "a", 2: "b", 3: "a", 4: "b"}, {1: 4}) == []


def test_a_successor_in_a_rack_that_holds_a_replica_already_may_be_passed_over_and_in_a_free_one_not() -> None:
    assert rules((1, 2), (3, 2), {1: "a", 2: "b", 3: "a", 4: "b"}, {1: 4}) == []
    passed_over = ["t-0: broker 1 is succeeded by 4, which gets no replica"]
    assert rules((1, 2), (3, 2), {1: "a", 2: "b", 3: "a", 4: "c"}, {1: 4}) == passed_over
    both_in_one = {1: "b", 2: "b", 3: "a", 4: "b"}
    assert rules((1, 2), (3, 2), both_in_one, {1: 4}) == passed_over, "it loses no rack by the successor"


def test_where_one_of_two_successors_had_a_replica_already_neither_is_asked_for() -> None:
    seen = snapshot(dict.fromkeys((1, 2, 3, 4, 5, 6), "a"), [partition("t", 0, (1, 2, 4))])
    free = request(seen, outgoing=(1, 2), targets=(3, 4, 5, 6))
    plan, _, _ = planned((seen, free))
    asked = request(seen, outgoing=(1, 2), targets=(3, 4, 5, 6), successors={1: 4, 2: 5})
    assert of_kind("target", with_move(plan, after=(3, 6, 4)), seen, asked) == []


def test_a_copy_is_read_from_a_live_replica_in_sync() -> None:
    plan, seen, asked = planned()
    lagging = with_partition(seen, 11, isr=(1000, 1001))
    assert of_kind("source", plan, lagging, asked) == ["orders-11: is read from broker 1002, ISR [1000, 1001]"]
    dead = replace(seen, brokers={**seen.brokers, 1002: replace(seen.brokers[1002], fenced=True)})
    assert of_kind("source", plan, dead, asked) == [
        f"orders-{n}: is read from broker 1002, ISR [1002, 1000, 1001]" for n in (11, 8, 5, 2)
    ]
    assert of_kind("source", with_move(plan, source=None), lagging, asked) == []
    gone = replace(seen, partitions=seen.partitions[:-1])
    assert of_kind("source", plan, gone, asked) == []


def test_no_rack_is_given_up_that_a_staying_broker_is_in() -> None:
    racks = {1: "a", 2: "b", 3: "a", 4: "b"}
    seen = snapshot(racks, [partition("t", 0, (1, 2))])
    plan, _, asked = planned((seen, request(seen, outgoing=(1,), targets=(3, 4))))
    assert set(plan.moves[0].after) == {3, 2}
    assert of_kind("rack", with_move(plan, after=(4, 2)), seen, asked) == [
        "t-0: spans racks ['a', 'b'] now, only ['b'] after"
    ]


def test_a_rack_that_leaves_with_its_last_broker_is_no_longer_asked_for() -> None:
    seen = snapshot({1: "a", 2: "b", 4: "b"}, [partition("t", 0, (1, 2))])
    plan, _, asked = planned((seen, request(seen, outgoing=(1,), targets=(4,))))
    assert set(plan.moves[0].after) == {4, 2}
    unknown = replace(seen, brokers={**seen.brokers, 9: BrokerSeen(9, "c", False, "h9", 9092)})
    assert of_kind("rack", plan, unknown, asked) == ["t-0: spans racks ['a', 'b'] now, only ['b'] after"]


# --- disks ------------------------------------------------------------------------------------------------------------


def with_disk(seen: KafkaSnapshot, broker: int, **changes: Any) -> KafkaSnapshot:
    return replace(seen, log_dirs={**seen.log_dirs, broker: replace(seen.log_dirs[broker], **changes)})


def test_a_disk_takes_what_is_allowed_and_not_a_byte_more() -> None:
    plan, seen, asked = planned()
    copied, total = 66 * MIB, 100 * MIB
    free = total - (int(total * 0.9) - copied)
    fits = with_disk(seen, 1003, total_bytes=total, usable_bytes=free)
    assert of_kind("disk", plan, fits, asked) == []
    full = with_disk(seen, 1003, total_bytes=total, usable_bytes=free - 1)
    assert of_kind("disk", plan, full, asked) == [
        f"broker 1003: would hold {int(total * 0.9) + 1} bytes of {int(total * 0.9)} allowed"
    ]


def test_what_others_are_copying_there_already_takes_room_too() -> None:
    plan, seen, asked = planned()
    total = 100 * MIB
    tight = with_disk(seen, 1003, total_bytes=total, usable_bytes=total - (int(total * 0.9) - 66 * MIB))
    coming = partition("other", 0, (1001, 1003), size=MIB, adding=(1003,), isr=(1001,))
    assert of_kind("disk", plan, replace(tight, partitions=(*tight.partitions, coming)), asked) == [
        f"broker 1003: would hold {int(total * 0.9) + MIB} bytes of {int(total * 0.9)} allowed"
    ]


def test_a_log_that_grew_counts_as_it_is_now_and_one_that_is_gone_as_it_was() -> None:
    plan, seen, asked = planned()
    total = 100 * MIB
    tight = with_disk(seen, 1003, total_bytes=total, usable_bytes=total - (int(total * 0.9) - 66 * MIB))
    grown = with_partition(tight, 3, size_bytes=4 * MIB)
    assert of_kind("disk", plan, grown, asked) == [
        f"broker 1003: would hold {int(total * 0.9) + MIB} bytes of {int(total * 0.9)} allowed"
    ]
    gone = replace(tight, partitions=tight.partitions[:-1])
    assert of_kind("disk", plan, gone, asked) == []


@pytest.mark.parametrize("total_bytes", [0, None])
def test_a_disk_nobody_knows_takes_nothing(total_bytes: int | None) -> None:
    plan, seen, asked = planned()
    dirs = {b: d for b, d in seen.log_dirs.items() if b != 1003}
    if total_bytes is not None:
        dirs[1003] = replace(seen.log_dirs[1003], total_bytes=total_bytes)
    unknown = replace(seen, log_dirs=dirs)
    assert of_kind("disk", plan, unknown, asked) == ["broker 1003: its disk is unknown"]


def test_a_disk_of_one_byte_is_known_and_full() -> None:
    plan, seen, asked = planned()
    (told,) = of_kind("disk", plan, with_disk(seen, 1003, total_bytes=1, usable_bytes=1), asked)
    assert told.endswith("bytes of 0 allowed")


def test_an_unknown_disk_hides_no_full_one_after_it() -> None:
    plan, seen, asked = planned(scale_down())
    first = with_disk(with_disk(seen, 1000, total_bytes=0), 1001, usable_bytes=0)
    told = of_kind("disk", plan, first, asked)
    assert told[0] == "broker 1000: its disk is unknown"
    assert told[1].startswith("broker 1001: would hold")
    assert len(told) == 2


def test_a_full_disk_that_gets_empty_logs_only_is_no_matter() -> None:
    rows = [partition("t", n, (1, 2), size=0) for n in range(3)]
    seen = snapshot({1: "a", 2: "b", 3: "a"}, rows)
    plan, _, asked = planned((seen, request(seen, outgoing=(1,), targets=(3,))))
    assert of_kind("disk", plan, with_disk(seen, 3, usable_bytes=0), asked) == []


# --- log directories --------------------------------------------------------------------------------------------------


def test_each_copy_has_a_directory_or_none_has() -> None:
    plan, seen, asked = jbod()
    assert plan.moves[0].log_dirs == ("/b",)
    assert of_kind("log-dir", with_move(plan, log_dirs=()), seen, asked) == []
    assert of_kind("log-dir", with_move(plan, log_dirs=("",)), seen, asked) == []
    assert of_kind("log-dir", with_move(plan, log_dirs=("/b", "/b")), seen, asked) == ["t-0: 2 log dirs for 1 copies"]
    both = replace(plan, moves=tuple(replace(m, log_dirs=("/a", "/b")) for m in plan.moves))
    assert len(of_kind("log-dir", both, seen, asked)) == 2
    assert of_kind("log-dir", with_move(plan, log_dirs=("/c",)), seen, asked) == ["t-0: broker 1001 has no log dir /c"]


def test_a_directory_takes_what_is_allowed_and_not_a_byte_more() -> None:
    plan, seen, asked = jbod()
    limit = int(1000 * MIB * 0.9)

    def left(usable_bytes: int) -> KafkaSnapshot:
        (a, b) = seen.log_dirs[1001].dirs
        return with_disk(seen, 1001, dirs=(a, replace(b, usable_bytes=usable_bytes)))

    fits = 1000 * MIB - (limit - 500 * MIB)
    assert of_kind("disk", plan, left(fits), asked) == []
    full = [f"broker 1001 log dir /b: would hold {limit + 1} bytes of {limit} allowed"]
    assert of_kind("disk", plan, left(fits - 1), asked) == full


def test_what_is_on_its_way_takes_room_where_it_is_held_and_in_each_where_that_is_unknown() -> None:
    plan, seen, asked = jbod()
    coming = partition("other", 0, (1000, 1001), size=300 * MIB, adding=(1001,), isr=(1000,))
    more = replace(seen, partitions=(*seen.partitions, coming))
    limit = int(1000 * MIB * 0.9)
    in_a = f"broker 1001 log dir /a: would hold {(600 + 200 + 300) * MIB} bytes of {limit} allowed"
    assert of_kind("disk", plan, more, asked) == [in_a], "in /b there is room for it"
    (a, b) = seen.log_dirs[1001].dirs
    held_in_b = with_disk(more, 1001, dirs=(a, replace(b, replicas=frozenset({coming.name}))))
    assert of_kind("disk", plan, held_in_b, asked) == []
    held_in_a = with_disk(more, 1001, dirs=(replace(a, replicas=frozenset({coming.name})), b))
    assert of_kind("disk", plan, held_in_a, asked) == [in_a]


def test_what_is_on_its_way_to_a_broker_without_directories_takes_room_in_none() -> None:
    plan, seen, asked = jbod()
    coming = partition("other", 0, (1000, 7), size=300 * MIB, adding=(7,), isr=(1000,))
    assert check(plan, replace(seen, partitions=(*seen.partitions, coming)), asked) == ()


def test_a_violation_says_its_kind_subject_and_message() -> None:
    plan, seen, asked = planned()
    (found,) = check(replace(plan, round=2), seen, asked)
    assert found == DrainViolation("identity", "plan", "round is 2, asked for 1")
