"""ZooKeeper servers on the VMs of brokers: who they are, who of them is to vote, what they are told, and their ids."""

from dataclasses import replace
from datetime import timedelta

import pytest

from agent.wire import Document, FindingReport
from controlplane.api.documents import offer
from controlplane.api.presenters.instances import AgentSeen, instance_out
from controlplane.api.schemas.instances import BesideOut
from controlplane.cluster.cohosted_zookeeper import FIRST_ID, LAST_ID, next_member_id
from controlplane.cluster.folds.quorum import RULES
from controlplane.cluster.gateways import roll_of
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.members import member_of
from controlplane.commands.admission.spec import admission_problems
from controlplane.commands.previews.plan import preview
from controlplane.converger.questions.documents import document_for
from controlplane.converger.questions.quorum.seats import seats, thin_list
from controlplane.converger.steps.quorum.voters import voter_step
from controlplane.converger.steps.rolls.arrivals import arrival_step
from controlplane.converger.steps.rolls.departures import departure_step
from events import facts
from events.ids import ClusterUid, Epoch
from events.spec.positions import NOWHERE
from planner.observed import QuorumSeen, VoterSeen
from tests.builders import (
    BEFORE,
    NOW,
    a_cohosted_document,
    a_report,
    a_situation,
    a_snapshot,
)
from tests.unit.controlplane.cohosted import B1, B2, NODES, a_host, a_sharing_view, voter_of


def _quorum(*following: int, voters: tuple[int, ...] = (100, 101, 102)) -> QuorumSeen:
    """Those `voters`, and who else follows; who does not is silent."""
    asked = sorted({*voters, *following})
    members = (VoterSeen(i, f"zookeeper-{i}", 0, i in voters, 0.0 if i in following else 60.0) for i in asked)
    return QuorumSeen(100, 1, tuple(members))


# --- who they are -------------------------------------------------------------------------------------------------


def test_a_server_beside_a_broker_is_a_voter_of_its_own_id_and_directory_at_the_vms_address() -> None:
    view = a_sharing_view()
    assert [(i.key, i.service_id, i.planned.service) for i in view.controllers()] == [
        ("brokers-a-0.g1", 100, "zookeeper"),
        ("brokers-b-0.g1", 101, "zookeeper"),
        ("brokers-c-0.g1", 102, "zookeeper"),
    ]
    assert {i.service_id for i in view.brokers()} == {1000, 1001, 1002}
    assert [(m.id, m.address) for m in roll_of(view).members] == [
        (100, "address-of-brokers-a-0.g1"),
        (101, "address-of-brokers-b-0.g1"),
        (102, "address-of-brokers-c-0.g1"),
    ]
    assert roll_of(view).given == {100: "zookeeper-100", 101: "zookeeper-101", 102: "zookeeper-102"}


def test_a_broker_that_is_emptied_takes_nothing_from_its_server() -> None:
    host = a_host(NODES[0], 100, phase=Phase.DRAINING)
    member = member_of(host)
    assert member is not None
    assert (member.phase, member.departure.drained) == (Phase.JOINED, False)


def test_a_server_that_has_left_is_nobody_any_more() -> None:
    assert member_of(a_host(NODES[0], 100, member_gone=True)) is None


# --- what they are told -------------------------------------------------------------------------------------------


def test_a_vm_is_told_both_services_each_with_its_own_id_heap_and_directory_on_one_disk() -> None:
    document = document_for(a_sharing_view(), "brokers-a-0.g1", epoch=1)
    assert document is not None
    broker, server = document.services
    assert (broker.name, broker.node_id, broker.heap_mib) == ("broker", 1000, 256)
    assert (server.name, server.node_id, server.heap_mib, server.port) == ("zookeeper", 100, 128, 2181)
    assert broker.log_dirs[0].volume == server.log_dirs[0].volume
    assert (broker.log_dirs[0].directory_id, server.log_dirs[0].directory_id) == (
        "directory-of-brokers-a-0.data.v1",
        "zookeeper-100",
    )
    assert server.address == broker.address == "address-of-brokers-a-0.g1"
    assert server.founder
    assert server.settings == {}


def test_servers_start_before_the_cluster_id_is_there_and_brokers_after_it() -> None:
    young = {k: replace(i, phase=Phase.LAUNCHED) for k, i in a_sharing_view().instances.items()}
    document = document_for(a_sharing_view(cluster_id_fixed=False, instances=young), "brokers-a-0.g1", epoch=1)
    assert document is not None
    assert [s.name for s in document.services] == ["zookeeper"]


