"""What of a cluster waits for earlier stages of the fleet, and what does not."""

from dataclasses import replace
from typing import Any

import pytest

from controlplane.cluster.view import ClusterView, ConditionView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.conditions.stages import FAILS, STAGE_WAITS
from controlplane.converger.ladder.decide import decide
from controlplane.converger.ladder.rung import Begins
from controlplane.converger.ladder.rungs import LADDER
from controlplane.converger.questions.stages import stage_words
from controlplane.converger.situation.decision import Decision, Wait
from controlplane.converger.situation.situation import Allowance
from controlplane.converger.tick.fleet_brake import FleetBrake
from controlplane.fleet.spec_order import StageWait
from events import facts
from tests.builders import BEFORE, NODES, a_document, a_situation, a_view, an_instance
from tests.changed_view import changed_view

ROLLS = StageWait("kafka.version 4.2.0 waits for stage (staging), which rolls to it", fails=False)
STUCK = StageWait("kafka.version 4.2.0 waits for stage (staging), which is paused: over lunch", fails=True)
SHUT = ", windows: [{start: '15:00', duration: 2h}]"


def _outdated(windows: str = "", **overrides: Any) -> ClusterView:
    instances = [an_instance(node) for node in NODES]
    return a_view(*instances, generation=2, document=a_document(version="4.2.0", windows=windows), **overrides)


def _decided(view: ClusterView, order: StageWait | None = ROLLS, **situation: Any) -> Decision:
    return decide(a_situation(view, order=order, **situation))


def _told(decision: Decision) -> facts.ConditionChanged | None:
    found = (e for e in decision.events if isinstance(e, facts.ConditionChanged) and e.type == STAGE_WAITS)
    return next(found, None)


def test_a_roll_waits_for_the_stage_before_it_and_says_for_whom() -> None:
    assert any(isinstance(e, facts.RecycleStarted) for e in _decided(_outdated(), None).events)
    decision = _decided(_outdated())
    assert decision.wait is not None
    assert decision.wait.reason == WaitReason.FLEET_ORDER
    assert decision.sentence.startswith(f"{ROLLS.words}; then: working towards generation 2")


def test_the_steps_that_wait_are_those_that_bring_a_changed_spec_about() -> None:
    assert {rung.name for rung in LADDER if rung.of_spec} == {
        "replacement_step",
        "restart_step",
        "security_step",
        "migration_begin_step",
        "finalisation_step",
    }
    assert all(rung.begins is not Begins.NOTHING for rung in LADDER if rung.of_spec)


def test_the_condition_says_who_is_waited_for_and_what_a_person_may_do_where_one_fails() -> None:
    told = _told(_decided(_outdated()))
    assert told == facts.ConditionChanged(STAGE_WAITS, True, WaitReason.FLEET_ORDER, ROLLS.words)
    failing = _told(
        _decided(_outdated(conditions={STAGE_WAITS: ConditionView(True, WaitReason.FLEET_ORDER, "", BEFORE)}), STUCK)
    )
    assert failing is not None
    assert (failing.status, failing.reason) == (True, FAILS)
    assert failing.message == (
        f"{STUCK.words}. Next: mend that, or take the change back there; or kedge roll orders --now, to go on without "
        "waiting for them"
    )


def test_it_blames_nobody_for_the_time_in_which_it_waited() -> None:
    waited = {STAGE_WAITS: ConditionView(True, WaitReason.FLEET_ORDER, "", BEFORE)}
    braked = Allowance(may_roll=False, reason="10 clusters are rolling")
    decision = _decided(_outdated(progressed_at=BEFORE, conditions=waited), None, allowance=braked)
    changed = {c.type: c for c in decision.events if isinstance(c, facts.ConditionChanged)}
    assert not changed[STAGE_WAITS].status
    assert "Blocked" not in changed


def test_a_vm_that_is_lost_is_replaced_at_any_time() -> None:
    view = _outdated()
    lost = replace(view.instances["brokers-b-0.g1"], lost_at=BEFORE)
    mending = changed_view(view, instances={**view.instances, lost.key: lost}, recycling=2)
    decision = _decided(mending, loss_grace_s=0.0)
    asked = [e for e in decision.events if isinstance(e, facts.SurgeRequested)]
    assert [i.node for e in asked for i in e.instances] == ["brokers-b-0"], decision.sentence


@pytest.mark.parametrize("waived", [(2, "asked by anna: a fix"), (1, "asked by anna: another fix")])
def test_a_permission_lets_its_own_generation_go_first(waived: tuple[int, str]) -> None:
    view = _outdated(waived=waived)
    goes = any(isinstance(e, facts.RecycleStarted) for e in _decided(view).events)
    assert goes == (waived[0] == view.generation)
    assert stage_words(view, ROLLS) == ("" if goes else ROLLS.words)


def test_a_window_is_told_before_the_stage() -> None:
    decision = _decided(_outdated(SHUT))
    assert decision.wait is not None
    assert decision.wait.reason == WaitReason.WINDOW
    assert _told(decision) is None


def test_who_waits_keeps_no_place_among_those_that_roll() -> None:
    brake, view = FleetBrake(max_rolling=1), _outdated(recycling=2)
    brake.note(view)
    brake.hear(view, Wait(WaitReason.FLEET_ORDER))
    assert brake.words(replace(view, uid=type(view.uid)("other"), name="other")).startswith("0 of 1 clusters roll")
