"""VMs the cloud takes back in minutes, as their agents tell it: the successor is begun at once, and it is told."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from agent.wire import PreemptionReport
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.agent_reports import AGENT_FINDINGS, ReportSeen, keep_report, unhealthy_clusters
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.running_settings import ReplaceView
from controlplane.converger.conditions.maintenance import MAINTENANCE, maintenance_condition
from controlplane.converger.ladder.decide import decide
from controlplane.converger.questions.clouds.announced import preemptions
from controlplane.converger.situation.decision import Decision
from controlplane.converger.steps.clouds.maintenance import maintenance_step
from events import facts
from tests.builders import (
    NOW,
    a_document,
    a_drain,
    a_move,
    a_partition,
    a_plan,
    a_report,
    a_situation,
    a_snapshot,
    a_view,
    an_instance,
)
from tests.fakes.latest_values import MemoryLatestStore

A, B = "brokers-a-0.g1", "brokers-b-0.g1"


def told(view: ClusterView, key: str, *, in_s: float | None = 120, kind: str = "preempt") -> ReportSeen:
    """The report of that VM's agent, with what the cloud told it."""
    seen = a_report(view.instances[key])
    deadline = None if in_s is None else NOW + timedelta(seconds=in_s)
    notice = PreemptionReport(kind=kind, deadline=deadline, since=NOW, words="spot terminate")
    return replace(seen, report=seen.report.model_copy(update={"preemption": notice}))


def reports(view: ClusterView, *others: ReportSeen) -> dict[str, ReportSeen]:
    there = {i.key: a_report(i) for i in view.alive()}
    return there | {f"{o.report.node}.g{o.report.generation}": o for o in others}


def test_the_successor_of_a_vm_that_is_taken_back_is_begun_at_once() -> None:
    view = a_view()
    decision = maintenance_step(a_situation(view, reports=reports(view, told(view, A))))
    assert decision is not None
    asked = [e for e in decision.events if isinstance(e, facts.NodeReplaceRequested)]
    assert [e.key for e in asked] == [A]
    assert "the VM was told: spot terminate" in decision.sentence


def test_it_is_begun_though_the_cloud_itself_does_not_answer() -> None:
    view = a_view()
    situation = a_situation(view, reports=reports(view, told(view, A)), inventory=None)
    assert maintenance_step(situation) is not None
    assert maintenance_condition(situation) == facts.ConditionChanged(
        MAINTENANCE,
        True,
        "Announced",
        f"{A}: stop not before {NOW + timedelta(seconds=120):%Y-%m-%d %H:%M} UTC (the VM was told: spot terminate)",
    )


def test_a_cluster_at_rest_is_looked_at_when_one_of_its_vms_is_told() -> None:
    latest, view = MemoryLatestStore(), a_view()
    keep_report(latest, view.uid, B, a_report(view.instances[B]).report, NOW)
    assert unhealthy_clusters(latest.of_kind(AGENT_FINDINGS), NOW) == frozenset()
    keep_report(latest, view.uid, A, told(view, A).report, NOW)
    assert unhealthy_clusters(latest.of_kind(AGENT_FINDINGS), NOW) == {view.uid}


def test_a_vm_with_a_date_goes_before_one_that_may_go_some_day() -> None:
    view = a_view()
    situation = a_situation(
        view, reports=reports(view, told(view, A, in_s=None, kind="rebalance"), told(view, B, in_s=90))
    )
    decision = maintenance_step(situation)
    assert decision is not None
    assert [e.key for e in decision.events if isinstance(e, facts.NodeReplaceRequested)] == [B]
    condition = maintenance_condition(situation)
    assert condition is not None
    assert condition.reason == "Waiting"
    assert f"{B} goes first" in condition.message


def test_a_recommendation_without_a_date_is_followed_too() -> None:
    view = a_view()
    seen = reports(view, told(view, A, in_s=None, kind="rebalance"))
    assert maintenance_step(a_situation(view, reports=seen)) is not None


def test_nothing_is_begun_where_no_vm_was_told_anything() -> None:
    view = a_view()
    situation = a_situation(view, reports=reports(view))
    assert preemptions(situation) == {}
    assert maintenance_step(situation) is None
    told_ = maintenance_condition(situation)
    assert told_ is None or not told_.status


@pytest.mark.parametrize("in_s", [0, -60])
def test_a_date_that_is_past_is_the_clouds_business(in_s: float) -> None:
    view = a_view()
    situation = a_situation(view, reports=reports(view, told(view, A, in_s=in_s)))
    assert maintenance_step(situation) is None
    condition = maintenance_condition(situation)
    assert condition is not None
    assert "its date is past" in condition.message


DRAINED = an_instance("brokers-a-0", 1, Phase.DRAINING)
SUCCESSOR = an_instance("brokers-a-0", 2, service_id=1010)


def _beside_a_drain(in_s: float, **about: Any) -> Decision:
    """A drain of A moves what it has, and B's VM was told that it goes."""
    moving = a_partition("orders-0", (1010, 1000, 1001, 1002), isr=(1000, 1001, 1002), adding=(1010,), removing=(1000,))
    values: dict[str, Any] = {"drain": a_drain(), "recycling": 1, **about}
    view = a_view(DRAINED, SUCCESSOR, **values)
    seen = reports(view, told(view, B, in_s=in_s))
    kafka = a_snapshot(moving, brokers=(1000, 1001, 1002, 1010))
    plan = a_plan([a_move("orders-0")])
    return decide(a_situation(view, reports=seen, kafka=kafka, plan=plan, plan_sha256=a_drain().plan.sha256))


