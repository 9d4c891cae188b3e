"""Two racks that are really gone: an owner says so by the API or on the page, and what lives refuses it."""

import re

import pytest

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from events import facts
from tests.unit.controlplane.api.portal_house import House
from tests.unit.controlplane.api.test_api_tokens import ADMIN, program, token_of
from tests.unit.controlplane.portal.test_portal_broker_page import report
from tests.unit.controlplane.portal.test_portal_roles_matrix import house_with_orders

OWNER, OPERATOR = Binding("", Role.OWNER, "*"), Binding("", Role.OPERATOR, "*")
ORDER = {"racks": ["a", "b"], "confirm": "orders", "reason": "fire"}
KEYS = ("brokers-a-0.g1", "brokers-b-0.g1")
ADDRESS = "/v1/clusters/orders/losses"


@pytest.fixture
def doubting() -> House:
    house = house_with_orders()
    house.record(facts.LossesDoubted(KEYS, ("a", "b")))
    return house


def test_an_owner_confirms_and_an_operator_may_not(doubting: House) -> None:
    operator = program(doubting, token_of(doubting, ADMIN, role="operator", scope="*"))
    assert operator.post(ADDRESS, json=ORDER).status_code == 403
    done = program(doubting, token_of(doubting, ADMIN, role="owner", scope="*")).post(ADDRESS, json=ORDER)
    assert done.status_code == 200
    assert done.json()["sentence"] == "brokers-a-0.g1, brokers-b-0.g1 of orders are taken for gone as long as the " + (
        "cloud says so"
    )
    assert doubting.view().vms.losses.confirmed == frozenset(KEYS)


def test_what_is_not_in_doubt_or_not_typed_out_is_refused(doubting: House) -> None:
    wrong = doubting.client.post(ADDRESS, json={**ORDER, "confirm": "order"})
    assert (wrong.status_code, wrong.json()["code"]) == (409, "name-mismatch")
    assert doubting.client.post(ADDRESS, json={**ORDER, "racks": []}).status_code == 422
    doubting.record(facts.LossesDoubted((), ()))
    calm = doubting.client.post(ADDRESS, json=ORDER)
    assert (calm.status_code, calm.json()["code"]) == (409, "nothing-doubted")


def test_an_agent_that_speaks_refuses_it_through_the_api(doubting: House) -> None:
    report(doubting, 1001)
    refused = doubting.client.post(ADDRESS, json=ORDER)
    assert (refused.status_code, refused.json()["code"]) == (409, "agents-heard")
    assert doubting.client.post(ADDRESS, json={**ORDER, "racks": ["a"]}).status_code == 200


def test_the_page_says_what_would_be_lost_and_wants_the_name(doubting: House) -> None:
    ada = doubting.browser("ada", OWNER)
    assert 'href="/clusters/orders/losses"' in ada.get("/clusters/orders").text
    assert 'href="/clusters/orders/losses"' not in doubting.browser("eli", OPERATOR).get("/clusters/orders").text
    page = ada.get("/clusters/orders/losses").text
    assert "brokers-a-0.g1, brokers-b-0.g1" in page
    (seen,) = re.findall(r'name="seen" value="([0-9a-f]{64})"', page)
    assert ada.post("/clusters/orders/losses", data={"seen": seen, "confirm": "order"}).status_code == 422
    assert not doubting.view().vms.losses.confirmed
    assert ada.post("/clusters/orders/losses", data={"seen": seen, "confirm": "orders"}).status_code == 303
    assert doubting.view().vms.losses.confirmed == frozenset(KEYS)


def test_a_yes_to_other_vms_than_those_on_the_page_records_nothing(doubting: House) -> None:
    ada = doubting.browser("ada", OWNER)
    (seen,) = re.findall(r'name="seen" value="([0-9a-f]{64})"', ada.get("/clusters/orders/losses").text)
    doubting.record(facts.LossesDoubted((*KEYS, "brokers-c-0.g1"), ("a", "b", "c")))
    assert ada.post("/clusters/orders/losses", data={"seen": seen, "confirm": "orders"}).status_code == 409
    assert not doubting.view().vms.losses.confirmed
