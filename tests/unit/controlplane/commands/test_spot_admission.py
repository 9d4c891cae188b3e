"""Pre-emptible VMs are held to what a cloud offers, and to what Kafka says of topics with one replica."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from controlplane.cluster.view import ClusterView
from controlplane.commands.admission.spec import admission_problems
from events.ids import ClusterUid
from events.spec.document import load_documents
from events.spec.problems import Problem
from planner.observed import KafkaSnapshot, PartitionSeen, TopicPartition
from planner.rollout.desired import desired_nodes
from planner.rollout.diff import Change, Incumbent, IncumbentVm, node_changes
from tests.unit.controlplane.api.test_planpreview import snapshot
from tests.unit.events.spec_texts import document

EXAMPLES = Path(__file__).parents[4] / "examples"
SPOT = {20: "      machine: medium\n      spot: true"}


def problems(cloud: str, seen: KafkaSnapshot | None = None, *, lives: bool = False) -> list[Problem]:
    """Of the cloud's example with its brokers pre-emptible."""
    text = (EXAMPLES / f"{cloud}-orders.yaml").read_text()
    before, services, after = text.partition("services: [broker]")
    loaded = load_documents(f"{before}{services}\n      spot: true{after}".encode(), file="orders.yaml")
    assert loaded.ok, loaded.problems
    view = replace(ClusterView(ClusterUid("c0ffee")), name="orders-prod")
    if lives:
        view = replace(view, document=loaded.documents[0])
    return admission_problems(view, loaded.documents[0], positions=loaded.positions[0], snapshot=seen)


@pytest.mark.parametrize("cloud", ["aws", "google", "azure"])
def test_a_cloud_with_pre_emptible_vms_may_be_asked_for_them(cloud: str) -> None:
    assert problems(cloud) == []


@pytest.mark.parametrize("cloud", ["digitalocean", "upcloud", "hetzner"])
def test_a_cloud_without_refuses_them_where_they_are_written(cloud: str) -> None:
    (found,) = [one for one in problems(cloud) if one.code != "KEDGE-SPEC-039"]
    assert (found.code, found.severity) == ("KEDGE-SPEC-085", "error")
    assert f"{cloud} has no pre-emptible VMs" in found.message
    assert found.path.endswith("spot")


def test_partitions_with_one_replica_are_told_by_what_kafka_says() -> None:
    at = datetime(2026, 11, 1, tzinfo=UTC)
    alone = PartitionSeen(TopicPartition("logs", 0), 1000, (1000,), (1000,), 1)
    both = PartitionSeen(TopicPartition("orders", 0), 1000, (1000, 1001), (1000, 1001), 1)
    found = problems("aws", replace(snapshot(), at=at, partitions=(alone, both)), lives=True)
    assert [(one.code, one.severity, one.message) for one in found] == [
        (
            "KEDGE-SPEC-086",
            "warning",
            "1 partition of 1 topic have one replica; on a pre-emptible broker it goes with it",
        )
    ]


def test_a_node_that_becomes_pre_emptible_is_made_anew_and_told_why() -> None:
    """And back: the class of the field is static."""
    before, after = desired_nodes(document()), desired_nodes(document(SPOT))
    there = [
        Incumbent(
            n.node,
            1,
            n.rack,
            n.index,
            n.service,
            1,
            n.digest,
            n.kafka_version,
            n.shape,
            False,
            vm=IncumbentVm(spot=n.spot),
        )
        for n in before
    ]
    changes = {c.node: c for c in node_changes(after, there)}
    assert {c.change for c in changes.values() if c.desired and c.desired.service == "controller"} == {Change.KEEP}
    assert changes["brokers-a-0"].reason == "brokers-a-0: a VM that is kept -> a pre-emptible VM"
    assert {c.change for c in changes.values() if c.desired and c.desired.service == "broker"} == {Change.REPLACE}
