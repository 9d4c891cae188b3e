"""The latency brake beside the ladder: what it records, what throttles and new copies follow, what people read."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controlplane.cluster.fold import evolve
from controlplane.cluster.observed.broker_loads import NO_LOADS, LoadsSeen
from controlplane.cluster.observed.traffic import Traffic
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.latency_brake import LatencyBrakeView
from controlplane.converger.conditions.moves_braked import moves_braked
from controlplane.converger.ladder.decide import decide
from controlplane.converger.questions.moves.pacing import paced
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.moves.latency_brake import with_brake
from controlplane.converger.steps.rolls.drains import drain_step
from events import facts
from events.codec import encode
from events.envelope import Recorded
from planner.drain.plan import DrainPlan, Port
from planner.latency_brake import BrokerLoad
from planner.observed import KafkaSnapshot, TopicPartition
from tests.builders import (
    NOW,
    a_document,
    a_drain,
    a_move,
    a_partition,
    a_plan,
    a_situation,
    a_snapshot,
    a_view,
    an_instance,
)

MIB = 2**20
WELL = BrokerLoad(at=NOW, produce_p99_ms=10.0, produce_mean_ms=2.0, request_queue=0.0, handlers_busy=0.1)
SLOW = replace(WELL, produce_p99_ms=80.0, produce_mean_ms=30.0)
BROKERS = (1000, 1001, 1002, 1010)
PORT = Port(None, 40 * MIB, 45 * MIB, 0)
MOVE = a_move("orders-0")
PLAN = a_plan((MOVE,), into={1010: PORT}, out=dict.fromkeys((1000, 1001, 1002), PORT))
BEFORE = dict.fromkeys(BROKERS, WELL)
PRESSED = LatencyBrakeView("drain-1", 0.5, NOW - timedelta(hours=1), "produce p99", 1001, "it was slow", before=BEFORE)
MOVING = a_partition("orders-0", (1010, 1000, 1001, 1002), leader=1001, adding=(1010,), removing=(1000,))


def loads(load: BrokerLoad, **seen: Any) -> LoadsSeen:
    """The same of every broker for three minutes."""
    looks = tuple(replace(load, at=NOW - timedelta(seconds=s)) for s in range(180, -1, -5))
    return LoadsSeen(**{"recent": dict.fromkeys(BROKERS, looks), "since": NOW - timedelta(minutes=9), **seen})


def draining(seen: LoadsSeen, brake: LatencyBrakeView = LatencyBrakeView(), **more: Any) -> Situation:  # noqa: B008
    kafka, plan = more.pop("kafka", a_snapshot(MOVING, brokers=BROKERS)), more.pop("plan", PLAN)
    successor = an_instance("brokers-a-0", 2)
    there = (successor, *(an_instance(n) for n in ("brokers-b-0", "brokers-c-0")))
    view = a_view(*there, drain=a_drain(), brake=brake, **more)
    traffic = Traffic({TopicPartition("orders", 0): 0.0}, at=NOW, over_s=30)
    return a_situation(view, kafka=kafka, plan=plan, plan_sha256="sha", traffic=traffic, loads=seen)


def lasting(seconds: float) -> DrainPlan:
    """A plan that takes so long."""
    measures = PLAN.certificate.measures
    makespan = replace(measures.makespan_s, value=seconds)
    return replace(PLAN, certificate=replace(PLAN.certificate, measures=replace(measures, makespan_s=makespan)))


def recorded(view: ClusterView, fact: object) -> ClusterView:
    event = encode(fact, "e-1")
    version = view.version + 1
    row = Recorded(version, "c", version, "e-1", event.type, 1, event.data, "converger", None, None, 1, NOW)
    return evolve(view, row)


def test_what_brokers_told_before_the_first_move_is_recorded_once() -> None:
    quiet = a_snapshot(a_partition("orders-0"), brokers=BROKERS)
    situation = draining(loads(WELL, at_rest={1001: WELL}), kafka=quiet)

    (armed,) = decide(situation).events

    assert isinstance(armed, facts.BrakeArmed)
    assert armed.before["1001"]["produce_p99_ms"] == 10.0
    after = recorded(situation.view, armed)
    assert after.moves.brake == LatencyBrakeView("drain-1", before={1001: WELL})
    assert not with_brake(replace(situation, view=after), drain_step(situation)).events  # type: ignore[arg-type]


def test_long_moves_onto_volumes_nobody_knows_begin_softly() -> None:
    quiet = a_snapshot(a_partition("orders-0"), brokers=BROKERS)
    situation = draining(loads(WELL, at_rest={1001: WELL}), kafka=quiet, plan=lasting(121.0))

    (armed,) = decide(situation).events

    assert isinstance(armed, facts.BrakeArmed)
    assert (armed.share, armed.reason) == (0.25, "what the volumes of broker 1010 can do is not known")
    begun = recorded(situation.view, armed)
    assert begun.moves.brake.is_soft
    moving = draining(loads(WELL), begun.moves.brake, plan=lasting(121.0))
    assert moving.seen.kafka is not None
    pace = paced(moving, lasting(121.0), moving.seen.kafka, (MOVE,), ())
    assert pace.throttle.follower_bytes_per_s[1010] == pytest.approx(10 * MIB / 0.9, rel=0.01)
    assert "begun at 25% of the plan: what the volumes of broker 1010 can do is not known" in pace.said
    assert moves_braked(moving) is None, "nobody has to look at that"


def test_short_moves_and_those_onto_known_volumes_begin_as_planned() -> None:
    quiet = a_snapshot(a_partition("orders-0"), brokers=BROKERS)
    known = {v.key: facts.MeasuredVolume(200e6, 200e6) for v in an_instance("brokers-a-0", 2).planned.volumes}
    told = loads(WELL, at_rest={1001: WELL})

    (short,) = decide(draining(told, kafka=quiet, plan=lasting(119.0))).events
    (measured,) = decide(draining(told, kafka=quiet, plan=lasting(900.0), measured_volumes=known)).events

    assert isinstance(short, facts.BrakeArmed)
    assert isinstance(measured, facts.BrakeArmed)
    assert (short.share, measured.share) == (1.0, 1.0)


def test_a_soft_beginning_goes_on_until_something_is_over_its_limit() -> None:
    soft = LatencyBrakeView("drain-1", 0.25, NOW - timedelta(minutes=1), reason="unknown", before=BEFORE, is_soft=True)
    well, slow = draining(loads(WELL), soft), draining(loads(SLOW), soft)

    (eased,) = decide(well).events
    (pressed,) = decide(slow).events

    assert isinstance(eased, facts.BrakeChanged)
    assert (eased.share, eased.figure, eased.reason) == (0.5, "", "unknown")
    assert recorded(well.view, eased).moves.brake.is_soft
    assert isinstance(pressed, facts.BrakeChanged)
    assert pressed.share == 0.125
    assert not recorded(slow.view, pressed).moves.brake.is_soft


def test_where_moves_follow_each_other_the_figures_of_before_the_first_count() -> None:
    raised = replace(WELL, produce_p99_ms=15.0)
    last = LatencyBrakeView("drain-0", before={1001: replace(WELL, at=NOW - timedelta(hours=1))})
    moved = loads(raised, at_rest={1001: raised}, moved_at=NOW - timedelta(minutes=1))
    rested = loads(raised, at_rest={1001: raised}, moved_at=NOW - timedelta(minutes=9))

    (armed,) = with_brake(draining(moved, last), drain_step(draining(moved, last))).events  # type: ignore[arg-type]
    (anew,) = with_brake(draining(rested, last), drain_step(draining(rested, last))).events  # type: ignore[arg-type]

    assert isinstance(armed, facts.BrakeArmed)
    assert armed.before["1001"]["produce_p99_ms"] == 10.0
    assert isinstance(anew, facts.BrakeArmed)
    assert anew.before["1001"]["produce_p99_ms"] == 15.0


def test_clients_that_wait_longer_slow_the_moves() -> None:
    situation = draining(loads(SLOW), LatencyBrakeView("drain-1", before=BEFORE))

    (pressed,) = decide(situation).events

    assert isinstance(pressed, facts.BrakeChanged)
    assert (pressed.share, pressed.figure, pressed.broker) == (0.5, "produce p99", 1000)
    after = replace(situation, view=recorded(situation.view, pressed))
    assert not [e for e in decide(after).events if isinstance(e, facts.BrakeChanged)]
    assert after.view.history.progressed_at == situation.view.history.progressed_at


def test_a_brake_of_these_moves_halves_their_throttles_and_says_why() -> None:
    situation = draining(loads(SLOW), PRESSED)
    kafka = situation.seen.kafka
    assert kafka is not None

    pace = paced(situation, PLAN, kafka, (MOVE,), ())

    assert pace.throttle.follower_bytes_per_s[1010] == pytest.approx(20 * MIB / 0.9, rel=0.01)
    assert pace.throttle.leader_bytes_per_s[1001] == pytest.approx(20 * MIB / 0.9, rel=0.01)
    assert "braked to 50% of the plan: produce p99 of broker 1000 is 80 ms, limit 20 ms" in pace.said


def test_a_brake_of_moves_that_are_over_slows_nothing() -> None:
    situation = draining(loads(WELL), replace(PRESSED, batch="drain-0"))
    kafka = situation.seen.kafka
    assert kafka is not None

    assert paced(situation, PLAN, kafka, (MOVE,), ()).throttle.follower_bytes_per_s[1010] > 44 * MIB


def test_a_spec_without_a_brake_has_none() -> None:
    document = a_document()
    rollout = document.spec.rollout.model_copy(
        update={"brake": document.spec.rollout.brake.model_copy(update={"enabled": False})}
    )
    off = document.model_copy(update={"spec": document.spec.model_copy(update={"rollout": rollout})})
    situation = draining(loads(SLOW), PRESSED, document=off)
    kafka = situation.seen.kafka
    assert kafka is not None

    assert paced(situation, PLAN, kafka, (MOVE,), ()).throttle.follower_bytes_per_s[1010] > 44 * MIB
    assert not with_brake(situation, drain_step(situation)).events  # type: ignore[arg-type]


def test_once_all_is_well_it_is_let_go_by_a_step() -> None:
    (eased,) = with_brake(draining(loads(WELL), PRESSED), drain_step(draining(loads(WELL), PRESSED))).events  # type: ignore[arg-type]

    assert isinstance(eased, facts.BrakeChanged)
    assert (eased.share, eased.figure) == (0.625, "")


def test_agents_that_fell_silent_leave_the_rate_and_are_told() -> None:
    looks = tuple(replace(SLOW, at=NOW - timedelta(seconds=s)) for s in (170, 160, 150))
    old = loads(SLOW, recent=dict.fromkeys(BROKERS, looks))
    situation = draining(old, PRESSED)

    decision = with_brake(situation, drain_step(situation))  # type: ignore[arg-type]

    assert not decision.events
    assert "braked to 50% of the plan: it was slow" in decision.sentence
    assert "no figures of brokers 1000, 1001, 1002, 1010 for 2 min: the rate stays as it is" in decision.sentence


def test_a_server_that_is_started_anew_brakes_as_the_last_one_did() -> None:
    situation = draining(NO_LOADS, PRESSED)
    kafka = situation.seen.kafka
    assert kafka is not None

    assert not with_brake(situation, drain_step(situation)).events  # type: ignore[arg-type]
    assert paced(situation, PLAN, kafka, (MOVE,), ()).throttle.follower_bytes_per_s[1010] < 23 * MIB


def test_the_condition_says_what_slows_the_moves() -> None:
    braked = moves_braked(draining(loads(SLOW), PRESSED))

    assert braked is not None
    assert (braked.type, braked.status, braked.reason) == ("MovesBraked", True, "ProduceLatency")
    assert "produce p99 of broker 1000 is 80 ms" in braked.message
    assert moves_braked(draining(loads(WELL), replace(PRESSED, share=1.0))) is None


def _rate(kafka: KafkaSnapshot, share: float, written: float) -> int:
    brake = replace(PRESSED, share=share)
    situation = draining(loads(SLOW), brake, kafka=kafka)
    traffic = Traffic({TopicPartition("orders", 0): written}, at=NOW, over_s=30)
    seen = replace(situation.seen, traffic=traffic)
    return paced(replace(situation, seen=seen), PLAN, kafka, (MOVE,), ()).throttle.follower_bytes_per_s[1010]


def test_a_copy_outruns_what_is_written_to_it_however_hard_it_is_pressed() -> None:
    kafka = a_snapshot(MOVING, brokers=BROKERS)

    assert _rate(kafka, 0.1, 0.0) == pytest.approx(4 * MIB / 0.9, rel=0.01)
    assert _rate(kafka, 0.1, 8 * MIB) == pytest.approx(12 * MIB / 0.9, rel=0.01)
