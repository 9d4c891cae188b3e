"""Moves between the disks of a broker: what is refused, two at a time under a throttle, and how it ends."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controlplane.cluster.commands import CancelDiskMoves, CommandRefused, MoveBetweenDisks
from controlplane.cluster.folds.anomalies import RULES
from controlplane.cluster.latency_brake import batch_of
from controlplane.cluster.observed.broker_loads import LoadsSeen, LoadWatch
from controlplane.cluster.observed.traffic import Traffic
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.latency_brake import LatencyBrakeView
from controlplane.commands.deciders.decision import CommandDecision
from controlplane.commands.deciders.disks import disk_moves_asked, disk_moves_cancelled
from controlplane.commands.deciders.lookups import NOTHING, Lookups
from controlplane.converger.situation.decision import Decision
from controlplane.converger.situation.effects import PreferLogDirs, SetLogDirsThrottle
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.moves.disks import AT_ONCE, disk_moves_step
from controlplane.converger.steps.moves.latency_brake import with_brake
from events.facts import BrakeArmed, BrakeChanged
from events.node_facts import DiskMovesCancelRequested, DiskMovesEnded, DiskMovesRequested, DiskMovesThrottled
from planner.latency_brake import BrokerLoad
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


BUSY = BrokerLoad(at=NOW, produce_p99_ms=80.0, produce_mean_ms=30.0, disk_busy=0.99, disk_wait_ms=200.0)
WELL = BrokerLoad(at=NOW, produce_p99_ms=10.0, produce_mean_ms=2.0, disk_busy=0.1, disk_wait_ms=1.0)


def loads(load: BrokerLoad, **seen: Any) -> LoadsSeen:
    looks = tuple(replace(load, at=NOW - timedelta(seconds=s)) for s in range(180, -1, -5))
    return LoadsSeen(dict.fromkeys((1000, 1001, 1002), looks), since=NOW - timedelta(minutes=9), **seen)


def braked(share: float, *happened: object) -> ClusterView:
    view = told(EMPTY, *happened)
    brake = LatencyBrakeView(batch_of(view), share, NOW - timedelta(hours=1), before={1000: WELL})
    return replace(view, moves=replace(view.moves, brake=brake))


def moving(view: ClusterView, rate: int, seen: LoadsSeen | None = None, **more: Any) -> Situation:
    kafka = look(arriving=(1, 2), rates={1000: rate})
    traffic = more.pop("traffic", Traffic({tp(n): 0.0 for n in range(4)}, at=NOW, over_s=30))
    return a_situation(view, kafka=kafka, loads=seen or loads(WELL), traffic=traffic)


def test_what_brokers_told_before_the_first_move_between_disks_is_recorded_once() -> None:
    view = told(EMPTY)
    quiet = a_situation(view, kafka=look(), loads=loads(WELL, at_rest={1000: WELL}))
    (armed,) = with_brake(quiet, stepped(view, look())).events
    assert isinstance(armed, BrakeArmed)
    assert (armed.batch, armed.share) == (batch_of(view), 1.0)
    assert armed.before["1000"]["disk_wait_ms"] == 1.0


def test_the_brake_is_pressed_by_the_figures_of_the_broker_whose_disks_they_are() -> None:
    situation = moving(braked(1.0), RATE, loads(BUSY))
    decision = disk_moves_step(situation)
    assert decision is not None
    (pressed,) = with_brake(situation, decision).events
    assert isinstance(pressed, BrakeChanged)
    assert (pressed.share, pressed.broker, pressed.planned_bytes_per_s) == (0.5, 1000, RATE)


def test_a_share_of_the_rate_is_recorded_and_then_set() -> None:
    view = braked(0.5)
    (slower,) = (disk_moves_step(moving(view, RATE)) or pytest.fail("nothing")).events
    assert slower == DiskMovesThrottled(1000, RATE // 2, "50% of 47.7 MiB/s, which clients leave them")
    noted = braked(0.5, slower)
    decision = disk_moves_step(moving(noted, RATE))
    assert decision is not None
    assert decision.effects == (SetLogDirsThrottle({1000: RATE // 2}),)
    waits = disk_moves_step(moving(noted, RATE // 2))
    assert waits is not None
    assert waits.wait is not None
    assert "braked to 50% of the plan" in waits.sentence


def test_the_rate_comes_back_with_the_share_and_goes_at_the_end_whichever_is_in_force() -> None:
    slow = DiskMovesThrottled(1000, RATE // 2, "")
    back = disk_moves_step(moving(told(EMPTY, slow), RATE // 2))
    assert back is not None
    assert back.events == (DiskMovesThrottled(1000, RATE, "100% of 47.7 MiB/s, which clients leave them"),)
    for in_force in (RATE, RATE // 2):
        over = stepped(told(EMPTY, slow), look((0, 1, 2, 3), (), rates={1000: in_force}))
        assert over.effects == (SetLogDirsThrottle({1000: None}),)


def test_a_rate_that_somebody_set_is_not_touched() -> None:
    decision = disk_moves_step(moving(braked(0.5), 1234))
    assert decision is not None
    assert not decision.events
    assert not decision.effects


def test_moves_end_whatever_clients_feel() -> None:
    floor = 128 * 1024
    for written, least in ((0.0, floor), (1e6, floor + 3_000_000)):
        traffic = Traffic({tp(n): written for n in range(4)}, at=NOW, over_s=30)
        decision = disk_moves_step(moving(braked(0.001), RATE, traffic=traffic))
        assert decision is not None
        (slower,) = decision.events
        assert isinstance(slower, DiskMovesThrottled)
        assert slower.bytes_per_s == least
    unknown = disk_moves_step(moving(braked(0.5), RATE, traffic=Traffic({}, at=NOW, over_s=30)))
    assert unknown is not None
    assert not unknown.events, "what is written is not known: the rate stays"


def test_figures_of_before_are_those_of_when_nothing_moved_between_disks_either() -> None:
    assert look(arriving=(1,)).between_dirs == {1000: frozenset({tp(1)})}
    watch, view = LoadWatch(), a_view()
    assert watch.see(view, look(), {}, NOW).at_rest.keys() == {b.service_id for b in view.brokers()}
    moved = watch.see(view, look(arriving=(1,)), {}, NOW + timedelta(minutes=6))
    assert not moved.at_rest
    assert moved.moved_at == NOW + timedelta(minutes=6)
