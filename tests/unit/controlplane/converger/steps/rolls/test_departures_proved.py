"""What proves that a service has stopped, what may stop while others are gone, and what is retired with a VM."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from agent.wire import ServiceReport
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.agent_reports import ReportSeen
from controlplane.cluster.views.instances import InstanceView
from controlplane.converger.situation.decision import Decision
from controlplane.converger.situation.effects import Unregister
from controlplane.converger.steps.rolls.departures import departure_step, linger_left_s, request_retire
from events import facts
from events.ids import intent_id
from planner.observed import VoterSeen
from tests.builders import BEFORE, NOW, a_partition, a_report, a_situation, a_snapshot, a_view, an_instance
from tests.unit.controlplane.cohosted import a_host, a_sharing_view

LIVE = (1000, 1001, 1002, 1010)
EMPTY = a_snapshot(a_partition("orders-0", (1010, 1001, 1002)), brokers=LIVE)


def _leaving(node: str, phase: Phase, **overrides: Any) -> InstanceView:
    return an_instance(node, 1, phase, **overrides)


def _decision(*instances: InstanceView, kafka: Any = EMPTY, **seen: Any) -> Decision | None:
    return departure_step(a_situation(a_view(*instances), kafka=kafka, **seen))


def _reason(decision: Decision | None) -> str:
    assert decision is not None
    assert decision.wait is not None
    return decision.wait.reason


# --- proofs -----------------------------------------------------------------------------------------------------------


def test_of_several_that_stop_each_is_told_by_its_own_proof() -> None:
    gone = _leaving("brokers-a-0", Phase.FENCING, lost_at=BEFORE)
    silent = _leaving("brokers-b-0", Phase.FENCING)
    stopped = _leaving("brokers-c-0", Phase.FENCING)
    decision = _decision(gone, silent, stopped, reports={stopped.key: a_report(stopped, "stopped")})
    assert decision is not None
    assert decision.events == (facts.NodeFenced(gone.key, "inventory"), facts.NodeFenced(stopped.key, "agent"))


def _with_server(host: InstanceView, state: str) -> ReportSeen:
    """The broker has stopped, by its agent's word; the ZooKeeper server beside it is in this state."""
    seen = a_report(host, "stopped")
    told = {"name": "zookeeper", "state": state, "start_id": "s", "node_id": 101, "since": BEFORE}
    services = (*seen.report.services, ServiceReport.model_validate(told))
    return replace(seen, report=seen.report.model_copy(update={"services": services}))


@pytest.mark.parametrize(("state", "proved"), [("running", False), ("failed", False), ("stopped", True)])
def test_a_vm_with_a_zookeeper_server_has_stopped_when_that_has_too(state: str, proved: bool) -> None:
    host = a_host("brokers-b-0", 101, phase=Phase.FENCING)
    after_it = a_host("brokers-c-0", 102, phase=Phase.FENCING)
    reports = {host.key: _with_server(host, state), after_it.key: _with_server(after_it, "stopped")}
    kafka = a_snapshot(mode="zookeeper")
    decision = departure_step(a_situation(a_sharing_view(host, after_it), kafka=kafka, reports=reports))
    assert decision is not None
    stopped = [host.key] if proved else []
    assert decision.events == tuple(facts.NodeFenced(k, "agent") for k in (*stopped, after_it.key))


def test_a_server_that_an_agent_tells_of_beside_a_broker_alone_is_no_part_of_it() -> None:
    old = _leaving("brokers-a-0", Phase.FENCING)
    decision = _decision(old, reports={old.key: _with_server(old, "running")})
    assert decision is not None
    assert decision.events == (facts.NodeFenced(old.key, "agent"),)


@pytest.mark.parametrize(("live", "proved"), [(LIVE, False), (LIVE[1:], True)])
def test_a_vm_that_never_spoke_has_stopped_unless_kafka_counts_on_it(live: tuple[int, ...], proved: bool) -> None:
    silent = _leaving("brokers-a-0", Phase.FENCING, deferred=True)
    decision = _decision(silent, kafka=a_snapshot(brokers=live))
    assert decision is not None
    assert decision.events == ((facts.NodeFenced(silent.key, "silence"),) if proved else ())


def test_silence_proves_nothing_of_a_vm_that_was_heard_of_or_was_made_at_once_or_without_metadata() -> None:
    kafka = a_snapshot(brokers=LIVE[1:])
    silent = _leaving("brokers-a-0", Phase.FENCING, deferred=True)
    assert _reason(_decision(silent, kafka=None)) == "Fencing"
    assert _reason(_decision(silent, kafka=kafka, reports={silent.key: a_report(silent, "running")})) == "Fencing"
    assert _reason(_decision(_leaving("brokers-a-0", Phase.FENCING), kafka=kafka)) == "Fencing"


