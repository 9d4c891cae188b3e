"""Brokers that are told anew before a ZooKeeper server beside others leaves, and servers that leave for a pool of their
own."""

from dataclasses import replace
from datetime import timedelta

import pytest

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView, MemberView
from controlplane.cluster.views.members import member_of, members_of
from controlplane.commands.previews.plan import preview
from controlplane.converger.ladder.decide import decide
from controlplane.converger.questions.documents import document_for
from controlplane.converger.questions.quorum.seats import brokers_to_tell, id_for, members_to_leave, thin_list
from controlplane.converger.situation.decision import Decision
from controlplane.converger.situation.effects import ReleaseRestartLock, TakeRestartLock
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.controllers.server_lists import server_list_restart_step, server_move_step
from controlplane.converger.steps.quorum.voters import voter_step
from controlplane.converger.steps.rolls.departures import departure_step
from controlplane.converger.steps.running.restart_lock import give_back
from events import facts
from planner.observed import KafkaSnapshot, PartitionSeen, QuorumSeen, VoterSeen
from planner.rollout.desired import desired_nodes
from tests.builders import (
    NOW,
    a_cohosted_document,
    a_partition,
    a_report,
    a_situation,
    a_snapshot,
    a_volume,
    a_zookeeper_document,
)
from tests.changed_view import changed_view
from tests.unit.controlplane.cohosted import B1, a_host, a_sharing_view, after, voter_of

DOCUMENT = a_cohosted_document(others=3)
EMPTIED, SUCCESSOR = a_host("brokers-b-0", 101, phase=Phase.LINGERING), a_host("brokers-b-0", 103, generation=2)
AWAY = ("others-a-0.g1", "others-b-0.g1", "others-c-0.g1")


def _away(rack: str, *listed: int, **changes: object) -> InstanceView:
    node, broker = f"others-{rack}-0", 1020 + "abc".index(rack)
    digest = next(n.digest for n in desired_nodes(DOCUMENT) if n.node == node)
    there = a_host(node, broker, pool="others", service_id=broker, listed=frozenset(listed))
    planned = replace(there.planned, member=None, digest=digest)
    return replace(there, planned=planned, **changes)  # type: ignore[arg-type]


def _rolling(*away: InstanceView, **changes: object) -> ClusterView:
    """Server 100 is gone already, 104 came in its place; the emptied VM has 101, and 103 votes in its place."""
    first = a_host("brokers-a-0", 104, generation=2)
    voters = {v.id: v for v in map(voter_of, (first, EMPTIED, SUCCESSOR, a_host("brokers-c-0", 102)))}
    there = away or tuple(_away(rack, 100, 101, 102) for rack in "abc")
    old = {"brokers-a-0.g1": replace(a_host("brokers-a-0", 100, phase=Phase.RETIRED), member=MemberView(gone=True))}
    view = a_sharing_view(first, EMPTIED, SUCCESSOR, *there, document=DOCUMENT, voters=voters, recycling=1)
    return changed_view(view, instances={**view.instances, **old}, **changes)


def _kafka(view: ClusterView, *, silent: int = -1, down: int = -1, controller: int = -1) -> KafkaSnapshot:
    """All serve and follow, but that server and that broker."""
    voters = (
        VoterSeen(v.id, v.directory_id, 0, True, 60.0 if v.id == silent else 0.0) for v in view.quorum.voters.values()
    )
    brokers = [i.service_id for i in view.brokers() if not i.lost and i.service_id != down]
    return a_snapshot(
        brokers=brokers, quorum=QuorumSeen(102, 1, tuple(voters)), mode="zookeeper", controller=controller
    )


def _situation(view: ClusterView, kafka: KafkaSnapshot | None = None, restart_lock: str = "held") -> Situation:
    return a_situation(view, kafka=kafka or _kafka(view), restart_lock=restart_lock)


