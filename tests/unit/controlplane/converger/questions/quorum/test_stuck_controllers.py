"""An active controller that decides nothing, found by its agent: started anew though Kafka answers no look."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from agent.wire import FindingReport
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.agent_reports import ReportSeen
from controlplane.cluster.observed.report_pace import AT_REST
from controlplane.cluster.view import ClusterView
from controlplane.converger.ladder.decide import decide
from controlplane.converger.questions.quorum.stuck_controller import stuck_controller_gate
from controlplane.converger.situation.situation import Situation
from events import facts
from tests.builders import BEFORE, NOW, a_drain, a_report, a_situation, a_view, an_instance
from tests.changed_view import changed_view

STUCK, SECOND, THIRD = "controllers-a-0.g1", "controllers-b-0.g1", "controllers-c-0.g1"
FINDING = FindingReport(name="controller_stuck", since=BEFORE, message="it leads the quorum and has written nothing")


def _reports(view: ClusterView, **others: ReportSeen) -> dict[str, ReportSeen]:
    follows = {"quorum_leader": 100.0, "quorum_log_end": 500.0}
    controllers = {i.key: a_report(i, metrics=follows) for i in view.controllers()}
    brokers = {i.key: a_report(i) for i in view.brokers()}
    stuck = a_report(view.instances[STUCK], metrics={"quorum_log_end": 510.0}, findings=(FINDING.model_dump(),))
    return {**brokers, **controllers, STUCK: stuck, **others}


def _seen(view: ClusterView | None = None, kafka: Any = None, **others: ReportSeen) -> Situation:
    view = view or _draining()
    return a_situation(view, kafka=kafka, reports={**_reports(view), **others})


def _draining(**overrides: Any) -> ClusterView:
    old, successor = an_instance("brokers-a-0", 1, Phase.DRAINING), an_instance("brokers-a-0", 2)
    return a_view(old, successor, **{"drain": a_drain(), "recycling": 1, **overrides})


def _cures(situation: Situation) -> list[type]:
    cures = (facts.HealingRequested, facts.RestartRequested)
    return [type(event) for event in decide(situation).events if isinstance(event, cures)]


def test_it_is_started_anew_in_the_middle_of_a_drain_that_waits_for_metadata() -> None:
    decision = decide(_seen())
    restart = decision.events[1]
    assert isinstance(restart, facts.RestartRequested)
    assert (restart.key, restart.start) == (STUCK, 2)
    assert "the 2 others follow it and have its log" in decision.sentence


def test_it_is_started_anew_in_a_cluster_at_rest() -> None:
    assert _cures(_seen(a_view())) == [facts.HealingRequested, facts.RestartRequested]


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"received_at": NOW - timedelta(seconds=31)}, "its agent is not heard"),
        ({"state": "starting"}, "it is starting"),
        ({"metrics": {"quorum_leader": 102.0, "quorum_log_end": 510.0}}, "it does not say that it follows"),
        ({"metrics": {"quorum_leader": 100.0}}, "it does not say that it follows"),
        ({"metrics": {"quorum_leader": 100.0, "quorum_log_end": 490.0}}, "it is 20 records behind"),
    ],
)
def test_it_leads_on_while_another_one_could_not_lead_instead(changed: dict[str, Any], why: str) -> None:
    view = _draining()
    about = {"metrics": {"quorum_leader": 100.0, "quorum_log_end": 510.0}, **changed}
    other = a_report(view.instances[SECOND], **about)
    situation = _seen(view, **{SECOND: other})
    assert stuck_controller_gate(situation, view.instances[STUCK]).reason == f"{SECOND} could not lead instead: {why}"
    assert _cures(situation) == []


def test_figures_of_a_report_that_stands_prove_no_follower_once_they_are_old() -> None:
    """At rest every second report says that the one before stands: what that measured is up to a minute old."""
    view = _draining()
    follows = a_report(view.instances[SECOND], metrics={"quorum_leader": 100.0, "quorum_log_end": 510.0})
    for age_s, opens in ((30, True), (31, False)):
        other = replace(follows, pace=AT_REST, measured_at=NOW - timedelta(seconds=age_s))
        gate = stuck_controller_gate(_seen(view, **{SECOND: other}), view.instances[STUCK])
        assert gate.open == opens, gate.reason
    assert gate.reason == f"{SECOND} could not lead instead: what it measured is old"


@pytest.mark.parametrize(
    ("about", "why"),
    [({"lost_at": BEFORE}, "its VM is gone"), ({"phase": Phase.LAUNCHED}, "it is launched")],
    ids=["gone", "on its way"],
)
def test_another_one_whose_vm_does_not_serve_could_not_lead(about: dict[str, Any], why: str) -> None:
    other = an_instance("controllers-b-0", **about)
    view = _draining(instances={**_draining().instances, SECOND: other})
    gate = stuck_controller_gate(_seen(view), view.instances[STUCK])
    assert gate.reason == f"{SECOND} could not lead instead: {why}"


def test_another_one_whose_agent_says_nothing_of_it_is_not_heard() -> None:
    view = _draining()
    situation = _seen(view, **{SECOND: a_report(view.instances[SECOND], "")})
    gate = stuck_controller_gate(situation, view.instances[STUCK])
    assert gate.reason == f"{SECOND} could not lead instead: its agent is not heard"


def test_nothing_is_done_about_it_while_a_voter_is_lost_or_on_its_way_or_something_restarts() -> None:
    lost = an_instance("controllers-b-0", lost_at=BEFORE)
    assert _cures(_seen(_draining(instances={**_draining().instances, SECOND: lost}))) == []
    known = _draining().quorum.voters
    foreign = _draining(voters={**known, 103: replace(known[102], id=103)})
    assert _cures(_seen(foreign)) == []
    gate = stuck_controller_gate(_seen(foreign), foreign.instances[STUCK])
    assert gate.reason == "who votes is being changed, or is run by others"
    coming = an_instance("brokers-b-1", 1, Phase.LAUNCHED)
    assert _cures(_seen(_draining(instances={**_draining().instances, coming.key: coming}))) == []


def test_nothing_is_done_about_it_where_a_person_holds_the_cluster_or_heals_themselves() -> None:
    assert _cures(_seen(changed_view(_draining(), paused="lunch"))) == []
    document = _draining().document
    assert document is not None
    by_hand = document.spec.model_copy(update={"healing": document.spec.healing.model_copy(update={"restart": False})})
    assert _cures(_seen(_draining(document=document.model_copy(update={"spec": by_hand})))) == []
