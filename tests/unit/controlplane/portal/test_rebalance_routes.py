"""/v1/clusters/NAME/rebalance: recorded once, refused with a reason, shown with the cluster, ended by a cancel."""

import pytest

from tests.unit.controlplane.portal.portal_house import House, three_brokers

PATH = "/v1/clusters/orders/rebalance"


@pytest.fixture
def house() -> House:
    house = House()
    house.apply()
    house.join(*three_brokers())
    return house


def test_a_rebalance_is_recorded_with_who_asked_and_shown(house: House) -> None:
    person = house.client_with({**house.client.headers, "X-Kedge-Actor": "anna"})
    answer = person.post(PATH, json={"reason": "it grew", "per_day_gib": 5})
    assert (answer.status_code, answer.json()["changed"]) == (200, True), answer.text
    shown = house.client.get("/v1/clusters/orders").json()["rebalance"]
    assert (shown["cause"], shown["reason"], shown["batch"]) == ("person", "asked by anna: it grew", -1)
    assert shown["per_day_bytes"] == 5 * 1024**3
    assert house.client.get("/v1/clusters/orders/rolls").json()["rebalance"] == shown
    assert house.view().uid in house.woken


def test_a_second_one_is_refused_and_a_repeated_request_is_not(house: House) -> None:
    for _ in range(2):
        assert house.client.post(PATH, json={}, headers={"Idempotency-Key": "k1"}).status_code == 200
    answer = house.client.post(PATH, json={})
    assert (answer.status_code, answer.json()["code"]) == (409, "rebalance-running")


def test_a_cancel_marks_it_and_there_is_nothing_to_cancel_without_one(house: House) -> None:
    assert house.client.post(f"{PATH}/cancel", json={}).json()["code"] == "no-rebalance"
    house.client.post(PATH, json={})
    assert house.client.post(f"{PATH}/cancel", json={"reason": "no"}).json()["changed"]
    assert house.view().rebalance.cancelled.endswith(": no")  # type: ignore[union-attr]


def test_an_abort_ends_it_too(house: House) -> None:
    house.client.post(PATH, json={})
    assert house.client.post("/v1/clusters/orders/abort", json={"reason": "no"}).json()["changed"]
    assert house.view().rebalance.cancelled == "no"  # type: ignore[union-attr]


@pytest.mark.parametrize("body", [{"per_day_gib": 0}, {"per_day_gib": "much"}, {"goals": []}])
def test_a_body_that_makes_no_sense_changes_nothing(house: House, body: dict[str, object]) -> None:
    assert house.client.post(PATH, json=body).status_code == 422
    assert house.view().rebalance is None
