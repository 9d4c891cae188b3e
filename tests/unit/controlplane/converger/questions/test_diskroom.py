"""Room on the targets of a plan, judged on fresh figures."""

from dataclasses import replace
from typing import Any

import pytest

from controlplane.converger.questions.disk_room import overfull_disk, untold_disks
from controlplane.converger.situation.decision import Decision
from controlplane.converger.steps.rolls.drains import drain_step
from events import facts
from events.quantities import MIB
from planner.observed import KafkaSnapshot, LogDirSeen, LogDirsSeen
from tests.builders import a_drain, a_move, a_partition, a_plan, a_situation, a_snapshot, a_view, an_instance

ONE, TWO = a_move("orders-0"), a_move("orders-1")
PLAN = a_plan([ONE], [TWO])


def _disk(used_mib: int, total_mib: int = 1000) -> LogDirsSeen:
    return LogDirsSeen(0, used_mib * MIB, total_mib * MIB, (total_mib - used_mib) * MIB)


def _kafka(disk: LogDirsSeen | None, *, size_mib: int = 100, **moved: Any) -> KafkaSnapshot:
    parts = [a_partition(name, size_bytes=size_mib * MIB, **moved.get(name, {})) for name in ("orders-0", "orders-1")]
    seen = a_snapshot(*parts, brokers=(1000, 1001, 1002, 1010))
    others = {b: _disk(0) for b in (1000, 1001, 1002)}
    dirs = others if disk is None else {**others, 1010: disk}
    return a_snapshot(*parts, brokers=tuple(seen.brokers), log_dirs=dirs)


@pytest.mark.parametrize(("used_mib", "fits"), [(0, True), (700, True), (701, False), (1000, False)])
def test_all_that_is_still_to_come_has_to_fit_below_the_limit(used_mib: int, fits: bool) -> None:
    assert (overfull_disk(_kafka(_disk(used_mib)), [ONE, TWO]) == "") is fits


def test_what_does_not_fit_is_told_with_the_numbers() -> None:
    told = "broker 1010 has 750 of 1000 MiB in use and would get 200 MiB more; 900 MiB (90%) are allowed"
    assert overfull_disk(_kafka(_disk(750)), [ONE, TWO]) == told


def test_what_others_copy_there_takes_room_too() -> None:
    foreign = {"replicas": (1010, 1001, 1002, 1000), "adding": (1010,), "removing": (1000,)}
    kafka = _kafka(_disk(650), size_mib=150, **{"orders-1": foreign})
    assert "would get 300 MiB more" in overfull_disk(kafka, [ONE])


def test_partitions_that_grew_since_the_plan_count_as_they_are_now() -> None:
    assert overfull_disk(_kafka(_disk(0), size_mib=400), [ONE, TWO]) == ""
    assert "would get 1000 MiB more" in overfull_disk(_kafka(_disk(0), size_mib=500), [ONE, TWO])


@pytest.mark.parametrize("disk", [None, LogDirsSeen(0, 0, 0, 0)], ids=["silent", "without a size"])
def test_a_disk_nobody_told_of_is_unknown(disk: LogDirsSeen | None) -> None:
    assert untold_disks(_kafka(disk), [ONE]) == [1010]
    assert untold_disks(_kafka(_disk(1)), [ONE]) == []


# --- directory by directory -------------------------------------------------------------------------------------------


def _two_dirs(used_mib: int, **replicas: frozenset[Any]) -> LogDirsSeen:
    """/a as full as that, /b empty, 1000 MiB each."""
    dirs = tuple(
        LogDirSeen(f"/{name}", used * MIB, 1000 * MIB, (1000 - used) * MIB, replicas.get(name, frozenset()))
        for name, used in (("a", used_mib), ("b", 0))
    )
    return replace(_disk(used_mib, 2000), dirs=dirs)


IN_A = [replace(m, log_dirs=("/a",)) for m in (ONE, TWO)]


@pytest.mark.parametrize(("used_mib", "fits"), [(700, True), (701, False)])
def test_each_directory_has_to_stay_below_the_limit(used_mib: int, fits: bool) -> None:
    assert (overfull_disk(_kafka(_two_dirs(used_mib)), IN_A) == "") is fits
    assert overfull_disk(_kafka(_two_dirs(used_mib)), [ONE, TWO]) == ""


def test_a_full_directory_is_told_with_the_numbers() -> None:
    told = "/a of broker 1010 has 750 of 1000 MiB in use and would get 200 MiB more; 900 MiB (90%) are allowed"
    assert overfull_disk(_kafka(_two_dirs(750)), IN_A) == told


def test_a_directory_that_is_gone_is_told() -> None:
    gone = replace(ONE, log_dirs=("/c",))
    assert overfull_disk(_kafka(_two_dirs(0)), [gone]) == "broker 1010 has no log directory /c"


def test_what_others_copy_takes_room_in_the_directory_it_is_in_or_in_each() -> None:
    foreign = {"replicas": (1010, 1001, 1002, 1000), "adding": (1010,), "removing": (1000,)}
    moves = [replace(ONE, log_dirs=("/a",))]
    nowhere = _kafka(_two_dirs(650), size_mib=150, **{"orders-1": foreign})
    assert "/a of broker 1010" in overfull_disk(nowhere, moves)
    in_b = _kafka(_two_dirs(650, b=frozenset({TWO.name})), size_mib=150, **{"orders-1": foreign})
    assert overfull_disk(in_b, moves) == ""
    half = {**foreign, "arrived_bytes": (100 * MIB,)}
    assert overfull_disk(_kafka(_two_dirs(700), size_mib=150, **{"orders-1": half}), moves) == ""


# --- what the drain makes of it ---------------------------------------------------------------------------------------


def _step(kafka: KafkaSnapshot, **drain: Any) -> Decision:
    successor = an_instance("brokers-a-0", 2, service_id=1010)
    view = a_view(successor, drain=a_drain(**drain))
    decision = drain_step(a_situation(view, kafka=kafka, plan=PLAN, plan_sha256="sha"))
    assert decision is not None
    return decision


def test_the_first_batch_begins_where_there_is_room() -> None:
    assert [type(e) for e in _step(_kafka(_disk(0)), batch=-1).events] == [facts.BatchStarted]


def test_a_disk_fuller_than_foreseen_has_the_drain_planned_again_before_the_first_batch() -> None:
    decision = _step(_kafka(_disk(750)), batch=-1)
    assert not decision.effects
    (failed,) = decision.events
    assert isinstance(failed, facts.DrainPlanFailed)
    assert not failed.infeasible
    assert "broker 1010 has 750 of 1000 MiB in use" in failed.reason


def test_a_disk_that_filled_up_since_is_noticed_before_the_next_batch() -> None:
    done = {"orders-0": {"replicas": ONE.after, "isr": ONE.after}}
    assert isinstance(_step(_kafka(_disk(900), **done), batch=0).events[0], facts.DrainPlanFailed)
    assert isinstance(_step(_kafka(_disk(100), **done), batch=0).events[0], facts.BatchStarted)


def test_nothing_is_sent_to_a_disk_nobody_told_of() -> None:
    decision = _step(_kafka(None), batch=-1)
    assert (decision.events, decision.effects) == ((), ())
    assert decision.wait is not None
    assert decision.wait.reason == "KafkaUnknown"
    assert "broker 1010 has not told" in decision.sentence
