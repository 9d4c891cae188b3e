"""Controllers are handed over one at a time, and only while the quorum survives it."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.agent_reports import ReportSeen
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.running_settings import ReplaceView
from controlplane.commands.previews.plan import ONE_CONTROLLER, preview
from controlplane.converger.situation.decision import Decision
from controlplane.converger.steps.rolls.handovers import handover_step, stop_for
from events import facts
from planner.observed import PartitionSeen, QuorumSeen, VoterSeen
from tests.builders import (
    BEFORE,
    NOW,
    a_document,
    a_partition,
    a_report,
    a_situation,
    a_snapshot,
    a_view,
    a_volume,
    an_instance,
)

SUCCESSOR = an_instance("controllers-a-0", 2, Phase.LAUNCHED)
BROKERS_SUCCESSOR = an_instance("brokers-a-0", 2, Phase.LAUNCHED, service_id=1000, handover=True, bound=False)


def _step(
    old: InstanceView | None = None, new: InstanceView = SUCCESSOR, *, speaks: bool = True, **seen: Any
) -> Decision | None:
    view = a_view(new, *([old] if old else []))
    reports = {new.key: a_report(new, "")} if speaks else {}
    return handover_step(a_situation(view, reports=reports, **seen))


def _quorum(*voters: VoterSeen) -> Any:
    return a_snapshot(quorum=QuorumSeen(100, 1, voters))


def _voter(number: int, lag: int = 0) -> VoterSeen:
    return VoterSeen(100 + number, a_volume(f"controllers-{'abc'[number]}-0").directory_id, lag, True)


def test_without_a_successor_there_is_nothing_to_hand_over() -> None:
    assert handover_step(a_situation(a_view())) is None


def test_the_old_one_is_not_touched_before_the_new_vm_has_spoken() -> None:
    decision = _step(speaks=False)
    assert decision is not None
    assert (decision.events, decision.wait and decision.wait.reason) == ((), "SuccessorSilent")


@pytest.mark.parametrize("kafka", [None, a_snapshot(at=NOW - timedelta(seconds=31))], ids=["unknown", "stale"])
def test_no_controller_is_stopped_on_unknown_metadata(kafka: Any) -> None:
    decision = _step(kafka=kafka)
    assert decision is not None
    assert (decision.events, decision.wait and decision.wait.reason) == ((), "KafkaUnknown")


def test_a_quorum_that_survives_lets_the_old_one_stop() -> None:
    decision = _step()
    assert decision is not None
    assert decision.events == (facts.FenceRequested(("controllers-a-0.g1",), "handover to controllers-a-0.g2"),)


@pytest.mark.parametrize(
    "kafka",
    [_quorum(_voter(0), _voter(1), _voter(2, lag=10**6)), _quorum(_voter(0), _voter(1))],
    ids=["lags", "of two"],
)
def test_a_quorum_that_would_not_survive_keeps_it(kafka: Any) -> None:
    decision = _step(kafka=kafka)
    assert decision is not None
    assert (decision.events, decision.wait and decision.wait.reason) == ((), "QuorumGate")


OTHER = an_instance("controllers-b-0", 1, Phase.JOINED)


@pytest.mark.parametrize(
    ("word", "waits"),
    [
        (a_report(OTHER, "starting"), True),
        (a_report(OTHER, "running"), False),
        (a_report(OTHER, ""), False),
        (a_report(OTHER, "starting", received_at=NOW - timedelta(seconds=31)), False),
    ],
    ids=["down", "running", "says nothing of it", "not heard lately"],
)
def test_a_controller_that_died_a_moment_ago_keeps_the_others_though_kafka_has_not_noticed(
    word: ReportSeen, waits: bool
) -> None:
    view = a_view(SUCCESSOR, OTHER, an_instance("controllers-a-0"))
    decision = handover_step(a_situation(view, reports={SUCCESSOR.key: a_report(SUCCESSOR, ""), OTHER.key: word}))
    assert decision is not None
    assert (decision.wait is not None and decision.wait.reason == "QuorumGate") is waits
    assert bool(decision.events) is not waits
    assert not waits or "controllers-b-0.g1 is starting" in decision.sentence


@pytest.mark.parametrize(
    ("successor", "told", "reason"),
    [(SUCCESSOR, "controllers-b-0.g1", "QuorumGate"), (BROKERS_SUCCESSOR, "brokers-b-0.g1", "MinIsrGate")],
    ids=["controller", "broker"],
)
def test_who_was_told_to_start_anew_and_serves_yet_is_not_counted_on(
    successor: InstanceView, told: str, reason: str
) -> None:
    """Both away at once would leave one of three: no quorum, and partitions below their min ISR."""
    old = an_instance(successor.node)
    spec = a_document(strategy="reattach", max_unavailable=2)

    def step(asked_s_ago: float, key: str = told) -> Decision:
        orders = {key: NOW - timedelta(seconds=asked_s_ago)}
        view = a_view(successor, old, document=spec, orders=orders)
        decision = handover_step(a_situation(view, reports={successor.key: a_report(successor, "")}))
        assert decision is not None
        return decision

    held = step(3)
    assert (held.events, held.wait and held.wait.reason) == ((), reason)
    assert held.sentence.endswith(f"{told} was told to stop or to start anew, and may yet obey")
    assert step(45).events == (), "it is given for 30 s, and obeyed up to 10 s later"
    stopped = (facts.FenceRequested((old.key,), f"handover to {successor.key}"),)
    assert step(46).events == stopped
    assert step(3, old.key).events == stopped, "its own order takes nobody else away"


STEPS = [
    (an_instance("controllers-a-0", 1, Phase.FENCED), SUCCESSOR, facts.ReleaseRequested),
    (an_instance("controllers-a-0", 1, Phase.RELEASED, bound=False), SUCCESSOR, facts.BindRequested),
    (
        an_instance("controllers-a-0", 1, Phase.RELEASED, bound=False),
        an_instance("controllers-a-0", 2, Phase.JOINED),
        facts.RetireRequested,
    ),
    (an_instance("controllers-a-0", 1, lost_at=BEFORE), SUCCESSOR, facts.FenceRequested),
]


@pytest.mark.parametrize(("old", "new", "event"), STEPS, ids=lambda x: x.__name__ if isinstance(x, type) else "")
def test_the_handover_goes_step_by_step(old: InstanceView, new: InstanceView, event: type) -> None:
    decision = _step(old, new)
    assert decision is not None
    assert [type(e) for e in decision.events] == [event]


def test_the_retired_one_leaves_the_nodes_volume_behind() -> None:
    decision = _step(*STEPS[2][:2])
    assert decision is not None
    retire = decision.events[0]
    assert isinstance(retire, facts.RetireRequested)
    assert (retire.keys, retire.volumes) == (("controllers-a-0.g1",), ())


@pytest.mark.parametrize("phase", [Phase.FENCING])
def test_while_the_old_one_stops_others_may_act(phase: Phase) -> None:
    assert _step(an_instance("controllers-a-0", 1, phase)) is None


def test_a_node_whose_holder_is_gone_comes_first() -> None:
    dead = an_instance("controllers-b-0", 1, lost_at=BEFORE)
    successors = (SUCCESSOR, an_instance("controllers-b-0", 2, Phase.LAUNCHED))
    reports = {i.key: a_report(i, "") for i in successors}
    decision = handover_step(a_situation(a_view(dead, *successors), reports=reports))
    assert decision is not None
    assert decision.events == (facts.FenceRequested((dead.key,), "its VM is gone"),)


def test_a_quorum_that_waits_for_a_dead_controller_lets_it_get_its_successor() -> None:
    dead = an_instance("controllers-b-0", 1, lost_at=BEFORE)
    kafka = _quorum(_voter(0), _voter(1, lag=10**6), _voter(2))
    situation = a_situation(a_view(dead, SUCCESSOR), reports={SUCCESSOR.key: a_report(SUCCESSOR, "")}, kafka=kafka)
    assert handover_step(situation) is None


def test_a_gate_that_waits_for_a_broker_nobody_hears_lets_it_get_its_successor() -> None:
    """`BrokerAway`: `Unreachable` is cured by a new VM, which the handover of another node must not wait for."""
    away = "brokers-b-0.g1"
    view = a_view(BROKERS_SUCCESSOR, an_instance("brokers-a-0"))
    kafka = a_snapshot(brokers=(1000, 1002), fenced=(1001,))
    reports = {BROKERS_SUCCESSOR.key: a_report(BROKERS_SUCCESSOR, "")}
    waiting = handover_step(a_situation(view, reports=reports, kafka=kafka))
    assert waiting is not None
    assert waiting.wait is not None
    asked = replace(
        view, requests=replace(view.requests, to_replace={away: ReplaceView("healing of unreachable", True, NOW)})
    )
    assert handover_step(a_situation(asked, reports=reports, kafka=kafka)) is None


def test_a_broker_that_does_not_serve_itself_does_not_keep_its_own_successor_waiting() -> None:
    """It runs, and Kafka has it fenced: what is out of sync is out of sync on it alone."""
    view = a_view(BROKERS_SUCCESSOR, an_instance("brokers-a-0"))
    behind = a_partition("orders-0", isr=(1001, 1002))
    reports = {BROKERS_SUCCESSOR.key: a_report(BROKERS_SUCCESSOR, "")}

    def step(*partitions: PartitionSeen) -> Decision:
        kafka = a_snapshot(*partitions, brokers=(1001, 1002), fenced=(1000,))
        decision = handover_step(a_situation(view, reports=reports, kafka=kafka))
        assert decision is not None
        return decision

    assert step(behind).events == (facts.FenceRequested(("brokers-a-0.g1",), "handover to brokers-a-0.g2"),)
    needed = step(behind, a_partition("orders-1", replicas=(1000, 1001), isr=(1000,), leader=-1))
    assert (needed.events, needed.wait and needed.wait.reason) == ((), "MinIsrGate"), "it alone has all of that"
    others = step(behind, a_partition("orders-1", replicas=(1001, 1002), isr=(1001,)))
    assert (others.events, others.wait and others.wait.reason) == ((), "MinIsrGate"), "it may well be back first"


@pytest.mark.parametrize(("begins_anew", "held"), [(False, True), (True, False)], ids=["passes", "begins anew"])
def test_a_disk_that_holds_nothing_is_not_passed_on(begins_anew: bool, held: bool) -> None:
    """Two successors in a row could not start on it, and then a person was waited for (seed 24049)."""
    old = an_instance("brokers-a-0")
    successor = replace(BROKERS_SUCCESSOR, planned=replace(BROKERS_SUCCESSOR.planned, new_disk=begins_anew))
    found = {"name": "directory_lost:data", "since": BEFORE, "message": "volume brokers-a-0.data.v1 has nothing"}

    def step(state: str, received_at: datetime = NOW) -> Decision:
        word = a_report(old, state, findings=(found,), received_at=received_at)
        kafka = a_snapshot(brokers=(1001, 1002), fenced=(1000,))
        reports = {successor.key: a_report(successor, ""), old.key: word}
        decision = handover_step(a_situation(a_view(successor, old), reports=reports, kafka=kafka))
        assert decision is not None
        return decision

    failed = step("failed")
    assert (failed.wait is not None and failed.wait.reason == "DiskLost") is held
    assert bool(failed.events) is not held
    if held:
        assert failed.wait is not None
        assert failed.wait.next_command == "kedge replace orders --node brokers-a-0 --new-disk"
        assert step("failed", NOW - timedelta(seconds=31)).events, "nobody has spoken of it lately"
        assert step("running").events


@pytest.mark.parametrize(("with_successor", "waits"), [(True, True), (False, False)], ids=["goes on", "stuck"])
def test_a_broker_that_is_down_is_not_stopped_while_another_rack_is_between_two_vms(
    with_successor: bool, waits: bool
) -> None:
    """It may be back by itself before that one is (seed 39307). Where nobody is there for that one, it is cured."""
    between = an_instance("brokers-c-0", 1, Phase.FENCED)
    its_successor = an_instance("brokers-c-0", 2, Phase.LAUNCHED, service_id=1002, handover=True, bound=False)
    down, successor = (
        an_instance("brokers-b-0"),
        an_instance("brokers-b-0", 2, Phase.LAUNCHED, service_id=1001, handover=True),
    )
    successor = replace(successor, bound=False)
    view = a_view(between, down, successor, *([its_successor] if with_successor else []))
    behind = a_partition("orders-0", isr=(1000,), leader=1000)
    kafka = a_snapshot(behind, brokers=(1000,), fenced=(1001, 1002))
    decision = stop_for(
        a_situation(view, kafka=kafka, reports={successor.key: a_report(successor, "")}), down, successor
    )
    assert ("its disk has not passed on yet" in decision.sentence) is waits
    assert not waits or not decision.events


# --- a quorum of one --------------------------------------------------------------------------------------------------


def _alone(version: str = "4.1.1") -> ClusterView:
    document = a_document(controllers=1, version=version)
    return a_view(SUCCESSOR, without=["controllers-b-0.g1", "controllers-c-0.g1"], document=document)


def test_the_only_controller_is_stopped_because_there_is_no_other_way() -> None:
    situation = a_situation(_alone(), kafka=_quorum(_voter(0)), reports={SUCCESSOR.key: a_report(SUCCESSOR, "")})
    decision = handover_step(situation)
    assert decision is not None
    assert [type(e) for e in decision.events] == [facts.FenceRequested]


def test_the_plan_warns_before_the_only_controller_is_handed_over() -> None:
    at_rest = a_view(
        without=["controllers-b-0.g1", "controllers-c-0.g1"], document=a_document(controllers=1), node_addresses={}
    )
    newer = preview(at_rest, a_document(controllers=1, version="4.2.0"), snapshot=None)
    assert ONE_CONTROLLER in newer.warnings
    assert ONE_CONTROLLER not in preview(at_rest, a_document(controllers=1, brokers=6), snapshot=None).warnings
    assert ONE_CONTROLLER not in preview(a_view(), a_document(version="4.2.0"), snapshot=None).warnings


# --- clouds where an address or a disk does not pass from VM to VM ----------------------------------------------------

UNMADE = an_instance("controllers-a-0", 2, Phase.REQUESTED, bound=False, deferred=True)


def test_where_the_old_vm_goes_first_nobody_waits_for_a_successor_that_does_not_exist() -> None:
    decision = _step(new=UNMADE, speaks=False)
    assert decision is not None
    assert decision.events == (facts.FenceRequested(("controllers-a-0.g1",), "handover to controllers-a-0.g2"),)


def test_where_the_old_vm_goes_first_its_gate_is_the_same() -> None:
    decision = _step(new=UNMADE, kafka=_quorum(_voter(0), _voter(1), _voter(2, lag=10_000)))
    assert decision is not None
    assert (decision.events, decision.wait and decision.wait.reason) == ((), "QuorumGate")


def test_where_the_old_vm_goes_first_the_release_takes_it_along() -> None:
    decision = _step(an_instance("controllers-a-0", 1, Phase.FENCED), UNMADE)
    assert decision is not None
    (asked,) = decision.events
    assert isinstance(asked, facts.ReleaseRequested)
    assert (asked.key, asked.with_vm) == ("controllers-a-0.g1", True)


def test_elsewhere_a_release_leaves_the_vm_alone() -> None:
    decision = _step(an_instance("controllers-a-0", 1, Phase.FENCED))
    assert decision is not None
    (asked,) = decision.events
    assert isinstance(asked, facts.ReleaseRequested)
    assert not asked.with_vm
