"""ZooKeeper mode: no VM is made of a release that does not know the protocol the brokers run with by now."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.converger.questions.quorum.protocol import brokers_after, goes_back, knows_protocol
from controlplane.converger.situation.decision import Decision
from controlplane.converger.steps.rolls.replacements import replacement_step
from events import facts
from tests.builders import BEFORE, NODES, a_situation, a_snapshot, a_view, a_zookeeper_document, an_instance
from tests.changed_view import changed_view

SERVERS = tuple(
    an_instance(f"zookeepers-{rack}-0", service="zookeeper", service_id=100 + k, kafka_version="3.9.1")
    for k, rack in enumerate("abc")
)
PINNED = {1000: "3.8", 1001: "3.8", 1002: "3.8"}


def _going_back(*lost: str, **overrides: Any) -> ClusterView:
    """All run 3.9.1, told protocol 3.8, and the spec of 3.8.1 is in force again."""
    view = a_view(
        *(_newer(node, lost_at=BEFORE if node in lost else None) for node in NODES[:3]),
        *SERVERS,
        without=[f"{node}.g1" for node in NODES[3:]],
        document=a_zookeeper_document(),
        protocol="3.8",
        generation=3,
        recycling=3,
    )
    return changed_view(view, **overrides)


def _newer(node: str, **fields: Any) -> InstanceView:
    return an_instance(node, kafka_version="3.9.1", protocol="3.8", **fields)


def _step(view: ClusterView, protocols: Mapping[int, str] | None, **seen: Any) -> Decision:
    decision = replacement_step(a_situation(view, protocols=protocols, **seen))
    assert decision is not None
    return decision


def _reason(decision: Decision) -> str:
    assert not decision.events, decision
    return decision.wait.reason if decision.wait else ""


def test_the_way_back_is_taken_where_every_broker_runs_with_what_the_older_release_knows() -> None:
    made = _step(_going_back(), PINNED).events[0]
    assert isinstance(made, facts.SurgeRequested)
    assert made.instances[0].kafka_version == "3.8.1"


@pytest.mark.parametrize("protocol", ["3.9", "3.9-IV0", "4.0-IV3", "unheard of"])
def test_no_older_broker_is_made_beside_one_with_a_protocol_it_does_not_know(protocol: str) -> None:
    """It was asked once, when the spec was admitted; somebody may have raised the protocol by hand since."""
    decision = _step(_going_back(), {**PINNED, 1001: protocol})
    assert _reason(decision) == "DowngradeBlocked"
    assert f"Kafka 3.8.1, which knows inter.broker.protocol.version up to 3.8: broker 1001 runs with {protocol}" in (
        decision.sentence
    )
    assert decision.wait is not None
    assert "kedge apply, with the release that was reached or a later one" in decision.wait.next_command


def test_a_broker_that_was_not_rolled_on_counts_too() -> None:
    view = _going_back()
    old = an_instance("brokers-a-0", kafka_version="3.8.1", protocol="3.8")
    decision = _step(replace(view, instances={**view.instances, old.key: old}), {**PINNED, 1000: "3.9"})
    assert _reason(decision) == "DowngradeBlocked"


def test_a_lost_vm_is_not_made_anew_of_the_older_release_either() -> None:
    live = a_snapshot(brokers=(1001, 1002))
    told = {1001: "3.9", 1002: "3.8"}
    assert _reason(_step(_going_back("brokers-a-0"), told, kafka=live)) == "DowngradeBlocked"


def test_what_a_broker_that_does_not_serve_was_started_with_counts() -> None:
    """It cannot be asked, and must not keep the way back shut for ever: its crashes may be why it is taken."""
    view = _going_back()
    live = a_snapshot(brokers=(1001, 1002))
    down = replace(
        view.instances["brokers-a-0.g1"], start=replace(view.instances["brokers-a-0.g1"].start, protocol="3.9")
    )
    raised = replace(view, instances={**view.instances, down.key: down})
    spoken = {1001: "3.8", 1002: "3.8"}
    assert "broker 1000 runs with 3.9" in _step(raised, spoken, kafka=live).sentence
    assert _reason(_step(raised, spoken, kafka=live)) == "DowngradeBlocked"
    assert isinstance(_step(view, spoken, kafka=live).events[0], facts.SurgeRequested)


@pytest.mark.parametrize(
    ("protocols", "seen", "words"),
    [
        pytest.param({1000: "3.8", 1002: "3.8"}, {}, "no answer from 1001", id="one is silent"),
        pytest.param(None, {"missing": {"protocols": "timed out"}}, "timed out", id="none could be asked"),
        pytest.param(None, {}, "not been asked yet", id="not asked yet"),
        pytest.param(PINNED, {"kafka": None, "missing": {"kafka": "no route"}}, "no route", id="no metadata"),
    ],
)
def test_an_unknown_protocol_is_waited_for(protocols: Mapping[int, str], seen: Any, words: str) -> None:
    decision = _step(_going_back(), protocols, **seen)
    assert _reason(decision) == "KafkaUnknown"
    assert "which protocol the brokers run with is unknown" in decision.sentence
    assert words in decision.sentence


def test_nobody_is_asked_where_no_broker_is_of_a_later_release() -> None:
    rolling = a_view(document=a_zookeeper_document(version="3.9.1"), protocol="3.8", generation=2, recycling=2)
    older = {k: replace(i, planned=replace(i.planned, kafka_version="3.8.1")) for k, i in rolling.instances.items()}
    rolling = replace(rolling, instances=older)
    assert not goes_back(rolling)
    assert isinstance(_step(rolling, None).events[0], facts.SurgeRequested)
    assert goes_back(_going_back())
    assert [i.service_id for i in brokers_after(_going_back("brokers-a-0"), "3.8.1")] == [1001, 1002]
    assert not goes_back(a_view())


def test_a_release_knows_its_own_protocol_and_those_before() -> None:
    assert knows_protocol("3.8.1", "3.8")
    assert knows_protocol("3.9.1", "3.8-IV0")
    assert not knows_protocol("3.9.1", "3.10")
