"""What waits for a window and what never does: the table over all steps, the words, the condition, the brake."""

import inspect
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from types import CodeType
from typing import Any

import pytest

from controlplane.cluster.view import ClusterView, ConditionView
from controlplane.cluster.views.running_settings import ReplaceView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.conditions.windows import WAITS
from controlplane.converger.ladder.decide import FIRST, IN_HAND, NEXT, decide
from controlplane.converger.ladder.rung import BEGUN, Begins
from controlplane.converger.ladder.rungs import LADDER
from controlplane.converger.questions.windows import closed, window_words
from controlplane.converger.situation.decision import Wait
from controlplane.converger.situation.situation import Allowance, SurgeShare
from controlplane.converger.steps.rolls.finalisation import finalisation_step
from controlplane.converger.tick.fleet_brake import FleetBrake
from events import facts, topic_facts
from planner.healing import Cure, PastCure
from planner.rollout.windows import Freeze
from tests.builders import BEFORE, NODES, NOW, a_document, a_situation, a_view, an_instance
from tests.changed_view import changed_view

# NOW is Thursday, 2026-01-01 12:00 UTC.
OPEN = ", windows: [{start: '11:00', duration: 2h}]"
SHUT = ", windows: [{start: '15:00', duration: 2h}]"
SALE = Freeze(NOW - timedelta(days=1), NOW + timedelta(days=2), "winter sale", labels={"stage": "production"})


def _outdated(windows: str = SHUT, **overrides: Any) -> ClusterView:
    instances = [an_instance(node) for node in NODES]
    return a_view(*instances, generation=2, document=a_document(version="4.2.0", windows=windows), **overrides)


def _begins(view: ClusterView, **situation: Any) -> bool:
    return any(isinstance(e, facts.RecycleStarted) for e in decide(a_situation(view, **situation)).events)


def test_each_step_has_one_rung_and_the_table_stands_in_the_order_of_turns() -> None:
    assert (*FIRST, *IN_HAND, *NEXT) == LADDER
    assert len({rung.name for rung in LADDER}) == len(LADDER)


def test_nothing_of_what_is_in_hand_waits_for_a_window() -> None:
    assert {rung.begins for rung in (*FIRST, *IN_HAND)} == {Begins.NOTHING}


HARMLESS = {
    "EvacuationCompleted": "nothing was left to do",
    "ExternalDrained": "nothing was left to do",
    "RebalanceAbandoned": "ends something",
    "RebalanceCompleted": "ends something",
    "RebalancePutOff": "ends something",
    "RebalancePlanFailed": "records what became of a plan",
    "RebalancePlanned": "records what became of a plan",
    "RebalanceRequested": "asks for a plan; its batches wait",
    "RecycleCompleted": "the end of a roll",
    "VoterAddRequested": "a newcomer gets its vote",
    "ReplicaMove": "no event: a part of ReplicationRequested",
    "ReplicationFactorEnded": "says what is over; ReplicationRequested came before",
    "SecurityStepCompleted": "the end of a step; SecurityStepRequested came before",
    "FeatureFinalised": "records what Kafka says; FinalisationRequested came before",
}
"""Events of voluntary steps that begin nothing, and why."""


def _events_of(step: Callable[..., object]) -> set[str]:
    """The events named in it and in the functions of the converger it leads to, constants and nested ones included."""
    seen: set[object] = set()
    found: set[str] = set()
    left: list[object] = [step]
    while left:
        function = inspect.unwrap(left.pop())  # type: ignore[arg-type]
        if function in seen:
            continue
        seen.add(function)
        codes = [function.__code__]
        while codes:
            code = codes.pop()
            codes += [c for c in code.co_consts if isinstance(c, CodeType)]
            found |= {n for n in code.co_names if hasattr(facts, n) or hasattr(topic_facts, n)}
            there = (function.__globals__.get(n) for n in code.co_names)
            left += [f for f in there if inspect.isfunction(f) and "converger" in inspect.unwrap(f).__module__]
    return {n for n in found if inspect.isclass(getattr(facts, n, getattr(topic_facts, n, None)))}


def test_every_event_of_a_voluntary_step_begins_something_or_is_known_not_to() -> None:
    """The protocol of a cluster in ZooKeeper mode was raised in a freeze: nobody had listed the event."""
    voluntary = [rung.step for rung in NEXT if rung.begins is Begins.VOLUNTARY]
    told = {e.__name__ for e in BEGUN} | HARMLESS.keys()
    assert {s.__name__: left for s in voluntary if (left := _events_of(s) - told)} == {}
    assert "ProtocolRaised" in _events_of(finalisation_step)


def test_a_roll_begins_in_its_window_and_not_outside() -> None:
    assert _begins(_outdated(OPEN))
    decision = decide(a_situation(_outdated()))
    assert decision.wait is not None
    assert decision.wait.reason == WaitReason.WINDOW
    expected = "waits for its window, which opens at 2026-01-01 15:00 UTC (in 3 h); then: working towards generation 2"
    assert decision.sentence.startswith(expected)


def test_a_cluster_without_windows_begins_at_any_time() -> None:
    assert _begins(_outdated(""))
    assert window_words(_outdated(""), (), NOW) == ""


def test_a_cluster_that_never_converged_waits_for_nothing() -> None:
    assert closed(_outdated(converged=0), (replace(SALE, labels={}),), NOW) is None


