"""A VM that somebody else may have: from the recorded event on nobody recognises it, and nothing is signed for it."""

import re

import pytest

from agent.certification import signing_request
from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.api.node_certificates import NotYet
from controlplane.storage.agent_credentials import Vm
from tests.unit.controlplane.api.agent_house import CREDENTIAL, enrol
from tests.unit.controlplane.api.portal_house import House, broker
from tests.unit.controlplane.api.test_node_certificates import ask, tls_vm

OWNER, OPERATOR = Binding("", Role.OWNER, "*"), Binding("", Role.OPERATOR, "*")
PAGE = f"/clusters/orders/certificates/{broker().key}/revoke"


@pytest.fixture(params=["by the routes", "by what is in memory"])
def house(request: pytest.FixtureRequest) -> House:
    return House(remembers_agents=request.param == "by what is in memory")


def asks_for_its_document(house: House, vm: Vm) -> int:
    asked = {"cluster": vm.cluster_uid, "node": vm.node, "generation": str(vm.generation)}
    return house.agent(vm, CREDENTIAL).get("/agent/v1/document", params=asked).status_code


def revoke(house: House) -> None:
    order = {"node": broker().node, "reason": "stolen", "confirm": "orders"}
    answer = house.client.post("/v1/clusters/orders/revoke-certificates", json=order)
    assert answer.status_code == 200, answer.text


def test_who_was_known_a_moment_ago_is_nobody_at_once(house: House) -> None:
    vm = tls_vm(house)
    assert [asks_for_its_document(house, vm) for _ in range(2)] == [200, 200]
    assert ask(house, vm).status_code == 200
    house.pass_time(seconds=10)
    revoke(house)
    assert asks_for_its_document(house, vm) == 401
    assert ask(house, vm).status_code == 401
    body = {"cluster_uid": vm.cluster_uid, "node": vm.node, "generation": 1, "csr": signing_request().csr_pem}
    assert house.agent(vm, CREDENTIAL).post("/agent/v1/certificate", json=body).status_code == 401
    assert enrol(house, vm).status_code == 403, "its first token brings nothing back"
    assert house.credentials.get(vm) is not None
    assert len([r for r in house.store.read_stream(f"cluster-{vm.cluster_uid}") if r.type == "certificate.issued"]) == 1


def test_a_signature_that_was_on_its_way_is_given_to_nobody(house: House) -> None:
    vm = tls_vm(house)
    before = house.view()
    revoke(house)
    signs = house.services.access.node_certificates
    assert signs is not None
    with pytest.raises(NotYet, match="revoked"):
        signs.certify(before, before.instances[broker().key], signing_request().csr_pem, epoch=house.lead.epoch)  # type: ignore[arg-type]
    assert not [r for r in house.store.read_stream(f"cluster-{vm.cluster_uid}") if r.type == "certificate.issued"]


def test_a_page_says_the_plan_and_wants_the_name_and_a_reason(house: House) -> None:
    assert ask(house, tls_vm(house)).status_code == 200
    ada = house.browser("ada", OWNER)
    assert f'href="{PAGE}"' in ada.get("/clusters/orders/certificates").text
    assert PAGE not in house.browser("eli", OPERATOR).get("/clusters/orders/certificates").text
    page = ada.get(PAGE).text
    assert "Kafka asks no revocation list" in page
    (seen,) = re.findall(r'name="seen" value="([0-9a-f]{64})"', page)
    assert ada.post(PAGE, data={"seen": seen, "confirm": "order", "reason": "stolen"}).status_code == 422
    assert "A reason is needed" in ada.post(PAGE, data={"seen": seen, "confirm": "orders"}).text
    assert not house.view().vms.revoked
    assert ada.post(PAGE, data={"seen": seen, "confirm": "orders", "reason": "stolen"}).status_code == 303
    assert house.view().vms.revoked.keys() == {broker().key}
    assert "revoked" in ada.get("/clusters/orders/certificates").text


def test_the_event_names_who_and_why(house: House) -> None:
    vm = tls_vm(house)
    revoke(house)
    last = house.store.read_stream(f"cluster-{vm.cluster_uid}")[-1]
    assert last.type == "certificates.revoked"
    assert last.data["reason"].endswith(": stolen")
