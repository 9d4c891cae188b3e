"""New work: what is made, replaced or removed next, and everything that holds it back."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView, empty_view
from controlplane.cluster.views.running_settings import ReplaceView
from controlplane.converger.questions.rolls.pending_changes import pending_changes
from controlplane.converger.situation.decision import Decision
from controlplane.converger.situation.situation import Allowance
from controlplane.converger.steps.rolls.replacements import MAX_JOIN_FAILURES, replacement_step
from events import facts
from planner.observed import FeatureSeen
from planner.rollout.desired import desired_nodes
from planner.rollout.diff import Change
from providers.handover import Handover
from tests.builders import (
    BEFORE,
    NODES,
    NOW,
    a_document,
    a_partition,
    a_planned,
    a_situation,
    a_snapshot,
    a_view,
    a_zookeeper_document,
    an_instance,
)

NEWER = a_document(version="4.2.0")
LOST = an_instance("brokers-c-0", lost_at=NOW - timedelta(seconds=301))


def _rolling(*instances: Any, **overrides: Any) -> ClusterView:
    """Generation 2 (Kafka 4.2.0) has begun."""
    return a_view(*instances, **{"generation": 2, "recycling": 2, "document": NEWER, **overrides})


def _step(view: ClusterView, **seen: Any) -> Decision | None:
    return replacement_step(a_situation(view, **seen))


def _event(view: ClusterView, **seen: Any) -> Any:
    decision = _step(view, **seen)
    assert decision is not None
    assert len(decision.events) == 1, decision
    return decision.events[0]


def _reason(view: ClusterView, **seen: Any) -> str:
    decision = _step(view, **seen)
    assert decision is not None
    assert not decision.events, decision
    return decision.wait.reason if decision.wait else ""


def test_what_is_as_declared_needs_nothing() -> None:
    assert _step(a_view()) is None
    assert all(c.change is Change.KEEP for c in pending_changes(a_view()))


def test_without_a_document_nothing_is_pending() -> None:
    assert pending_changes(empty_view("c0ffee")) == ()
    assert pending_changes(a_view(document=None)) == ()


def test_a_roll_begins_with_what_it_will_do() -> None:
    started = _event(_rolling(recycling=0))
    assert isinstance(started, facts.RecycleStarted)
    assert (started.generation, len(started.replace), started.create, started.remove) == (2, 6, (), ())


def test_the_first_rack_gets_its_successor_with_a_fresh_id() -> None:
    surge = _event(_rolling())
    assert isinstance(surge, facts.SurgeRequested)
    planned = surge.instances[0]
    assert [i.key for i in surge.instances] == ["brokers-a-0.g2"]
    assert (planned.service_id, planned.replaces, planned.handover) == (1100, 1, False)
    assert [v.key for v in planned.volumes] == ["brokers-a-0.data.v2"]
    assert planned.kafka_version == "4.2.0"


@pytest.mark.parametrize("finalised", [29, 30])
def test_no_vm_is_made_that_could_not_read_the_level_that_is_finalised(finalised: int) -> None:
    """Somebody raised it by hand after the spec was accepted, or while the roll waited for its window."""
    level = {"metadata.version": FeatureSeen(finalised, 7, finalised)}
    back = _rolling(document=a_document(version="4.1.1", brokers=6), recycling=2)
    decision = _step(back, kafka=a_snapshot(features=level))
    assert decision is not None
    assert not decision.events
    assert decision.wait is not None
    assert decision.wait.reason == "DowngradeBlocked"
    assert f"Kafka 4.1.1, which reads metadata.version up to 27: {finalised} is finalised" in decision.sentence
    assert "kedge apply" in decision.wait.next_command


def test_a_lost_vm_is_not_made_anew_where_it_could_not_read_the_level_either() -> None:
    level = {"metadata.version": FeatureSeen(29, 7, 29)}
    assert _reason(a_view(LOST), kafka=a_snapshot(features=level)) == "DowngradeBlocked"
    read = {"metadata.version": FeatureSeen(27, 7, 29)}
    assert isinstance(_event(a_view(LOST), kafka=a_snapshot(features=read)), facts.RecycleStarted)


def test_brokers_in_zookeeper_mode_have_no_metadata_level_to_read() -> None:
    level = {"metadata.version": FeatureSeen(1, 1, 21)}
    begun = _event(
        _rolling(document=a_zookeeper_document(), recycling=0, protocol="3.8"), kafka=a_snapshot(features=level)
    )
    assert isinstance(begun, facts.RecycleStarted)


def test_a_controllers_successor_keeps_id_and_volume() -> None:
    digest = {n.node: n.desired.digest for n in pending_changes(_rolling()) if n.desired}
    done = [an_instance(f"brokers-{r}-0", digest=digest[f"brokers-{r}-0"]) for r in "abc"]
    planned = _event(_rolling(*done)).instances[0]
    # The quorum's leader (100, in rack a) goes last.
    assert (planned.key, planned.service_id, planned.handover) == ("controllers-b-0.g2", 101, True)
    assert [v.key for v in planned.volumes] == ["controllers-b-0.data.v1"]


def test_the_same_decision_names_the_same_intent() -> None:
    assert _event(_rolling()).intent == _event(_rolling()).intent


def test_missing_nodes_are_made_together() -> None:
    surge = _event(a_view(generation=2, recycling=2, document=a_document(brokers=6)))
    assert [i.key for i in surge.instances] == ["brokers-a-1.g1", "brokers-b-1.g1", "brokers-c-1.g1"]
    assert [i.service_id for i in surge.instances] == [1100, 1101, 1102]


def test_surplus_brokers_are_drained_in_one_plan() -> None:
    more = [an_instance(f"brokers-{rack}-1") for rack in "abc"]
    drain = _event(a_view(*more, generation=2, recycling=2))
    assert isinstance(drain, facts.DrainRequested)
    assert sorted(drain.keys) == ["brokers-a-1.g1", "brokers-b-1.g1", "brokers-c-1.g1"]
    assert (drain.targets, dict(drain.successors)) == ((1000, 1001, 1002), {})


def test_a_joined_successor_has_its_predecessor_drained() -> None:
    successor = an_instance("brokers-a-0", 2, digest=_digest("brokers-a-0"))
    drain = _event(_rolling(successor))
    assert isinstance(drain, facts.DrainRequested)
    assert (drain.keys, dict(drain.successors), drain.targets) == (
        ("brokers-a-0.g1",),
        {"1000": 1010},
        (1001, 1002, 1010),
    )


def _digest(node: str) -> str:
    return next(c.desired.digest for c in pending_changes(_rolling()) if c.node == node and c.desired)


# --- held back --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kafka", "reason"),
    [
        (None, "KafkaUnknown"),
        (a_snapshot(at=NOW - timedelta(seconds=31)), "KafkaUnknown"),
        (a_snapshot(brokers=(1000, 1002), fenced=(1001,)), "BrokerDown"),
        (a_snapshot(a_partition("orders-0", isr=(1000, 1001))), "BrokerDown"),
        (a_snapshot(a_partition("orders-0", leader=-1)), "BrokerDown"),
    ],
    ids=["unknown", "stale", "a broker of another rack down", "under-replicated", "leaderless"],
)
def test_a_failure_nobody_asked_for_holds_a_replacement_back(kafka: Any, reason: str) -> None:
    assert _reason(_rolling(), kafka=kafka) == reason


def test_a_failure_in_the_rack_to_be_worked_on_is_no_reason_to_wait() -> None:
    kafka = a_snapshot(a_partition("orders-0", isr=(1001, 1002), leader=1001), brokers=(1001, 1002), fenced=(1000,))
    assert isinstance(_event(_rolling(), kafka=kafka), facts.SurgeRequested)


def test_a_drain_waits_for_a_whole_cluster_too() -> None:
    successor = an_instance("brokers-a-0", 2, digest=_digest("brokers-a-0"))
    assert _reason(_rolling(successor), kafka=a_snapshot(brokers=(1000, 1010, 1002), fenced=(1001,))) == "BrokerDown"


def test_the_fleets_brake_keeps_a_roll_from_beginning_but_no_repair() -> None:
    held = Allowance(False, "10 clusters are rolling")
    assert _reason(_rolling(recycling=0), allowance=held) == "FleetBrake"
    assert _reason(_rolling(), allowance=held) == "FleetBrake", "one that was aborted and resumed waits for a place"
    assert isinstance(_event(_rolling(LOST), allowance=held), facts.SurgeRequested)


def test_one_instance_at_a_time_is_on_its_way() -> None:
    assert _reason(_rolling(an_instance("controllers-c-0", 2, Phase.LAUNCHED))) == "InstanceJoins"


def test_two_failures_in_a_row_wait_for_a_person() -> None:
    decision = _step(_rolling(join_failures=MAX_JOIN_FAILURES))
    assert decision is not None
    assert decision.wait is not None
    assert (decision.wait.reason, decision.wait.next_command) == ("ReplacementFailed", "kedge resume orders")
    assert isinstance(_event(_rolling(join_failures=MAX_JOIN_FAILURES - 1)), facts.SurgeRequested)


# --- lost -------------------------------------------------------------------------------------------------------------


def test_a_lost_vm_gets_some_time_to_be_found_again() -> None:
    young = replace(LOST, lost_at=NOW - timedelta(seconds=299))
    assert _reason(a_view(young)) == "LossGrace"
    assert _reason(a_view(LOST), loss_grace_s=400.0) == "LossGrace"


def test_a_lost_vm_that_was_to_be_replaced_anyway_is_waited_for_by_nobody() -> None:
    """One that its cloud took as announced, before its successor was made, was waited for as if it might return."""
    young, asked = replace(LOST, lost_at=NOW), {LOST.key: ReplaceView("the cloud takes it", False, BEFORE)}
    surge = _event(a_view(young, to_replace=asked, recycling=1), kafka=None)
    assert [i.key for i in surge.instances] == ["brokers-c-0.g2"]
    assert _reason(a_view(young, recycling=1), kafka=None) == "LossGrace"


def test_it_is_said_who_is_not_stopped_meanwhile() -> None:
    empty = an_instance("brokers-a-0", 1, Phase.LINGERING)
    decision = _step(a_view(empty, an_instance("brokers-a-0", 2), replace(LOST, lost_at=NOW)))
    assert decision is not None
    assert decision.sentence.endswith(
        "replacing it in 300 s; until then brokers-a-0.g1, which is empty, is not stopped"
    )


def test_a_spec_has_its_own_time_for_a_lost_vm() -> None:
    patient, hasty = (a_document(healing=f"lostAfter: {text}") for text in ("7m", "0"))
    assert _reason(a_view(LOST, document=patient)) == "LossGrace"
    surge = _event(a_view(replace(LOST, lost_at=NOW), document=hasty, recycling=1), kafka=None)
    assert [i.key for i in surge.instances] == ["brokers-c-0.g2"]


def test_after_that_it_is_replaced_in_the_generation_in_force() -> None:
    view = a_view(LOST, recycling=1)
    surge = _event(view, kafka=None)
    assert [i.key for i in surge.instances] == ["brokers-c-0.g2"]


def test_what_is_lost_goes_before_what_is_outdated() -> None:
    assert [i.key for i in _event(_rolling(LOST)).instances] == ["brokers-c-0.g2"]


def test_a_lost_brokers_replicas_move_to_its_successor_though_it_is_down() -> None:
    successor = an_instance("brokers-c-0", 2)
    kafka = a_snapshot(
        a_partition("orders-0", isr=(1000, 1001)), brokers=(1000, 1001, successor.service_id), fenced=(1002,)
    )
    drain = _event(a_view(LOST, successor, recycling=1), kafka=kafka)
    assert isinstance(drain, facts.DrainRequested)
    assert dict(drain.successors) == {"1002": successor.service_id}


@pytest.mark.parametrize("phase", [Phase.FENCED, Phase.RELEASED])
def test_a_controller_that_was_stopped_and_has_no_successor_is_replaced(phase: Phase) -> None:
    stranded = an_instance("controllers-b-0", 1, phase, lost_at=BEFORE)
    view = a_view(stranded, recycling=1)
    changes = {c.node: c.change for c in pending_changes(view)}
    assert changes["controllers-b-0"] is Change.REPLACE


def test_a_generation_is_used_once_also_after_failures() -> None:
    failed = an_instance("brokers-a-0", 2, Phase.RETIRED)
    assert [i.key for i in _event(_rolling(failed)).instances] == ["brokers-a-0.g3"]
    assert a_planned("brokers-a-0", 3).replaces == 2


def _controllers_outdated(handover: Handover | None) -> Decision:
    """The brokers are as declared already."""
    wanted = {n.node: n for n in desired_nodes(NEWER)}
    rolled = [an_instance(n, kafka_version="4.2.0", digest=wanted[n].digest) for n in NODES if n.startswith("brokers")]
    decision = _step(_rolling(*rolled), handover=handover)
    assert decision is not None
    return decision


@pytest.mark.parametrize(("handover", "deferred"), [(Handover.REBIND, False), (Handover.DELETE_FIRST, True)])
def test_a_successor_is_made_by_its_bind_only_where_the_old_vm_goes_first(handover: Handover, deferred: bool) -> None:
    (asked,) = _controllers_outdated(handover).events
    assert isinstance(asked, facts.SurgeRequested)
    assert [(p.handover, p.deferred) for p in asked.instances] == [(True, deferred)]


def test_no_controller_is_replaced_where_nobody_knows_whether_its_address_can_pass() -> None:
    decision = _controllers_outdated(None)
    assert (decision.events, decision.wait and decision.wait.reason) == ((), "InventoryUnknown")


def test_a_controller_moves_where_its_address_cannot_pass() -> None:
    (asked,) = _controllers_outdated(Handover.NONE).events
    assert isinstance(asked, facts.SurgeRequested)
    assert [(p.relieves, p.vm_address, p.new_disk) for p in asked.instances] == [("controllers-b-0.g1", True, True)]
