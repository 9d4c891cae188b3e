"""/v1/clusters/NAME/rebalance: recorded once, refused with a reason, shown with the cluster, ended by a cancel."""

import pytest

from tests.unit.controlplane.api.portal_house import House, brokers_as_declared, three_brokers

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


@pytest.fixture
def settled() -> House:
    """A cluster with no roll to come, which would take brokers away."""
    house = House()
    house.apply()
    house.join(*brokers_as_declared(house.view()))
    return house


def test_the_brokers_that_alone_receive_are_recorded_and_shown(settled: House) -> None:
    answer = settled.client.post(PATH, json={"targets": [1002, 1001, 1002]})
    assert "move onto 1001, 1002 and no other broker" in answer.json()["sentence"]
    assert settled.client.get("/v1/clusters/orders").json()["rebalance"]["onto"] == [1001, 1002]


@pytest.mark.parametrize(("targets", "code"), [([1009], "not-a-target"), ([1000, 1001, 1002], "nobody-gives")])
def test_brokers_that_cannot_be_chosen_are_refused_and_nothing_is_recorded(
    settled: House, targets: list[int], code: str
) -> None:
    answer = settled.client.post(PATH, json={"targets": targets})
    assert (answer.status_code, answer.json()["code"]) == (409, code)
    looked = settled.client.post("/v1/clusters/orders/moves/plan", json={"kind": "rebalance", "targets": targets})
    assert (looked.status_code, looked.json()["code"]) == (409, code)
    assert settled.view().moves.rebalance is None


def test_a_second_one_is_refused_and_a_repeated_request_is_not(house: House) -> None:
    for _ in range(2):
        assert house.client.post(PATH, json={}, headers={"Idempotency-Key": "k1"}).status_code == 200
    answer = house.client.post(PATH, json={})
    assert (answer.status_code, answer.json()["code"]) == (409, "rebalance-running")


def test_a_cancel_marks_it_and_there_is_nothing_to_cancel_without_one(house: House) -> None:
    assert house.client.post(f"{PATH}/cancel", json={}).json()["code"] == "no-rebalance"
    house.client.post(PATH, json={})
    assert house.client.post(f"{PATH}/cancel", json={"reason": "no"}).json()["changed"]
    assert house.view().moves.rebalance.cancelled.endswith(": no")  # type: ignore[union-attr]


def test_an_abort_ends_it_too(house: House) -> None:
    house.client.post(PATH, json={})
    assert house.client.post("/v1/clusters/orders/abort", json={"reason": "no"}).json()["changed"]
    assert house.view().moves.rebalance.cancelled == "no"  # type: ignore[union-attr]


@pytest.mark.parametrize("body", [{"per_day_gib": 0}, {"per_day_gib": "much"}, {"goals": "all"}, {"targets": "all"}])
def test_a_body_that_makes_no_sense_changes_nothing(house: House, body: dict[str, object]) -> None:
    assert house.client.post(PATH, json=body).status_code == 422
    assert house.view().moves.rebalance is None
