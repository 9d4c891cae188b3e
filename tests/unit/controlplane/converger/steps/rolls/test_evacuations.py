"""Brokers that are to be empty and stay: when they are drained, who receives, and what ends it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.throttle_cap import cap_mib_per_s, lowered
from controlplane.cluster.view import ClusterView, EvacuationView
from controlplane.cluster.work_in_hand import has_work
from controlplane.converger.questions.rolls.drain_requests import request_drain
from controlplane.converger.questions.rolls.plan_ahead import foreseen_drain
from controlplane.converger.situation.decision import Decision
from controlplane.converger.situation.situation import Allowance
from controlplane.converger.steps.rolls.drains import drain_step
from controlplane.converger.steps.rolls.evacuations import evacuation_step
from events import facts
from tests.builders import (
    BEFORE,
    NODES,
    NOW,
    a_document,
    a_drain,
    a_partition,
    a_situation,
    a_snapshot,
    a_view,
    an_instance,
)
from tests.changed_view import changed_view

A, B = "brokers-a-0.g1", "brokers-b-0.g1"
HELD = a_partition("orders-0", (1000, 1001))
ELSEWHERE = a_partition("orders-0", (1001, 1002))


def _asked(*keys: str, empty: bool = False) -> Mapping[str, EvacuationView]:
    return {key: EvacuationView("asked by anna: noises", BEFORE, BEFORE if empty else None) for key in keys}


def _cluster(**overrides: Any) -> ClusterView:
    values: dict[str, Any] = {"recycling": 1, "evacuations": _asked(A), **overrides}
    return a_view(*(an_instance(node) for node in NODES), **values)


def _step(view: ClusterView, **seen: Any) -> Decision | None:
    return evacuation_step(a_situation(view, **{"kafka": a_snapshot(HELD), **seen}))


def test_what_is_to_be_empty_is_drained_and_stays() -> None:
    decision = _step(_cluster())
    assert decision is not None
    (drain,) = decision.events
    assert isinstance(drain, facts.DrainRequested)
    assert (drain.keys, drain.stays, drain.targets, drain.successors) == ((A,), True, (1001, 1002), {})


def test_it_begins_with_a_word_like_every_roll() -> None:
    decision = _step(_cluster(recycling=0))
    assert decision is not None
    assert isinstance(decision.events[0], facts.RecycleStarted)


def test_one_that_holds_nothing_is_done_without_a_drain() -> None:
    decision = _step(_cluster(), kafka=a_snapshot(ELSEWHERE))
    assert decision is not None
    assert decision.events == (facts.EvacuationCompleted("", (A,), 0, 0),)


def test_one_that_is_empty_is_left_alone_until_something_comes_to_it() -> None:
    view = _cluster(evacuations=_asked(A, empty=True), recycling=0)
    assert _step(view, kafka=a_snapshot(ELSEWHERE)) is None
    assert not has_work(view)
    decision = _step(changed_view(view, recycling=1))
    assert decision is not None
    assert isinstance(decision.events[0], facts.DrainRequested)


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        ({"kafka": None}, "KafkaUnknown"),
        ({"kafka": a_snapshot(HELD, brokers=(1000, 1001), fenced=(1002,))}, "BrokerDown"),
        ({"allowance": Allowance(may_roll=False, reason="ten clusters roll")}, "FleetBrake"),
    ],
    ids=["unknown", "another one down", "brake"],
)
def test_it_waits_like_every_roll(seen: dict[str, Any], reason: str) -> None:
    decision = _step(_cluster(), **seen)
    assert decision is not None
    assert decision.wait is not None
    assert (decision.events, decision.wait.reason) == ((), reason)


def test_what_is_lost_goes_first() -> None:
    view = _cluster()
    gone = replace(view, instances={**view.instances, B: an_instance("brokers-b-0", lost_at=NOW)})
    assert _step(gone) is None


def test_no_drain_sends_anything_to_a_broker_that_is_kept_empty() -> None:
    view = _cluster(evacuations=_asked(B, empty=True))
    assert request_drain(a_situation(view), [A], {}, round_number=1, reason="r").targets == (1002,)
    successor = an_instance("brokers-a-0", 2, Phase.LAUNCHED)
    foreseen = foreseen_drain(replace(view, instances={**view.instances, successor.key: successor}), NOW)
    assert foreseen is not None
    assert 1001 not in foreseen.targets


def test_a_successor_that_is_to_be_kept_empty_takes_nothing() -> None:
    """Seed 5018: an evacuation of the successor left a drain that no planner could be asked for."""
    view = _cluster(evacuations=_asked(B))
    drain = request_drain(a_situation(view), [A], {1000: 1001}, round_number=1, reason="r")
    assert (drain.successors, drain.targets) == ({}, (1002,))


@pytest.mark.parametrize("shared", [True, False], ids=["both succeeded", "the second has no successor"])
def test_what_two_brokers_of_a_node_have_goes_to_whoever_has_room(shared: bool) -> None:
    """Emptied together, both had one successor, which no planner could be asked for: every tick failed (seed 39340). Or
    it was kept for the first of them, and there was no room elsewhere for what the second had (39130)."""
    view, later = _cluster(), an_instance("brokers-a-0", 2, service_id=1003)
    view = replace(view, instances={**view.instances, later.key: later})
    successors = {1000: 1002, **({1003: 1002} if shared else {})}
    drain = request_drain(a_situation(view), [A, later.key], successors, round_number=1, reason="r")
    assert (drain.outgoing, drain.successors, drain.targets) == ((1000, 1003), {}, (1001, 1002))
    assert request_drain(a_situation(view), [A], {1000: 1002}, round_number=1, reason="r").successors == {"1000": 1002}


def _draining(**evacuations: Any) -> ClusterView:
    drain = a_drain(keys=(A,), outgoing=(1000,), successors={}, targets=(1001, 1002), stays=True)
    view = _cluster(drain=drain, evacuations=evacuations.get("asked", {}))
    return replace(view, instances={**view.instances, A: an_instance(phase=Phase.DRAINING)})


MOVING = a_partition("orders-0", (1000, 1001, 1002), isr=(1000, 1001), adding=(1002,), removing=(1000,))


def test_one_that_is_taken_back_lets_what_runs_end_and_then_gives_the_drain_up() -> None:
    waits = drain_step(a_situation(_draining(), kafka=a_snapshot(MOVING)))
    assert waits is not None
    assert waits.wait is not None
    assert waits.wait.reason == "DrainMoves"
    ended = drain_step(a_situation(_draining(), kafka=a_snapshot(ELSEWHERE)))
    assert ended is not None
    assert ended.events == (facts.DrainAbandoned("drain-1", "the evacuation was taken back"),)


def test_only_the_brokers_that_were_chosen_take_what_leaves() -> None:
    kept = {A: EvacuationView("asked by anna", BEFORE, targets=(1002, 1009))}
    decision = _step(_cluster(evacuations=kept))
    assert decision is not None
    (drain,) = decision.events
    assert isinstance(drain, facts.DrainRequested)
    assert drain.targets == (1002,), "one that is not there takes nothing"


def test_brokers_that_go_to_others_or_at_another_pace_are_drained_one_kind_after_the_other() -> None:
    kept = {A: EvacuationView("asked by anna", BEFORE), B: EvacuationView("slowly", BEFORE, throttle_mib_per_s=5)}
    decision = _step(_cluster(evacuations=kept))
    assert decision is not None
    (drain,) = decision.events
    assert isinstance(drain, facts.DrainRequested)
    assert (drain.keys, drain.targets) == ((A,), (1002,))


def test_the_throttle_of_a_drain_is_the_lower_of_the_specs_and_that_of_its_evacuation() -> None:
    slow = {A: EvacuationView("slowly", BEFORE, throttle_mib_per_s=5)}
    view = _cluster(evacuations=slow, drain=a_drain(keys=(A,), stays=True))
    assert cap_mib_per_s(view) == 5
    assert cap_mib_per_s(changed_view(view, drain=a_drain(keys=(A,)))) is None, "a roll's drain is not bound by it"
    assert cap_mib_per_s(changed_view(view, drain=None)) is None
    assert (lowered(view, 7), lowered(view, 0)) == (7, None)
    spec = a_document(throttle=", throttleMibPerS: 3")
    assert cap_mib_per_s(replace(view, document=spec)) == 3
    assert (lowered(replace(view, document=spec), 7), lowered(replace(view, document=spec), 2)) == (3, 2)
