"""A public address is held to what a cloud gives, where it is written; a node that gets or loses it is another VM."""

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
ASKED = {20: "      machine: medium\n      publicAddress: true"}


def problems(text: str, service: str = "broker") -> list[Problem]:
    """Of a spec with one kind of its nodes asking for public addresses."""
    before, services, after = text.partition(f"services: [{service}]")
    assert services
    loaded = load_documents(f"{before}{services}\n      publicAddress: true{after}".encode(), file="orders.yaml")
    assert loaded.ok, loaded.problems
    view = replace(ClusterView(ClusterUid("c0ffee")), name="orders-prod")
    found = admission_problems(view, loaded.documents[0], positions=loaded.positions[0], snapshot=None)
    return [one for one in found if one.code == "KEDGE-SPEC-140"]


def example(cloud: str) -> str:
    return (EXAMPLES / f"{cloud}-orders.yaml").read_text()


@pytest.mark.parametrize("cloud", ["aws", "google", "azure", "hetzner", "upcloud"])
def test_brokers_of_a_cloud_that_gives_them_may_ask_for_public_addresses(cloud: str) -> None:
    assert problems(example(cloud)) == []


def test_digitalocean_says_where_it_is_written_that_each_vm_has_one() -> None:
    (found,) = problems(example("digitalocean"))
    assert found.severity == "error"
    assert "each VM of DigitalOcean has a public address already" in found.message
    assert found.path.endswith("publicAddress")


def test_the_local_cloud_says_that_it_has_none() -> None:
    (found,) = problems((EXAMPLES / "orders.yaml").read_text())
    assert "VMs of `local` are processes of one machine" in found.message


@pytest.mark.parametrize(
    ("cloud", "refused"), [("aws", 0), ("google", 0), ("hetzner", 0), ("upcloud", 0), ("azure", 1)]
)
def test_a_controller_has_none_where_its_network_interface_outlives_its_vm(cloud: str, refused: int) -> None:
    assert len(problems(example(cloud), "controller")) == refused


def test_a_node_that_gets_one_is_made_anew_and_told_why() -> None:
    before, after = desired_nodes(document()), desired_nodes(document(ASKED))
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
            vm=IncumbentVm(public_address=n.addresses.public),
        )
        for n in before
    ]
    changes = {c.node: c for c in node_changes(after, there)}
    assert {c.change for c in changes.values() if c.desired and c.desired.service == "controller"} == {Change.KEEP}
    assert changes["brokers-a-0"].reason == "brokers-a-0: a VM without a public address -> a VM with a public address"
    assert {c.change for c in changes.values() if c.desired and c.desired.service == "broker"} == {Change.REPLACE}
