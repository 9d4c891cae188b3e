"""Elections that nobody wins: counted, told, and cured by another controller where that is safe."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controlplane.cluster.observed.moves import Elections, MoveWatch
from controlplane.cluster.views.stuck_moves import StuckMovesView
from controlplane.converger.conditions.stuck_moves import elections_fail
from controlplane.converger.situation.situation import Allowance, Situation
from controlplane.converger.steps.housekeeping import housekeeping_step
from controlplane.converger.steps.moves.elections import election_step
from events import facts
from events.ids import ClusterUid
from planner.observed import PartitionSeen
from planner.stuck_moves import Diagnosis, MoveCure, PastMoveCure
from tests.builders import (
    BEFORE,
    NOW,
    a_document,
    a_partition,
    a_situation,
    a_snapshot,
    a_view,
)
from tests.fakes.latest_values import MemoryLatestStore
from tests.unit.controlplane.converger.steps.moves.stuck_moves_scene import (
    BRAKED,
    LONG_AGO,
    REIGN,
    quorum_with,
    zookeeper_view,
)


def test_elections_are_counted_until_every_leader_is_home() -> None:
    latest, uid = MemoryLatestStore(), ClusterUid("c0ffee")
    watch = MoveWatch(latest)
    watch.asked(uid, BEFORE)
    watch.asked(uid, NOW)
    assert MoveWatch(latest).known(uid).elections == Elections(2, BEFORE, NOW)
    watch.refused(uid, "Kafka refused")
    assert MoveWatch(latest).known(uid).elections == Elections(2, BEFORE, NOW, "Kafka refused")
    watch.asked(uid, NOW)
    assert watch.known(uid).elections.refused == "", "the last request is what counts"
    assert watch.see(uid, a_snapshot(at=NOW + timedelta(seconds=1)), leaders_away=False).elections == Elections()


AWAY = a_partition(leader=1001)


def test_an_election_in_vain_is_asked_for_again_only_after_a_while() -> None:
    view = a_view()

    def asked(times: int, ago_s: float) -> bool:
        elections = Elections(times, LONG_AGO, NOW - timedelta(seconds=ago_s))
        return housekeeping_step(a_situation(view, kafka=a_snapshot(AWAY), elections=elections)) is not None

    assert [asked(1, 0), asked(4, 7), asked(4, 9), asked(20, 299), asked(20, 300)] == [True, False, True, False, True]


def test_elections_in_vain_are_told_with_their_number() -> None:
    seen = {"kafka": a_snapshot(AWAY), "elections": Elections(5, LONG_AGO, NOW)}
    told = elections_fail(a_situation(a_view(), **seen))
    assert told is not None
    assert told.status
    assert "asked 5 times in 6 min 40 s. orders-0 is led by 1001 instead of 1000" in told.message
    patient = a_view(document=a_document(healing="hungAfter: 1h"))
    early = elections_fail(a_situation(patient, **seen))
    assert early is not None
    assert not early.status


IN_VAIN = Elections(5, LONG_AGO, NOW)
AT_REST = {"recycling": False, "converged": 1}


def failing(*partitions: PartitionSeen, elections: Elections = IN_VAIN, seen: Any = None, **view: Any) -> Situation:
    kafka = a_snapshot(*(partitions or (AWAY,)), **(seen or {}))
    return a_situation(a_view(**{**AT_REST, **view}), kafka=kafka, elections=elections)


def test_elections_in_vain_get_another_controller_by_a_restart_of_the_active_one() -> None:
    decision = election_step(failing())
    assert decision is not None
    cure, restart = decision.events
    assert isinstance(cure, facts.ElectionCureRequested)
    assert (cure.cure, cure.diagnosis, cure.partitions) == ("restart_controller", "BrokerPassedOver", 1)
    assert isinstance(restart, facts.RestartRequested)
    assert (cure.key, restart.key) == ("controllers-a-0.g1", "controllers-a-0.g1")


def test_elections_in_vain_in_zookeeper_mode_get_another_controller_by_an_election() -> None:
    decision = election_step(failing(seen=REIGN, **zookeeper_view()))
    assert decision is not None
    cure, election = decision.events
    assert isinstance(cure, facts.ElectionCureRequested)
    assert (cure.cure, cure.key) == ("reelect_controller", "")
    assert election == facts.ControllerElectionRequested(1001, 7, cure.reason)


def test_what_is_known_of_elections_in_vain_is_told() -> None:
    homes = a_partition("orders-1", (1001, 1000, 1002), leader=1001)
    others = a_partition("orders-2", (1002, 1000, 1001), leader=1001)
    first_leads = a_partition("orders-3", (1000, 1001, 1002), leader=1000)

    def reason(*partitions: PartitionSeen) -> str:
        told = elections_fail(failing(*partitions))
        assert told is not None
        return told.reason

    assert reason(AWAY, homes) == "BrokerPassedOver"
    assert reason(AWAY, homes, others) == "LeadersAway"
    assert reason(AWAY, first_leads) == "LeadersAway"
    assert reason(AWAY, a_partition("orders-4", leader=-1)) == "NoLeader"


REFUSED = Elections(5, LONG_AGO, NOW, "Kafka refused to elect leaders: denied (ClusterAuthorizationFailedError)")


def test_an_election_that_kafka_refuses_is_told_in_its_words() -> None:
    told = elections_fail(failing(elections=REFUSED))
    assert told is not None
    assert (told.status, told.reason) == (True, "Refused")
    assert "Kafka refused to elect leaders: denied" in told.message
    assert "needs the right to Alter the cluster" in told.message


PAST = tuple(
    PastMoveCure(MoveCure.RESTART_CONTROLLER, Diagnosis.CONTROLLER, NOW - timedelta(hours=h)) for h in (20, 15, 10, 9)
)


@pytest.mark.parametrize(
    "here",
    [
        pytest.param(failing(elections=Elections(2, LONG_AGO, NOW)), id="asked twice only"),
        pytest.param(failing(elections=Elections(5, BEFORE, NOW)), id="for less than hungAfter"),
        pytest.param(failing(elections=REFUSED), id="Kafka refuses to elect"),
        pytest.param(failing(a_partition()), id="every leader is home"),
        pytest.param(failing(recycling=True), id="a roll runs"),
        pytest.param(failing(seen={"quorum": quorum_with(lag=10**6)}), id="another controller lags"),
        pytest.param(failing(stuck=StuckMovesView(cures=PAST)), id="four cures in a day"),
        pytest.param(failing(stuck=StuckMovesView(cures=(replace(PAST[0], at=BEFORE),))), id="the last one is young"),
        pytest.param(failing(document=a_document(healing="restart: false")), id="the spec allows none"),
        pytest.param(replace(failing(), allowance=Allowance(cures=BRAKED)), id="the fleet had its cures of the day"),
    ],
)
def test_no_other_controller_is_had_for_elections(here: Situation) -> None:
    assert election_step(here) is None


def test_the_condition_of_elections_says_why_nothing_more_is_done() -> None:
    told = elections_fail(failing(stuck=StuckMovesView(cures=PAST)))
    assert told is not None
    assert "4 cures of moves and elections in a day are the most this cluster gets." in told.message
    rolling = elections_fail(failing(recycling=True))
    assert rolling is not None
    assert "No other controller is elected while anything else is in hand." in rolling.message
    due = elections_fail(failing())
    assert due is not None
    assert "every 5 min. Next: kedge describe" in due.message
