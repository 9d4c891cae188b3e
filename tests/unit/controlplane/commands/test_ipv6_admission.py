"""IPv6 is held to what a cloud offers, where it is written; a node that gets or loses it is another VM."""

from dataclasses import replace
from pathlib import Path

import pytest

from controlplane.cluster.view import ClusterView
from controlplane.commands.admission.spec import admission_problems
from events.ids import ClusterUid
from events.spec.document import load_documents
from events.spec.problems import Problem
from planner.rollout.desired import desired_nodes
from planner.rollout.diff import Change, Incumbent, IncumbentVm, node_changes
from tests.unit.events.spec_texts import document

EXAMPLES = Path(__file__).parents[4] / "examples"
IPV6 = {20: "      machine: medium\n      ipv6: true"}


def problems(cloud: str, service: str = "broker") -> list[Problem]:
    """Of the cloud's example with one kind of its nodes asking for IPv6."""
    text = (EXAMPLES / f"{cloud}-orders.yaml").read_text()
    before, services, after = text.partition(f"services: [{service}]")
    assert services
    loaded = load_documents(f"{before}{services}\n      ipv6: true{after}".encode(), file="orders.yaml")
    assert loaded.ok, loaded.problems
    view = replace(ClusterView(ClusterUid("c0ffee")), name="orders-prod")
    found = admission_problems(view, loaded.documents[0], positions=loaded.positions[0], snapshot=None)
    return [one for one in found if one.code == "KEDGE-SPEC-066"]


@pytest.mark.parametrize("cloud", ["aws", "google", "azure", "digitalocean", "hetzner"])
def test_brokers_of_a_cloud_with_ipv6_may_ask_for_it(cloud: str) -> None:
    assert problems(cloud) == []


def test_upcloud_refuses_it_where_it_is_written_and_says_why() -> None:
    (found,) = problems("upcloud")
    assert found.severity == "error"
    assert "UpCloud has it on public interfaces alone" in found.message
    assert found.path.endswith("ipv6")


@pytest.mark.parametrize(("cloud", "refused"), [("aws", 0), ("google", 0), ("hetzner", 0), ("azure", 1)])
def test_a_controller_has_none_where_its_network_interface_outlives_its_vm(cloud: str, refused: int) -> None:
    assert len(problems(cloud, "controller")) == refused


def test_a_node_that_gets_ipv6_is_made_anew_and_told_why() -> None:
    before, after = desired_nodes(document()), desired_nodes(document(IPV6))
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
            vm=IncumbentVm(ipv6=n.addresses.ipv6),
        )
        for n in before
    ]
    changes = {c.node: c for c in node_changes(after, there)}
    assert {c.change for c in changes.values() if c.desired and c.desired.service == "controller"} == {Change.KEEP}
    assert changes["brokers-a-0"].reason == "brokers-a-0: a VM without IPv6 -> a VM with IPv6"
    assert {c.change for c in changes.values() if c.desired and c.desired.service == "broker"} == {Change.REPLACE}
