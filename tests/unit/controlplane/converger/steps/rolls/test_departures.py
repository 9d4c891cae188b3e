"""Brokers on their way out: linger, fence, unregister, retire. Nothing is destroyed on a guess."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.views.instances import InstanceView
from controlplane.converger.situation.decision import Decision
from controlplane.converger.situation.effects import Unregister
from controlplane.converger.steps.rolls.departures import departure_step
from events import facts
from planner.observed import KafkaSnapshot
from tests.builders import BEFORE, NOW, a_partition, a_report, a_situation, a_snapshot, a_view, an_instance

KEY = "brokers-a-0.g1"
SUCCESSOR = an_instance("brokers-a-0", 2)
WITHOUT = a_partition("orders-0", (1010, 1001, 1002))
NAMED = a_partition("late-0")
LIVE = (1000, 1001, 1002, 1010)
STALE = NOW - timedelta(seconds=31)


def _old(phase: Phase, **overrides: Any) -> InstanceView:
    return an_instance("brokers-a-0", 1, phase, **overrides)


def _step(old: InstanceView, kafka: KafkaSnapshot | None, **seen: Any) -> Decision:
    decision = departure_step(a_situation(a_view(old, SUCCESSOR), kafka=kafka, **seen))
    assert decision is not None
    return decision


def _reason(decision: Decision) -> str:
    assert not decision.events
    return decision.wait.reason if decision.wait else ""


def test_with_nobody_leaving_there_is_nothing_to_do() -> None:
    assert departure_step(a_situation(a_view())) is None


# --- linger -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kafka", [None, a_snapshot(WITHOUT, brokers=LIVE, at=STALE)], ids=["unknown", "stale"])
@pytest.mark.parametrize("phase", [Phase.LINGERING, Phase.FENCED])
def test_nothing_goes_on_unknown_or_stale_metadata(phase: Phase, kafka: KafkaSnapshot | None) -> None:
    assert _reason(_step(_old(phase), kafka)) == "KafkaUnknown"


@pytest.mark.parametrize(("seconds", "fences"), [(4, False), (5, True)])
def test_an_empty_broker_lingers_as_long_as_the_spec_says(seconds: int, fences: bool) -> None:
    decision = _step(_old(Phase.LINGERING, since=NOW - timedelta(seconds=seconds)), a_snapshot(WITHOUT, brokers=LIVE))
    assert decision.events == ((facts.FenceRequested((KEY,), "drained"),) if fences else ())


def _among_lost(old: InstanceView, *lost: str) -> Any:
    others = [an_instance(node, lost_at=BEFORE) for node in lost]
    kafka = a_snapshot(WITHOUT, brokers=LIVE)
    return departure_step(a_situation(a_view(old, SUCCESSOR, *others), kafka=kafka))


def test_nobody_alive_is_stopped_while_brokers_of_two_racks_are_gone_though_it_is_empty() -> None:
    """Their successors are made and filled first; then it goes with them."""
    old = _old(Phase.LINGERING, since=BEFORE)
    assert _among_lost(old, "brokers-b-0", "brokers-c-0") is None
    one = _among_lost(old, "brokers-b-0")
    assert one.events == (facts.FenceRequested((KEY,), "drained"),), "one that is gone keeps no empty one running"
    itself = replace(old, lost_at=BEFORE)
    assert _among_lost(itself, "brokers-b-0", "brokers-c-0").events == (facts.FenceRequested((KEY,), "drained"),)


def test_a_partition_that_came_while_it_lingered_is_drained_too() -> None:
    drain = _step(_old(Phase.LINGERING), a_snapshot(NAMED, brokers=LIVE)).events[0]
    assert isinstance(drain, facts.DrainRequested)
    assert (drain.keys, dict(drain.successors)) == ((KEY,), {"1000": 1010})
    assert 1000 not in drain.targets


def test_disks_that_do_not_say_empty_keep_it_running() -> None:
    kafka = a_snapshot(WITHOUT, brokers=LIVE, log_dirs={})
    assert _reason(_step(_old(Phase.LINGERING), kafka)) == "MinIsrGate"


def test_a_dead_broker_that_nothing_names_is_fenced() -> None:
    kafka = a_snapshot(WITHOUT, brokers=(1001, 1002, 1010), fenced=(1000,))
    assert [type(e) for e in _step(_old(Phase.LINGERING), kafka).events] == [facts.FenceRequested]


# --- fence ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "report", "proof"),
    [
        (_old(Phase.FENCING), a_report(_old(Phase.FENCING), "stopped"), "agent"),
        (_old(Phase.FENCING, lost_at=BEFORE), None, "inventory"),
        (_old(Phase.FENCING), a_report(_old(Phase.FENCING), "running"), ""),
        (_old(Phase.FENCING), a_report(_old(Phase.FENCING), "failed"), ""),
        (_old(Phase.FENCING), a_report(_old(Phase.FENCING), "stopped", start_id="an earlier one"), ""),
        (_old(Phase.FENCING), None, ""),
    ],
    ids=["stopped", "vm gone", "runs", "failed is not a proof", "an earlier stop", "silent"],
)
def test_a_stop_counts_only_when_it_is_proved(old: InstanceView, report: Any, proof: str) -> None:
    decision = _step(old, a_snapshot(WITHOUT, brokers=LIVE), reports={KEY: report} if report else {})
    assert decision.events == ((facts.NodeFenced(KEY, proof),) if proof else ())
    assert proof or _reason(decision) == "Fencing"


@pytest.mark.parametrize(
    ("revoked", "report", "words"),
    [
        ((), None, "silent"),
        ((), a_report(_old(Phase.FENCING), "running"), "running"),
        ((KEY,), a_report(_old(Phase.FENCING), "running"), "power its VM off in the cloud, whose word is proof"),
        ((KEY,), None, "power its VM off in the cloud, whose word is proof"),
    ],
    ids=["silent", "runs", "revoked, and was heard before", "revoked"],
)
def test_what_a_stop_is_waited_for_with_is_told(revoked: tuple[str, ...], report: Any, words: str) -> None:
    """Of a revoked VM nobody hears the agent any more: only a person can bring the proof, and is told how."""
    old = _old(Phase.FENCING)
    view = a_view(old, SUCCESSOR)
    view = replace(view, vms=replace(view.vms, revoked=dict.fromkeys(revoked, BEFORE)))
    seen = {"reports": {KEY: report}} if report else {}
    decision = departure_step(a_situation(view, kafka=a_snapshot(WITHOUT, brokers=LIVE), **seen))
    assert decision is not None
    assert decision.wait is not None
    assert words in decision.sentence
    assert ("nobody hears its agent" in decision.sentence) == bool(revoked)


# --- leave ------------------------------------------------------------------------------------------------------------

FENCED = _old(Phase.FENCED)


def test_metadata_from_before_the_stop_is_read_once_more() -> None:
    old = _old(Phase.FENCED, fenced_at=NOW)
    assert _reason(_step(old, a_snapshot(WITHOUT, brokers=LIVE))) == "KafkaUnknown"


def test_a_replica_in_metadata_newer_than_the_stop_starts_it_again() -> None:
    decision = _step(FENCED, a_snapshot(NAMED, brokers=LIVE[1:], fenced=(1000,)))
    assert [type(e) for e in decision.events] == [facts.FenceReverted]


def test_a_broker_the_controller_still_calls_live_is_not_unregistered() -> None:
    """Kafka takes that for a live broker too, which then hangs."""
    assert _reason(_step(FENCED, a_snapshot(WITHOUT, brokers=LIVE))) == "BrokerStillUnfenced"


def test_a_fenced_empty_broker_is_unregistered() -> None:
    decision = _step(FENCED, a_snapshot(WITHOUT, brokers=LIVE[1:], fenced=(1000,)))
    assert decision.effects == (Unregister(1000),)


def test_a_registration_that_is_gone_is_recorded() -> None:
    decision = _step(FENCED, a_snapshot(WITHOUT, brokers=LIVE[1:]))
    assert decision.events == (facts.BrokerUnregistered(KEY, 1000),)


def test_an_unregistered_broker_is_retired_with_its_volume() -> None:
    decision = _step(_old(Phase.FENCED, unregistered=True), a_snapshot(WITHOUT, brokers=LIVE[1:]))
    retire = decision.events[0]
    assert isinstance(retire, facts.RetireRequested)
    assert (retire.keys, retire.volumes) == ((KEY,), ("brokers-a-0.data.v1",))


def test_one_of_several_that_is_still_named_holds_the_others_back() -> None:
    other = an_instance("brokers-b-0", 1, Phase.FENCED, unregistered=True)
    view = a_view(_old(Phase.FENCED, unregistered=True), other, SUCCESSOR)
    kafka = a_snapshot(a_partition("late-0", (1001, 1010)), brokers=(1002, 1010))
    decision = departure_step(a_situation(view, kafka=kafka))
    assert decision is not None
    assert [type(e) for e in decision.events] == [facts.FenceReverted]


# --- never joined -----------------------------------------------------------------------------------------------------


def _failed(node: str = "brokers-a-0", **overrides: Any) -> InstanceView:
    return an_instance(node, 2, Phase.FAILED, **overrides)


def _step_failed(failed: InstanceView, kafka: KafkaSnapshot | None, **view: Any) -> Decision:
    decision = departure_step(a_situation(a_view(failed, **view), kafka=kafka))
    assert decision is not None
    return decision


def test_a_broker_that_never_registered_is_retired() -> None:
    retire = _step_failed(_failed(), a_snapshot(NAMED)).events[0]
    assert isinstance(retire, facts.RetireRequested)
    assert retire.volumes == ("brokers-a-0.data.v2",)


@pytest.mark.parametrize(
    "kafka",
    [a_snapshot(NAMED, fenced=(1010,)), a_snapshot(a_partition("x-0", (1010, 1001)))],
    ids=["registered", "named by a partition"],
)
def test_a_broker_kafka_knows_is_stopped_first(kafka: KafkaSnapshot) -> None:
    assert [type(e) for e in _step_failed(_failed(), kafka).events] == [facts.FenceRequested]


def test_without_metadata_a_failed_broker_stays() -> None:
    assert _reason(_step_failed(_failed(), None)) == "KafkaUnknown"


def test_before_there_is_a_cluster_nobody_need_be_asked() -> None:
    newborn = ("brokers-a-0.g1", "brokers-b-0.g1", "brokers-c-0.g1")
    retire = _step_failed(_failed(), None, without=newborn).events[0]
    assert isinstance(retire, facts.RetireRequested)


def test_a_controllers_successor_that_failed_leaves_the_nodes_volume_alone() -> None:
    retire = _step_failed(_failed("controllers-a-0", bound=False), a_snapshot()).events[0]
    assert isinstance(retire, facts.RetireRequested)
    assert (retire.keys, retire.volumes) == (("controllers-a-0.g2",), ())


def test_a_controller_that_failed_with_the_volume_is_stopped_first() -> None:
    decision = _step_failed(_failed("controllers-a-0", bound=True), a_snapshot())
    assert [type(e) for e in decision.events] == [facts.FenceRequested]
