"""A controller that changes its place is moved: same id, new disk, new address, and never two of one id at once."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controlplane.cluster.bootstrap_controllers import known_to, list_for
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.controller_moves import may_start
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.intents import IntentView
from controlplane.cluster.views.running_settings import Before, ReplaceView, RestartView
from controlplane.commands.previews.plan import preview
from controlplane.converger.ladder.decide import decide
from controlplane.converger.questions.clouds.rendering import terraform_run
from controlplane.converger.questions.documents import document_for
from controlplane.converger.questions.quorum.seats import seats, thin_list
from controlplane.converger.questions.rolls.pending_changes import pending_changes
from controlplane.converger.steps.controllers.controller_moves import controller_move_step
from controlplane.converger.steps.rolls.arrivals import arrival_step
from controlplane.converger.steps.rolls.departures import departure_step
from controlplane.converger.steps.rolls.replacements import replacement_step
from controlplane.converger.steps.running.restarts import restart_step
from events import facts
from planner.observed import FeatureSeen, QuorumSeen, VoterSeen
from planner.rollout.diff import Change
from providers.base import Place
from providers.handover import Handover
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

LONG_AGO = NOW - timedelta(hours=1)
HERE, THERE = Place("local", "local-1"), Place("local", "local-2")
MOVED = a_document(quorum_place="cloud: local, region: local-2, zones: [a, b, c]")
OTHER_ZONES = a_document(quorum_place="cloud: local, region: local-2, zones: [d, e, f]")
A, B, C = NODES[3:]


def successor(node: str = A, phase: Phase = Phase.LAUNCHED, **told: Any) -> InstanceView:
    values = {"handover": True, "new_disk": True, "relieves": f"{node}.g1", "volumes": (a_volume(node, 2),), **told}
    return replace(an_instance(node, 2, phase, **values), place=THERE)


def moving(*more: InstanceView, **told: Any) -> ClusterView:
    """Everybody here, controllers wanted there; brokers were told of all three."""
    known = {n: replace(an_instance(n), place=HERE) for n in NODES}
    listed = {
        n: replace(i, start=replace(i.start, listed=frozenset({100, 101, 102}))) if i.is_broker else i
        for n, i in known.items()
    }
    values = {"document": MOVED, "generation": 2, "recycling": 2, **told}
    return a_view(*listed.values(), *more, **values)


def moving_on(view: ClusterView, **seen: Any) -> Any:
    reports = {i.key: a_report(i, "") for i in view.controllers() if not i.bound}
    return controller_move_step(a_situation(view, **{"reports": reports, **seen}))


# --- what is made ---------------------------------------------------------------------------------------------------


def planned_by(view: ClusterView, **seen: Any) -> facts.PlannedInstance:
    decision = replacement_step(a_situation(view, **seen))
    assert decision is not None
    (asked,) = decision.events
    assert isinstance(asked, facts.SurgeRequested), decision.sentence
    (planned,) = asked.instances
    return planned


def test_one_controller_at_a_time_moves_under_its_id_with_a_new_disk_the_leader_last() -> None:
    planned = planned_by(moving())
    assert (planned.key, planned.service_id, planned.relieves) == (f"{B}.g2", 101, f"{B}.g1")
    assert planned.volumes[0].version == 2
    assert (planned.handover, planned.new_disk, planned.deferred, planned.vm_address) == (True, True, False, False)


def test_nodes_of_other_zones_take_over_the_ids_of_those_that_leave() -> None:
    view = moving(document=OTHER_ZONES)
    changes = {c.node: (c.change, c.incumbent and c.incumbent.service_id) for c in pending_changes(view)}
    assert {n: c for n, c in changes.items() if n.startswith("controllers")} == {
        "controllers-d-0": (Change.REPLACE, 100),
        "controllers-e-0": (Change.REPLACE, 101),
        "controllers-f-0": (Change.REPLACE, 102),
    }
    planned = planned_by(view)
    assert (planned.node, planned.service_id, planned.relieves) == ("controllers-e-0", 101, f"{B}.g1")


def test_fewer_than_three_pass_no_id_on() -> None:
    """The newcomer has an id of its own and its vote before the other one leaves."""
    alone = a_document(controllers=1, quorum_place="cloud: local, region: local-2, zones: [d]")
    view = moving(document=alone, without=(f"{B}.g1", f"{C}.g1"))
    changes = {c.node: c.change for c in pending_changes(view) if c.service == "controller"}
    assert changes == {A: Change.REMOVE, "controllers-d-0": Change.CREATE}


def test_a_lost_controller_is_mended_from_its_disk_where_it_was_before_it_moves() -> None:
    view = moving(replace(an_instance(A, lost_at=LONG_AGO), place=HERE))
    planned = planned_by(view)
    assert (planned.key, planned.relieves, planned.new_disk) == (f"{A}.g2", "", False)
    assert planned.place == facts.PlannedPlace("local", "local-1", "default", "default")


def test_where_addresses_stay_a_controller_moves_in_its_own_place() -> None:
    """Another one is asked for, of the same place: its address cannot pass."""
    asked = {f"{A}.g1": ReplaceView("asked by anna", False, BEFORE)}
    planned = planned_by(moving(document=a_document(), to_replace=asked), handover=Handover.NONE)
    assert (planned.key, planned.relieves, planned.vm_address) == (f"{A}.g2", f"{A}.g1", True)
    assert planned_by(moving(document=a_document(), to_replace=asked)).relieves == ""


def test_a_static_quorum_stays_where_it_is() -> None:
    static = a_snapshot(features={"kraft.version": FeatureSeen(0, 0, 1), "metadata.version": FeatureSeen(27, 7, 27)})
    decision = replacement_step(a_situation(moving(), kafka=static))
    assert decision is not None
    assert (decision.events, decision.wait and decision.wait.reason) == ((), "ControllerStays")
    assert "static" in decision.sentence


def test_a_quorum_of_one_stays_where_it_is() -> None:
    view = moving(voters={100: moving().quorum.voters[100]})
    decision = replacement_step(a_situation(view))
    assert decision is not None
    assert (decision.events, decision.wait and decision.wait.reason) == ((), "ControllerStays")


# --- never two of one id --------------------------------------------------------------------------------------------


def test_the_newcomer_is_told_nothing_before_the_old_one_is_proved_stopped() -> None:
    view = moving(successor())
    document = document_for(view, successor().key, epoch=1)
    assert document is not None
    assert document.services == ()
    assert arrival_step(a_situation(view, reports={successor().key: a_report(successor(), "")})) is None


@pytest.mark.parametrize(
    ("phase", "free"),
    [(Phase.JOINED, False), (Phase.FENCING, False), (Phase.FENCED, True), (Phase.RETIRING, True)],
)
def test_an_id_is_free_once_who_had_it_is_stopped_for_certain(phase: Phase, free: bool) -> None:
    old = an_instance(A, 1, phase)
    assert may_start((old, successor()), successor()) is free


def test_two_newcomers_of_one_id_wait_for_one_another() -> None:
    first = successor(phase=Phase.FAILED, bound=True)
    second = replace(successor(), planned=replace(successor().planned, generation=3))
    assert not may_start((an_instance(A, 1, Phase.FENCED), first, second), second)


def test_the_old_one_keeps_its_address_though_its_node_has_another_there() -> None:
    old = replace(an_instance(A), own_address="node-address-here")
    view = moving(old, successor(), node_addresses={A: "node-address-there"})
    assert view.address_of(old) == "node-address-here"
    assert view.address_of(successor()) == "node-address-there"


# --- the order of things --------------------------------------------------------------------------------------------


def test_the_old_one_is_stopped_while_the_others_are_a_majority() -> None:
    decision = moving_on(moving(successor()))
    assert decision.events == (facts.FenceRequested((f"{A}.g1",), f"handover to {A}.g2"),)


@pytest.mark.parametrize("late", ["lags", "is silent"])
def test_nobody_is_stopped_while_another_one_is_behind(late: str) -> None:
    members = [VoterSeen(100 + k, a_volume(n).directory_id, 0, True) for k, n in enumerate(NODES[3:])]
    members[1] = replace(members[1], **({"lag": 10**6} if late == "lags" else {"silent_s": 60.0}))
    decision = moving_on(moving(successor()), kafka=a_snapshot(quorum=QuorumSeen(102, 1, tuple(members))))
    assert (decision.events, decision.wait.reason) == ((), "QuorumGate")


def test_nobody_is_stopped_before_the_new_vm_has_spoken() -> None:
    decision = moving_on(moving(successor()), reports={})
    assert (decision.events, decision.wait.reason) == ((), "SuccessorSilent")


def test_brokers_that_would_know_too_few_are_told_of_both_addresses_first() -> None:
    """One has moved already: with the next one gone they would know one of three."""
    view = moving(successor(), node_addresses={A: "there", B: "b", C: "c"})
    told = {
        k: replace(i, start=replace(i.start, listed=frozenset({100, 101}))) if i.is_broker else i
        for k, i in view.instances.items()
    }
    view = replace(view, instances=told)
    assert moving_on(view) is None
    decision = restart_step(a_situation(view))
    assert decision is not None
    (restart,) = decision.events
    assert isinstance(restart, facts.RestartRequested)
    assert restart.reason == "once the next controller has moved it knows 1 of the 3, 2 are needed"
    broker = view.instances["brokers-a-0.g1"]
    addresses = [v.address for v in list_for(view, broker)]
    assert addresses == [*(v.address for v in view.quorum.voters.values()), "there"]
    aware = replace(
        broker, start=replace(broker.start, listed=frozenset({100, 101, 102}), successors=frozenset({successor().key}))
    )
    assert (known_to(view, aware), thin_list(view, aware)) == (frozenset({100, 101, 102}), "")


def test_nobody_is_stopped_while_a_broker_is_being_told() -> None:
    busy = RestartView("brokers-a-0.g1", 2, BEFORE, canary=False, before=Before(None, None), new_settings=False)
    assert moving_on(moving(successor(), restarts={busy.key: busy})) is None


def test_the_seat_keeps_its_old_directory_until_the_new_one_is_told_to_run() -> None:
    waiting = {s.id: s.directory_id for s in seats(moving(successor()))}
    assert waiting[100] == a_volume(A).directory_id
    begun = moving(an_instance(A, 1, Phase.FENCED), successor(bound=True))
    (seat,) = [s for s in seats(begun) if s.id == 100]
    assert (seat.directory_id, seat.lost, seat.swaps) == (
        a_volume(A, 2).directory_id,
        {a_volume(A).directory_id},
        True,
    )


@pytest.mark.parametrize(("lag", "asked"), [(0, True), (10**6, False)])
def test_the_old_directory_loses_its_vote_once_the_new_one_has_caught_up(lag: int, asked: bool) -> None:
    view = moving(an_instance(A, 1, Phase.FENCED), successor(bound=True))
    members = (
        VoterSeen(100, a_volume(A).directory_id, 50, True, silent_s=60.0),
        VoterSeen(101, a_volume(B).directory_id, 0, True),
        VoterSeen(102, a_volume(C).directory_id, 0, True),
        VoterSeen(100, a_volume(A, 2).directory_id, lag, False),
    )
    kafka = a_snapshot(quorum=QuorumSeen(102, 1, members))
    decision = decide(a_situation(view, kafka=kafka, reports={successor().key: a_report(successor())}))
    removals = [e for e in decision.events if isinstance(e, facts.VoterRemoveRequested)]
    assert [(e.id, e.directory_id, e.leaves) for e in removals] == ([(100, a_volume(A).directory_id, False)] * asked)


def test_the_stopped_one_is_kept_until_the_new_one_has_joined() -> None:
    """Its disk is the way back: nobody retires it for being stopped."""
    begun = moving(an_instance(A, 1, Phase.FENCED), successor(bound=True))
    assert departure_step(a_situation(begun)) is None
    assert moving_on(begun) is None
    joined = moving_on(moving(replace(an_instance(A, 1, Phase.FENCED), place=HERE), successor(phase=Phase.JOINED)))
    (retire,) = joined.events
    assert (retire.keys, retire.volumes) == ((f"{A}.g1",), (f"{A}.data.v1",))


def test_no_other_controller_is_touched_meanwhile_but_for_what_is_lost() -> None:
    assert replacement_step(a_situation(moving(successor()))) is None
    lost = replace(an_instance(C, lost_at=LONG_AGO), place=HERE)
    planned = planned_by(moving(successor(), lost))
    assert planned.key == f"{C}.g2"


# --- each place has a state of its own ------------------------------------------------------------------------------


def test_its_disk_and_its_address_are_made_with_it_there_and_the_old_ones_deleted_here() -> None:
    view = moving(successor(phase=Phase.REQUESTED))
    surge = terraform_run(
        view, IntentView("i", "surge", (f"{A}.g2",), BEFORE), installation_id="t", boot_data=str, gone=frozenset()
    )
    assert surge.resources.place == THERE
    assert surge.creates == {
        f"instance/{A}.g2",
        f"volume/{A}.data.v2",
        f"attachment/{A}.g2.data",
        f"address/{A}",
        f"binding/{A}.g2",
    }
    done = moving(replace(an_instance(A, 1, Phase.RETIRING), place=HERE), successor(phase=Phase.JOINED))
    intent = IntentView("j", "retire", (f"{A}.g1",), BEFORE, volumes=(f"{A}.data.v1",))
    retire = terraform_run(done, intent, installation_id="t", boot_data=str, gone=frozenset())
    assert retire.resources.place == HERE
    assert retire.deletes == {
        f"instance/{A}.g1",
        f"volume/{A}.data.v1",
        f"attachment/{A}.g1.data",
        f"address/{A}",
        f"binding/{A}.g1",
    }


# --- the plan -------------------------------------------------------------------------------------------------------


def test_the_plan_tells_the_move_the_steps_and_the_restarts_between_them() -> None:
    told = preview(replace(moving(document=a_document()), generation=1), MOVED, snapshot=a_snapshot())
    assert told.moves[0].startswith(
        "pool controllers leaves local/default/local-1 for local/default/local-2: 3 controllers, one at a time"
    )
    names = [p.name.split(",")[0] for p in told.rollout.phases]
    assert names == [
        "replace 1 controller in b",
        "restart 3 brokers",
        "replace 1 controller in c",
        "replace 1 controller in a",
    ]
    assert told.rollout.phases[0].steps[0].how == ("surge", "stop old", "catch up", "take over the vote", "retire old")
