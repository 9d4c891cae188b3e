"""No broker that serves is stopped on purpose while as many others are away, for whatever reason, as may be."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from agent.wire import PreemptionReport
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.health import HealthSeen
from controlplane.cluster.view import ChaosView, ClusterView
from controlplane.cluster.views.external import ExternalBrokerView, ExternalView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.running_settings import Before, ReplaceView, RestartView, RollingRestartView
from controlplane.commands.deciders.chaos import Fault
from controlplane.converger.questions.health.cure_gates import healing_gate
from controlplane.converger.questions.running.restart_safety import restart_safety
from controlplane.converger.questions.unavailability import brokers_away, may_go_away, most_away
from controlplane.converger.situation.decision import Decision
from controlplane.converger.steps.rolls.handovers import handover_step
from controlplane.converger.steps.running.restarts import restart_step
from controlplane.kafka.gates import Gate
from events import facts
from planner.healing import Cure, PastCure
from planner.maintenance import FINDING
from planner.observed import KafkaSnapshot
from tests.builders import BEFORE, NOW, a_document, a_partition, a_report, a_situation, a_snapshot, a_view, an_instance

A, B, C = "brokers-a-0.g1", "brokers-b-0.g1", "brokers-c-0.g1"
ALL = a_snapshot()
REATTACH: dict[str, Any] = {"strategy": "reattach", "max_unavailable": 1}
SUCCESSOR_OF_A = an_instance("brokers-a-0", 2, Phase.LAUNCHED, service_id=1000, handover=True, bound=False)
SUCCESSOR_OF_C = an_instance("brokers-c-0", 2, Phase.LAUNCHED, service_id=1002, handover=True, bound=False)
UNHEALTHY = an_instance("brokers-c-0", lost_at=BEFORE)


def cure_gate(view: ClusterView, kafka: KafkaSnapshot = ALL, key: str = A, **seen: Any) -> Gate:
    situation = a_situation(view, kafka=kafka, **seen)
    return may_go_away(situation, kafka, view.instances[key])


def _restarting(key: str) -> RestartView:
    return RestartView(key, 1, BEFORE, canary=False, before=Before(None, None))


def _harmed(fault: str, *keys: str) -> ClusterView:
    return a_view(chaos={"x": ChaosView("x", fault, keys, "game day", BEFORE, 60.0)})


def _handed(phase: Phase, successor: InstanceView = SUCCESSOR_OF_C) -> ClusterView:
    return a_view(an_instance("brokers-c-0", 1, phase, bound=phase is not Phase.RELEASED), successor)


SINCE = "broker 1002 (brokers-c-0.g1, rack c) is away since 2026-01-01 11:58:20 UTC: "


@pytest.mark.parametrize(
    ("view", "why"),
    [
        (a_view(UNHEALTHY), "its VM is gone"),
        (a_view(restarts={C: _restarting(C)}), "it is being restarted"),
        (_harmed(Fault.PAUSE, C), "chaos: pause"),
        (_harmed(Fault.SPLIT, C), "chaos: split"),
        (_harmed(Fault.KILL_RACK, C), "chaos: kill-rack"),
        (_handed(Phase.FENCING), "it is being handed over"),
        (_handed(Phase.FENCED), "it is being handed over"),
        (_handed(Phase.RELEASED), "it is being handed over"),
        (_handed(Phase.RELEASED, replace(SUCCESSOR_OF_C, phase=Phase.FAILED)), "it is being handed over"),
    ],
    ids=["lost", "restarted", "paused", "split", "rack", "fencing", "fenced", "released", "successor failed"],
)
def test_what_is_recorded_counts_though_kafka_still_calls_it_alive(view: ClusterView, why: str) -> None:
    gate = cure_gate(view)
    assert not gate.open
    assert gate.reason == f"{SINCE}{why} (at most 1 at a time, by rollout.maxUnavailable)"


def test_a_broker_that_kafka_has_fenced_is_away_since_it_was_first_seen_so() -> None:
    fenced = a_snapshot(brokers=(1000, 1001), fenced=(1002,))
    known = cure_gate(a_view(), fenced, health=HealthSeen(misregistered={1002: BEFORE}))
    assert known.reason.startswith(f"{SINCE}it is down, by Kafka's word")
    assert "is away (since when is not known): it is down" in cure_gate(a_view(), fenced).reason


def test_a_broker_that_kafka_does_not_know_counts_as_away() -> None:
    assert "Kafka does not know it" in cure_gate(a_view(), a_snapshot(brokers=(1000, 1001))).reason


def test_the_young_word_of_its_agent_counts_and_an_old_one_is_left_to_kafka() -> None:
    view = a_view()
    said = a_report(view.instances[C], "starting")
    assert cure_gate(view, reports={C: said}).reason.startswith(f"{SINCE}starting")
    old = a_report(view.instances[C], "starting", received_at=NOW - timedelta(seconds=31))
    assert cure_gate(view, reports={C: old}).open
    assert cure_gate(view, reports={}).open


def test_the_longest_time_that_is_known_is_told() -> None:
    view = a_view()
    long_ago = BEFORE - timedelta(hours=1)
    said = a_report(view.instances[C], "starting")
    gate = cure_gate(view, reports={C: said}, health=HealthSeen(misregistered={1002: long_ago}))
    assert "is away since 2026-01-01 10:58:20 UTC: starting" in gate.reason


@pytest.mark.parametrize("fault", [Fault.SLOW_DISK, Fault.PACKET_LOSS, Fault.FULL_DISK, Fault.KILL_AGENT])
def test_a_fault_under_which_brokers_serve_takes_nobody_away(fault: Fault) -> None:
    assert cure_gate(_harmed(fault, C)).open


def test_a_fault_of_a_controller_takes_no_broker_away() -> None:
    assert cure_gate(_harmed(Fault.PAUSE, "controllers-c-0.g1")).open


@pytest.mark.parametrize("phase", [Phase.LINGERING, Phase.FENCING, Phase.FENCED, Phase.RETIRING])
def test_an_empty_broker_on_its_way_out_is_nobodys_loss(phase: Phase) -> None:
    gone = an_instance("brokers-c-0", 1, phase, drained=True)
    view = a_view(gone, an_instance("brokers-c-0", 2))
    assert cure_gate(view, a_snapshot(brokers=(1000, 1001, 1012))).open


def test_a_new_broker_that_never_served_is_nobodys_loss() -> None:
    view = a_view(an_instance("brokers-c-0", 2, Phase.LAUNCHED), an_instance("brokers-b-0", 2, Phase.FAILED))
    assert cure_gate(view).open


def test_whoever_serves_under_an_id_now_decides() -> None:
    taken_over = a_view(
        an_instance("brokers-c-0", 1, Phase.RELEASED, bound=False),
        an_instance("brokers-c-0", 2, service_id=1002, handover=True),
    )
    assert cure_gate(taken_over).open


def test_a_broker_of_others_counts() -> None:
    others = ExternalView("kafka-cluster", brokers={7: ExternalBrokerView(7, "c", "other:9092")})
    gate = cure_gate(a_view(external=others))
    assert gate.reason.startswith("broker 7 is away (since when is not known): others run it")
    alive = a_snapshot(brokers=(1000, 1001, 1002, 7))
    assert cure_gate(a_view(external=others), alive).open


def test_nought_is_one_and_more_lets_more_be_away() -> None:
    assert [most_away(a_view(document=a_document(max_unavailable=n))) for n in (0, 1, 2)] == [1, 1, 2]
    two = a_document(max_unavailable=2)
    assert cure_gate(a_view(UNHEALTHY, document=two)).open
    both = cure_gate(a_view(UNHEALTHY, an_instance("brokers-b-0", lost_at=BEFORE), document=two))
    assert "broker 1001 (brokers-b-0.g1, rack b) is away" in both.reason
    assert "; and 1 more (at most 2 at a time" in both.reason


def test_more_than_one_opens_no_gate_that_looks_at_partitions() -> None:
    view = a_view(document=a_document(max_unavailable=2))
    kafka = a_snapshot(a_partition("orders-0", isr=(1000, 1001)), brokers=(1000, 1001), fenced=(1002,))
    safety = restart_safety(a_situation(view, kafka=kafka), kafka, view.instances[A])
    assert (safety.is_safe, safety.waits and safety.waits.reason) == (False, "MinIsrGate")


def test_a_higher_ceiling_counts_no_copy_on_a_vm_that_is_gone_though_kafka_has_not_noticed() -> None:
    view = a_view(UNHEALTHY, document=a_document(max_unavailable=2))
    kafka = a_snapshot(a_partition("orders-0"))
    safety = restart_safety(a_situation(view, kafka=kafka), kafka, view.instances[A])
    assert (safety.is_safe, safety.gate.reason) == (False, f"the VM of {C} is gone, whether Kafka has noticed or not")


def test_one_that_is_away_itself_takes_nothing_from_anybody() -> None:
    view = a_view(UNHEALTHY)
    assert list(brokers_away(a_situation(view), ALL)) == [1002]
    assert cure_gate(view, key=C).open


def test_a_cure_by_restart_counts_no_copy_on_a_vm_that_is_gone_though_kafka_has_not_noticed() -> None:
    view = a_view(UNHEALTHY)
    kafka = a_snapshot(a_partition("orders-0"))
    gate = healing_gate(a_situation(view, kafka=kafka), kafka, view.instances[A])
    assert (gate.open, gate.reason) == (False, f"the VM of {C} is gone, whether Kafka has noticed or not")
    whole = a_view()
    assert healing_gate(a_situation(whole, kafka=kafka), kafka, whole.instances[A]).open


# --- what asks ----------------------------------------------------------------------------------------------------


def _restart(**view: Any) -> Decision:
    rolling = RollingRestartView("r", (A,), (A,), "asked by anna", BEFORE)
    decision = restart_step(a_situation(a_view(recycling=1, rolling_restart=rolling, **view), kafka=ALL))
    assert decision is not None
    return decision


def test_a_restart_waits_with_the_name_of_the_one_that_is_away() -> None:
    paused = ChaosView("x", Fault.PAUSE, (C,), "game day", BEFORE, 60.0)
    decision = _restart(chaos={"x": paused})
    assert (decision.events, decision.wait and decision.wait.reason) == ((), "MaxUnavailable")
    assert decision.sentence.startswith(f"restart of {A}: {SINCE}chaos: pause")
    assert [type(e) for e in _restart().events] == [facts.RestartRequested]


def _hand_over(*instances: InstanceView, **view: Any) -> Decision | None:
    there = a_view(SUCCESSOR_OF_A, *instances, document=a_document(**REATTACH), **view)
    reports = {i.key: a_report(i, "") for i in (SUCCESSOR_OF_A, SUCCESSOR_OF_C)}
    return handover_step(a_situation(there, kafka=ALL, reports=reports))


def test_a_handover_waits_while_another_broker_is_being_restarted() -> None:
    decision = _hand_over(restarts={C: _restarting(C)})
    assert decision is not None
    assert (decision.events, decision.wait and decision.wait.reason) == ((), "MaxUnavailable")
    assert decision.sentence.startswith(f"handover of brokers-a-0: {SINCE}it is being restarted")
    free = _hand_over()
    assert free is not None
    assert free.events == (facts.FenceRequested((A,), "handover to brokers-a-0.g2"),)


@pytest.mark.parametrize(("in_s", "counts"), [(90, True), (299, True), (-200, True), (400, False), (-400, False)])
def test_whose_vm_is_taken_back_in_a_moment_is_not_counted_on(in_s: int, counts: bool) -> None:
    """A handover was begun seconds before the cloud took another broker's VM: two of three were away."""
    at = NOW + timedelta(seconds=in_s)
    notice = PreemptionReport(kind="preempt", deadline=at, since=BEFORE, words="spot terminate")
    seen = a_report(a_view().instances[C])
    told = replace(seen, report=seen.report.model_copy(update={"preemption": notice}))
    gate = cure_gate(a_view(), reports={C: told})
    assert gate.open is not counts
    assert not counts or f"its cloud takes its VM back at {at:%H:%M:%S} UTC" in gate.reason


