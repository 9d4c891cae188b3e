"""/v1/agents and its page: publishing, who may, and what is told of clusters that are others'."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from pydantic import SecretBytes

from controlplane.api.access.bindings import Binding
from controlplane.api.access.rights import Forbidden, rights_of
from controlplane.api.access.roles import Role
from controlplane.api.scoped.services import scoped
from controlplane.background.agent_upgrades.reconciler import AgentUpgradeReconciler
from controlplane.background.agent_upgrades.service import AgentReleaseService
from controlplane.background.agent_upgrades.signing import AgentSigner
from controlplane.portal.app import create_app
from events.ids import Epoch
from tests.unit.controlplane.api.portal_house import House, broker
from tests.unit.events.spec_texts import ORDERS

A_BUILD = {
    "platform": "cp311-x86_64",
    "url": "https://mirror.example/kedge-agent-0.2.0-cp311-x86_64.tar.gz",
    "sha256": "ab" * 32,
    "size_bytes": 9_000_000,
}
RELEASE = {"version": "0.2.0", "builds": [A_BUILD], "notes": "quicker"}


@pytest.fixture
def house() -> House:
    """A server with the cluster `orders` and nothing published."""
    house = House()
    reconciler = AgentUpgradeReconciler(
        house.store,
        house.services.cluster.latest,
        house.converger,
        lambda: Epoch(1),
        lambda: house.now,
        soak=timedelta(0),
        at_once=2,
    )
    house.services = replace(
        house.services,
        fleet=replace(house.services.fleet, agents=AgentReleaseService(reconciler, AgentSigner(SecretBytes(b"k")))),
    )
    house.app = create_app(house.services)
    house.client = house.client_with(dict(house.client.headers))
    house.apply(ORDERS)
    house.join(broker())
    return house


def test_what_is_published_is_listed_with_every_vm(house: House) -> None:
    assert house.client.get("/v1/agents").json()["wanted"] == ""
    done = house.client.post("/v1/agents", json=RELEASE)
    assert "agent 0.2.0 is published for cp311-x86_64" in done.json()["sentence"], done.text
    told = house.client.get("/v1/agents").json()
    assert (told["wanted"], told["releases"][0]["notes"]) == ("0.2.0", "quicker")
    (cluster,) = told["clusters"]
    assert cluster["name"] == "orders"
    assert {vm["state"] for vm in cluster["vms"]} == {"silent"}
    assert "Every VM is to run agent" in house.client.get("/agents").text


@pytest.mark.parametrize(
    "wrong",
    [
        {"builds": []},
        {"version": "../0.2.0"},
        {"builds": [{**A_BUILD, "sha256": "no"}]},
        {"builds": [A_BUILD, A_BUILD]},
    ],
)
def test_what_makes_no_sense_is_refused_and_changes_nothing(house: House, wrong: dict[str, Any]) -> None:
    head = house.store.head()
    assert house.client.post("/v1/agents", json=RELEASE | wrong).status_code in (409, 422)
    assert house.store.head() == head


def test_withdrawn_and_resumed_by_the_api(house: House) -> None:
    house.client.post("/v1/agents", json=RELEASE)
    assert "withdrawn" in house.client.post("/v1/agents/0.2.0/withdraw", json={"reason": "bad"}).json()["sentence"]
    assert house.client.post("/v1/agents/9.9.9/withdraw", json={}).status_code == 409
    assert "goes on" in house.client.post("/v1/agents/resume", json={"reason": "back"}).json()["sentence"]
    assert house.client.get("/v1/agents").json()["releases"][0]["withdrawn"] == "bad"


def test_only_administrators_publish_and_others_see_their_clusters_alone(house: House) -> None:
    house.client.post("/v1/agents", json=RELEASE)
    rights = rights_of("user:eve", [Binding("user:eve", Role.OPERATOR, "cluster=other")])
    service = scoped(house.services, rights).fleet.agents
    assert service.status().clusters == ()
    for refused in (
        lambda: service.publish("0.3.0", [], notes="", actor="user:eve", command_id="a"),
        lambda: service.withdraw("0.2.0", reason="", actor="user:eve", command_id="b"),
        lambda: service.resume(reason="", actor="user:eve", command_id="c"),
    ):
        with pytest.raises(Forbidden):
            refused()