@pytest.mark.parametrize(("lag", "proved"), [(0, False), (500, True)])
def test_a_first_controller_that_never_spoke_has_stopped_unless_it_follows(lag: int, proved: bool) -> None:
    silent = _leaving("controllers-a-0", Phase.FENCING)
    kafka = a_snapshot()
    members = (VoterSeen(100, "d", lag, True), *kafka.quorum.members[1:])
    seen = replace(kafka, quorum=replace(kafka.quorum, members=members))
    decision = _decision(silent, kafka=seen)
    assert decision is not None
    assert decision.events == ((facts.NodeFenced(silent.key, "silence"),) if proved else ())


def test_silence_proves_nothing_of_a_controller_that_takes_over_a_disk() -> None:
    successor = an_instance("controllers-a-0", 2, Phase.FENCING, handover=True)
    assert _reason(_decision(successor, kafka=a_snapshot(quorum=replace(a_snapshot().quorum, members=())))) == "Fencing"


# --- while it is stopped ----------------------------------------------------------------------------------------------


def test_a_broker_that_was_emptied_and_has_partitions_again_is_told_not_to_stop() -> None:
    old = _leaving("brokers-a-0", Phase.FENCING, drained=True)
    decision = _decision(old, kafka=a_snapshot(a_partition("late-0"), brokers=LIVE))
    assert decision is not None
    (told,) = decision.events
    assert isinstance(told, facts.FenceReverted)
    assert "it was not heard to have stopped, and has 1 partitions" in told.reason


def test_one_that_never_was_emptied_goes_on_stopping_with_what_it_has() -> None:
    failed = _leaving("brokers-a-0", Phase.FENCING, drained=False)
    decision = _decision(failed, kafka=a_snapshot(a_partition("late-0"), brokers=LIVE))
    assert _reason(decision) == "Fencing"
    assert decision is not None
    assert decision.wait is not None
    assert decision.wait.patience_s == 90


def test_empty_it_goes_on_stopping() -> None:
    assert _reason(_decision(_leaving("brokers-a-0", Phase.FENCING, drained=True))) == "Fencing"


# --- lingering --------------------------------------------------------------------------------------------------------


def test_the_last_of_those_that_linger_says_how_long() -> None:
    first = _leaving("brokers-a-0", Phase.LINGERING, since=NOW - timedelta(seconds=4))
    second = _leaving("brokers-b-0", Phase.LINGERING, since=NOW - timedelta(seconds=1))
    assert linger_left_s(a_situation(a_view(first, second))) == 4.0
    assert linger_left_s(a_situation(a_view(second, first))) == 4.0


def test_where_none_lingers_nobody_waits() -> None:
    assert linger_left_s(a_situation(a_view())) == 0.0


def test_lingering_is_waited_for_as_long_as_the_spec_says_and_half_a_minute() -> None:
    decision = _decision(_leaving("brokers-a-0", Phase.LINGERING, since=NOW))
    assert _reason(decision) == "Linger"
    assert decision is not None
    assert decision.wait is not None
    assert decision.wait.patience_s == 5 + 30


def test_the_first_that_may_not_stop_says_why() -> None:
    first = _leaving("brokers-a-0", Phase.LINGERING)
    second = _leaving("brokers-b-0", Phase.LINGERING)
    kafka = a_snapshot(brokers=LIVE, log_dirs={})
    decision = _decision(first, second, kafka=kafka)
    assert _reason(decision) == "MinIsrGate"
    assert decision is not None
    assert "broker 1000 did not answer for its log dirs" in decision.sentence


def test_one_of_those_that_linger_alive_is_not_stopped_while_two_racks_are_gone() -> None:
    old, other = _leaving("brokers-a-0", Phase.LINGERING), _leaving("brokers-a-1", Phase.LINGERING, service_id=1005)
    lost = [an_instance(n, lost_at=BEFORE) for n in ("brokers-b-0", "brokers-c-0")]
    kafka = a_snapshot(brokers=(*LIVE, 1005))
    assert _decision(old, other, *lost, kafka=kafka) is None
    assert _decision(old, replace(other, lost_at=BEFORE), *lost, kafka=kafka) is None
    both = _decision(replace(old, lost_at=BEFORE), replace(other, lost_at=BEFORE), *lost, kafka=kafka)
    assert both is not None
    assert [type(e) for e in both.events] == [facts.FenceRequested]


def test_a_broker_that_filled_again_waits_for_one_in_its_way_that_is_gone_for_good() -> None:
    old, successor = _leaving("brokers-a-0", Phase.LINGERING), an_instance("brokers-a-0", 2)
    kafka = a_snapshot(a_partition("late-0", (1000, 1001, 1002)), brokers=(1000, 1001, 1010), fenced=(1002,))
    assert _decision(old, successor, an_instance("brokers-c-0", lost_at=BEFORE), kafka=kafka, loss_grace_s=0.0) is None
    again = _decision(old, successor, kafka=kafka)
    assert again is not None
    (drain,) = again.events
    assert isinstance(drain, facts.DrainRequested)
    assert drain.reason == "1 partitions came to it after it was empty"