def test_who_would_know_one_of_three_is_to_be_told_and_who_knows_two_is_not() -> None:
    view = _rolling(_away("a", 100, 101, 102), _away("b", 101, 102, 104), _away("c", 101, 102, 103, 104))
    assert [i.key for i in brokers_to_tell(view)] == ["others-a-0.g1"]


@pytest.mark.parametrize(
    "one",
    [
        _away("a", 100, 101, 102, lost_at=NOW - timedelta(seconds=9)),
        _away("a", 100, 101, 102, phase=Phase.DRAINING),
        _away("a", 100, 101, 102, phase=Phase.LAUNCHED),
    ],
    ids=["its VM is gone", "it is emptied", "it does not serve yet"],
)
def test_nobody_waits_for_one_that_needs_no_server_any_more_or_is_told_in_any_case(one: InstanceView) -> None:
    assert brokers_to_tell(_rolling(one)) == ()


def test_nobody_is_told_while_no_server_is_about_to_leave() -> None:
    there = [_away(rack, 100, 101, 102) for rack in "abc"]
    assert brokers_to_tell(a_sharing_view(*there, document=DOCUMENT)) == ()


def test_one_that_knows_too_few_without_anybody_leaving_is_restarted_as_its_spec_is_rolled() -> None:
    away = _away("a", 100, 107, 108)
    assert thin_list(a_sharing_view(away), away) == "it was told of 1 of the 3 controllers, 2 are needed"


def test_the_emptied_vm_keeps_its_vote_until_all_are_told() -> None:
    assert departure_step(_situation(_rolling())) is None
    told = _rolling(*(_away(rack, 101, 102, 103, 104) for rack in "abc"))
    decision = departure_step(_situation(told))
    assert decision is not None
    assert isinstance(decision.events[0], facts.VoterRemoveRequested)


def test_they_are_told_one_at_a_time_and_each_is_seen_through_before_the_vote_goes() -> None:
    view = _rolling()
    [asked] = decide(_situation(view)).events
    assert isinstance(asked, facts.RestartRequested)
    assert (asked.key, asked.start, asked.config, asked.told) == (AWAY[0], 2, {}, {})
    assert asked.reason == f"the server on {B1} leaves, and 3 brokers are to know the others first"
    view = after(view, asked, NOW)
    assert view.instances[AWAY[0]].start.listed == frozenset({101, 102, 103, 104})
    assert "waiting for others-a-0.g1" in decide(_situation(view)).sentence


def test_the_active_controller_is_told_last() -> None:
    view = _rolling()
    decision = server_list_restart_step(_situation(view, _kafka(view, controller=1020)))
    assert decision is not None
    assert [e.key for e in decision.events if isinstance(e, facts.RestartRequested)] == [AWAY[1]]


def test_the_restart_lock_is_taken_first_and_kept_until_the_last_is_told() -> None:
    free = server_list_restart_step(_situation(_rolling(), restart_lock="lost"))
    assert free is not None
    assert [type(e) for e in free.effects] == [TakeRestartLock]
    assert give_back(_situation(_rolling())) is None
    told = give_back(_situation(_rolling(*(_away(rack, 101, 102, 103, 104) for rack in "abc"))))
    assert told is not None
    assert [type(e) for e in told.effects] == [ReleaseRestartLock]


def test_while_somebody_is_down_nobody_is_stopped_and_nothing_else_begins() -> None:
    view = _rolling()
    kafka = _kafka(view, down=view.instances["brokers-c-0.g1"].service_id)
    decision = server_list_restart_step(_situation(view, kafka))
    assert decision is not None
    assert not decision.events
    assert decision.wait is not None
    assert decision.wait.reason == "MaxUnavailable"