def test_a_server_that_has_left_is_told_to_stop_and_its_broker_runs_on() -> None:
    left = replace(
        a_sharing_view().instances[B1],
        phase=Phase.LINGERING,
        member=replace(a_sharing_view().instances[B1].member, gone=True),
    )
    document = document_for(a_sharing_view(left), B1, epoch=1)
    assert document is not None
    assert [(s.name, s.state) for s in document.services] == [("broker", "running"), ("zookeeper", "stopped")]


def test_a_newcomer_is_told_of_the_members_and_its_broker_of_the_server_beside_it_too() -> None:
    new = a_host(NODES[1], 103, 2, Phase.LAUNCHED)
    document = document_for(a_sharing_view(new), B2, epoch=1)
    assert document is not None
    broker, server = document.services
    assert [m.id for m in broker.ensemble] == [100, 101, 102, 103]
    assert [m.id for m in server.ensemble] == [100, 101, 102]
    assert not server.founder


def test_a_broker_restarts_alone() -> None:
    again = replace(a_sharing_view().instances[B1], start=replace(a_sharing_view().instances[B1].start, count=2))
    document = document_for(a_sharing_view(again), B1, epoch=1)
    assert document is not None
    assert [s.start_id for s in document.services] == [f"{B1}-2", f"{B1}-1"]


# --- who is to vote -----------------------------------------------------------------------------------------------


def test_the_newer_server_of_a_node_is_to_vote_once_its_vm_is_there() -> None:
    view = a_sharing_view(a_host(NODES[1], 103, 2, Phase.LAUNCHED))
    assert {s.id: s.stays for s in seats(view)} == {100: True, 101: False, 102: True, 103: True}


@pytest.mark.parametrize("phase", [Phase.REQUESTED, Phase.FAILED, Phase.RETIRING])
def test_a_newer_vm_that_is_not_there_takes_no_vote(phase: Phase) -> None:
    view = a_sharing_view(a_host(NODES[1], 103, 2, phase))
    assert {s.id: s.stays for s in seats(view)} == {100: True, 101: True, 102: True, 103: False}


def test_after_an_abort_the_elder_server_keeps_its_vote() -> None:
    view = a_sharing_view(a_host(NODES[1], 103, 2), aborting="second thoughts")
    assert {s.id: s.stays for s in seats(view)} == {100: True, 101: True, 102: True, 103: False}


def test_a_lost_vms_server_is_to_go_once_its_successor_is_there() -> None:
    lost = replace(a_sharing_view().instances[B1], lost_at=BEFORE)
    assert {s.id: s.stays for s in seats(a_sharing_view(lost))} == {100: True, 101: True, 102: True}
    successor = a_host(NODES[1], 103, 2, Phase.LAUNCHED)
    assert {s.id: s.stays for s in seats(a_sharing_view(lost, successor))} == {
        100: True,
        101: False,
        102: True,
        103: True,
    }


def test_a_newcomer_gets_its_vote_while_the_elder_has_one() -> None:
    view = a_sharing_view(a_host(NODES[1], 103, 2, Phase.LAUNCHED))
    quorum = _quorum(100, 101, 102, 103)
    decision = voter_step(a_situation(view, kafka=a_snapshot(quorum=quorum, mode="zookeeper")))
    assert decision is not None
    [asked] = decision.events
    assert isinstance(asked, facts.VoterAddRequested)
    assert (asked.id, asked.address, asked.port) == (103, f"address-of-{B2}", 2181)


def test_a_dead_servers_vote_goes_before_the_newcomer_gets_its_own() -> None:
    lost = replace(a_sharing_view().instances[B1], lost_at=BEFORE)
    view = a_sharing_view(lost, a_host(NODES[1], 103, 2, Phase.LAUNCHED))
    quorum = _quorum(100, 102, 103)
    decision = voter_step(a_situation(view, kafka=a_snapshot(quorum=quorum, mode="zookeeper")))
    assert decision is not None
    [asked] = decision.events
    assert isinstance(asked, facts.VoterRemoveRequested)
    assert asked.id == 101


def test_the_elder_server_keeps_its_vote_until_its_broker_is_empty() -> None:
    new = a_host(NODES[1], 103, 2)
    voters = {v.id: v for v in map(voter_of, (*a_sharing_view().instances.values(), new))}
    view = a_sharing_view(new, voters=voters)
    quorum = _quorum(100, 101, 102, 103, voters=(100, 101, 102, 103))
    assert voter_step(a_situation(view, kafka=a_snapshot(quorum=quorum, mode="zookeeper"))) is None


