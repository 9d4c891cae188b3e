"""A new VM on which Kafka refuses its configuration is no dead VM (case 3 of issue 27)."""

from dataclasses import replace
from datetime import timedelta

import pytest

from controlplane.cluster.folds.instances import RULES
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ConditionView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.wait_reasons import WaitReason, is_for_a_person
from controlplane.converger.conditions.changes import condition_changes
from controlplane.converger.ladder.decide import decide
from controlplane.converger.questions.rolls.refusals import refused_settings
from controlplane.converger.situation.decision import wait
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.rolls.arrivals import arrival_step
from controlplane.converger.steps.rolls.reconfigurations import reconfiguration_step
from controlplane.converger.steps.rolls.refusals import refusal_left_step
from events import facts
from events.spec.model import KafkaClusterDocument
from planner.rollout.desired import DesiredNode, desired_nodes
from tests.builders import BEFORE, NODES, NOW, a_document, a_report, a_situation, a_view, an_instance
from tests.changed_view import changed_view

_RULE = "requirement failed: replica.socket.timeout.ms should always be at least replica.fetch.wait.max.ms"
_LATE = NOW - timedelta(hours=1)
_BAD, _GOOD = {"replica.fetch.wait.max.ms": "40000"}, {"replica.fetch.wait.max.ms": "400"}


def _document(config: dict[str, str], **spec: object) -> KafkaClusterDocument:
    told = ", ".join(f"{k}: {v}" for k, v in config.items())
    return a_document(config=f", config: {{{told}}}" if told else "", **spec)


def _arriving(node: str = "brokers-a-0", generation: int = 1, config: dict[str, str] | None = None) -> InstanceView:
    return _told(an_instance(node, generation, Phase.LAUNCHED, since=_LATE, launched_at=_LATE), config or _BAD)


def _told(instance: InstanceView, config: dict[str, str]) -> InstanceView:
    """As it is where the spec said that when it was made."""
    node = _node(instance.node, config)
    planned = replace(instance.planned, settings=dict(node.settings), heap_mib=node.heap_mib, digest=node.digest)
    return replace(instance, planned=planned, start=replace(instance.start, config=config, born_with=config))


def _node(node: str, config: dict[str, str]) -> DesiredNode:
    return next(n for n in desired_nodes(_document(config)) if n.node == node)


def _founding(config: dict[str, str], *, refuses: str = _RULE, **seen: object) -> Situation:
    """Six VMs that came up long ago; what each was told is refused. `config` is what the spec says by now."""
    there = [_arriving(node) for node in NODES]
    view = a_view(*there, converged=0, recycling=1, document=_document(config))
    reports = {i.key: a_report(i, "failed", refuses=refuses) for i in there}
    return a_situation(view, **{"kafka": None, "reports": reports, **seen})


def test_no_deadline_replaces_a_vm_whose_configuration_is_refused() -> None:
    situation = _founding(_BAD)
    assert arrival_step(situation) is None
    decision = decide(situation)
    assert not [e for e in decision.events if not isinstance(e, facts.ConditionChanged)]
    assert decision.wait is not None
    assert (decision.wait.reason, decision.wait.next_command) == (
        "ConfigurationRefused",
        "kedge apply, with other settings",
    )
    assert decision.sentence.count(_RULE) == 1


def test_nor_does_a_silence_of_its_agent_since() -> None:
    """Its word stands: that a server was away for an hour makes no VM dead."""
    there = [_arriving(node) for node in NODES]
    old = NOW - timedelta(minutes=50)
    reports = {i.key: a_report(i, "failed", refuses=_RULE, received_at=old) for i in there}
    assert arrival_step(_founding(_BAD, reports=reports)) is None


def test_a_vm_that_fails_for_something_else_is_given_up_at_its_deadline_as_ever() -> None:
    decision = arrival_step(_founding(_BAD, refuses=""))
    assert decision is not None
    assert {type(e) for e in decision.events} == {facts.JoinFailed}


def test_a_refusal_of_an_earlier_start_is_none_of_this_one() -> None:
    one = _arriving("brokers-a-0")
    view = a_view(one, document=_document(_BAD))
    of_before = a_report(one, "failed", refuses=_RULE, start_id="brokers-a-0.g1-0")
    assert refusal_left_step(a_situation(view, reports={one.key: of_before})) is None


def test_who_waits_for_a_refused_quorum_is_not_late() -> None:
    situation = _founding(_BAD)
    brokers = {f"{n}.g1": a_report(situation.view.instances[f"{n}.g1"], "starting") for n in NODES[:3]}
    seen = replace(situation.seen, reports={**situation.seen.reports, **brokers})
    assert arrival_step(replace(situation, seen=seen)) is None
    silent = {k: r for k, r in seen.reports.items() if k != "brokers-a-0.g1"}
    decision = arrival_step(replace(situation, seen=replace(seen, reports=silent)))
    assert decision is not None, "who was never heard of may well be dead"
    assert [e.key for e in decision.events if isinstance(e, facts.JoinFailed)] == ["brokers-a-0.g1"]


def test_the_condition_says_kafkas_words_once_and_is_a_persons() -> None:
    situation = _founding(_BAD)
    blocked = next(c for c in decide(situation).events if isinstance(c, facts.ConditionChanged) and c.type == "Blocked")
    assert (blocked.status, blocked.reason) == (True, "ConfigurationRefused")
    assert blocked.message.count(_RULE) == 1
    assert is_for_a_person(blocked.reason, blocked.message)