def test_what_is_lost_is_made_anew_before_anybody_is_told() -> None:
    gone = replace(_away("b", 100, 101, 102), lost_at=NOW - timedelta(hours=1))
    view = _rolling(_away("a", 100, 101, 102), gone, _away("c", 100, 101, 102))
    decision = server_list_restart_step(_situation(view))
    assert decision is not None
    [asked] = decision.events
    assert isinstance(asked, facts.SurgeRequested)
    assert [p.node for p in asked.instances] == ["others-b-0"]


def test_one_that_did_not_come_back_keeps_the_rest_from_being_told() -> None:
    decision = server_list_restart_step(_situation(_rolling(restart_refusal=(AWAY[0], "not back in sync after 120 s"))))
    assert decision is not None
    assert decision.wait is not None
    assert (decision.wait.reason, decision.wait.next_command) == ("RestartReverted", "kedge resume orders to try again")


def _half_dead(
    view: ClusterView, *, coming_s: float = 0, partitions: tuple[PartitionSeen, ...] = (), state: str = "running"
) -> Decision | None:
    """Server 101 is down, those who vote beside it have run for hours, and another VM's server has been in this state
    for so long without the vote it is to have; 0: there is none."""
    kafka = replace(_kafka(view, silent=101), partitions=partitions)
    hours_ago = NOW - timedelta(hours=3)
    reports = {
        m.key: a_report(m, since=hours_ago) for m in members_of(view.alive()) if m.service_id in view.quorum.voters
    }
    if coming_s:
        coming = a_host("brokers-c-0", 105, generation=2, phase=Phase.LAUNCHED)
        member = member_of(coming)
        assert member is not None
        if state:
            reports[coming.key] = a_report(member, state, since=NOW - timedelta(seconds=coming_s))
        view = replace(view, instances={**view.instances, coming.key: coming})
    return voter_step(a_situation(view, kafka=kafka, reports=reports, restart_lock="held"))


def test_a_server_whose_process_is_down_keeps_its_vote_while_brokers_elsewhere_count_on_it() -> None:
    """Its agent starts it again. Only where its vote has long kept the one of another VM out it goes."""
    view = replace(_rolling(), instances={**_rolling().instances, B1: replace(EMPTIED, phase=Phase.DRAINING)})
    assert _half_dead(view) is None
    assert _half_dead(view, coming_s=60) is None
    assert _half_dead(view, coming_s=70, state="starting") is None
    assert _half_dead(view, coming_s=70, state="") is None, "nobody has heard of it"
    decision = _half_dead(view, coming_s=61)
    assert decision is not None
    assert isinstance(decision.events[0], facts.VoterRemoveRequested)


def test_seed_7431_a_server_beside_an_emptied_broker_that_has_replicas_again_keeps_its_vote_while_it_is_down() -> None:
    """A topic came to it while it lingered. It knew no other server that votes."""
    view = _rolling(_away("a", 102, 103, 104))
    again = a_partition("t-0", (EMPTIED.service_id, 1002))
    assert _half_dead(view, partitions=(again,)) is None
    decision = _half_dead(view)
    assert decision is not None
    assert isinstance(decision.events[0], facts.VoterRemoveRequested)


def test_the_plan_says_that_brokers_elsewhere_are_started_anew() -> None:
    view = a_sharing_view(*(_away(rack, 100, 101, 102) for rack in "abc"), document=DOCUMENT)
    told = "brokers of `others` are started anew, one at a time, before the ZooKeeper servers they know become too few"
    assert told in preview(view, a_cohosted_document(others=3, machine="medium"), snapshot=None).warnings
    assert told not in preview(view, a_cohosted_document(others=3, others_machine="medium"), snapshot=None).warnings


# --- to a pool of their own ---------------------------------------------------------------------------------------

ALONE = a_zookeeper_document()
MOVED = tuple(facts.FoundingVoter(f"zookeepers-{r}-0", 103 + n, f"z-{r}", 2181, f"z{n}") for n, r in enumerate("abc"))


