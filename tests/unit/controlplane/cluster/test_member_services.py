"""What is done to a ZooKeeper server beside a broker where it is: restarts, heaps, cures, and its directory lost."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from agent.wire import DIRECTORY_LOST, ServiceReport
from controlplane.cluster.commands import RestartServices
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.agent_reports import ReportSeen
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.members import member_of, service_on, services_on
from controlplane.commands.deciders.nodes import asked_for, restart_asked
from controlplane.commands.previews.plan import HEAP_RESTARTS, preview
from controlplane.converger.questions.documents import document_for
from controlplane.converger.questions.health.prescriptions import health_of
from controlplane.converger.questions.quorum.seats import seats
from controlplane.converger.questions.rolls.pending_changes import pending_changes
from controlplane.converger.questions.running.restart_safety import restart_safety
from controlplane.converger.questions.unavailability import brokers_away
from controlplane.converger.situation.decision import Decision
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.health.healing import healing_left_step, healing_step
from controlplane.converger.steps.quorum.voters import volume_step
from controlplane.converger.steps.rolls.arrivals import arrival_step
from controlplane.converger.steps.rolls.departures import departure_step
from controlplane.converger.steps.running.restarts import restart_in_hand_step, restart_step
from events import facts
from events.jvm import JvmChange
from planner.healing import Cure
from planner.observed import QuorumSeen, VoterSeen
from planner.rollout.diff import Change
from tests.builders import (
    BEFORE,
    NOW,
    a_cohosted_document,
    a_report,
    a_situation,
    a_snapshot,
    an_observation as seen_of,
)
from tests.changed_view import changed_view
from tests.unit.controlplane.cohosted import B1, NODES, a_host, a_sharing_view, after, voter_of

SERVER = f"{B1}/zookeeper"
STUCK = {"name": "deadlock", "since": BEFORE, "message": "2 threads wait for each other for ever"}
LOST = {"name": DIRECTORY_LOST, "since": BEFORE, "message": "nothing is where its data was"}


def _voters(*silent: int) -> QuorumSeen:
    members = (VoterSeen(i, f"zookeeper-{i}", 0, True, 60.0 if i in silent else 0.0) for i in (100, 101, 102))
    return QuorumSeen(100, 1, tuple(members))


def _said(host: InstanceView, **of_server: Any) -> ReportSeen:
    """The word of its agent of both services, and what else is told of the server."""
    seen, server = a_report(host), member_of(host)
    if server is None:
        return seen
    told = {
        "name": "zookeeper",
        "state": "running",
        "start_id": f"{server.key}-{server.start.count}",
        "node_id": server.service_id,
        "since": BEFORE,
        **of_server,
    }
    services = (*seen.report.services, ServiceReport.model_validate(told))
    return replace(seen, report=seen.report.model_copy(update={"services": services}))


def _situation(view: ClusterView, *, of_server: dict[str, Any] | None = None, **about: Any) -> Situation:
    """All run, Kafka is whole; `of_server` is told of the server on `B1`."""
    reports = {**seen_of(view).reports, **{k: _said(i) for k, i in view.instances.items()}}
    reports[B1] = _said(view.instances[B1], **(of_server or {}))
    kafka = about.pop("kafka", a_snapshot(mode="zookeeper", quorum=_voters(*about.pop("silent", ()))))
    return a_situation(view, reports=reports, kafka=kafka, **about)


def _events(decision: Decision | None) -> tuple[object, ...]:
    assert decision is not None
    return decision.events


def _restarting(**about: Any) -> ClusterView:
    asked = facts.RestartRequested(B1, 1, 2, {}, {}, canary=False, reason="as tested", service="zookeeper", **about)
    return after(a_sharing_view(generation=1), asked, BEFORE)


# --- what runs on a VM --------------------------------------------------------------------------------------------


def test_a_vm_with_both_runs_two_services_and_each_is_found_by_its_name() -> None:
    host = a_sharing_view().instances[B1]
    assert [i.service_key for i in services_on(host)] == [B1, SERVER]
    assert service_on(host, "") is service_on(host, "broker") is host
    server = service_on(host, "zookeeper")
    assert server is not None
    assert (server.service_id, server.beside) == (101, "zookeeper")
    assert service_on(replace(host, member=replace(host.member, gone=True)), "zookeeper") is None


# --- restarts -----------------------------------------------------------------------------------------------------


def test_a_restart_of_the_server_is_a_new_start_of_it_alone() -> None:
    view = _restarting(heap_mib=192)
    document = document_for(view, B1, epoch=1)
    assert document is not None
    broker, server = document.services
    assert (broker.start_id, broker.heap_mib) == (f"{B1}-1", 256)
    assert (server.start_id, server.heap_mib) == (f"{B1}-2", 192)
    assert B1 in view.settings.restarts
    assert not brokers_away(_situation(view), a_snapshot()), "its broker is not away"


def test_it_is_over_once_this_start_of_the_server_votes_and_follows() -> None:
    view = _restarting()
    assert _events(restart_in_hand_step(_situation(view, of_server={"start_id": f"{B1}-2"}))) == (
        facts.RestartCompleted(B1),
    )
    for about in ({"of_server": {"start_id": f"{B1}-1"}}, {"of_server": {"start_id": f"{B1}-2"}, "silent": (101,)}):
        waiting = restart_in_hand_step(_situation(view, **about))
        assert waiting is not None
        assert not waiting.events
        assert f"waiting for {SERVER} (running) to be back in sync" in waiting.sentence
    assert not after(view, facts.RestartCompleted(B1), NOW).settings.restarts


def test_one_that_does_not_come_back_gets_the_heap_it_had_and_no_other_one_is_tried() -> None:
    view = _restarting(heap_mib=512)
    late = _situation(view, of_server={"state": "starting", "start_id": f"{B1}-2"}, now=NOW + timedelta(seconds=100))
    [asked] = _events(restart_in_hand_step(late))
    assert isinstance(asked, facts.RestartRevertRequested)
    assert (asked.key, asked.start, asked.service) == (B1, 3, "zookeeper")
    view = after(view, asked, NOW)
    server = member_of(view.instances[B1])
    assert server is not None
    assert (server.start.count, server.jvm.heap_mib, view.instances[B1].start.count) == (3, 128, 1)
    assert view.settings.restart_refusal == (SERVER, asked.reason)
    assert not after(view, facts.RestartReverted(B1), NOW).settings.restarts


def test_a_server_that_leaves_meanwhile_ends_its_restart_and_that_of_a_broker_goes_on() -> None:
    left = facts.VoterRemoved("", "brokers-b-0", 101, "zookeeper-101", leaves=True)
    assert not after(_restarting(), left, NOW).settings.restarts
    asked = facts.RestartRequested(B1, 1, 2, {}, {}, canary=False, reason="as tested")
    assert B1 in after(after(a_sharing_view(), asked, BEFORE), left, NOW).settings.restarts


def _watched(**changes: object) -> ClusterView:
    """The first server with another heap is back for two seconds; its soak is longer."""
    asked = facts.RestartRequested(B1, 2, 2, {}, {}, canary=True, reason="", heap_mib=192, service="zookeeper")
    view = a_sharing_view(document=a_cohosted_document(quorum_heap=192), generation=2, recycling=2, **changes)
    since = NOW - timedelta(seconds=2)
    return after(after(view, asked, since), facts.RestartCompleted(B1), since)


def test_the_first_server_with_another_heap_is_watched_and_taken_back_where_it_falls() -> None:
    runs = {"start_id": f"{B1}-2"}
    watching = restart_step(_situation(_watched(), of_server=runs))
    assert watching is not None
    assert f"{SERVER} runs with the new settings; watching it 3 s more" in watching.sentence
    [back] = _events(restart_step(_situation(_watched(), of_server=runs, silent=(101,))))
    assert isinstance(back, facts.RestartRevertRequested)
    assert (back.key, back.service) == (B1, "zookeeper")
    view = after(_watched(), back, NOW)
    server = member_of(view.instances[B1])
    assert server is not None
    assert (server.jvm.heap_mib, view.settings.canaries) == (128, {})


def test_one_that_has_left_is_watched_no_more() -> None:
    view = after(_watched(), facts.VoterRemoved("", "brokers-b-0", 101, "zookeeper-101", leaves=True), NOW)
    decision = restart_step(_situation(view))
    assert decision is not None
    assert "watching" not in decision.sentence


@pytest.mark.parametrize(
    ("about", "reason"),
    [
        ({"silent": (102,)}, "QuorumGate"),
        ({"of_server": {"state": "starting"}}, "BrokerDown"),
    ],
)
def test_a_server_is_not_stopped_while_another_one_is_needed(about: dict[str, Any], reason: str) -> None:
    view = a_sharing_view()
    here, server = _situation(view, **about), member_of(view.instances["brokers-a-0.g1"])
    kafka = here.seen.kafka
    assert server is not None
    assert kafka is not None
    safety = restart_safety(here, kafka, server)
    assert safety.waits is not None
    assert safety.waits.reason == reason


def test_a_broker_is_not_restarted_while_a_server_beside_another_one_is_down() -> None:
    here = _situation(a_sharing_view(), of_server={"state": "starting"})
    kafka = here.seen.kafka
    assert kafka is not None
    safety = restart_safety(here, kafka, here.view.instances["brokers-a-0.g1"])
    assert f"{SERVER} is starting" in safety.gate.reason


# --- heaps --------------------------------------------------------------------------------------------------------


def test_another_heap_of_the_servers_restarts_them_and_no_broker() -> None:
    view = a_sharing_view(document=a_cohosted_document(quorum_heap=192), generation=2)
    changes = [c for c in pending_changes(view) if c.change is not Change.KEEP]
    assert [(c.node, c.change, c.service, c.service_id, c.jvm.heap_mib) for c in changes] == [
        (node, Change.RESTART, "zookeeper", 100 + n, 192) for n, node in enumerate(NODES)
    ]
    assert changes[0].reason == "brokers-a-0: ZooKeeper server 100: heap 128 -> 192 MiB"
    begun = changed_view(view, recycling=2)
    [asked] = _events(restart_step(_situation(begun, restart_lock="held")))
    assert isinstance(asked, facts.RestartRequested)
    assert (asked.key, asked.service, asked.heap_mib, asked.canary) == (B1, "zookeeper", 192, True)
    assert asked.reason == "ZooKeeper server 101: heap 128 -> 192 MiB (the first one, to be watched)"


def test_a_server_that_was_told_its_heap_or_comes_with_a_new_vm_is_not_restarted() -> None:
    document = a_cohosted_document(quorum_heap=192)
    told = {h.key: h for h in (a_host(n, 100 + i, member_jvm=JvmChange(192)) for i, n in enumerate(NODES))}
    assert {c.change for c in pending_changes(a_sharing_view(document=document, instances=told))} == {Change.KEEP}
    rolled = a_cohosted_document(quorum_heap=192, version="3.9.1")
    assert [c.change for c in pending_changes(a_sharing_view(document=rolled))] == [Change.REPLACE] * 3


def test_the_plan_tells_that_servers_are_restarted_in_place() -> None:
    found = preview(a_sharing_view(), a_cohosted_document(quorum_heap=192), snapshot=None)
    assert found.effects == {"spec.pools[brokers].zookeeperHeapMib": HEAP_RESTARTS}
    assert [p.name for p in found.rollout.phases] == [
        "restart the first zookeeper in place and watch it for 5 s",
        "restart 2 more zookeepers, one at a time, in b, c",
    ]


# --- asked for by a person ----------------------------------------------------------------------------------------


def _asked(**about: Any) -> facts.RollingRestartRequested:
    command = RestartServices(name="orders", actor="person:anna", command_id="1", reason="", **about)
    asked = restart_asked(a_sharing_view(), command)
    assert isinstance(asked.fact, facts.RollingRestartRequested)
    return asked.fact


def test_a_rolling_restart_is_of_both_services_and_that_of_a_broker_of_the_broker_alone() -> None:
    assert _asked().keys == (
        "brokers-a-0.g1",
        "brokers-a-0.g1/zookeeper",
        B1,
        SERVER,
        "brokers-c-0.g1",
        "brokers-c-0.g1/zookeeper",
    )
    assert _asked(pool="brokers").keys == _asked().keys
    assert _asked(brokers=(1001,)).keys == (B1,)
    command = RestartServices(name="orders", actor="person:anna", command_id="1", reason="")
    assert restart_asked(a_sharing_view(), command).sentence.startswith("3 brokers and 3 ZooKeeper servers of orders")


def test_who_is_left_of_it_is_told_of_its_vm_until_its_server_is_done() -> None:
    view = after(a_sharing_view(), facts.RollingRestartRequested("r1", (SERVER,), "asked by anna"), BEFORE)
    assert asked_for(view, B1) == "to be started anew, asked by anna"
    [change] = [c for c in pending_changes(view) if c.change is Change.RESTART]
    assert (change.service, change.restart_asked) == ("zookeeper", "asked by anna")
    done = facts.RestartRequested(B1, 1, 2, {}, {}, canary=False, reason="", service="zookeeper")
    view = after(after(view, done, BEFORE), facts.RestartCompleted(B1), NOW)
    assert asked_for(view, B1) == ""


# --- cures --------------------------------------------------------------------------------------------------------


def test_a_finding_of_the_server_restarts_the_server() -> None:
    healing, restart = _events(healing_step(_situation(a_sharing_view(), of_server={"findings": [STUCK]})))
    assert isinstance(healing, facts.HealingRequested)
    assert (healing.key, healing.finding, healing.cure, healing.service) == (B1, "deadlock", "restart", "zookeeper")
    assert healing.reason.startswith("zookeeper: deadlock: 2 threads wait")
    assert isinstance(restart, facts.RestartRequested)
    assert (restart.service, restart.start, restart.reason) == ("zookeeper", 2, "healing of deadlock of zookeeper")


def test_its_restart_waits_for_the_gate_of_the_ensemble() -> None:
    here = _situation(a_sharing_view(), of_server={"findings": [STUCK]}, silent=(102,))
    assert healing_step(here) is None
    waiting = healing_left_step(here)
    assert waiting is not None
    assert f"restart of {SERVER}" in waiting.sentence


def test_a_cure_of_the_broker_is_none_of_its_server_and_the_other_way_round() -> None:
    of_broker = facts.HealingRequested(B1, "brokers-b-0", "deadlock", "restart", "")
    view = after(a_sharing_view(), of_broker, NOW - timedelta(hours=1))
    (cured,) = health_of(_situation(view, of_server={"findings": [STUCK]})).prescriptions
    assert cured.cure is Cure.RESTART
    of_server = replace(of_broker, service="zookeeper")
    view = after(a_sharing_view(), of_server, NOW - timedelta(hours=1))
    (cured,) = health_of(_situation(view, of_server={"findings": [STUCK]})).prescriptions
    assert cured.cure is Cure.REPLACE


def test_a_server_whose_directory_alone_is_lost_gets_a_new_vm_and_its_broker_is_emptied_onto_it() -> None:
    here = _situation(a_sharing_view(), of_server={"state": "failed", "findings": [LOST]})
    [lost] = _events(volume_step(here))
    assert lost == facts.VolumeLost(B1, "brokers-b-0.data.v1", "zookeeper-101", "agent", LOST["message"])
    view = after(here.view, lost, NOW)
    assert volume_step(_situation(view, of_server={"state": "failed", "findings": [LOST]})) is None, "it is on record"
    [change] = [c for c in pending_changes(view) if c.change is not Change.KEEP]
    assert (change.node, change.change, change.incumbent and change.incumbent.to_mend) == (
        NODES[1],
        Change.REPLACE,
        True,
    )
    left = after(view, facts.VoterRemoved("", "brokers-b-0", 101, "zookeeper-101", leaves=True), NOW)
    assert view.is_broken(left.instances[B1]), "its VM is to go, also once its vote is gone"
    successor = a_host(NODES[1], 103, 2)
    made = replace(view, instances={**view.instances, successor.key: successor})
    assert {c.change for c in pending_changes(made)} == {Change.KEEP}


def test_after_an_abort_a_server_without_its_directory_keeps_no_vote() -> None:
    successor = a_host(NODES[1], 103, 2)
    lost = facts.VolumeLost(B1, "brokers-b-0.data.v1", "zookeeper-101", "agent", "as tested")
    view = changed_view(after(a_sharing_view(successor), lost, NOW), aborting="second thoughts")
    assert {s.id: s.stays for s in seats(view)} == {100: True, 101: False, 102: True, 103: True}


def test_an_emptied_vm_whose_server_is_needed_does_not_keep_a_lost_server_from_being_replaced() -> None:
    successor = a_host(NODES[1], 103, 2)
    old = replace(a_sharing_view().instances[B1], phase=Phase.LINGERING, since=BEFORE)
    view = a_sharing_view(old, successor)
    four = replace(view, quorum=replace(view.quorum, voters={**view.quorum.voters, 103: voter_of(successor)}))
    members = (VoterSeen(i, f"zookeeper-{i}", 0, True, 60.0 if i == 103 else 0.0) for i in (100, 101, 102, 103))
    kafka = a_snapshot(mode="zookeeper", quorum=QuorumSeen(100, 1, tuple(members)), brokers=(1000, 1001, 1002, 1011))
    waiting = departure_step(_situation(four, kafka=kafka))
    assert waiting is not None
    assert "ZooKeeper server 101 keeps its vote for now" in waiting.sentence
    lost = facts.VolumeLost(successor.key, "brokers-b-0.data.v2", "zookeeper-103", "agent", "as tested")
    assert departure_step(_situation(after(four, lost, NOW), kafka=kafka)) is None


def test_a_server_that_may_have_had_the_only_copy_is_left_to_people() -> None:
    view = a_sharing_view()
    one = a_sharing_view(instances={B1: view.instances[B1]}, voters={101: view.quorum.voters[101]})
    here = _situation(one, of_server={"state": "failed", "findings": [LOST]})
    told = volume_step(here)
    assert told is not None
    assert told.wait is not None
    assert told.wait.reason == "MetadataLost"


def test_what_is_for_people_is_left_to_people() -> None:
    slow = {"name": "zookeeper_slow", "since": BEFORE, "message": "as tested"}
    assert healing_step(_situation(a_sharing_view(), of_server={"findings": [slow]})) is None


# --- a birth ------------------------------------------------------------------------------------------------------


def _young(*, failed: tuple[str, ...] = (), joined: tuple[str, ...] = ()) -> ClusterView:
    """None has come up for long enough to be given up."""
    phase = dict.fromkeys(failed, Phase.FAILED) | dict.fromkeys(joined, Phase.JOINED)
    there = a_sharing_view().instances
    since = NOW - timedelta(seconds=500)
    told = {k: replace(i, phase=phase.get(k, Phase.LAUNCHED), since=since) for k, i in there.items()}
    return a_sharing_view(instances=told, converged=0)


def _none_up(view: ClusterView, **about: Any) -> Situation:
    """Servers run and no broker does; nobody can ask Kafka."""
    here = _situation(view, kafka=None)
    down = {k: _said(i) for k, i in view.instances.items()}
    broken = {k: _broker_is(seen, about.get(k[8], "starting")) for k, seen in down.items()}
    return replace(here, seen=replace(here.seen, reports=broken))


def _broker_is(seen: ReportSeen, state: str) -> ReportSeen:
    broker, *others = seen.report.services
    services = (broker.model_copy(update={"state": state}), *others)
    return replace(seen, report=seen.report.model_copy(update={"services": services}))


def test_a_birth_none_of_whose_brokers_comes_up_is_given_up_and_one_that_may_serve_holds_all() -> None:
    given_up = _events(arrival_step(_none_up(_young())))
    assert [type(e) for e in given_up] == [facts.JoinFailed] * 3
    held = arrival_step(_none_up(_young(), b="running"))
    assert held is not None
    assert not held.events
    here = _none_up(_young())
    silent = {**here.seen.reports, B1: replace(here.seen.reports[B1], received_at=NOW - timedelta(seconds=31))}
    waiting = arrival_step(replace(here, seen=replace(here.seen, reports=silent)))
    assert waiting is not None
    assert not waiting.events, "what its agent started before may well serve"


def test_an_ensemble_nobody_ever_served_from_is_no_more_once_its_last_vm_is_retired() -> None:
    keys = tuple(a_sharing_view().instances)
    view = _young(failed=keys)
    asked = facts.RetireRequested("retire-1", keys, (), "as tested")
    over = after(after(view, asked, BEFORE), facts.RetireCompleted("retire-1"), NOW)
    assert (over.quorum.founding, over.quorum.voters, over.quorum.protocol, over.quorum.cluster_id_fixed) == (
        None,
        {},
        "",
        False,
    )
    assert over.in_zookeeper_mode


def test_one_that_somebody_served_from_stays_on_record() -> None:
    keys = tuple(a_sharing_view().instances)
    view = _young(failed=keys)
    served = {
        k: replace(i, departure=replace(i.departure, fenced_at=BEFORE)) if k == B1 else i
        for k, i in view.instances.items()
    }
    asked = facts.RetireRequested("retire-1", keys, (), "as tested")
    over = after(after(replace(view, instances=served), asked, BEFORE), facts.RetireCompleted("retire-1"), NOW)
    assert over.quorum.founding is not None


def test_the_server_beside_a_broker_that_did_not_join_runs_until_it_has_left() -> None:
    view = _young(failed=(B1,), joined=("brokers-a-0.g1",))
    document = document_for(view, B1, epoch=1)
    assert document is not None
    assert [(s.name, s.state) for s in document.services] == [("broker", "stopped"), ("zookeeper", "running")]
    left = after(view, facts.VoterRemoved("", "brokers-b-0", 101, "zookeeper-101", leaves=True), NOW)
    gone = document_for(left, B1, epoch=1)
    assert gone is not None
    assert {s.state for s in gone.services} == {"stopped"}


def test_of_two_that_did_not_join_those_who_are_well_keep_their_votes_until_the_next_vms_have_them() -> None:
    """With two voters left of three the third VM, which died then, took the majority along (seed 78)."""
    both = _young(failed=(B1, "brokers-c-0.g1"), joined=("brokers-a-0.g1",))
    well = a_snapshot(mode="zookeeper", quorum=_voters(), brokers=(1000,))
    assert departure_step(_situation(both, kafka=well)) is None, "what is missing is made first"
    kafka = a_snapshot(mode="zookeeper", quorum=_voters(102), brokers=(1000,))
    [asked] = _events(departure_step(_situation(both, kafka=kafka)))
    assert isinstance(asked, facts.VoterRemoveRequested)
    assert asked.id == 102
    one = after(both, facts.VoterRemoved("", "brokers-c-0", 102, "zookeeper-102", leaves=True), NOW)
    [retired] = _events(departure_step(_situation(one, kafka=kafka)))
    assert isinstance(retired, facts.RetireRequested)
    assert retired.keys == ("brokers-c-0.g1",)
    alone = replace(one, instances={k: i for k, i in one.instances.items() if k != "brokers-c-0.g1"})
    assert departure_step(_situation(alone, kafka=kafka)) is None, "what is missing is made first"


def test_the_last_of_a_majority_keeps_its_vote_though_it_is_not_well() -> None:
    both = _young(failed=(B1, "brokers-c-0.g1"), joined=("brokers-a-0.g1",))
    one = after(both, facts.VoterRemoved("", "brokers-c-0", 102, "zookeeper-102", leaves=True), NOW)
    alone = replace(one, instances={k: i for k, i in one.instances.items() if k != "brokers-c-0.g1"})
    unhealthy = a_snapshot(mode="zookeeper", quorum=_voters(101, 102), brokers=(1000,))
    assert departure_step(_situation(alone, kafka=unhealthy)) is None


def test_a_server_of_a_vm_that_did_not_join_leaves_or_waits_for_the_successor_of_one_that_is_gone() -> None:
    both = _young(failed=(B1, "brokers-c-0.g1"), joined=("brokers-a-0.g1",))
    there = both.instances["brokers-a-0.g1"]
    gone = replace(both, instances={**both.instances, there.key: replace(there, lost_at=BEFORE)})
    may = a_snapshot(mode="zookeeper", quorum=_voters(102), brokers=(1000,))
    for view in (both, gone):
        [asked] = _events(departure_step(_situation(view, kafka=may)))
        assert isinstance(asked, facts.VoterRemoveRequested)
    may_not = a_snapshot(mode="zookeeper", quorum=_voters(100, 102), brokers=(1000,))
    waiting = departure_step(_situation(both, kafka=may_not))
    assert waiting is not None
    assert waiting.wait is not None
    assert waiting.wait.reason == "QuorumGate"
    assert departure_step(_situation(gone, kafka=may_not)) is None