def test_a_handover_does_not_keep_a_lost_broker_from_its_successor() -> None:
    assert _hand_over(UNHEALTHY) is None


def test_a_handover_does_not_keep_a_broker_whose_successor_failed_from_the_next_one() -> None:
    failed = replace(SUCCESSOR_OF_C, phase=Phase.FENCED)
    assert _hand_over(an_instance("brokers-c-0", 1, Phase.RELEASED, bound=False), failed) is None


def test_the_cure_of_a_sick_broker_does_not_wait_for_others() -> None:
    asked = ReplaceView("healing of disk-slow", new_disk=False, requested_at=BEFORE)
    cure = PastCure("brokers-a-0", "disk-slow", Cure.REPLACE, BEFORE)
    paused = {"x": ChaosView("x", Fault.PAUSE, (C,), "game day", BEFORE, 60.0)}
    decision = _hand_over(to_replace={A: asked}, cures=(cure,), chaos=paused)
    assert decision is not None
    assert [type(e) for e in decision.events] == [facts.FenceRequested]
    by_a_person = _hand_over(to_replace={A: asked}, chaos=paused)
    assert by_a_person is not None
    assert by_a_person.events == ()


@pytest.mark.parametrize(("told_in_s", "is_unhealthy"), [(None, False), (90, True), (3600, False)])
def test_who_was_to_go_and_serves_on_is_stopped_beside_nobody(told_in_s: int | None, is_unhealthy: bool) -> None:
    """Its cloud had taken its word back, and its handover was an end to it as if it were unhealthy, beside one whose VM
    was taken back within two minutes (seed 39281)."""
    asked = ReplaceView("the cloud announces maintenance", new_disk=False, requested_at=BEFORE)
    view = a_view(UNHEALTHY, to_replace={A: asked}, cures=(PastCure("brokers-a-0", FINDING, Cure.REPLACE, BEFORE),))
    reports = {A: a_report(view.instances[A])}
    if told_in_s is not None:
        at = NOW + timedelta(seconds=told_in_s)
        notice = PreemptionReport(kind="preempt", deadline=at, since=BEFORE, words="spot terminate")
        report = reports[A].report.model_copy(update={"preemption": notice})
        reports[A] = replace(reports[A], report=report)
    assert cure_gate(view, reports=reports).open is is_unhealthy
