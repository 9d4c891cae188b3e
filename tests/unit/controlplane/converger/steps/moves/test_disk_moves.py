"""Moves between the disks of a broker: what is refused, two at a time under a throttle, and how it ends."""

from dataclasses import replace
from typing import Any

import pytest

from controlplane.cluster.commands import CancelDiskMoves, CommandRefused, MoveBetweenDisks
from controlplane.cluster.folds.anomalies import RULES
from controlplane.cluster.view import ClusterView
from controlplane.commands.deciders.decision import CommandDecision
from controlplane.commands.deciders.disks import disk_moves_asked, disk_moves_cancelled
from controlplane.commands.deciders.lookups import NOTHING, Lookups
from controlplane.converger.situation.decision import Decision
from controlplane.converger.situation.effects import PreferLogDirs, SetLogDirsThrottle
from controlplane.converger.steps.moves.disks import AT_ONCE, disk_moves_step
from events.node_facts import DiskMovesCancelRequested, DiskMovesEnded, DiskMovesRequested
from planner.observed import FailedDirsSeen, KafkaSnapshot, LogDirSeen, LogDirsSeen, ThrottlesSeen, TopicPartition
from tests.builders import NOW, a_partition, a_situation, a_view
from tests.unit.controlplane.converger.steps.moves.test_placements import a_look

GIB = 1024**3
ONE, TWO = "/volumes/data/kafka", "/volumes/data2/kafka"
RATE = 50_000_000
EMPTY = DiskMovesRequested(1000, TWO, "asked by anna: it is to go", RATE)
EVEN = DiskMovesRequested(1000, "", "asked by anna", RATE)


def tp(number: int) -> TopicPartition:
    return TopicPartition("orders", number)


def look(
    one: tuple[int, ...] = (0,),
    two: tuple[int, ...] = (1, 2, 3),
    *,
    arriving: tuple[int, ...] = (),
    rates: dict[int, int] | None = None,
    total: int = 100,
) -> KafkaSnapshot:
    """Broker 1000 with two directories and logs of 10 GiB; `arriving` in the first one."""
    parts = [a_partition(f"orders-{n}", (1000, 1001, 1002), size_bytes=10 * GIB) for n in range(4)]
    dirs = tuple(
        LogDirSeen(
            path, len(logs) * 10 * GIB, total * GIB, (total - len(logs) * 10) * GIB, frozenset(map(tp, logs)), coming
        )
        for path, logs, coming in ((ONE, one, {tp(n): GIB for n in arriving}), (TWO, two, {}))
    )
    kafka = a_look(*parts)
    both = LogDirsSeen(4, 40 * GIB, 2 * total * GIB, (2 * total - 40) * GIB, dirs)
    seen = {**kafka.log_dirs, 1000: both}
    return replace(kafka, log_dirs=seen, throttles=ThrottlesSeen(log_dirs_rate=rates or {}))


def told(*happened: object) -> ClusterView:
    view = a_view()
    for fact in happened:
        view = RULES[type(fact)](view, fact, NOW)
    return view


def stepped(view: ClusterView, kafka: KafkaSnapshot) -> Decision:
    decision = disk_moves_step(a_situation(view, kafka=kafka))
    assert decision is not None
    return decision


def asked(disk: str = "data2", *, broker: int = 1000, view: ClusterView | None = None, **of: Any) -> CommandDecision:
    command = MoveBetweenDisks(
        name="orders", actor="person:anna", command_id="c1", reason="it is to go", broker=broker, disk=disk
    )
    kafka = of.get("kafka", look())
    return disk_moves_asked(view or a_view(), command, Lookups(kafka=kafka) if kafka is not None else NOTHING)


def test_a_disk_is_named_by_its_path_or_its_volume_and_told_with_what_moves() -> None:
    for name in ("data2", TWO):
        decision = asked(name)
        assert isinstance(decision.fact, DiskMovesRequested)
        assert (decision.fact.broker, decision.fact.path) == (1000, TWO)
        assert decision.fact.bytes_per_s > 0
    assert decision.sentence.startswith(
        f"broker 1000 empties {TWO} onto its other log directories: 3 replicas, 30.0 GiB, two at a time, at most "
    )
    assert asked(view=told(EMPTY)).fact is None, "in hand already"
    assert asked(kafka=look((0, 1, 2, 3), ())).fact is None, "it holds nothing"


def test_evening_out_is_told_with_what_moves() -> None:
    decision = asked("")
    assert isinstance(decision.fact, DiskMovesRequested)
    assert decision.fact.path == ""
    assert "broker 1000 evens out its 2 disks: 1 replica, 10.0 GiB" in decision.sentence
    assert asked("", kafka=look((0, 1), (2, 3))).fact is None


