"""Is it safe to restart this one now? Partition by partition, and the same answer the restart itself gets."""

from dataclasses import replace
from typing import Any

import pytest

from controlplane.cluster.view import ClusterView, ConditionView
from controlplane.cluster.views.running_settings import RollingRestartView
from controlplane.converger.questions.running.restart_safety import RestartSafety, restart_safety
from controlplane.converger.questions.services.registrations import REGISTRATION_WRONG
from controlplane.converger.steps.running.restarts import restart_step
from planner.observed import KafkaSnapshot, TopicPartition
from tests.builders import BEFORE, NODES, a_partition, a_report, a_situation, a_snapshot, a_view, an_instance
from tests.changed_view import changed_view

A, B, CA = "brokers-a-0.g1", "brokers-b-0.g1", "controllers-a-0.g1"
ORDERS = a_partition("orders-0")


def _cluster(*keys: str) -> ClusterView:
    rolling = RollingRestartView("r", keys, keys, "asked by anna", BEFORE) if keys else None
    return a_view(*(an_instance(node) for node in NODES), recycling=1, rolling_restart=rolling)


def _safety(kafka: KafkaSnapshot, key: str = A, **seen: Any) -> RestartSafety:
    view = _cluster()
    return restart_safety(a_situation(view, kafka=kafka, **seen), kafka, view.instances[key])


def _reason(safety: RestartSafety) -> str:
    return safety.waits.reason if safety.waits else ""


def test_a_whole_cluster_is_safe_and_says_how_many_partitions_were_looked_at() -> None:
    safety = _safety(a_snapshot(ORDERS))
    assert (safety.is_safe, safety.waits, safety.blocking) == (True, None, ())
    assert "all 1 partitions" in safety.gate.reason


BEHIND = a_partition("orders-0", isr=(1000, 1002), min_isr=1)
THIN = a_partition("thin-0", (1000, 1001), min_isr=2)
BELOW = a_partition("orders-0", isr=(1002,))
MOVING = a_partition("orders-0", (1000, 1001, 1002, 1003), isr=(1000, 1001, 1002), adding=(1003,), removing=(1000,))
ELSEWHERE = a_partition("other-0", (1001, 1002, 1003), isr=(1001, 1002), adding=(1003,), min_isr=1)


@pytest.mark.parametrize(
    ("partition", "waits_for", "why"),
    [
        (BEHIND, "MinIsrGate", "has a replica out of sync"),
        (THIN, "MinIsrGate", "would fall below its min ISR"),
        (BELOW, "MinIsrGate", "is below its min ISR already"),
        (MOVING, "ForeignReassignment", "is being moved"),
    ],
    ids=["behind", "thin", "below", "moving"],
)
def test_each_partition_in_the_way_is_told_with_its_reason(partition: Any, waits_for: str, why: str) -> None:
    safety = _safety(a_snapshot(partition))
    assert (safety.is_safe, _reason(safety)) == (False, waits_for)
    assert [(b.partition.name, b.why) for b in safety.blocking] == [(partition.name, why)]


def test_moves_in_the_way_are_counted_and_the_first_is_named() -> None:
    second = replace(MOVING, name=TopicPartition("orders", 1))
    one, two = _safety(a_snapshot(ORDERS, second)).gate, _safety(a_snapshot(MOVING, second, a_partition("x-0"))).gate
    assert (one.open, two.open) == (False, False)
    assert one.reason == "1 of 2 partitions on broker 1000 is being moved, orders-1 among them"
    assert two.reason == "2 of 3 partitions on broker 1000 are being moved, orders-0 among them"


def test_a_move_between_others_is_none_of_its_business() -> None:
    assert _safety(a_snapshot(ORDERS, ELSEWHERE)).is_safe


def test_only_a_topic_without_a_replica_to_spare_asks_for_a_person() -> None:
    asked, waited_for = _safety(a_snapshot(THIN)).waits, _safety(a_snapshot(BEHIND)).waits
    assert asked is not None
    assert "list thin under rollout.allowUnavailable" in asked.next_command
    assert waited_for is not None
    assert waited_for.next_command == ""


def test_a_service_whose_agent_says_it_is_down_holds_the_others_back() -> None:
    view = _cluster()
    stopped = a_report(view.instances[B], "waiting")
    safety = _safety(a_snapshot(ORDERS), reports={B: stopped})
    assert (safety.is_safe, _reason(safety)) == (False, "MaxUnavailable")
    of_quorum = _safety(a_snapshot(ORDERS), reports={CA: a_report(view.instances[CA], "waiting")})
    assert (of_quorum.is_safe, of_quorum.gate.open, _reason(of_quorum)) == (False, False, "BrokerDown")


def test_a_controller_needs_a_majority_that_keeps_up() -> None:
    kafka = a_snapshot(ORDERS)
    assert _safety(kafka, CA).is_safe
    late = replace(kafka.quorum.members[1], lag=5000)
    members = (kafka.quorum.members[0], late, kafka.quorum.members[2])
    lagging = replace(kafka, quorum=replace(kafka.quorum, members=members))
    assert _reason(_safety(lagging, CA)) == "QuorumGate"


@pytest.mark.parametrize("partition", [ORDERS, BEHIND, THIN, BELOW, MOVING], ids=str)
def test_the_restart_that_was_asked_for_gets_the_very_same_answer(partition: Any) -> None:
    kafka = a_snapshot(partition)
    decision = restart_step(a_situation(_cluster(A), kafka=kafka))
    assert decision is not None
    safety = _safety(kafka)
    assert bool(decision.events) == safety.is_safe
    assert safety.gate.reason in decision.sentence
    assert decision.wait == safety.waits


TOLD = {REGISTRATION_WRONG: ConditionView(True, "Fenced", "one is not as it should be", BEFORE)}


def _misregistered(kafka: KafkaSnapshot, key: str = "brokers-c-0.g1", **view: Any) -> RestartSafety:
    found = changed_view(_cluster(), **view)
    return restart_safety(a_situation(found, kafka=kafka), kafka, found.instances[key])


@pytest.mark.parametrize("fenced", [(1002,), ()], ids=["fenced", "not registered"])
def test_a_broker_that_runs_and_serves_nobody_may_be_restarted_for_that(fenced: tuple[int, ...]) -> None:
    kafka = a_snapshot(a_partition(isr=(1000, 1001)), brokers=(1000, 1001), fenced=fenced)
    assert _misregistered(kafka, conditions=TOLD).is_safe
    assert not _misregistered(kafka).is_safe, "only once it is told, which takes a minute: it may be starting"
    assert not _misregistered(kafka, A, conditions=TOLD).is_safe, "nor any other one"


def test_a_broker_that_is_registered_elsewhere_still_needs_the_others_in_sync() -> None:
    kafka = a_snapshot(a_partition(isr=(1000, 1002)))
    elsewhere = replace(kafka, brokers={**kafka.brokers, 1002: replace(kafka.brokers[1002], rack="z")})
    assert not _misregistered(elsewhere, conditions=TOLD).gate.open