def test_another_setting_in_kafkas_words_is_told_anew() -> None:
    situation = _founding(_BAD)
    first = next(c for c in decide(situation).events if isinstance(c, facts.ConditionChanged) and c.type == "Blocked")
    told = {"Blocked": ConditionView(True, first.reason, first.message, BEFORE)}
    held = replace(situation, view=replace(situation.view, conditions=told))
    assert not [c for c in decide(held).events if isinstance(c, facts.ConditionChanged) and c.type == "Blocked"]
    other = _founding(_BAD, refuses="num.io.threads is not a number")
    held = replace(other, view=replace(other.view, conditions=told))
    assert "num.io.threads" in str(decide(held).events)


def test_what_asked_for_another_spec_is_over_once_it_came_and_something_else_is_waited_for() -> None:
    situation = _founding(_GOOD)
    told = {"Blocked": ConditionView(True, "ConfigurationRefused", "x", BEFORE - timedelta(seconds=5))}
    view = changed_view(situation.view, conditions=told, progressed_at=NOW)
    waiting = wait(WaitReason.INSTANCE_JOINS, "waiting", patience_s=120)
    (changed,) = [c for c in condition_changes(replace(situation, view=view), waiting) if c.type == "Blocked"]
    assert not changed.status
    younger = replace(view, conditions={"Blocked": replace(told["Blocked"], since=NOW)})
    assert not [c for c in condition_changes(replace(situation, view=younger), waiting) if c.type == "Blocked"]


# --- another spec --------------------------------------------------------------------------------------------------


def test_a_mended_spec_is_told_to_the_very_vms() -> None:
    decision = reconfiguration_step(_founding(_GOOD))
    assert decision is not None
    told = [e for e in decision.events if isinstance(e, facts.InstanceReconfigured)]
    assert {e.key for e in told} == {f"{n}.g1" for n in NODES}
    assert {(e.start, tuple(e.config.items())) for e in told} == {(2, tuple(_GOOD.items()))}
    assert {e.told["replica.fetch.wait.max.ms"] for e in told} == {"400"}


def test_the_same_spec_tells_nothing_new() -> None:
    assert reconfiguration_step(_founding(_BAD)) is None


def test_a_heap_that_was_refused_is_told_anew() -> None:
    situation = _founding(_BAD)
    view = replace(situation.view, document=_document(_BAD, heap=512))
    decision = reconfiguration_step(replace(situation, view=view))
    assert decision is not None
    told = {e.key: e.heap_mib for e in decision.events if isinstance(e, facts.InstanceReconfigured)}
    assert told["brokers-a-0.g1"] == 512


def test_a_guarded_setting_follows_the_spec_too_where_nobody_serves() -> None:
    """In a cluster that serves it stands still until its roll is over; here that would be for ever."""
    there = [_arriving(n, config={"min.insync.replicas": "1"}) for n in NODES]
    view = a_view(*there, converged=0, recycling=1, document=_document({"min.insync.replicas": "2"}))
    reports = {i.key: a_report(i, "failed", refuses=_RULE) for i in there}
    decision = reconfiguration_step(a_situation(view, kafka=None, reports=reports))
    assert decision is not None
    assert {e.told["min.insync.replicas"] for e in decision.events if isinstance(e, facts.InstanceReconfigured)} == {
        "2"
    }


def test_a_spec_that_wants_another_vm_gets_it_and_counts_no_failed_try() -> None:
    situation = _founding(_GOOD)
    view = replace(situation.view, document=_document(_GOOD, machine="medium"))
    decision = reconfiguration_step(replace(situation, view=view))
    assert decision is not None
    failed = [e for e in decision.events if isinstance(e, facts.JoinFailed)]
    assert {e.key for e in failed} == {f"{n}.g1" for n in NODES[:3]}
    after = view
    for event in failed:
        assert event.superseded
        after = RULES[facts.JoinFailed](after, event, NOW)
    assert after.roll.join_failures == 0


def test_a_roll_that_was_aborted_does_not_wait_for_who_is_refused() -> None:
    successor = _arriving("brokers-a-0", 2)
    view = a_view(successor, document=_document(_BAD), aborting="the wrong file", paused="the wrong file")
    reports = {successor.key: a_report(successor, "failed", refuses=_RULE)}
    decision = reconfiguration_step(a_situation(view, reports=reports))
    assert decision is not None
    assert [(type(e), e.key) for e in decision.events] == [(facts.JoinFailed, successor.key)]


@pytest.mark.parametrize("serves", [True, False])
def test_what_may_be_refused_is_what_who_serves_has_otherwise(serves: bool) -> None:
    successor = _arriving("brokers-a-0", 2)
    phase = Phase.JOINED if serves else Phase.LAUNCHED
    others = [_told(an_instance(n, 1, phase), {**_GOOD, "num.io.threads": "8"}) for n in NODES]
    view = a_view(*others, successor, document=_document(_BAD))
    situation = a_situation(view, reports={successor.key: a_report(successor, "failed", refuses=_RULE)})
    assert refused_settings(situation) == ({"replica.fetch.wait.max.ms", "num.io.threads"} if serves else frozenset())