def _leaving(*listed: int, of_new: int = 3, without: int = -1) -> ClusterView:
    """Servers 103 to 105 of the new pool, `of_new` of which vote, beside 100 to 102; all brokers were told of those."""
    hosts = [a_host(f"brokers-{r}-0", 100 + n, listed=frozenset(listed)) for n, r in enumerate("abc")]
    hosts = [
        replace(h, member=replace(h.member, gone=True))
        if h.planned.member and h.planned.member.service_id == without
        else h
        for h in hosts
    ]
    there = [*(voter_of(h) for h in hosts if not h.member.gone), *MOVED[:of_new]]
    view = a_sharing_view(*hosts, document=ALONE, voters={v.id: v for v in there}, recycling=1, generation=1)
    alone = [
        a_host(v.node, 0, pool="zookeepers", service="zookeeper", service_id=v.id, volumes=(_disk(v),)) for v in MOVED
    ]
    alone = [replace(i, planned=replace(i.planned, member=None)) for i in alone]
    return replace(view, instances={**view.instances, **{i.key: i for i in alone}})


def _disk(voter: facts.FoundingVoter) -> facts.PlannedVolume:
    return replace(a_volume(voter.node), directory_id=voter.directory_id)


def test_servers_beside_brokers_stay_until_all_of_the_new_pool_vote() -> None:
    assert members_to_leave(_leaving(100, 101, 102, of_new=2)) == ()
    assert [m.service_id for m in members_to_leave(_leaving(100, 101, 102))] == [100, 101, 102]
    assert members_to_leave(a_sharing_view()) == ()


def test_every_broker_is_to_know_a_majority_of_those_who_stay_before_the_first_one_leaves() -> None:
    view = _leaving(100, 101, 102)
    [first, *_] = view.brokers()
    assert thin_list(view, first) == "it was told of 0 of the 3 controllers, 2 are needed"
    told = _leaving(*range(100, 106))
    assert [thin_list(told, i) for i in told.brokers()] == ["", "", ""]


def test_they_leave_one_at_a_time_while_the_others_are_a_majority() -> None:
    view = _leaving(*range(100, 106))
    decision = server_move_step(_situation(view))
    assert decision is not None
    [asked] = decision.events
    assert isinstance(asked, facts.VoterRemoveRequested)
    assert (asked.id, asked.leaves) == (101, True)
    silent = server_move_step(_situation(view, _kafka(view, silent=104)))
    assert silent is not None
    assert silent.wait is not None
    assert silent.wait.reason == "QuorumGate"


def test_one_that_has_left_is_told_to_stop_and_its_broker_runs_on() -> None:
    view = after(
        _leaving(*range(100, 106)), facts.VoterRemoved("", "brokers-c-0", 102, "zookeeper-102", leaves=True), NOW
    )
    made = document_for(view, "brokers-c-0.g1", epoch=1)
    assert made is not None
    assert {s.name: s.state for s in made.services} == {"broker": "running", "zookeeper": "stopped"}
    assert view.instances["brokers-c-0.g1"].phase is Phase.JOINED


def test_a_new_server_gets_no_id_that_brokers_know_at_another_address() -> None:
    hosts = [a_host(f"brokers-{r}-0", 110 + n, listed=frozenset({100, 101, 110})) for n, r in enumerate("abc")]
    view = changed_view(a_sharing_view(*hosts, document=ALONE), voters={v.id: v for v in map(voter_of, hosts)})
    assert id_for(view, "zookeepers-a-0", set()) == 102


def test_the_plan_says_that_servers_beside_brokers_leave_for_good() -> None:
    told = (
        "the ZooKeeper servers on brokers' VMs leave for good once those of `zookeepers` vote; before that every "
        "broker is started anew, one at a time, to know them"
    )
    assert told in preview(a_sharing_view(), ALONE, snapshot=None).warnings
    assert told not in preview(a_sharing_view(), a_cohosted_document(machine="medium"), snapshot=None).warnings
