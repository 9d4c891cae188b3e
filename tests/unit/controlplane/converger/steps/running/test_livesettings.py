"""Which settings are set live and when: what the spec asks for, what a roll holds back, what was changed by hand."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.running_settings import SettingChangeView, SettingRefusal, SettingStage
from controlplane.converger.conditions.live_settings import settings_adopted
from controlplane.converger.questions.running.setting_work import SettingWork, drift_works, setting_work
from controlplane.converger.questions.services.applied_settings import config_to_make, settings_to_make
from controlplane.converger.situation.effects import SetSettings
from controlplane.converger.situation.observation import SettingsObserved
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.running.live_settings import settings_in_hand_step, settings_left_step, settings_step
from events import facts
from planner.observed import PartitionSeen, SettingSeen
from planner.rollout.desired import desired_nodes
from planner.rollout.live_step import LiveStep, SettingDeviation
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

OLD: Mapping[str, str] = {"num.io.threads": "8", "min.insync.replicas": "2"}
SAID = "num.io.threads: 16, min.insync.replicas: 1"
WANTED = a_document(config=f", config: {{{SAID}}}")


def _drift(view: ClusterView) -> SettingWork | None:
    return next(iter(drift_works(view)), None)


def _told(node: str, generation: int = 1, config: Mapping[str, str] = OLD, **overrides: Any) -> InstanceView:
    digest = next(n for n in desired_nodes(WANTED) if n.node == node).digest_with(config)
    made = an_instance(node, generation, **{"digest": digest, **overrides})
    return replace(made, start=replace(made.start, born_with=config, config=config))


def _cluster(*instances: InstanceView, **overrides: Any) -> ClusterView:
    values: dict[str, Any] = {"document": WANTED, "generation": 2, **overrides}
    return a_view(*(_told(node) for node in NODES), *instances, **values)


def _observed(live: Mapping[str, str], step: LiveStep, **said: str | None) -> SettingsObserved:
    """Three brokers answered and would take it, but for what `b1001="words"` says."""
    refusals: dict[int, str | None] = dict.fromkeys((1000, 1001, 1002))
    refusals |= {int(b.removeprefix("b")): words for b, words in said.items()}
    running = {b: {n: SettingSeen("8") for n in live} for b in refusals}
    return SettingsObserved(live, False, running, (), step, refusals)


STEP = LiveStep({"num.io.threads": "16"})
ROLLED = {"num.io.threads": "16"}


OUTDATED = _told("brokers-a-0", digest="other")
"""Its VM is to be replaced: guarded settings stand still."""


def _hand_over() -> InstanceView:
    """A successor serves beside its predecessor: the roll goes on."""
    return _told("brokers-a-0", 2, service_id=1010)


def test_everything_that_can_change_live_is_set_at_rest() -> None:
    work = setting_work(_cluster())
    assert work is not None
    assert work.live == {"num.io.threads": "16", "min.insync.replicas": "1"}
    assert work.applied == work.config == {"num.io.threads": "16", "min.insync.replicas": "1"}


@pytest.mark.parametrize(
    "instance",
    [_hand_over(), OUTDATED, _told("brokers-a-0", phase=Phase.DRAINING)],
    ids=["a predecessor serves on", "a VM is to be replaced", "a broker is drained"],
)
def test_min_isr_stands_still_while_anything_rolls(instance: InstanceView) -> None:
    work = setting_work(_cluster(instance))
    assert work is not None
    assert work.live == {"num.io.threads": "16"}


def test_a_change_of_min_isr_whose_first_broker_left_is_begun_again_once_nothing_rolls() -> None:
    """All who are there were made with what the spec says; that broker is not among them any more."""
    config = {"num.io.threads": "16", "min.insync.replicas": "1"}
    change = SettingChangeView(
        "c1", 2, config, config, config, BEFORE, canary=999, stage=SettingStage.WATCH, tried=(999,)
    )
    born = [_told(node, config=config) for node in NODES]
    rolling = replace(_told("brokers-a-0", 2, config=config, service_id=1010), phase=Phase.LAUNCHED)
    assert setting_work(a_view(*born, rolling, document=WANTED, generation=2, setting_change=change)) is None
    work = setting_work(a_view(*born, document=WANTED, generation=2, setting_change=change))
    assert work is not None
    assert (work.change, dict(work.live)) == ("", config)


def test_a_vm_made_in_a_roll_has_the_min_isr_in_force_and_all_else_of_the_spec() -> None:
    assert config_to_make(_cluster(), WANTED, "brokers") == {"min.insync.replicas": "2", "num.io.threads": "16"}
    said = {"min.insync.replicas": "1", "num.io.threads": "16", "other": "x"}
    made = settings_to_make(_cluster(), WANTED, "brokers", said)
    assert made == {"min.insync.replicas": "2", "num.io.threads": "16", "other": "x"}
    assert config_to_make(replace(_cluster(), instances={}), WANTED, "brokers") == WANTED.spec.kafka.config


def test_the_intent_is_recorded_before_anything_is_sent() -> None:
    view = _cluster(OUTDATED)
    decision = settings_step(a_situation(view, settings=_observed(ROLLED, STEP)))
    assert decision is not None
    (request,) = decision.events
    assert isinstance(request, facts.SettingsChangeRequested)
    assert (request.live, decision.effects) == (ROLLED, ())


def test_a_refusal_is_recorded_and_nothing_is_sent() -> None:
    seen = _observed(ROLLED, STEP, b1001="not that many")
    decision = settings_step(a_situation(_cluster(OUTDATED), settings=seen))
    assert decision is not None
    assert decision.events == (facts.SettingsRefused("", 2, 1001, ROLLED, "not that many"),)
    assert decision.effects == ()


def test_a_broker_that_does_not_answer_holds_the_change_back_but_not_the_rest() -> None:
    whole = _observed(ROLLED, STEP)
    silent = replace(whole, refusals={1000: None, 1001: None}, running={b: whole.running[b] for b in (1000, 1001)})
    situation = a_situation(_cluster(OUTDATED), settings=silent)
    assert settings_step(situation) is None
    left = settings_left_step(situation)
    assert left is not None
    assert left.sentence == "num.io.threads=16 not set yet: broker 1002 does not answer"


def _open(generation: int = 2) -> SettingChangeView:
    return SettingChangeView("change-1", generation, ROLLED, {"num.io.threads": "16"}, {"num.io.threads": "16"}, BEFORE)


def test_a_change_in_hand_is_sent_until_it_is_read_back() -> None:
    view = _cluster(setting_change=_open())
    decision = settings_in_hand_step(a_situation(view, settings=_observed(ROLLED, STEP)))
    assert decision is not None
    assert decision.effects == (SetSettings(STEP),)
    done = settings_in_hand_step(a_situation(view, settings=_observed(ROLLED, LiveStep())))
    assert done is not None
    assert done.events == (facts.SettingsChanged("change-1"),)


def test_a_change_of_an_earlier_spec_gives_way_and_what_it_set_goes_back() -> None:
    before = a_document(config=", config: {min.insync.replicas: 2, num.io.threads: 8}")
    view = _cluster(document=before, setting_change=_open(generation=1))
    assert settings_in_hand_step(a_situation(view, settings=_observed(ROLLED, STEP))) is None
    work = setting_work(view)
    assert work is not None
    assert (work.live, work.change) == ({"num.io.threads": "8"}, "")


def test_a_lost_vm_is_replaced_though_a_setting_was_refused() -> None:
    refused = {"setting_refusal": SettingRefusal(1001, ROLLED, "not that many")}
    decision = settings_step(a_situation(_cluster(**refused)))
    assert decision is not None
    assert decision.wait is not None
    assert decision.wait.reason == "SettingRefused"
    assert settings_step(a_situation(_cluster(_told("brokers-a-0", lost_at=BEFORE), **refused))) is None


# --- guarded ------------------------------------------------------------------------------------------------------

RISING = a_document(config=", config: {num.io.threads: 16, min.insync.replicas: 2}")
BOTH = {"num.io.threads": "16", "min.insync.replicas": "2"}


def _guarded(partition: PartitionSeen, step: Mapping[str, str] = BOTH, **overrides: Any) -> Situation:
    """A change of both is in hand; brokers run with min ISR 1."""
    change = SettingChangeView("change-1", 2, BOTH, BOTH, BOTH, BEFORE)
    view = _cluster(document=RISING, setting_change=change, **overrides)
    seen = _observed(BOTH, LiveStep(step))
    running = {b: {n: SettingSeen("1" if "insync" in n else "8") for n in BOTH} for b in seen.running}
    return a_situation(view, kafka=a_snapshot(partition), settings=replace(seen, running=running))


FOLLOWS = a_partition("lean-0", (1000, 1001), isr=(1000,), min_isr=1, configured_min_isr=1)
WHOLE = replace(FOLLOWS, isr=(1000, 1001))


def test_min_isr_of_the_cluster_is_not_raised_under_partitions_that_would_refuse_writes() -> None:
    """A broker that catches up for an hour serves and answers, and nothing rolls: only the ISRs tell."""
    decision = settings_in_hand_step(_guarded(FOLLOWS))
    assert decision is not None
    assert decision.effects == (SetSettings(LiveStep({"num.io.threads": "16"})),)
    last = _guarded(FOLLOWS, {"min.insync.replicas": "2"})
    assert settings_in_hand_step(last) is None
    left = settings_left_step(last)
    assert left is not None
    assert "1 partitions have too few replicas in sync for it, lean-0 among them (ISR [1000] of [1000, 1001])" in (
        left.sentence
    )
    decision = settings_in_hand_step(_guarded(WHOLE, {"min.insync.replicas": "2"}))
    assert decision is not None
    assert decision.effects == (SetSettings(LiveStep({"min.insync.replicas": "2"})),)


def test_topics_with_a_min_isr_of_their_own_do_not_hold_up_that_of_the_cluster() -> None:
    decision = settings_in_hand_step(_guarded(replace(FOLLOWS, configured_min_isr=3), {"min.insync.replicas": "2"}))
    assert decision is not None
    assert decision.effects


@pytest.mark.parametrize(
    "overrides",
    [{"orders": {"brokers-a-0.g1": NOW}}, {"drain": a_drain()}],
    ids=["an order on its way", "a drain"],
)
def test_min_isr_of_the_cluster_waits_for_what_began_after_it_was_asked_for(overrides: dict[str, Any]) -> None:
    assert settings_in_hand_step(_guarded(WHOLE, {"min.insync.replicas": "2"}, **overrides)) is None


# --- by hand ------------------------------------------------------------------------------------------------------


def _at_rest(**overrides: Any) -> ClusterView:
    config = WANTED.spec.kafka.config
    return _cluster(*(_told(n, config=config) for n in NODES), converged=2, **overrides)


def test_at_rest_what_the_spec_names_and_what_was_set_live_is_held() -> None:
    work = _drift(_at_rest(live={"log.retention.ms": "3600000"}))
    assert work is not None
    assert work.live == {"log.retention.ms": "3600000", "min.insync.replicas": "1", "num.io.threads": "16"}


def test_hours_and_what_is_read_at_the_start_cannot_be_changed_by_hand() -> None:
    fixed = a_document(config=", config: {num.partitions: 6, log.retention.hours: 24}")
    config = fixed.spec.kafka.config
    view = a_view(*(_told(n, config=config) for n in NODES), document=fixed)
    assert drift_works(view) == ()


@pytest.mark.parametrize(
    "view",
    [_cluster(), _at_rest(recycling=2), _at_rest(setting_change=_open()), _at_rest(drain=a_drain())],
    ids=["working", "rolling", "a change in hand", "a drain in hand"],
)
def test_nothing_is_put_right_while_anything_is_in_hand(view: ClusterView) -> None:
    assert drift_works(view) == ()


def test_what_was_changed_by_hand_is_put_right_by_an_intent_of_its_own() -> None:
    view = _at_rest()
    work = _drift(view)
    assert work is not None
    off = SettingDeviation(1001, "num.io.threads", "3", "16", is_own=True)
    seen = replace(
        _observed(work.live, LiveStep({}, {1001: {"num.io.threads": "6"}})), is_drift=True, deviations=(off,)
    )
    decision = settings_step(a_situation(view, settings=seen))
    assert decision is not None
    (request,) = decision.events
    assert isinstance(request, facts.SettingsChangeRequested)
    assert (request.live, request.config, request.told) == ({"num.io.threads": "16"}, {}, {})
    assert "broker 1001 has num.io.threads=3, not 16" in request.reason
    assert settings_step(a_situation(view, settings=replace(seen, deviations=(), step=LiveStep()))) is None


ADOPTING = a_document(config=f", config: {{{SAID}}}, adopt: [num.io.threads]")


def test_an_adopted_setting_is_told_while_it_differs_and_never_put_right() -> None:
    view = _at_rest(document=ADOPTING)
    work = _drift(view)
    assert work is not None
    assert (work.live, work.adopted) == ({"min.insync.replicas": "1"}, {"num.io.threads": "16"})
    off = SettingDeviation(1001, "num.io.threads", "3", "16", is_own=True)
    seen = replace(_observed(work.live, LiveStep()), is_drift=True, kept=(off,))
    assert settings_step(a_situation(view, settings=seen)) is None
    told = settings_adopted(a_situation(view, settings=seen))
    assert told is not None
    assert told.status
    assert "broker 1001 has num.io.threads=3, not 16" in told.message
    quiet = settings_adopted(a_situation(view, settings=replace(seen, kept=())))
    assert quiet is not None
    assert not quiet.status
    assert settings_adopted(a_situation(view)) is None, "nobody was asked: what was told stays"
    unnamed = settings_adopted(a_situation(_at_rest(), settings=seen))
    assert unnamed is not None
    assert not unnamed.status
