"""Agents of a rebuilt cluster enrol again with what they were born with, and are told nothing while it is held."""

import hashlib
from typing import Any

import httpx
import pytest
from pydantic import SecretBytes

from controlplane.api.auth import enrolment_token
from controlplane.storage.agent_credentials import Vm
from events import facts
from events.ids import IntentId
from tests.unit.controlplane.api.portal_house import House, broker, vm_of

SECRET = "s" * 64
DIGEST = hashlib.sha256(SECRET.encode()).hexdigest()
BORN = "intent-of-its-tag"


@pytest.fixture
def house() -> House:
    house = House()
    house.apply()
    adopted = facts.ClusterAdopted("the tags of 1 VM", 1003, (), {}, False)
    founded = facts.QuorumFounded("kafka", "4.1", ())
    vm = facts.InstanceAdopted(broker(), BORN, "vm-1", "127.64.0.9", "joined", 1, True, False)
    house.record(adopted, founded, vm)
    return house


def enrol(house: House, vm: Vm, *, secret: str = SECRET, intent: str = BORN, key: str = "server key") -> int:
    request: dict[str, Any] = {
        "cluster_uid": vm.cluster_uid,
        "node": vm.node,
        "generation": vm.generation,
        "intent_id": intent,
        "token": enrolment_token(SecretBytes(key.encode()), IntentId(intent)),
        "credential_sha256": hashlib.sha256(secret.encode()).hexdigest(),
    }
    return house.client_with({}).post("/agent/v1/enrol", json=request).status_code


def ask(house: House, vm: Vm) -> httpx.Response:
    where: dict[str, str | int] = {"cluster": vm.cluster_uid, "node": vm.node, "generation": vm.generation}
    return house.agent(vm, SECRET).get("/agent/v1/document", params=where)


def vm(house: House) -> Vm:
    return vm_of(house.view(), broker())


def test_an_agent_nobody_knows_any_more_is_not_trusted_and_enrols_again(house: House) -> None:
    assert ask(house, vm(house)).status_code == 401
    assert enrol(house, vm(house)) == 200
    assert house.credentials.recognise(vm(house), DIGEST)


@pytest.mark.parametrize(
    "wrong",
    [{"intent": "another-intent"}, {"key": "another key"}],
    ids=["another-vm", "another-server-key"],
)
def test_only_the_token_it_was_born_with_lets_it_in(house: House, wrong: dict[str, Any]) -> None:
    assert enrol(house, vm(house), **wrong) == 403
    assert house.credentials.get(vm(house)) is None


def test_the_first_credential_wins_and_the_window_is_an_hour(house: House) -> None:
    assert enrol(house, vm(house)) == 200
    assert enrol(house, vm(house), secret="t" * 64) == 403
    late = House()
    late.apply()
    late.record(
        facts.ClusterAdopted("tags", 1003, (), {}, False),
        facts.InstanceAdopted(broker(), BORN, "vm-1", "127.64.0.9", "joined", 1, True, False),
    )
    late.pass_time(hours=1, seconds=1)
    assert enrol(late, vm(late)) == 403


def test_while_the_cluster_is_held_its_agents_are_told_nothing(house: House) -> None:
    enrol(house, vm(house))
    assert ask(house, vm(house)).status_code == 404, "the agent keeps what runs, and asks again"
    assert house.client.get("/v1/clusters/orders").json()["status"] == "Held"


def test_once_it_is_resumed_they_are_told_what_runs(house: House) -> None:
    enrol(house, vm(house))
    answer = house.client.post("/v1/clusters/orders/resume", json={"reason": "looked at it"})
    assert answer.json()["changed"]
    told = ask(house, vm(house)).json()
    assert (told["services"][0]["state"], told["services"][0]["start_id"]) == ("running", "brokers-a-0.g1-1")
    assert house.client.get("/v1/clusters/orders").json()["status"] != "Held"


def test_a_held_cluster_is_not_deleted_by_name_alone(house: House) -> None:
    refused = house.client.post("/v1/clusters/orders/delete", json={"confirm": "orders", "reason": ""})
    assert (refused.status_code, refused.json()["code"]) == (409, "held")