def test_a_broker_that_filled_again_is_drained_though_one_that_it_does_not_need_is_gone() -> None:
    old, successor = _leaving("brokers-a-0", Phase.LINGERING), an_instance("brokers-a-0", 2)
    kafka = a_snapshot(a_partition("late-0", (1000, 1001)), brokers=(1000, 1001, 1010), fenced=(1002,))
    lost = an_instance("brokers-c-0", lost_at=BEFORE)
    decision = _decision(old, successor, lost, kafka=kafka, loss_grace_s=0.0)
    assert decision is not None
    assert [type(e) for e in decision.events] == [facts.DrainRequested]


def _successors_of_one_that_filled_again(*instances: InstanceView) -> dict[str, int]:
    kafka = a_snapshot(a_partition("late-0", (1000, 1001)), brokers=LIVE)
    decision = _decision(_leaving("brokers-a-0", Phase.LINGERING), *instances, kafka=kafka)
    assert decision is not None
    (drain,) = decision.events
    assert isinstance(drain, facts.DrainRequested)
    assert drain.round == 1
    return dict(drain.successors)


def test_what_came_to_an_emptied_broker_goes_to_its_successor_that_serves() -> None:
    assert _successors_of_one_that_filled_again(an_instance("brokers-a-0", 2)) == {"1000": 1010}
    assert _successors_of_one_that_filled_again() == {}
    assert _successors_of_one_that_filled_again(an_instance("brokers-a-0", 2, Phase.LAUNCHED)) == {}
    assert _successors_of_one_that_filled_again(an_instance("brokers-a-0", 2, lost_at=BEFORE)) == {}
    other_of_its_node = an_instance("brokers-a-0", 0, service_id=1020)
    assert _successors_of_one_that_filled_again(other_of_its_node) == {}


# --- what goes with a VM ----------------------------------------------------------------------------------------------


def test_the_same_vms_are_retired_by_the_same_intent_and_volumes_that_others_take_over_stay() -> None:
    old, successor = an_instance("brokers-a-0", 1, Phase.FENCED), an_instance("brokers-b-0")
    view = a_view(old, successor)
    (asked,) = request_retire(a_situation(view), [old], "as tested").events
    assert asked == facts.RetireRequested(
        intent_id(view.uid, "retire", old.key, 1), (old.key,), ("brokers-a-0.data.v1",), "as tested"
    )
    taken = an_instance("brokers-a-0", 2, volumes=old.planned.volumes)
    (asked,) = request_retire(a_situation(a_view(old, taken)), [old], "as tested").events
    assert isinstance(asked, facts.RetireRequested)
    assert asked.volumes == ()


# --- stopped ----------------------------------------------------------------------------------------------------------


def test_a_broker_that_was_emptied_and_stopped_is_unregistered_before_it_is_retired() -> None:
    old = _leaving("brokers-a-0", Phase.FENCED, drained=True)
    kafka = a_snapshot(a_partition("orders-0", (1010, 1001, 1002)), brokers=LIVE[1:], fenced=(1000,))
    decision = _decision(old, kafka=kafka)
    assert decision is not None
    assert decision.events == ()
    assert decision.effects == (Unregister(1000),)


@pytest.mark.parametrize("phase", [Phase.FENCED, Phase.RELEASED])
def test_a_controller_that_stopped_and_has_no_vote_is_retired(phase: Phase) -> None:
    old = _leaving("controllers-a-0", phase, drained=True)
    decision = _decision(old, kafka=None)
    assert decision is not None
    (asked,) = decision.events
    assert isinstance(asked, facts.RetireRequested)
    assert (asked.keys, asked.reason) == ((old.key,), "stopped, and no voter any more")


def test_metadata_has_to_be_newer_than_the_last_of_several_stops() -> None:
    before = _leaving("brokers-a-0", Phase.FENCED, unregistered=True)
    just_now = _leaving("brokers-b-0", Phase.FENCED, unregistered=True, fenced_at=NOW)
    assert _reason(_decision(before, just_now, kafka=a_snapshot(brokers=(1002,)))) == "KafkaUnknown"


def test_a_broker_that_failed_with_the_disks_of_its_node_is_stopped_and_never_retired_with_them() -> None:
    successor = an_instance("brokers-a-0", 2, Phase.FAILED, handover=True, bound=True)
    decision = _decision(successor, kafka=a_snapshot(brokers=(1001, 1002)))
    assert decision is not None
    assert decision.events == (facts.FenceRequested((successor.key,), "did not join"),)
