"""A founder that does not come up is made anew before the quorum is founded; one nobody hears of goes after it."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controlplane.cluster.fold import evolve
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.quorum_config import quorum_status
from controlplane.cluster.view import ClusterView
from controlplane.converger.ladder.decide import decide
from controlplane.converger.questions.rolls.founding import lacks_founding_members
from controlplane.converger.steps.rolls.arrivals import arrival_step, founding_step
from controlplane.converger.steps.rolls.departures import departure_step
from events import facts
from events.codec import encode
from events.envelope import Recorded
from planner.observed import QuorumSeen, VoterSeen
from tests.builders import (
    BEFORE,
    NODES,
    NOW,
    a_document,
    a_report,
    a_situation,
    a_snapshot,
    a_view,
    a_volume,
    an_instance,
)
from tests.changed_view import changed_view

QUORUM = NODES[3:]
KEY = "controllers-a-0.g1"
LATE = BEFORE - timedelta(days=1)


def _unfounded(*phases: Phase, **overrides: Any) -> ClusterView:
    """Three founders in these phases, and three brokers that wait with them."""
    there = [an_instance(n, 1, p, since=LATE) for n, p in zip(QUORUM, phases, strict=True)]
    brokers = [an_instance(n, 1, Phase.LAUNCHED, since=LATE) for n in NODES[:3]]
    known = {n: f"10.0.0.{k}" for k, n in enumerate(QUORUM)}
    view = a_view(*there, *brokers, founding=None, voters={}, node_addresses=known, converged=0)
    return changed_view(view, recycling=1, **overrides)


def test_a_founder_that_failed_is_retired_with_its_disk() -> None:
    decision = departure_step(a_situation(_unfounded(Phase.FAILED, Phase.LAUNCHED, Phase.LAUNCHED), kafka=None))
    assert decision is not None
    (asked,) = decision.events
    assert isinstance(asked, facts.RetireRequested)
    assert (asked.keys, asked.volumes) == ((KEY,), ("controllers-a-0.data.v1",))


def test_a_member_that_failed_after_the_founding_is_stopped_first() -> None:
    view = a_view(an_instance("controllers-a-0", 1, Phase.FAILED))
    decision = departure_step(a_situation(view, kafka=None))
    assert decision is not None
    assert decision.events == (facts.FenceRequested((KEY,), "did not join"),)


def test_who_has_reported_is_not_late_while_another_founder_keeps_it_waiting() -> None:
    view = _unfounded(Phase.RETIRING, Phase.LAUNCHED, Phase.LAUNCHED)
    assert arrival_step(a_situation(view, kafka=None)) is None


def test_who_has_not_reported_is_late_before_the_founding_too() -> None:
    view = _unfounded(Phase.LAUNCHED, Phase.LAUNCHED, Phase.LAUNCHED)
    decision = arrival_step(a_situation(view, kafka=None, reports={}))
    assert decision is not None
    assert {type(e) for e in decision.events} == {facts.JoinFailed}


def test_a_founder_that_is_gone_gets_a_successor_with_a_disk_and_an_address_of_its_own() -> None:
    view = _unfounded(Phase.RETIRED, Phase.LAUNCHED, Phase.LAUNCHED)
    (asked,) = decide(a_situation(view, kafka=None)).events
    assert isinstance(asked, facts.SurgeRequested)
    (planned,) = asked.instances
    assert (planned.key, planned.service_id, planned.handover) == ("controllers-a-0.g2", 100, False)
    assert [v.key for v in planned.volumes] == ["controllers-a-0.data.v2"]


def test_after_two_failures_in_a_row_a_person_is_asked_though_others_wait() -> None:
    view = _unfounded(Phase.RETIRED, Phase.LAUNCHED, Phase.LAUNCHED, join_failures=2)
    told = [e for e in decide(a_situation(view, kafka=None)).events if isinstance(e, facts.ConditionChanged)]
    assert [c.reason for c in told if c.type == "Blocked"] == ["ReplacementFailed"]


def test_a_quorum_is_founded_with_whoever_stands_in_for_a_founder() -> None:
    successor = an_instance(
        "controllers-a-0", 2, Phase.LAUNCHED, handover=False, volumes=(a_volume("controllers-a-0", 2),)
    )
    view = _unfounded(Phase.RETIRED, Phase.LAUNCHED, Phase.LAUNCHED)
    view = replace(view, instances={**view.instances, successor.key: successor})
    decision = founding_step(a_situation(view, kafka=None))
    assert decision is not None
    (founded,) = decision.events
    assert isinstance(founded, facts.QuorumFounded)
    assert founded.voters[0].directory_id == successor.planned.volumes[0].directory_id
    assert quorum_status(replace(view, quorum=replace(view.quorum, founding=founded)), successor).founder


@pytest.mark.parametrize(("heard", "founds"), [(False, False), (True, True)], ids=["silent", "has reported"])
def test_a_quorum_of_one_is_founded_with_an_agent_that_has_spoken(heard: bool, founds: bool) -> None:
    only = an_instance("controllers-a-0", 1, Phase.LAUNCHED)
    view = a_view(
        only,
        without=["controllers-b-0.g1", "controllers-c-0.g1"],
        founding=None,
        voters={},
        node_addresses={"controllers-a-0": "10.0.0.1"},
        document=a_document(controllers=1),
    )
    reports = {only.key: a_report(only, "starting")} if heard else {}
    assert bool(founding_step(a_situation(view, kafka=None, reports=reports))) is founds


def test_what_the_others_have_to_join_counts_from_the_founding() -> None:
    view = _unfounded(Phase.LAUNCHED, Phase.LAUNCHED, Phase.LAUNCHED)
    assert not lacks_founding_members(view)
    decision = founding_step(a_situation(view, kafka=None))
    assert decision is not None
    (founded,) = decision.events
    new, at = encode(founded, "e21"), NOW + timedelta(seconds=3)
    after = evolve(view, Recorded(21, "c", 21, "e21", new.type, new.schema, new.data, "t", None, None, 1, at))
    assert {i.since for i in after.alive()} == {at}


def _following(*following: int) -> QuorumSeen:
    """The quorum of three as its leader tells it; who does not follow was never heard of."""
    members = (
        VoterSeen(100 + k, a_volume(n).directory_id, 0 if 100 + k in following else 5000, is_voter=True, silent_s=0.0)
        for k, n in enumerate(QUORUM)
    )
    return QuorumSeen(101, 3, tuple(members))


@pytest.mark.parametrize(
    ("reports", "following", "proof"),
    [
        ({}, (101, 102), "silence"),
        ({}, (100, 101, 102), ""),
        ({KEY: a_report(an_instance("controllers-a-0", 1, Phase.FENCING), "starting")}, (101, 102), ""),
    ],
    ids=["never heard of", "Kafka counts on it", "its agent has spoken"],
)
def test_a_member_nobody_ever_heard_of_is_held_for_stopped(
    reports: dict[str, Any], following: tuple[int, ...], proof: str
) -> None:
    view = a_view(an_instance("controllers-a-0", 1, Phase.FENCING))
    kafka = a_snapshot(quorum=_following(*following), at=NOW)
    decision = departure_step(a_situation(view, kafka=kafka, reports=reports))
    assert decision is not None
    assert decision.events == ((facts.NodeFenced(KEY, proof),) if proof else ())


def test_it_is_not_held_for_stopped_while_nobody_tells_who_leads() -> None:
    view = a_view(an_instance("controllers-a-0", 1, Phase.FENCING))
    decision = departure_step(a_situation(view, kafka=None, reports={}))
    assert decision is not None
    assert decision.wait is not None
    assert decision.wait.reason == "Fencing"
