"""Changes of the voters at their limits: which are asked for, what each waits for, and what is said while it waits."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from agent.wire import DIRECTORY_LOST
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.quorum import VoterChangeView
from controlplane.converger.situation.decision import Decision
from controlplane.converger.steps.quorum.voters import (
    begin_voter_change,
    dismiss_members,
    leave_step,
    of_no_quorum,
    volume_step,
    voter_step,
    voters_left_step,
)
from controlplane.kafka.gates import Gate
from controlplane.kafka.voters import Seat, VoterStep, may_add, may_remove
from events import facts
from events.ids import intent_id
from planner.observed import KafkaSnapshot, QuorumSeen, VoterSeen
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
from tests.unit.controlplane.cohosted import B1, a_sharing_view
from tests.unit.controlplane.migration_samples import migrating

A, B = "controllers-a-0", "controllers-b-0"
NEW = an_instance("controllers-a-1", 1, Phase.LAUNCHED)


def _directory(node: str) -> str:
    return a_volume(node).directory_id


def _change(*, adds: bool = True, requested_at: Any = BEFORE) -> VoterChangeView:
    voter = facts.FoundingVoter(NEW.node, 103, f"node-address-{NEW.node}", 9093, _directory(NEW.node))
    return VoterChangeView("change-1", adds, voter, not adds, "because", requested_at)


def _said(decision: Decision | None) -> str:
    assert decision is not None
    assert decision.wait is not None
    return decision.sentence


# --- a lost disk ------------------------------------------------------------------------------------------------------


def _loses(view: ClusterView, key: str) -> Decision | None:
    instance = view.instances[key]
    found = {"name": DIRECTORY_LOST, "since": BEFORE, "message": "volume x has no meta.properties"}
    return volume_step(a_situation(view, reports={key: a_report(instance, "failed", findings=[found])}))


def test_a_disk_of_one_of_three_is_believed_to_be_lost_and_of_one_of_two_it_is_left_to_people_at_once() -> None:
    view = a_view()
    decision = _loses(view, f"{A}.g1")
    assert decision is not None
    assert decision.sentence == "controllers-a-0.g1 has lost its disk: volume x has no meta.properties"
    assert [type(e) for e in decision.events] == [facts.VolumeLost]
    two = replace(view, quorum=replace(view.quorum, voters={v: view.quorum.voters[v] for v in (100, 101)}))
    left = _loses(two, f"{A}.g1")
    assert left is not None
    assert left.wait is not None
    assert (left.wait.reason, left.wait.patience_s) == ("MetadataLost", 0)


def test_who_is_not_bound_to_a_disk_yet_or_is_gone_has_lost_none() -> None:
    assert _loses(a_view(an_instance(A, bound=False)), f"{A}.g1") is None
    assert _loses(a_view(an_instance(A, lost_at=BEFORE)), f"{A}.g1") is None


# --- the change in hand -----------------------------------------------------------------------------------------------


def _in_hand(**change: Any) -> ClusterView:
    return a_view(voter_change=_change(**change))


def test_what_a_change_waits_for_is_said_and_nothing_else_begins() -> None:
    kafka = a_snapshot()
    about = (kafka.quorum, 103, _directory(NEW.node))
    adds = voters_left_step(a_situation(_in_hand(), kafka=kafka))
    assert _said(adds) == f"vote for controller 103 waits: {may_add(*about).reason}"
    leaves = voters_left_step(a_situation(_in_hand(adds=False), kafka=kafka))
    assert _said(leaves) == f"leave of controller 103 waits: {may_remove(*about).reason}"
    assert may_add(*about).reason != may_remove(*about).reason
    blind = voters_left_step(a_situation(_in_hand(), kafka=None))
    assert _said(blind) == "vote for controller 103 waits: Kafka's metadata cannot be read"
    assert "cannot be read" not in _said(voters_left_step(a_situation(_in_hand(), kafka=kafka)))
    assert voters_left_step(a_situation(a_view(), kafka=kafka)) is None


def test_a_loss_is_mended_beside_it() -> None:
    lost = an_instance("brokers-a-0", lost_at=BEFORE)
    assert voters_left_step(a_situation(a_view(lost, voter_change=_change()))) is None


@pytest.mark.parametrize(("ago_s", "dropped"), [(29.9, False), (30.0, True)])
def test_a_vote_for_a_directory_nobody_runs_on_is_dropped_once_kafka_has_forgotten_the_question(
    ago_s: float, dropped: bool
) -> None:
    view = _in_hand(requested_at=NOW - timedelta(seconds=ago_s))
    decision = voter_step(a_situation(view, kafka=a_snapshot()))
    said = [type(e) for e in decision.events] if decision is not None else []
    assert (facts.VoterChangeDropped in said) == dropped


# --- what is asked for ------------------------------------------------------------------------------------------------


def _step(*, adds: bool, leaves: bool = False) -> VoterStep:
    """Of controller 101: a vote for its directory, the leave of its node, or of a directory it had before."""
    directory = _directory(B) if adds or leaves else "an-older-disk"
    return VoterStep(adds, Seat(B, 101, 0, _directory(B), stays=not leaves), directory, Gate(True, "as tested"))


@pytest.mark.parametrize(("adds", "verb"), [(True, "add-voter"), (False, "remove-voter")])
def test_each_change_has_an_intent_of_its_own(adds: bool, verb: str) -> None:
    view = changed_view(a_view(), voter_changes=4)
    (asked,) = begin_voter_change(view, _step(adds=adds)).events
    assert isinstance(asked, facts.VoterAddRequested | facts.VoterRemoveRequested)
    assert asked.change == intent_id(view.uid, verb, f"101.{_step(adds=adds).directory_id}", 5)


def test_who_leaves_is_named_and_a_lost_directory_is_called_so() -> None:
    leaves = begin_voter_change(a_view(), _step(adds=False, leaves=True))
    assert leaves.sentence == "controller 101 (controllers-b-0) leaves the quorum: as tested"
    lost = begin_voter_change(a_view(), _step(adds=False))
    assert lost.sentence == "the lost directory of controller 101 leaves the quorum: as tested"


# --- controllers that leave -------------------------------------------------------------------------------------------


def _shrinking() -> ClusterView:
    """Five controllers vote, and the spec asks for three."""
    more = {n: an_instance(n) for n in ("controllers-a-1", "controllers-b-1")}
    view = a_view(*more.values(), document=a_document(controllers=3), generation=2, recycling=2)
    votes = {
        i.service_id: facts.FoundingVoter(n, i.service_id, f"node-address-{n}", 9093, _directory(n))
        for n, i in more.items()
    }
    return replace(view, quorum=replace(view.quorum, voters={**view.quorum.voters, **votes}))


def _five(*late: int) -> KafkaSnapshot:
    nodes = (*NODES[3:], "controllers-a-1", "controllers-b-1")
    members = tuple(
        VoterSeen(100 + k, _directory(n), 5000 if 100 + k in late else 0, True, 0.2) for k, n in enumerate(nodes)
    )
    return a_snapshot(quorum=QuorumSeen(100, 1, members))


def _leaves(kafka: KafkaSnapshot | None, view: ClusterView | None = None) -> Decision:
    view = view or _shrinking()
    return leave_step(a_situation(view, kafka=kafka), view.instances["controllers-b-1.g1"])


def test_a_controller_leaves_by_its_vote_first_and_waits_while_others_lag() -> None:
    (asked,) = _leaves(_five()).events
    assert isinstance(asked, facts.VoterRemoveRequested)
    assert _said(_leaves(_five(101, 102))).startswith("controllers-b-1 keeps its vote for now: ")
    assert _said(_leaves(None)).endswith("leaves the quorum; Kafka's metadata cannot be read")


def test_a_voter_that_is_none_of_ours_is_for_people_at_once() -> None:
    kafka = _five()
    strange = replace(kafka.quorum, members=(*kafka.quorum.members, VoterSeen(150, "x", 0, True, 0.1)))
    decision = _leaves(replace(kafka, quorum=strange))
    assert decision.wait is not None
    assert (decision.wait.reason, decision.wait.patience_s) == ("UnknownVoter", 0)


def test_who_has_no_vote_is_marked_as_left_with_the_directory_it_has() -> None:
    told = of_no_quorum(NEW)
    assert told == facts.VoterRemoved("", NEW.node, NEW.service_id, _directory(NEW.node), leaves=True)


def test_with_an_odd_number_of_voters_left_who_lost_its_vote_stops_before_the_next_one_does() -> None:
    """Seven are to be three, two have no vote any more: five vote, and are stronger than four."""
    nodes = (*NODES[3:], "controllers-a-1", "controllers-b-1", "controllers-c-1", "controllers-a-2")
    there = [an_instance(n, drained=k > 4) for k, n in enumerate(nodes)]
    votes = {i.service_id: facts.FoundingVoter(i.node, i.service_id, "a", 9093, _directory(i.node)) for i in there[:5]}
    view = a_view(*there, document=a_document(controllers=3), generation=2, recycling=2, voters=votes)
    members = tuple(VoterSeen(i.service_id, _directory(i.node), 0, k < 5, 0.2) for k, i in enumerate(there))
    decision = voter_step(a_situation(view, kafka=a_snapshot(quorum=QuorumSeen(100, 1, members))))
    assert decision is not None
    assert decision.events == (facts.FenceRequested(tuple(i.key for i in there[5:]), "no voter any more"),)


# --- while a migration is in hand -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mode", "changes"), [("zookeeper", True), ("kraft", False)])
def test_nobodys_vote_is_changed_between_two_quorums(mode: str, changes: bool) -> None:
    gone = an_instance("controllers-a-1", 1, drained=True, service="zookeeper")
    view = migrating()
    view = replace(view, instances={**view.instances, gone.key: gone})
    decision = voter_step(a_situation(view, kafka=a_snapshot(mode=mode)))
    assert (decision is not None) == changes
    assert voter_step(a_situation(view, kafka=None)) is None


# --- servers beside brokers -------------------------------------------------------------------------------------------


def _ensemble(*voters: int, silent: tuple[int, ...] = ()) -> KafkaSnapshot:
    seen = tuple(VoterSeen(i, f"zookeeper-{i}", 0, i in voters, 60.0 if i in silent else 0.0) for i in (100, 101, 102))
    return a_snapshot(mode="zookeeper", quorum=QuorumSeen(100, 1, seen))


def _dismissed(kafka: KafkaSnapshot | None, *keys: str) -> Decision | None:
    view = a_sharing_view()
    return dismiss_members(a_situation(view, kafka=kafka), [view.instances[k] for k in keys])


def test_a_server_is_to_leave_before_its_broker_stops_and_the_first_of_several_is_named() -> None:
    first, second = B1, "brokers-c-0.g1"
    assert _said(_dismissed(None, first, second)).startswith(f"ZooKeeper server 101 of {first} is to leave first: ")
    kept = _said(_dismissed(_ensemble(100, 101, 102), first, second))
    assert kept.startswith(f"{first}: ZooKeeper server 101 keeps its vote for now: ")


def test_a_server_that_has_no_vote_by_the_ensembles_word_leaves_though_others_have_theirs() -> None:
    decision = _dismissed(_ensemble(100, 102), B1)
    assert decision is not None
    assert decision.events == (facts.VoterRemoved("", "brokers-b-0", 101, "zookeeper-101", leaves=True),)


def test_a_broker_without_a_server_waits_for_nobody() -> None:
    view = a_view()
    assert dismiss_members(a_situation(view), [view.instances["brokers-a-0.g1"]]) is None