@pytest.mark.parametrize(
    ("disk", "broker", "kafka", "code"),
    [
        ("data3", 1000, look(), "no-disk"),
        ("data2", 9, look(), "no-broker"),
        ("data2", 1000, None, "kafka-unknown"),
        ("data2", 1001, look(), "log-dirs-unknown"),
        ("data2", 1000, look(total=40), "no-room"),
        ("data2", 1000, replace(look(), failed_dirs={1000: FailedDirsSeen((TWO,), 1, 5)}), "log-dir-offline"),
    ],
)
def test_what_cannot_be_is_refused(disk: str, broker: int, kafka: KafkaSnapshot | None, code: str) -> None:
    with pytest.raises(CommandRefused) as refused:
        asked(disk, broker=broker, kafka=kafka)
    assert refused.value.code == code


def test_a_broker_with_one_directory_is_refused() -> None:
    kafka = look()
    alone = replace(kafka.log_dirs[1000], dirs=kafka.log_dirs[1000].dirs[:1])
    with pytest.raises(CommandRefused, match="has one log directory"):
        asked(kafka=replace(kafka, log_dirs={**kafka.log_dirs, 1000: alone}))


def test_two_begin_under_a_throttle_and_the_next_as_they_end() -> None:
    view = told(EMPTY)
    first = stepped(view, look())
    throttle, move = first.effects
    assert throttle == SetLogDirsThrottle({1000: RATE})
    assert isinstance(move, PreferLogDirs)
    assert dict(move.wishes[1000]) == {tp(1): ONE, tp(2): ONE}
    assert len(move.wishes[1000]) == AT_ONCE
    assert stepped(view, look()) == first, "after a crash the same"
    busy = stepped(view, look(arriving=(1, 2), rates={1000: RATE}))
    assert not busy.effects
    assert "3 replicas with 30.0 GiB left: 2 on their way" in busy.sentence
    third = stepped(view, look((0, 1), (2, 3), arriving=(2,), rates={1000: RATE}))
    assert third.effects == (PreferLogDirs({1000: {tp(3): ONE}}),)


def test_the_throttle_goes_before_it_ends() -> None:
    view = told(EMPTY)
    over = stepped(view, look((0, 1, 2, 3), (), rates={1000: RATE}))
    assert over.effects == (SetLogDirsThrottle({1000: None}),)
    ended = stepped(view, look((0, 1, 2, 3), ()))
    assert ended.events == (DiskMovesEnded(1000, f"{TWO} is empty"),)
    assert told(EMPTY, *ended.events).requests.disk_moves == {}


@pytest.mark.parametrize("rates", [{1000: 7}, {-1: 7}])
def test_a_throttle_of_somebody_else_is_left_alone(rates: dict[int, int]) -> None:
    (move,) = stepped(told(EMPTY), look(rates=rates)).effects
    assert isinstance(move, PreferLogDirs)
    assert stepped(told(EMPTY), look((0, 1, 2, 3), (), rates=rates)).events


def test_disks_are_evened_out_and_then_it_is_over() -> None:
    begun = stepped(told(EVEN), look())
    assert begun.effects[-1] == PreferLogDirs({1000: {tp(1): ONE}})
    assert stepped(told(EVEN), look((0, 1), (2, 3))).events == (DiskMovesEnded(1000, "its disks are even"),)


def test_a_person_ends_it_once_what_moves_has_ended() -> None:
    view = told(EMPTY, DiskMovesCancelRequested(1000, "asked by anna: enough"))
    assert not stepped(view, look(arriving=(1,))).events
    assert not stepped(view, look(arriving=(1,))).effects
    assert stepped(view, look()).events == (DiskMovesEnded(1000, "asked by anna: enough"),)


@pytest.mark.parametrize(
    ("kafka", "why"),
    [
        (look(total=40), "given up: "),
        (replace(look(), failed_dirs={1000: FailedDirsSeen((TWO,), 1, 5)}), f"given up: {TWO} is offline"),
    ],
)
def test_what_cannot_be_had_any_more_is_given_up(kafka: KafkaSnapshot, why: str) -> None:
    (fact,) = stepped(told(EMPTY), kafka).events
    assert isinstance(fact, DiskMovesEnded)
    assert fact.reason.startswith(why)


def test_a_broker_that_tells_nothing_is_waited_for_and_one_that_is_gone_is_not() -> None:
    silent = replace(look(), log_dirs={})
    waits = stepped(told(EMPTY), silent)
    assert waits.wait is not None
    assert "has not told of its log directories" in waits.sentence
    gone = stepped(told(replace(EMPTY, broker=77)), look())
    assert gone.events == (DiskMovesEnded(77, "the broker is gone"),)


def test_nothing_is_ended_that_nobody_asked_for() -> None:
    command = CancelDiskMoves(name="orders", actor="person:anna", command_id="c2", reason="enough", broker=1000)
    with pytest.raises(CommandRefused, match="no moves between disks of broker 1000"):
        disk_moves_cancelled(a_view(), command)
    assert disk_moves_cancelled(told(EMPTY), command).fact == DiskMovesCancelRequested(1000, "asked by anna: enough")
    ending = told(EMPTY, DiskMovesCancelRequested(1000, "x"))
    assert disk_moves_cancelled(ending, command).fact is None