def test_the_elder_servers_vote_goes_before_its_empty_broker_is_stopped() -> None:
    new, old = (
        a_host(NODES[1], 103, 2),
        replace(
            a_sharing_view().instances[B1],
            phase=Phase.LINGERING,
            departure=replace(a_sharing_view().instances[B1].departure, drained=True),
        ),
    )
    voters = {v.id: v for v in map(voter_of, (*a_sharing_view().instances.values(), new))}
    view = a_sharing_view(old, new, voters=voters)
    quorum = _quorum(100, 101, 102, 103, voters=(100, 101, 102, 103))
    kafka = a_snapshot(quorum=quorum, mode="zookeeper", brokers=(1000, 1001, 1002, 1011))
    decision = departure_step(a_situation(view, kafka=kafka))
    assert decision is not None
    [asked] = decision.events
    assert isinstance(asked, facts.VoterRemoveRequested)
    assert asked.id == 101


def test_a_broker_whose_server_is_needed_is_not_stopped() -> None:
    """Another server is down: the majority of those that stay would hang on the two that serve."""
    new, old = (
        a_host(NODES[1], 103, 2),
        replace(
            a_sharing_view().instances[B1],
            phase=Phase.LINGERING,
            departure=replace(a_sharing_view().instances[B1].departure, drained=True),
        ),
    )
    voters = {v.id: v for v in map(voter_of, (*a_sharing_view().instances.values(), new))}
    view = a_sharing_view(old, new, voters=voters)
    quorum = _quorum(100, 101, 103, voters=(100, 101, 102, 103))
    kafka = a_snapshot(quorum=quorum, mode="zookeeper", brokers=(1000, 1001, 1002, 1011))
    decision = departure_step(a_situation(view, kafka=kafka))
    assert decision is not None
    assert decision.events == ()
    assert decision.wait is not None
    assert decision.wait.reason == "QuorumGate"
    assert "102 is 0 records behind, silent for 60.0 s" in decision.sentence


def test_a_vote_that_is_taken_marks_that_server_alone() -> None:
    new = a_host(NODES[1], 103, 2)
    asked = facts.VoterRemoveRequested("change-1", NODES[1], 101, "zookeeper-101", True, "its broker is empty")
    view = RULES[type(asked)](a_sharing_view(new), asked, NOW)
    removed = facts.VoterRemoved("change-1", NODES[1], 101, "zookeeper-101", leaves=True)
    view = RULES[type(removed)](view, removed, NOW)
    assert {k: i.member.gone for k, i in view.instances.items()} == {
        "brokers-a-0.g1": False,
        B1: True,
        "brokers-c-0.g1": False,
        B2: False,
    }
    assert not any(i.departure.drained for i in view.instances.values())
    assert set(view.quorum.voters) == {100, 102}


# --- arriving -----------------------------------------------------------------------------------------------------


def test_a_broker_that_serves_has_not_joined_before_its_server_votes() -> None:
    new = a_host(NODES[1], 103, 2, Phase.LAUNCHED)
    view, seen = a_sharing_view(new), a_report(new)
    server = seen.report.services[0].model_copy(update={"name": "zookeeper", "node_id": 103})
    report = seen.report.model_copy(update={"services": (*seen.report.services, server)})
    quorum = _quorum(100, 101, 102, 103)
    kafka = a_snapshot(quorum=quorum, mode="zookeeper", brokers=(1000, 1001, 1002, 1011))
    decision = arrival_step(a_situation(view, kafka=kafka, reports={B2: replace(seen, report=report)}))
    assert decision is not None
    assert decision.events == ()
    assert decision.sentence == (
        f"waiting for {B2} (running; its ZooKeeper server: running, no vote yet: 3 of 3 voters keep up, controller 103 "
        "is 0 records behind) to join"
    )
    voting = _quorum(100, 101, 102, 103, voters=(100, 101, 102, 103))
    kafka = replace(kafka, quorum=voting)
    decision = arrival_step(a_situation(view, kafka=kafka, reports={B2: replace(seen, report=report)}))
    assert decision is not None
    assert decision.events == (facts.InstanceJoined(B2, 1011),)


