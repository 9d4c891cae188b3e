"""The drain in hand: planned, let go in the plan's order under throttle, seen through or put off."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.jobs import JobSeen
from controlplane.cluster.views.drains import DrainView
from controlplane.cluster.views.plans import PlanningView
from controlplane.cluster.views.running_settings import ReplaceView
from controlplane.converger.questions.rolls.plan_ahead import plan_job_id
from controlplane.converger.situation.decision import Decision
from controlplane.converger.situation.effects import CancelMoves, ClearThrottles, Reassign, SetThrottle, StartPlanning
from controlplane.converger.steps.rolls.drains import MAX_ROUNDS, drain_step
from events import facts
from planner.drain.plan import Deferred
from planner.observed import FailedDirsSeen, KafkaSnapshot, LogDirsSeen, PartitionSeen, ThrottlesSeen, TopicPartition
from tests.builders import (
    BEFORE,
    NOW,
    a_drain,
    a_move,
    a_partition,
    a_plan,
    a_situation,
    a_snapshot,
    a_view,
    an_instance,
)
from tests.unit.controlplane.converger.steps.rolls.drain_cases import (
    AT_HOME,
    LIVE,
    ONE,
    OTHER,
    PLAN,
    TWO,
    UNPLANNED,
    drain_decision,
    moved,
    moving,
    reason_of,
)


def test_without_a_drain_there_is_nothing_to_do() -> None:
    assert drain_step(a_situation(a_view())) is None


@pytest.mark.parametrize("kafka", [None, a_snapshot(at=NOW - timedelta(seconds=31))], ids=["unknown", "stale"])
def test_nothing_moves_on_unknown_metadata(kafka: Any) -> None:
    decision = drain_decision(kafka=kafka)
    assert (decision.events, decision.effects, reason_of(decision)) == ((), (), "KafkaUnknown")


# --- planning ---------------------------------------------------------------------------------------------------------


def test_a_drain_without_a_plan_asks_for_one() -> None:
    assert drain_decision(drain=UNPLANNED, plan=None).effects == (StartPlanning(UNPLANNED, plan_job_id(UNPLANNED)),)


def test_a_plan_under_way_is_waited_for() -> None:
    decision = drain_decision(drain=UNPLANNED, jobs={plan_job_id(UNPLANNED): JobSeen("running")})
    assert (decision.effects, reason_of(decision)) == ((), "DrainPlanning")


def test_a_plan_that_came_is_recorded_with_its_certificate() -> None:
    result = {"sha256": "s", "engine": "spark", "moves": 3, "bytes": 9, "batches": 2, "certificate": {"moves": 3}}
    decision = drain_decision(drain=UNPLANNED, jobs={plan_job_id(UNPLANNED): JobSeen("succeeded", result=result)})
    assert decision.events == (facts.DrainPlanned("drain-1", "s", "spark", 3, 9, 2, {"moves": 3}),)


@pytest.mark.parametrize("retryable", [True, False])
def test_no_plan_is_recorded_with_its_reason(retryable: bool) -> None:
    job = JobSeen("failed", "Infeasible", "rack a is full", retryable)
    decision = drain_decision(drain=UNPLANNED, jobs={plan_job_id(UNPLANNED): job})
    assert decision.events == (facts.DrainPlanFailed("drain-1", "rack a is full", not retryable),)


@pytest.mark.parametrize(("seconds", "asks"), [(1, False), (2, True)])
def test_planning_again_backs_off(seconds: int, asks: bool) -> None:
    planning = PlanningView(failures=1, failed="rack a is full", failed_at=NOW - timedelta(seconds=seconds))
    failed = replace(UNPLANNED, planning=planning)
    decision = drain_decision(drain=failed)
    assert (bool(decision.effects), reason_of(decision)) == (asks, "" if asks else "DrainInfeasible")


def test_a_plan_that_cannot_be_read_is_made_again() -> None:
    decision = drain_decision(plan=None)
    assert [type(e) for e in decision.events] == [facts.DrainPlanFailed]


# --- moving -----------------------------------------------------------------------------------------------------------


def test_the_first_stretch_is_recorded_before_it_is_handed_over() -> None:
    decision = drain_decision(*AT_HOME, drain=a_drain(batch=-1))
    assert decision.events == (facts.BatchStarted("drain-1", 0, 2, 2000),)
    assert not decision.effects


def test_a_recorded_stretch_is_throttled_and_handed_over() -> None:
    throttle, reassign = drain_decision(*AT_HOME, plan=a_plan([ONE, OTHER, TWO])).effects
    assert isinstance(throttle, SetThrottle)
    assert reassign == Reassign({m.name: m.after for m in (ONE, OTHER, TWO)})


def test_entries_start_in_order_as_slots_come_free() -> None:
    plan = a_plan([ONE, OTHER, TWO], slots=1)
    big = replace(plan, moves=tuple(replace(m, bytes=10**6) for m in plan.moves))
    assert drain_decision(*AT_HOME, plan=big).effects[-1] == Reassign({ONE.name: ONE.after})
    running = drain_decision(moving("orders-0"), *AT_HOME[1:], plan=big)
    assert reason_of(running) == "DrainMoves"
    assert drain_decision(moved("orders-0"), *AT_HOME[1:], plan=big).effects[-1] == Reassign({OTHER.name: OTHER.after})


def test_only_open_moves_are_in_the_throttled_lists() -> None:
    """The rates are sized for them: a listed partition in sync is charged against the same quota."""
    throttle = drain_decision(moved("orders-0"), *AT_HOME[1:], plan=a_plan([ONE, OTHER])).effects[0]
    assert isinstance(throttle, SetThrottle)
    assert throttle.plan.topics == {"payments": (("0:1000", "0:1001", "0:1002"), ("0:1010",))}


def test_an_entry_of_the_same_topic_gets_a_throttle_of_its_own() -> None:
    """A snapshot shows which topics are throttled, not which partitions: the lists are set with every hand-over."""
    plan = a_plan([ONE], [TWO])
    first = drain_decision(AT_HOME[0], plan=plan).effects[0]
    assert isinstance(first, SetThrottle)
    later = drain_decision(
        moved("orders-0"), *AT_HOME[1:], plan=plan, drain=a_drain(batch=1), throttles=first.plan.seen
    )
    assert isinstance(later.effects[0], SetThrottle)
    assert later.effects[0].plan.topics == {"orders": (("1:1000", "1:1001", "1:1002"), ("1:1010",))}


def test_a_dead_broker_is_left_out_of_the_throttle() -> None:
    kafka = a_snapshot(*AT_HOME, brokers=(1000, 1001, 1010), fenced=(1002,))
    throttle = drain_decision(kafka=kafka, plan=a_plan([ONE])).effects[0]
    assert isinstance(throttle, SetThrottle)
    assert set(throttle.plan.leader_bytes_per_s) == {1000, 1001, 1010}


def test_running_moves_are_waited_for_and_their_throttle_is_kept() -> None:
    running = (moving("orders-0"), moving("payments-0"), moving("orders-1"))
    first = drain_decision(*running)
    assert reason_of(first) == "DrainMoves"
    assert isinstance(first.effects[0], SetThrottle)
    assert not drain_decision(*running, throttles=first.effects[0].plan.seen).effects


def test_a_tick_tells_bytes_left_rate_and_time() -> None:
    half = replace(moving("orders-0"), size_bytes=1000, arrived_bytes=(500,))
    drain = a_drain(moving_at=NOW - timedelta(seconds=10))
    decision = drain_decision(half, moved("payments-0"), moved("orders-1"), drain=drain)
    assert decision.sentence.endswith("2 of 3 moves done, 1 running, 500 B left at 250 B/s, about 2 s")


def test_the_next_stretch_begins_when_an_entry_of_it_has_a_free_slot() -> None:
    decision = drain_decision(moved("orders-0"), AT_HOME[1], moved("payments-0"))
    assert decision.events == (facts.BatchStarted("drain-1", 1, 1, 1000),)


def test_a_stretch_somebody_has_overtaken_is_left_out() -> None:
    plan = a_plan([ONE], [OTHER], [TWO])
    decision = drain_decision(moved("orders-0"), AT_HOME[1], moved("payments-0"), plan=plan)
    assert decision.events == (facts.BatchStarted("drain-1", 2, 1, 1000),)


def test_a_pause_stops_the_drain_at_the_checkpoint_and_what_is_open_ends() -> None:
    paused = {"paused": "lunch"}
    assert reason_of(drain_decision(moving("orders-0"), AT_HOME[1], moved("payments-0"), view=paused)) == "DrainMoves"
    stopped = drain_decision(moved("orders-0"), AT_HOME[1], moved("payments-0"), view=paused)
    assert (stopped.events, stopped.effects, reason_of(stopped)) == ((), (), "Paused")
    assert "stopped after 2 of 3 moves" in stopped.sentence


# --- the end of a round ----------------------------------------------------------------------------------------------

EMPTY = tuple(moved(n) for n in ("orders-0", "orders-1", "payments-0"))


def test_an_empty_broker_is_drained() -> None:
    decision = drain_decision(*EMPTY, drain=a_drain(batch=1))
    assert decision.events == (facts.NodeDrained("drain-1", ("brokers-a-0.g1",), 3000, 3),)


def test_throttles_go_before_the_drain_is_called_done() -> None:
    decision = drain_decision(*EMPTY, drain=a_drain(batch=1), throttles=ThrottlesSeen(topics=frozenset({"orders"})))
    assert (decision.events, decision.effects) == ((), (ClearThrottles(),))


@pytest.mark.parametrize("disks", [LogDirsSeen(1, 100, 10**9, 10**9), None], ids=["not empty", "unknown"])
def test_log_dirs_that_do_not_say_empty_are_waited_for(disks: LogDirsSeen | None) -> None:
    kafka = a_snapshot(*EMPTY, brokers=LIVE)
    dirs = {**kafka.log_dirs, 1000: disks}
    kafka = replace(kafka, log_dirs={b: d for b, d in dirs.items() if d is not None})
    assert reason_of(drain_decision(kafka=kafka, drain=a_drain(batch=1))) == "LogDirsNotEmpty"


def test_a_dead_broker_needs_no_log_dirs() -> None:
    kafka = a_snapshot(*EMPTY, brokers=(1001, 1002, 1010), fenced=(1000,))
    assert [type(e) for e in drain_decision(kafka=kafka, drain=a_drain(batch=1)).events] == [facts.NodeDrained]


def test_a_new_topic_on_the_broker_is_the_next_round() -> None:
    decision = drain_decision(*EMPTY, a_partition("late-0"), drain=a_drain(batch=1))
    again = decision.events[0]
    assert isinstance(again, facts.DrainRequested)
    assert (again.round, again.keys, dict(again.successors)) == (2, ("brokers-a-0.g1",), {"1000": 1010})
    assert "late" in again.reason


def test_the_last_round_names_the_topics_and_gives_up() -> None:
    decision = drain_decision(*EMPTY, a_partition("late-0"), drain=a_drain(batch=1, round=MAX_ROUNDS))
    assert (decision.events, reason_of(decision)) == ((), "DrainNotConverging")
    assert "late" in decision.sentence


@pytest.mark.parametrize("is_up", [True, False])
def test_a_target_that_is_down_and_tells_of_no_disk_keeps_no_other_move_waiting(is_up: bool) -> None:
    """Nor the drain, for ever: what cures that target waits for it to have nothing else to do (seed 36570)."""
    elsewhere = a_move("orders-1", after=(1003, 1001, 1002))
    kafka = a_snapshot(
        *AT_HOME[:2], brokers=(*LIVE[:3], 1003, *([1010] if is_up else [])), fenced=() if is_up else (1010,)
    )
    silent = replace(kafka, log_dirs={b: d for b, d in kafka.log_dirs.items() if b != 1010})
    plan, drain = a_plan([ONE, elsewhere]), a_drain(batch=-1)
    view = a_view(an_instance("brokers-a-0", 1, Phase.DRAINING), an_instance("brokers-a-0", 2), drain=drain)
    decision = drain_step(a_situation(view, kafka=silent, plan=plan, plan_sha256=drain.plan.sha256))
    assert decision is not None
    if is_up:
        assert "broker 1010 has not told how full its disk is" in decision.sentence
    else:
        assert [type(e) for e in decision.events] == [facts.BatchStarted]


def _aims_at_the_drained(**instance: Any) -> Decision:
    """A move of others leaves 1000 in the target, adds 1002 and takes 1001 out."""
    foreign = a_partition("late-0", (1002, 1000, 1001), isr=(1001, 1002), adding=(1002,), removing=(1001,))
    old = an_instance("brokers-a-0", 1, Phase.DRAINING, **instance)
    kafka = a_snapshot(*EMPTY, foreign, brokers=(1001, 1002, 1010), fenced=(1000,))
    drain = a_drain(batch=1)
    view = a_view(old, an_instance("brokers-a-0", 2), drain=drain)
    decision = drain_step(a_situation(view, kafka=kafka, plan=PLAN, plan_sha256=drain.plan.sha256))
    assert decision is not None
    return decision


def test_a_foreign_move_that_aims_at_a_drained_broker_whose_vm_is_gone_goes_elsewhere() -> None:
    """It would never end, and each waited for the other: a drain that was put off had left it behind (seed 39020)."""
    decision = _aims_at_the_drained(lost_at=BEFORE)
    (around,) = decision.effects
    assert isinstance(around, Reassign)
    assert around.targets == {TopicPartition("late", 0): (1002, 1010)}
    assert "aim at broker 1000, whose VM is gone" in decision.sentence


def test_a_foreign_move_onto_a_drained_broker_that_may_come_back_is_waited_for() -> None:
    assert reason_of(_aims_at_the_drained()) == "ForeignReassignment"


def test_a_foreign_reassignment_is_waited_for() -> None:
    foreign = a_partition("late-0", (1002, 1000, 1001), isr=(1000, 1001), adding=(1002,), removing=(1000,))
    decision = drain_decision(*EMPTY, foreign, drain=a_drain(batch=1))
    assert (decision.events, decision.effects, reason_of(decision)) == ((), (), "ForeignReassignment")


# --- trouble ----------------------------------------------------------------------------------------------------------

DEAD_SUCCESSOR = an_instance("brokers-a-0", 2, lost_at=BEFORE)


def test_a_drain_to_a_dead_successor_takes_its_moves_back_first() -> None:
    decision = drain_decision(moving("orders-0"), instances=(DEAD_SUCCESSOR,))
    assert decision.effects == (CancelMoves((TopicPartition("orders", 0),)),)


def test_a_move_whose_old_replicas_are_too_few_is_not_taken_back() -> None:
    """It waits for the next successor, which is made once the drain was put off."""
    thin = replace(moving("orders-0"), isr=(1001,), leader=1001)
    decision = drain_decision(thin, instances=(DEAD_SUCCESSOR,))
    assert (decision.effects, [type(e) for e in decision.events]) == ((), [facts.DrainAbandoned])


def test_with_nothing_stuck_a_drain_to_a_dead_successor_is_put_off() -> None:
    decision = drain_decision(*AT_HOME, instances=(DEAD_SUCCESSOR,))
    assert [type(e) for e in decision.events] == [facts.DrainAbandoned]


@pytest.mark.parametrize(("lost_s", "postponed"), [(299, False), (300, True)])
def test_a_bystander_that_is_gone_for_good_puts_the_drain_off(lost_s: int, postponed: bool) -> None:
    gone = an_instance("brokers-b-0", lost_at=NOW - timedelta(seconds=lost_s))
    decision = drain_decision(*AT_HOME, instances=(gone,))
    assert ([type(e) for e in decision.events] == [facts.DrainAbandoned]) is postponed


# --- a target that can take nothing ---------------------------------------------------------------------------------

GONE = an_instance("brokers-b-0", lost_at=BEFORE)
ALONE = a_partition("scratch-0", (1001,), isr=(), leader=-1, min_isr=1)


def test_what_had_every_copy_on_vms_that_are_gone_is_told_to_a_person_and_not_asked_for_again() -> None:
    drain = a_drain(outgoing=(1001,), keys=("brokers-b-0.g1",), successors={1001: 1010}, batch=-1)
    plan = replace(a_plan(), deferred=(Deferred(TopicPartition("scratch", 0), "it has no leader to copy from"),))

    def step(*partitions: PartitionSeen, lost: bool = True) -> Decision:
        there = (GONE,) if lost else ()
        kafka = a_snapshot(*partitions, brokers=(1000, 1002, 1010), fenced=(1001,))
        return drain_decision(drain=drain, plan=plan, instances=there, kafka=kafka, view={"progressed_at": NOW})

    told = step(ALONE)
    assert (told.events, reason_of(told)) == ((), "CopiesGone")
    assert "scratch-0 (replicas [1001])" in told.sentence
    assert reason_of(step(ALONE, lost=False)) == "MovesDeferred", "its VM is there, and may well come back"


LAGS = a_partition("orders-0", isr=(1000, 1001))


@pytest.mark.parametrize(
    ("partition", "why", "ago_s", "asks"),
    [
        (LAGS, "its replica on broker 1002 is out of sync", 20, False),
        (LAGS, "its replica on broker 1002 is out of sync", 301, True),
        (a_partition("orders-0"), "its replica on broker 1002 is out of sync", 20, True),
        (a_partition("orders-0"), "no target can take it", 20, True),
        (a_partition("orders-0", isr=(), leader=-1), "it has no leader to copy from", 20, False),
        (a_partition("orders-0", isr=(1001, 1002)), "it has no leader to copy from", 20, True),
    ],
    ids=["lags yet", "as well, for long", "caught up", "room may have come", "no leader yet", "it leaves itself"],
)
def test_a_plan_that_found_nothing_movable_is_asked_for_again_once_that_looks_otherwise(
    partition: PartitionSeen, why: str, ago_s: float, asks: bool
) -> None:
    """Each quarter of a minute it was, for as long as a broker was away: some 20,000 events a day."""
    plan = replace(a_plan([]), deferred=(Deferred(TopicPartition("orders", 0), why),))
    seen = {"progressed_at": NOW - timedelta(seconds=ago_s)}
    decision = drain_decision(partition, drain=a_drain(batch=-1), plan=plan, view=seen)
    assert [type(e) for e in decision.events] == ([facts.DrainRequested] if asks else [])
    assert asks or reason_of(decision) == "MovesDeferred"


FAILED_DIR = FailedDirsSeen(("/volumes/data2/kafka",), 1, 1000)
FULL = LogDirsSeen(1, 900, 10**9, 4096)


def _unable(how: str, *partitions: PartitionSeen) -> KafkaSnapshot:
    kafka = a_snapshot(*partitions, brokers=LIVE)
    if how == "down":
        return a_snapshot(*partitions, brokers=LIVE[:3], fenced=(1010,))
    if how == "full":
        return replace(kafka, log_dirs={**kafka.log_dirs, 1010: FULL})
    told = {b: disk for b, disk in kafka.log_dirs.items() if b != 1010}
    return replace(kafka, log_dirs=told, failed_dirs={1010: FAILED_DIR})


@pytest.mark.parametrize(
    ("how", "words"),
    [("down", "does not serve"), ("full", "whose disk is full"), ("failed", "/volumes/data2/kafka has failed")],
)
def test_nothing_more_is_handed_over_to_a_target_that_can_take_nothing(how: str, words: str) -> None:
    decision = drain_decision(kafka=_unable(how, *AT_HOME))
    assert (decision.events, decision.effects, reason_of(decision)) == ((), (), "DrainTarget")
    assert words in decision.sentence
    running = drain_decision(kafka=_unable(how, moving("orders-0"), *AT_HOME[1:]))
    assert not [e for e in running.effects if isinstance(e, Reassign)]
    assert (reason_of(running), words in running.sentence) == ("DrainMoves", True)


NO_PLAN = replace(UNPLANNED, planning=PlanningView(failures=1, failed="1010 cannot receive", failed_at=NOW))
ASKED = {"to_replace": {"brokers-a-0.g2": ReplaceView("healing of log_dir_failed", True, BEFORE)}}


@pytest.mark.parametrize(("drain", "how"), [(NO_PLAN, "full"), (a_drain(), "failed"), (a_drain(), "down")])
def test_a_drain_to_a_successor_that_can_take_nothing_and_gets_a_new_vm_is_put_off(drain: DrainView, how: str) -> None:
    """It was waited for, and what stands in for it was not made before the drain had ended."""
    decision = drain_decision(kafka=_unable(how, *AT_HOME), drain=drain, view=ASKED)
    assert decision.events == (facts.DrainAbandoned("drain-1", "broker 1010 cannot receive"),)
    kept = drain_decision(kafka=_unable(how, *AT_HOME), drain=drain)
    assert (kept.events, reason_of(kept)) == ((), "DrainInfeasible" if drain is NO_PLAN else "DrainTarget")


def test_a_drain_goes_on_to_a_successor_that_can_take_all_though_a_person_wants_it_replaced() -> None:
    begun = drain_decision(*AT_HOME, view=ASKED)
    assert [type(e) for e in begun.events] == [facts.BatchStarted]


def test_the_old_broker_may_die_while_it_is_drained() -> None:
    """Its surviving copies are moved on."""
    dying = an_instance("brokers-a-0", 1, Phase.DRAINING, lost_at=BEFORE)
    kafka = a_snapshot(a_partition("orders-0", isr=(1001, 1002), leader=1001), brokers=LIVE[1:], fenced=(1000,))
    decision = drain_decision(kafka=kafka, instances=(dying,), plan=a_plan([ONE]))
    assert decision.effects[-1] == Reassign({ONE.name: ONE.after})


@pytest.mark.parametrize("failed", [False, True])
def test_a_plan_that_has_to_be_sparks_waits_for_it_and_says_so(failed: bool) -> None:
    away = "Spark is backing off: no Java"
    jobs = {} if failed else {plan_job_id(UNPLANNED): JobSeen("running")}
    planning = replace(UNPLANNED.planning, failed="Spark is required", failed_at=NOW, failures=1)
    drain = replace(UNPLANNED, planning=planning) if failed else UNPLANNED
    decision = drain_decision(drain=drain, plan=None, jobs=jobs, waits_for_spark=away)
    assert decision.wait is not None
    assert (decision.wait.reason, decision.wait.next_command) == ("SparkAway", "kedge loop")
    assert away in decision.sentence