def test_what_waits_for_its_window_asks_the_fleet_for_no_place_and_no_vm() -> None:
    braked = Allowance(may_roll=False, reason="10 clusters are rolling")
    spent = Allowance(upgrade=SurgeShare(0, "all 20 surge VMs are taken", ("payments",)))
    for allowance in (braked, spent):
        decision = decide(a_situation(_outdated(), allowance=allowance))
        assert decision.wait is not None
        assert (decision.wait.reason, decision.wait.ask) == (WaitReason.WINDOW, None)


def test_a_freeze_holds_inside_the_window_and_only_who_it_names() -> None:
    plain = _outdated(OPEN)
    frozen = replace(plain, document=_labelled(plain, "production"))
    assert _begins(plain, freezes=(SALE,))
    found = closed(frozen, (SALE,), NOW)
    assert found is not None
    assert found.reason == WaitReason.FREEZE
    assert found.words == "frozen until 2026-01-03 12:00 UTC: winter sale, goes on at 2026-01-03 12:00 UTC"


def _labelled(view: ClusterView, stage: str) -> Any:
    document = view.document
    assert document is not None
    metadata = document.metadata.model_copy(update={"labels": {"stage": stage}})
    return document.model_copy(update={"metadata": metadata})


def test_a_permission_opens_the_windows_of_its_generation_only_and_no_freeze() -> None:
    assert _begins(_outdated(waived=(2, "asked by anna: a fix")))
    assert not _begins(_outdated(waived=(1, "asked by anna: a fix")))
    everybody = replace(SALE, labels={})
    assert not _begins(_outdated(waived=(2, "asked by anna: a fix")), freezes=(everybody,))


def test_a_zone_this_server_does_not_know_keeps_the_window_closed_and_says_so() -> None:
    view = _outdated()
    assert view.document is not None
    rollout = view.document.spec.rollout
    window = rollout.windows[0].model_copy(update={"zone": "Mars/Olympus"})
    spec = view.document.spec.model_copy(update={"rollout": rollout.model_copy(update={"windows": (window,)})})
    decision = decide(a_situation(replace(view, document=view.document.model_copy(update={"spec": spec}))))
    assert "time zone 'Mars/Olympus' is unknown to this server; nobody can say when it opens" in decision.sentence


def test_a_vm_that_a_cure_wants_replaced_is_replaced_outside_the_window_and_one_a_person_wants_is_not() -> None:
    asked = {"brokers-b-0.g1": ReplaceView("healing of log_dir_failed", new_disk=False, requested_at=BEFORE)}
    cure = PastCure("brokers-b-0", "log_dir_failed", Cure.REPLACE, BEFORE)
    assert _begins(_outdated(to_replace=asked, cures=(cure,)))
    assert not _begins(_outdated(to_replace=asked))


def test_the_condition_says_when_it_opens_and_no_number_that_changes_with_time() -> None:
    situation = a_situation(_outdated(progressed_at=BEFORE))
    told = {c.type: c for c in decide(situation).events if isinstance(c, facts.ConditionChanged)}
    assert told[WAITS].status
    assert told[WAITS].message == "waits for its window, which opens at 2026-01-01 15:00 UTC"
    assert "Blocked" not in told


def test_a_window_that_has_just_opened_blames_nobody_for_the_hours_before() -> None:
    waited = {WAITS: ConditionView(True, WaitReason.WINDOW, "", BEFORE)}
    view = _outdated(OPEN, progressed_at=NOW - timedelta(days=3), conditions=waited)
    situation = a_situation(view, allowance=Allowance(may_roll=False, reason="10 clusters are rolling"))
    changed = {c.type: c for c in decide(situation).events if isinstance(c, facts.ConditionChanged)}
    assert not changed[WAITS].status
    assert "Blocked" not in changed


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({"windows": OPEN}, "open until 2026-01-01 13:00 UTC"),
        ({"windows": SHUT}, "waits for its window, which opens at 2026-01-01 15:00 UTC (in 3 h)"),
        ({"windows": SHUT, "waived": (2, "asked by anna: a fix")}, "waived for generation 2: asked by anna: a fix"),
        ({"windows": SHUT, "converged": 0}, "a new cluster is made at any time"),
    ],
)
def test_plans_and_descriptions_say_how_the_window_is(overrides: dict[str, Any], words: str) -> None:
    assert window_words(_outdated(**overrides), (), NOW) == words


def test_a_roll_that_rests_between_two_windows_keeps_its_place_from_nobody() -> None:
    brake = FleetBrake(max_rolling=1)
    resting, other = a_view(uid="a", recycling=2, version=5), a_view(uid="d", generation=2)
    brake.look_at([resting, other])
    assert not brake.allowance(other).may_roll
    brake.hear(resting, Wait(WaitReason.WINDOW))
    assert brake.allowance(other).may_roll


def test_a_roll_that_rested_waits_for_a_place_in_its_next_window() -> None:
    brake = FleetBrake(max_rolling=1)
    resting, other = a_view(uid="a", recycling=2, version=5), a_view(uid="d", recycling=2, version=5)
    brake.look_at([resting])
    brake.hear(resting, Wait(WaitReason.WINDOW))
    brake.look_at([resting, other])
    assert not brake.allowance(resting).may_roll
    brake.hear(resting, Wait(WaitReason.FLEET_BRAKE))
    assert not brake.allowance(resting).may_roll
    brake.look_at([resting, changed_view(other, recycling=0, version=6)])
    assert brake.allowance(resting).may_roll
    brake.hear(resting, None)
    assert not brake.allowance(changed_view(other, generation=3, recycling=0, version=6)).may_roll