@pytest.mark.parametrize(("others", "given_up"), [(Phase.LAUNCHED, 3), (Phase.REQUESTED, 0), (Phase.JOINED, 1)])
def test_a_founder_whose_broker_does_not_come_is_given_up_where_another_broker_serves_or_none_of_all_comes(
    others: Phase, given_up: int
) -> None:
    view = a_sharing_view(converged=0)
    young = {k: replace(i, phase=others) for k, i in view.instances.items()}
    young[B1] = replace(young[B1], phase=Phase.LAUNCHED)
    late = replace(view, instances=young)
    decision = arrival_step(a_situation(late, now=NOW + timedelta(seconds=60), reports={}))
    assert decision is not None
    assert [type(e) for e in decision.events] == [facts.JoinFailed] * given_up


# --- ids, and who is told of them ---------------------------------------------------------------------------------


def test_ids_are_given_in_turn() -> None:
    assert next_member_id(a_sharing_view(), set()) == 103
    assert next_member_id(a_sharing_view(), {103}) == 104
    assert next_member_id(ClusterView(ClusterUid("c0ffee")), set()) == FIRST_ID


def test_after_the_last_id_the_first_that_nobody_was_told_of_is_given() -> None:
    """Broker 1001 still looks for server 100 where that was."""
    instances = {
        h.key: replace(h, start=replace(h.start, listed=frozenset({100, 254})))
        for h in (a_host(NODES[0], 253), a_host(NODES[1], 254), a_host(NODES[2], LAST_ID))
    }
    assert next_member_id(a_sharing_view(instances=instances, voters={}), set()) == 101


def test_a_broker_whose_list_names_too_few_of_those_that_vote_now_is_told_anew() -> None:
    host = a_host(NODES[0], 100)
    voters = {v.id: v for v in (voter_of(host), voter_of(a_host(NODES[1], 103)), voter_of(a_host(NODES[2], 102)))}
    assert thin_list(a_sharing_view(host, voters=voters), host) == ""
    voters = {v.id: v for v in (voter_of(host), voter_of(a_host(NODES[1], 103)), voter_of(a_host(NODES[2], 104)))}
    assert thin_list(a_sharing_view(host, voters=voters), host) == "it was told of 1 of the 3 controllers, 2 are needed"


# --- before it comes into force -----------------------------------------------------------------------------------


def test_heaps_that_leave_a_vm_too_little_are_refused() -> None:
    view = ClusterView(ClusterUid("c0ffee"))
    fits, not_so = a_cohosted_document(heap=640), a_cohosted_document(heap=641)
    assert admission_problems(view, fits, positions=NOWHERE, snapshot=None) == []
    [found] = admission_problems(view, not_so, positions=NOWHERE, snapshot=None)
    assert (found.code, found.message) == (
        "KEDGE-SPEC-029",
        "pool `brokers`: the broker's heap of 641 MiB and the ZooKeeper server's of 128 MiB are more than three "
        "quarters of the 1024 MiB of `small`",
    )


def test_the_plan_tells_what_becomes_of_the_servers() -> None:
    found = preview(a_sharing_view(), a_cohosted_document(version="3.9.1"), snapshot=None)
    steps = [s for phase in found.rollout.phases for s in phase.steps if s.change == "replace"]
    assert [s.how for s in steps] == [
        (
            "surge",
            "join",
            "its ZooKeeper server gets a vote",
            "drain",
            "linger",
            "the old one's leaves",
            "fence",
            "retire old",
        )
    ] * 3
    assert all(not phase.parallel for phase in found.rollout.phases)


# --- what goes over the wire, and what people see -----------------------------------------------------------------


def test_both_services_are_offered_and_the_server_alone_knows_its_super_user() -> None:
    made = offer(a_sharing_view(), B1, epoch=Epoch(1), super_digest="super:abc=")
    services = {s.name: s.super_digest for s in Document.model_validate_json(made.body).services}
    assert services == {"broker": "", "zookeeper": "super:abc="}


def test_people_see_the_server_beside_a_broker_and_what_ails_it() -> None:
    view, seen = a_sharing_view(), a_report(a_sharing_view().instances[B1])
    finding = FindingReport(name="zookeeper_slow", since=BEFORE, message="as tested")
    told = {"name": "zookeeper", "node_id": 101, "state": "starting", "findings": (finding,)}
    server = seen.report.services[0].model_copy(update=told)
    report = seen.report.model_copy(update={"services": (*seen.report.services, server)})
    agents = {B1: AgentSeen(replace(seen, report=report))}
    shown = instance_out(view, view.instances[B1], agents[B1], NOW)
    assert shown.beside == BesideOut(service_id=101, votes=True, reported_state="starting")
    assert shown.reported_state == "running"
    assert [f.name for f in shown.findings] == ["zookeeper_slow"]
