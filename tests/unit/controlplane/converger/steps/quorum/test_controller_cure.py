"""Another controller as the last cure: by a restart under the quorum's gate, by an election of a whole ensemble."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.converger.questions.moves.other_controller import (
    OtherController,
    is_unsettled,
    may_reelect,
    other_controller,
)
from controlplane.converger.situation.effects import ReelectController
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.quorum.controller_cure import STANDS, reelection_due
from events import facts
from planner.observed import KafkaSnapshot, QuorumSeen, VoterSeen
from tests.builders import BEFORE, NOW, a_situation, a_snapshot, a_view, an_instance
from tests.changed_view import changed_view
from tests.unit.controlplane.cohosted import a_sharing_view

LEADER = "controllers-a-0.g1"


def _other(view: ClusterView, kafka: KafkaSnapshot | None = None, **seen: Any) -> OtherController | None:
    kafka = kafka or a_snapshot()
    return other_controller(a_situation(view, kafka=kafka, **seen), kafka, "as tested")


def test_the_controller_that_leads_is_started_anew_once_more_and_is_no_canary() -> None:
    found = _other(a_view(an_instance("controllers-a-0", starts=3), generation=7))
    assert found is not None
    assert found.key == LEADER
    assert found.event == facts.RestartRequested(
        key=LEADER,
        generation=7,
        start=4,
        config={},
        told={},
        canary=False,
        reason="another controller is to take over: as tested",
    )


def test_it_is_not_while_its_vm_is_gone_or_no_controller_of_ours_leads() -> None:
    assert _other(a_view(an_instance("controllers-a-0", lost_at=BEFORE))) is None
    kafka = a_snapshot()
    assert _other(a_view(), replace(kafka, quorum=replace(kafka.quorum, leader=-1))) is None
    assert _other(a_view(an_instance("controllers-a-0", phase=Phase.LINGERING))) is None


def test_it_is_not_while_another_voter_lags() -> None:
    kafka = a_snapshot()
    (first, second, third) = kafka.quorum.members
    late = replace(kafka, quorum=replace(kafka.quorum, members=(first, replace(second, lag=500), third)))
    assert _other(a_view(), late) is None


def test_it_is_not_in_zookeeper_mode_where_a_restart_elects_nobody() -> None:
    view = a_sharing_view()
    kafka = a_snapshot(mode="kraft", quorum=_voters())
    assert _other(view, kafka) is None


@pytest.mark.parametrize("phase", [Phase.REQUESTED, Phase.LAUNCHED, Phase.FENCING, Phase.FENCED, Phase.RELEASED])
def test_nothing_is_settled_while_a_vm_comes_or_goes(phase: Phase) -> None:
    assert is_unsettled(a_view(an_instance("brokers-a-1", 1, phase)))
    assert not is_unsettled(a_view())
    assert _other(a_view(an_instance("brokers-a-1", 1, phase))) is None


# --- an ensemble ------------------------------------------------------------------------------------------------------


def _voters(*silent: int) -> QuorumSeen:
    members = (VoterSeen(i, f"zookeeper-{i}", 0, True, 60.0 if i in silent else 0.0) for i in (100, 101, 102))
    return QuorumSeen(100, 1, tuple(members))


def _ensemble(view: ClusterView | None = None, **seen: Any) -> tuple[Situation, KafkaSnapshot]:
    changes = {"quorum": _voters(), "controller": 1000, "controller_epoch": 5, **seen}
    kafka = a_snapshot(mode="zookeeper", **changes)
    return a_situation(view or a_sharing_view(), kafka=kafka), kafka


def test_a_whole_ensemble_with_another_live_broker_elects_anew() -> None:
    gate = may_reelect(*_ensemble())
    assert gate.open
    assert gate.reason == "the ensemble is whole, 2 brokers could take over from 1000"


@pytest.mark.parametrize(("controller", "epoch", "known"), [(0, 0, True), (-1, 5, False), (1000, -1, False)])
def test_the_first_id_and_the_first_epoch_count_and_none_does_not(controller: int, epoch: int, known: bool) -> None:
    gate = may_reelect(*_ensemble(controller=controller, controller_epoch=epoch))
    assert gate.open == known
    if not known:
        assert gate.reason == "ZooKeeper names no controller now"


def test_without_another_live_broker_nobody_is_deposed() -> None:
    gate = may_reelect(*_ensemble(brokers=(1000,), fenced=(1001, 1002)))
    assert not gate.open
    assert gate.reason == "no live broker could take over from 1000"


def test_an_ensemble_that_is_not_whole_elects_nobody_and_says_who_is_missing() -> None:
    late = may_reelect(*_ensemble(quorum=_voters(101)))
    assert (late.open, late.reason) == (False, "the ensemble is not whole: 101")
    view = a_sharing_view()
    lost = replace(view.instances["brokers-b-0.g1"], lost_at=BEFORE)
    gone = may_reelect(*_ensemble(a_sharing_view(lost)))
    assert (gone.open, gone.reason) == (False, "the ensemble is not whole: brokers-b-0.g1")


def test_a_cluster_without_an_ensemble_of_its_own_elects_nobody() -> None:
    kafka = a_snapshot()
    assert not may_reelect(a_situation(a_view(), kafka=kafka), kafka).open


def test_what_was_asked_is_tried_for_two_minutes_and_while_that_controller_leads() -> None:
    view = a_sharing_view()

    def tried(seconds: float, epoch: int = 5) -> bool:
        asked = facts.ControllerElectionRequested(1000, epoch, "as tested")
        since = NOW - timedelta(seconds=seconds)
        stuck = replace(view.moves.stuck, deposed=_deposed(view, asked, since))
        decision = reelection_due(*_ensemble(changed_view(view, stuck=stuck)))
        assert decision is None or decision.effects == (ReelectController(1000, 5),)
        return decision is not None

    assert timedelta(minutes=2) == STANDS
    assert tried(119)
    assert not tried(120)
    assert not tried(10, epoch=4)


def _deposed(view: ClusterView, asked: facts.ControllerElectionRequested, at: Any) -> Any:
    from tests.unit.controlplane.cohosted import after

    return after(view, asked, at).moves.stuck.deposed
