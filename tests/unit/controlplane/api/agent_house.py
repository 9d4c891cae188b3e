"""The agent of one VM, as it calls a house of the tests."""

import hashlib
from typing import Any

import httpx

from controlplane.api.auth import enrolment_token
from controlplane.storage.agent_credentials import Vm
from events import facts
from events.ids import IntentId
from tests.unit.controlplane.api.portal_house import House, broker, vm_of

CREDENTIAL = "c" * 64
DIGEST = hashlib.sha256(CREDENTIAL.encode()).hexdigest()
OTHER_DIGEST = hashlib.sha256(b"other").hexdigest()


def enrolment(house: House, vm: Vm, **changes: object) -> dict[str, Any]:
    token = enrolment_token(house.services.access.installation.server_key, IntentId("intent-1"))
    return {
        "cluster_uid": vm.cluster_uid,
        "node": vm.node,
        "generation": vm.generation,
        "intent_id": "intent-1",
        "token": token,
        "credential_sha256": DIGEST,
        **changes,
    }


def enrol(house: House, vm: Vm, **changes: object) -> httpx.Response:
    return house.client_with({}).post("/agent/v1/enrol", json=enrolment(house, vm, **changes))


def enrolled(house: House, planned: facts.PlannedInstance | None = None) -> Vm:
    planned = planned or broker()
    vm = vm_of(house.launch(planned), planned)
    assert enrol(house, vm).status_code == 200
    return vm


def ask(house: House, vm: Vm, *, etag: str = "", wait_s: float = 0.0, **changes: object) -> httpx.Response:
    params = {"cluster": vm.cluster_uid, "node": vm.node, "generation": vm.generation, "etag": etag, "wait_s": wait_s}
    return house.agent(vm, CREDENTIAL).get("/agent/v1/document", params={**params, **changes})  # type: ignore[arg-type]


def etag_of(response: httpx.Response) -> str:
    return response.headers["etag"].strip('"')
