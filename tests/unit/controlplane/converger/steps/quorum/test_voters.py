"""Voters change one at a time, on record before anything is asked of Kafka, and nobody is guessed to be lost."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from agent.wire import DIRECTORY_LOST
from controlplane.cluster.commands import CommandRefused, ReplaceNode
from controlplane.cluster.fold import evolve
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.intents import IntentView
from controlplane.cluster.views.quorum import VoterChangeView
from controlplane.commands.deciders.lookups import Lookups
from controlplane.commands.deciders.nodes import replacement_asked
from controlplane.commands.previews.plan import preview
from controlplane.converger.questions.clouds.rendering import terraform_run
from controlplane.converger.questions.documents import document_for
from controlplane.converger.questions.quorum.seats import has_thin_list, remembered, seats, thin_list
from controlplane.converger.questions.rolls.pending_changes import pending_changes
from controlplane.converger.situation.decision import Decision
from controlplane.converger.situation.effects import AddVoter, RemoveVoter
from controlplane.converger.steps.quorum.voters import volume_step, voter_step, voters_left_step
from controlplane.converger.steps.rolls.finalisation import finalisation_step
from controlplane.converger.steps.rolls.replacements import replacement_step
from controlplane.converger.tick.cluster_tick import new_events
from events import facts
from events.envelope import Recorded
from planner.observed import FeatureSeen, QuorumSeen, VoterSeen
from planner.rollout.diff import Change
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

NEW = an_instance("controllers-a-1", 1, Phase.LAUNCHED)
NEW_TOO = an_instance("controllers-b-1", 1, Phase.LAUNCHED)
B = "controllers-b-0"


def _directory(node: str, version: int = 1) -> str:
    return a_volume(node, version).directory_id


def _voter(controller: int, node: str, *, votes: bool = True, version: int = 1, **changes: Any) -> VoterSeen:
    return VoterSeen(controller, _directory(node, version), changes.get("lag", 0), votes, changes.get("silent_s", 0.2))


THREE = tuple(_voter(100 + k, n) for k, n in enumerate(NODES[3:]))


def _kafka(*members: VoterSeen, **changes: Any) -> Any:
    return a_snapshot(quorum=QuorumSeen(100, 1, members), **changes)


def _growing(**overrides: Any) -> ClusterView:
    addresses = {n: f"node-address-{n}" for n in (*NODES[3:], NEW.node, NEW_TOO.node)}
    values = {"document": a_document(controllers=5), "generation": 2, "node_addresses": addresses, **overrides}
    return a_view(NEW, NEW_TOO, **values)


def _newcomers(lag: int = 0) -> tuple[VoterSeen, ...]:
    return (_voter(103, NEW.node, votes=False, lag=lag), _voter(104, NEW_TOO.node, votes=False))


def _change(*, adds: bool = True, node: str = NEW.node, controller: int = 103, leaves: bool = False) -> VoterChangeView:
    voter = facts.FoundingVoter(node, controller, f"node-address-{node}", 9093, _directory(node))
    return VoterChangeView("change-1", adds, voter, leaves, "because", BEFORE)


def _only(decision: Decision | None) -> Any:
    assert decision is not None
    (event,) = decision.events
    return event


# --- votes for those who arrive -------------------------------------------------------------------------------------


def test_a_newcomer_that_has_caught_up_is_to_get_a_vote_and_that_is_recorded_first() -> None:
    decision = voter_step(a_situation(_growing(), kafka=_kafka(*THREE, *_newcomers())))
    asked = _only(decision)
    assert decision is not None
    assert not decision.effects
    assert isinstance(asked, facts.VoterAddRequested)
    assert (asked.node, asked.id, asked.address, asked.directory_id) == (
        NEW.node,
        103,
        f"node-address-{NEW.node}",
        _directory(NEW.node),
    )


def test_the_change_in_hand_is_asked_of_kafka_until_kafka_shows_it() -> None:
    view = _growing(voter_change=_change())
    decision = voter_step(a_situation(view, kafka=_kafka(*THREE, *_newcomers())))
    assert decision is not None
    assert decision.effects == (AddVoter(103, _directory(NEW.node), f"node-address-{NEW.node}", 9093),)
    shown = (*THREE, _voter(103, NEW.node), _newcomers()[1])
    assert _only(voter_step(a_situation(view, kafka=_kafka(*shown)))) == facts.VoterAdded(
        "change-1", NEW.node, 103, f"node-address-{NEW.node}", 9093, _directory(NEW.node)
    )


def test_no_second_change_begins_while_one_is_in_hand() -> None:
    late = (*THREE[:2], replace(THREE[2], lag=500, silent_s=60.0), *_newcomers())
    view = _growing(voter_change=_change())
    assert voter_step(a_situation(view, kafka=_kafka(*late))) is None
    left = voters_left_step(a_situation(view, kafka=_kafka(*late)))
    assert left is not None
    assert left.wait is not None
    assert (left.wait.reason, left.events, left.effects) == ("QuorumGate", (), ())


@pytest.mark.parametrize("kafka", [None, _kafka(*THREE, *_newcomers(), at=NOW - timedelta(seconds=31))])
def test_nothing_changes_on_unknown_metadata(kafka: Any) -> None:
    assert voter_step(a_situation(_growing(), kafka=kafka)) is None


def test_no_vote_is_given_while_a_controller_is_handed_over() -> None:
    more, successor = (
        an_instance("controllers-c-0", 1, Phase.FENCING),
        an_instance("controllers-c-0", 2, Phase.LAUNCHED),
    )
    view = _growing(controller_ids={})
    view = replace(view, instances={**view.instances, more.key: more, successor.key: successor})
    assert voter_step(a_situation(view, kafka=_kafka(*THREE, *_newcomers()))) is None


def test_a_level_that_was_being_raised_when_the_spec_changed_keeps_nobody_from_a_vote() -> None:
    """The raise waits until every controller is as declared, and a new one is so once it has its vote."""
    view = _growing(finalising=("metadata.version", 29))
    asked = _only(voter_step(a_situation(view, kafka=_kafka(*THREE, *_newcomers()))))
    assert isinstance(asked, facts.VoterAddRequested)


def test_a_static_quorum_is_not_changed_before_it_is_dynamic() -> None:
    static = _kafka(*THREE, *_newcomers(), features={"kraft.version": FeatureSeen(0, 0, 1)})
    assert voter_step(a_situation(_growing(), kafka=static)) is None


def test_a_vote_that_is_there_though_nobody_recorded_it_is_recorded() -> None:
    view = a_view()
    known = {i: v for i, v in view.quorum.voters.items() if i != 101}
    found = _only(voter_step(a_situation(replace(view, quorum=replace(view.quorum, voters=known)))))
    assert (found.change, found.id, found.directory_id) == ("", 101, _directory(B))


def test_a_vote_for_a_directory_nobody_runs_on_any_more_is_dropped() -> None:
    gone = replace(_change(), voter=replace(_change().voter, directory_id="another"))
    dropped = _only(voter_step(a_situation(_growing(voter_change=gone), kafka=_kafka(*THREE, *_newcomers()))))
    assert isinstance(dropped, facts.VoterChangeDropped)


# --- those who leave ------------------------------------------------------------------------------------------------


def _five(**overrides: Any) -> ClusterView:
    view = _growing(document=a_document(), **overrides)
    joined = {n.key: replace(n, phase=Phase.JOINED) for n in (NEW, NEW_TOO)}
    more = {
        n.service_id: facts.FoundingVoter(n.node, n.service_id, "a", 9093, _directory(n.node)) for n in (NEW, NEW_TOO)
    }
    return changed_view(
        view,
        instances={**view.instances, **joined},
        recycling=2,
        quorum=replace(view.quorum, voters={**view.quorum.voters, **more}),
    )


FIVE = (*THREE, _voter(103, NEW.node), _voter(104, NEW_TOO.node))


def test_the_newest_surplus_controller_loses_its_vote_before_anything_is_stopped() -> None:
    asked = _only(replacement_step(a_situation(_five(), kafka=_kafka(*FIVE))))
    assert isinstance(asked, facts.VoterRemoveRequested)
    assert (asked.id, asked.leaves) == (104, True)


def test_a_voter_of_nobody_stops_the_shrinking_and_a_person_is_told() -> None:
    decision = replacement_step(a_situation(_five(), kafka=_kafka(*FIVE, VoterSeen(150, "x", 0, True, 0.1))))
    assert decision is not None
    assert decision.wait is not None
    assert decision.wait.reason == "UnknownVoter"
    assert "voter 150" in decision.sentence


def test_the_second_of_two_leaves_before_the_first_one_is_stopped() -> None:
    view = _five()
    gone = replace(view.instances[NEW_TOO.key], departure=replace(view.instances[NEW_TOO.key].departure, drained=True))
    view = replace(view, instances={**view.instances, gone.key: gone})
    asked = _only(voter_step(a_situation(view, kafka=_kafka(*FIVE[:4], replace(FIVE[4], is_voter=False)))))
    assert isinstance(asked, facts.VoterRemoveRequested)
    assert asked.id == 103


def test_who_has_no_vote_any_more_is_stopped() -> None:
    view = a_view(an_instance(NEW.node, 1, drained=True))
    assert _only(voter_step(a_situation(view))) == facts.FenceRequested((NEW.key,), "no voter any more")


def test_the_removal_in_hand_is_asked_of_kafka() -> None:
    view = _five(voter_change=_change(adds=False, node=NEW_TOO.node, controller=104, leaves=True))
    decision = voter_step(a_situation(view, kafka=_kafka(*FIVE)))
    assert decision is not None
    assert decision.effects == (RemoveVoter(104, _directory(NEW_TOO.node)),)


# --- a lost disk ----------------------------------------------------------------------------------------------------


def _lost_report(instance: InstanceView, **changes: Any) -> Any:
    found = {"name": DIRECTORY_LOST, "since": BEFORE, "message": "volume x has no meta.properties"}
    return a_report(instance, "failed", findings=[found], **changes)


def test_an_agent_that_has_looked_is_believed() -> None:
    view = a_view()
    mine = view.instances[f"{B}.g1"]
    lost = _only(volume_step(a_situation(view, reports={mine.key: _lost_report(mine)})))
    assert (lost.key, lost.volume, lost.proof) == (mine.key, f"{B}.data.v1", "agent")


@pytest.mark.parametrize(
    "changes",
    [{"received_at": NOW - timedelta(seconds=31)}, {"start_id": "an older start"}],
    ids=["said long ago", "said of another start"],
)
def test_an_old_word_proves_nothing(changes: dict[str, Any]) -> None:
    view = a_view()
    mine = view.instances[f"{B}.g1"]
    assert volume_step(a_situation(view, reports={mine.key: _lost_report(mine, **changes)})) is None


def test_a_service_that_merely_fails_has_not_lost_its_disk() -> None:
    view = a_view()
    mine = view.instances[f"{B}.g1"]
    assert volume_step(a_situation(view, reports={mine.key: a_report(mine, "failed")})) is None


def test_the_only_copy_is_left_to_people() -> None:
    view = a_view()
    mine = view.instances[f"{B}.g1"]
    alone = replace(view, quorum=replace(view.quorum, voters={101: view.quorum.voters[101]}))
    decision = volume_step(a_situation(alone, reports={mine.key: _lost_report(mine)}))
    assert decision is not None
    assert decision.wait is not None
    assert (decision.wait.reason, decision.events) == ("MetadataLost", ())


def test_its_successor_takes_over_id_and_address_and_brings_a_disk_of_its_own() -> None:
    view = a_view(lost_volumes={f"{B}.data.v1": "it is empty"}, recycling=1)
    (change,) = [c for c in pending_changes(view) if c.change is not Change.KEEP]
    assert (change.change, change.node, change.reason) == (Change.REPLACE, B, f"{B}: it is empty")
    surge = _only(replacement_step(a_situation(view)))
    (planned,) = surge.instances
    assert (planned.service_id, planned.handover, planned.new_disk) == (101, True, True)
    assert [v.key for v in planned.volumes] == [f"{B}.data.v2"]


def test_its_surge_makes_the_new_disk_and_nothing_of_the_nodes() -> None:
    successor = an_instance(B, 2, Phase.REQUESTED, new_disk=True, volumes=(a_volume(B, 2),))
    view = a_view(successor)
    intent = IntentView("surge-1", "surge", (successor.key,), BEFORE)
    run = terraform_run(view, intent, installation_id="i", boot_data=lambda _i: "", gone=frozenset())
    assert run.creates == {f"instance/{successor.key}", f"volume/{B}.data.v2"}


def test_the_new_disk_alone_may_be_formatted_and_never_as_a_founder() -> None:
    successor = an_instance(B, 2, Phase.LAUNCHED, new_disk=True, volumes=(a_volume(B, 2),), bound=True)
    document = document_for(a_view(successor), successor.key, epoch=1)
    assert document is not None
    (service,) = document.services
    assert (service.founder, service.log_dirs[0].fresh) == (False, True)
    ordinary = document_for(
        a_view(replace(successor, planned=replace(successor.planned, new_disk=False))), successor.key, epoch=1
    )
    assert ordinary is not None
    assert not ordinary.services[0].log_dirs[0].fresh


def test_a_controller_that_comes_later_is_no_founder() -> None:
    document = document_for(_growing(), NEW.key, epoch=1)
    assert document is not None
    (service,) = document.services
    assert (service.founder, service.log_dirs[0].fresh) == (False, True)
    assert [v.id for v in service.voters] == [100, 101, 102]


def test_the_old_directory_leaves_the_quorum_once_its_process_is_proved_stopped() -> None:
    successor = an_instance(B, 2, Phase.LAUNCHED, new_disk=True, volumes=(a_volume(B, 2),))
    silent = (THREE[0], replace(THREE[1], lag=500, silent_s=60.0), THREE[2])
    assert voter_step(a_situation(a_view(successor), kafka=_kafka(*silent))) is None
    stopped = a_view(an_instance(B, 1, Phase.FENCED), successor)
    asked = _only(voter_step(a_situation(stopped, kafka=_kafka(*silent))))
    assert (asked.id, asked.directory_id, asked.leaves) == (101, _directory(B), False)


def test_a_person_may_give_a_controller_a_new_disk_where_a_majority_has_the_metadata() -> None:
    command = ReplaceNode(
        name="orders", actor="person:anna", command_id="1", reason="bad blocks", node=B, new_disk=True
    )
    asked = replacement_asked(a_view(), command, Lookups(kafka=a_snapshot()))
    assert asked.fact == facts.NodeReplaceRequested(f"{B}.g1", "asked by anna: bad blocks", True)
    alone = changed_view(a_view(), voters={101: a_view().quorum.voters[101]})
    with pytest.raises(CommandRefused, match="no majority"):
        replacement_asked(alone, command, Lookups(kafka=a_snapshot()))


# --- who knows of whom ----------------------------------------------------------------------------------------------


def _told(*ids: int) -> InstanceView:
    return an_instance("brokers-a-0", listed=frozenset(ids))


def test_brokers_that_were_told_of_one_of_three_are_started_anew_once() -> None:
    view = a_view(_told(100))
    assert has_thin_list(view)
    (change,) = [c for c in pending_changes(view) if c.change is not Change.KEEP]
    assert (change.change, change.node) == (Change.RESTART, "brokers-a-0")
    assert "it was told of 1 of the 3 controllers, 2 are needed" in change.reason


@pytest.mark.parametrize("ids", [(100, 101), (100, 101, 102), (100, 101, 102, 103, 104)])
def test_a_list_that_outlasts_the_quorum_is_left_alone(ids: tuple[int, ...]) -> None:
    assert thin_list(a_view(_told(*ids)), _told(*ids)) == ""


def test_the_plan_of_three_controllers_names_the_restarts() -> None:
    one = a_view(_told(100), without=("controllers-b-0.g1", "controllers-c-0.g1"), document=a_document(controllers=1))
    one = replace(
        one, quorum=replace(one.quorum, controller_ids={"controllers-a-0": 100}, voters={100: one.quorum.voters[100]})
    )
    plan = preview(one, a_document(), snapshot=a_snapshot()).rollout
    how = {s.node: s.how for p in plan.phases for s in p.steps}
    assert how["controllers-b-0"] == ("create", "catch up", "get a vote")
    assert how["brokers-a-0"][0] == "stop"


def test_the_plan_of_fewer_controllers_says_that_kafka_remembers_them() -> None:
    shown = preview(replace(_five(), document=a_document(controllers=5)), a_document(), snapshot=_kafka(*FIVE))
    steps = [s for p in shown.rollout.phases for s in p.steps]
    assert [(s.node, s.how) for s in steps] == [
        (NEW_TOO.node, ("leave the quorum", "stop", "retire")),
        (NEW.node, ("leave the quorum", "stop", "retire")),
    ]
    assert any("Kafka keeps their registrations" in w for w in shown.warnings)


def test_a_controller_that_left_stands_in_the_way_of_a_level_and_a_person_is_told() -> None:
    left = an_instance(NEW.node, 1, Phase.RETIRED, drained=True)
    new = [an_instance(n, 1, kafka_version="4.2.0", digest="") for n in NODES]
    view = a_view(left, *new, document=a_document(version="4.2.0"), generation=2, recycling=2)
    assert [i.key for i in remembered(view)] == [left.key]
    kafka = a_snapshot(features={"metadata.version": FeatureSeen(27, 7, 29)})
    decision = finalisation_step(a_situation(view, kafka=kafka))
    assert decision is not None
    assert decision.wait is not None
    assert decision.wait.reason == "ControllersRemembered"
    assert "controller 103 (controllers-a-1) left the quorum with Kafka 4.1.1" in decision.sentence
    assert decision.wait.next_command.startswith("kedge apply, with 5 controllers until 4.2.0 is finalised")


def test_a_controller_that_left_with_a_release_that_knows_the_level_stands_in_nobodys_way() -> None:
    left = an_instance(NEW.node, 1, Phase.RETIRED, drained=True, kafka_version="4.2.0")
    new = [an_instance(n, 1, kafka_version="4.2.0", digest="") for n in NODES]
    view = a_view(left, *new, document=a_document(version="4.2.0"), generation=2, recycling=2)
    kafka = a_snapshot(features={"metadata.version": FeatureSeen(27, 7, 29)})
    decision = finalisation_step(a_situation(view, kafka=kafka))
    assert decision is not None
    assert decision.wait is None or decision.wait.reason != "ControllersRemembered"


def test_a_seat_knows_the_directories_its_node_had() -> None:
    successor = an_instance(B, 2, Phase.LAUNCHED, new_disk=True, volumes=(a_volume(B, 2),))
    mine = next(s for s in seats(a_view(an_instance(B, 1, Phase.FENCED), successor)) if s.node == B)
    assert (mine.directory_id, mine.lost) == (_directory(B, 2), frozenset({_directory(B)}))
    waits = next(s for s in seats(a_view(successor)) if s.node == B)
    assert (waits.lost, waits.others) == (frozenset(), frozenset({_directory(B)}))


def test_two_changes_at_once_make_the_history_unreadable() -> None:
    """The fold refuses what no decision may ever record."""
    asked = facts.VoterAddRequested("change-2", NEW.node, 103, "a", 9093, "d", "because")
    view = _growing(voter_change=_change())
    (new,) = new_events("cluster", view.version, [asked])
    told = Recorded(1, "cluster", view.version + 1, "e", new.type, new.schema, new.data, "a", None, None, 1, NOW)
    assert "never two at once" in evolve(view, told).history.unreadable