def test_a_vm_that_goes_in_minutes_does_not_wait_for_the_drain_of_another_one() -> None:
    """It waited for as long as the drain took, and was gone long before its successor was begun."""
    asked = [e for e in _beside_a_drain(120).events if isinstance(e, facts.NodeReplaceRequested)]
    assert [e.key for e in asked] == [B]
    made = _beside_a_drain(120, to_replace={B: ReplaceView("the cloud announces maintenance", False, NOW)})
    surges = [e for e in made.events if isinstance(e, facts.SurgeRequested)]
    assert [i.key for s in surges for i in s.instances] == ["brokers-b-0.g2"]


def _with_somebody_lost(**about: Any) -> Decision:
    """A broker was lost a moment ago, and B's VM was told that it goes in two minutes."""
    gone = an_instance("brokers-c-0", lost_at=NOW - timedelta(seconds=10))
    view = a_view(gone, recycling=1, **about)
    return decide(a_situation(view, reports=reports(view, told(view, B)), kafka=a_snapshot(brokers=(1000, 1001))))


def test_a_vm_that_goes_in_minutes_does_not_wait_for_the_grace_of_a_lost_one() -> None:
    """Both were gone by then: its own successor was asked for, and not made before the grace of the other was over."""
    made = _with_somebody_lost(to_replace={B: ReplaceView("the cloud announces maintenance", False, NOW)})
    surges = [e for e in made.events if isinstance(e, facts.SurgeRequested)]
    assert [i.key for s in surges for i in s.instances] == ["brokers-b-0.g2"]


def _with_a_successor(
    lost_s: float = 10, in_s: float = 120, has: tuple[int, ...] = (1000, 1001), **about: Any
) -> Decision:
    """The same, and the successor of the one that goes is there."""
    gone = an_instance("brokers-c-0", lost_at=NOW - timedelta(seconds=lost_s))
    successor = an_instance("brokers-b-0", 2, service_id=1010)
    asked = {B: ReplaceView("the cloud announces maintenance", False, NOW)}
    view = a_view(gone, successor, recycling=1, **{"to_replace": asked, **about})
    there = (a_partition("orders-0", isr=(1000, 1001)), a_partition("orders-1", has, isr=(1000, 1001)))
    kafka = a_snapshot(*there, brokers=(1000, 1001, 1010), fenced=(1002,))
    return decide(a_situation(view, reports=reports(view, told(view, B, in_s=in_s)), kafka=kafka))


def test_what_a_vm_that_goes_in_minutes_has_is_copied_in_the_grace_of_a_lost_one() -> None:
    """All it had went with its VM, and its successor stood there empty."""
    (drain,) = [e for e in _with_a_successor().events if isinstance(e, facts.DrainRequested)]
    assert (drain.keys, drain.successors, drain.targets) == ((B,), {"1001": 1010}, (1000, 1010))


@pytest.mark.parametrize(
    "about",
    [
        {"lost_s": 400},
        {"in_s": 3600},
        {"in_s": -5},
        {"paused": "a look"},
        {"to_replace": {}},
        {"has": (1000, 1001, 1002)},
    ],
    ids=[
        "the lost one is replaced first",
        "it can wait",
        "too late",
        "a person holds it",
        "it stays",
        "no move would end",
    ],
)
def test_no_drain_is_begun_beside_a_lost_broker_without_need(about: dict[str, Any]) -> None:
    assert not [e for e in _with_a_successor(**about).events if isinstance(e, facts.DrainRequested)]


def test_a_vm_that_goes_in_minutes_does_not_wait_for_a_handover_whose_gate_is_closed() -> None:
    old = an_instance("brokers-a-0", 1)
    successor = an_instance(
        "brokers-a-0", 2, Phase.LAUNCHED, handover=True, service_id=1000, volumes=old.planned.volumes
    )
    view = a_view(old, successor, recycling=1, to_replace={old.key: ReplaceView("asked", False, NOW)})
    decision = decide(a_situation(view, reports=reports(view, told(view, B))))
    assert [e.key for e in decision.events if isinstance(e, facts.NodeReplaceRequested)] == [B]


@pytest.mark.parametrize(
    ("in_s", "about"),
    [
        (3600, {}),
        (-5, {}),
        (120, {"paused": "a look"}),
    ],
    ids=["it can wait", "too late", "a person holds the cluster"],
)
def test_nothing_is_made_beside_a_drain_without_need(in_s: float, about: dict[str, Any]) -> None:
    decision = _beside_a_drain(in_s, **about)
    assert not [e for e in decision.events if isinstance(e, facts.NodeReplaceRequested | facts.SurgeRequested)]


def test_what_the_spec_says_of_maintenance_counts_here_too() -> None:
    document = a_document()
    healing = document.spec.healing.model_copy(update={"maintenance": "tell"})
    told_only = document.model_copy(update={"spec": document.spec.model_copy(update={"healing": healing})})
    view = a_view(document=told_only)
    situation = a_situation(view, reports=reports(view, told(view, A)))
    assert maintenance_step(situation) is None
    condition = maintenance_condition(situation)
    assert condition is not None
    assert "`healing.maintenance: tell`" in condition.message


def test_the_word_of_a_vm_that_is_gone_is_history() -> None:
    view = a_view(an_instance("brokers-a-0", lost_at=NOW))
    assert preemptions(a_situation(view, reports={A: told(view, A)})) == {}


def test_a_vm_that_is_being_replaced_is_told_of_and_not_asked_for_again() -> None:
    view = a_view(an_instance("brokers-a-0", phase=Phase.DRAINING))
    situation = a_situation(view, reports=reports(view, told(view, A)))
    assert maintenance_step(situation) is None
    condition = maintenance_condition(situation)
    assert condition is not None
    assert (condition.status, condition.reason) == (True, "Announced")
