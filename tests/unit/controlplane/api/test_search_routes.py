"""/v1/search and /v1/fleet: what the search and the list of the portal show, as far as the caller may read it."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from tests.unit.controlplane.api.portal_house import House
from tests.unit.controlplane.api.test_api_tokens import ADMIN, program, token_of
from tests.unit.controlplane.api.test_topic_search import two_clusters
from tests.unit.controlplane.portal.test_portal_roles_matrix import house_with_orders


def found(client: TestClient, **asked: str) -> dict[str, Any]:
    answer = client.get("/v1/search", params=asked)
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


def ids(told: dict[str, Any]) -> list[str]:
    return [one["id"] for one in told["found"]]


def ours(house: House, role: str = "viewer", scope: str = "team:payments") -> TestClient:
    return program(house, token_of(house, ADMIN, role=role, scope=scope))


def test_clusters_vms_and_topics_are_found_in_every_cluster() -> None:
    house = two_clusters()
    told = found(house.client, q="payments")
    assert ids(told) == ["topic/ledger/payments", "topic/orders/payments", "topic/orders/late-payments"]
    assert (told["things"], told["topics"], told["cut"], told["unread"]) == (0, 3, False, 0)
    (cluster,) = [one for one in found(house.client, q="ledger")["found"] if one["kind"] == "cluster"]
    assert cluster["page"] == "/clusters/ledger"
    (broker,) = [one for one in found(house.client, q="1001")["found"] if one["kind"] == "broker 1001"]
    assert (broker["cluster"], broker["page"]) == ("orders", "/clusters/orders/brokers/1001")
    assert broker["id"] == f"vm/orders/{broker['name']}"


def test_what_it_finds_is_what_the_page_finds() -> None:
    house = two_clusters()
    page = house.browser("bob", Binding("", Role.ADMIN, "*")).get("/search?q=pay").text
    for one in found(house.client, q="pay")["found"]:
        assert f'href="{one["page"]}"' in page


def test_what_one_may_not_read_is_neither_found_nor_counted() -> None:
    house = two_clusters()
    told = found(ours(house), q="pay")
    assert {one["cluster"] for one in told["found"]} == {"orders"}
    assert told["topics"] == 2
    assert found(ours(house, scope="team:nobody"), q="pay")["topics"] == 0
    assert found(ours(house), q="ledger")["found"] == []


def test_it_comes_in_pages_and_each_thing_once() -> None:
    house = two_clusters()
    whole = ids(found(house.client, q="a"))
    assert len(whole) > 4
    told: list[str] = []
    while page := ids(found(house.client, q="a", limit="2", after=told[-1] if told else "")):
        told += page
    assert told == whole
    assert house.client.get("/v1/search", params={"q": "a", "after": "topic/x/y"}).json()["code"] == "after-unknown"


def test_a_regular_expression_and_what_was_not_read_are_told_as_on_the_page() -> None:
    house = two_clusters()
    assert found(house.client, q="/^payments$/")["topics"] == 2
    assert "alternatives are not offered" in found(house.client, q="/pay|led/")["refused"]
    assert found(house_with_orders().client, q="payments")["unread"] == 1
    assert found(house.client)["found"] == [], "nothing is found for an empty text"


def test_the_fleet_has_what_the_list_shows() -> None:
    house = two_clusters()
    told = house.client.get("/v1/fleet").json()
    assert [row["cluster"]["name"] for row in told["clusters"]] == ["ledger", "orders"]
    assert told["total"] == 2
    row = told["clusters"][1]
    assert (row["team"], row["environment"], row["under_replicated"], row["leaderless"]) == ("payments", "prod", 0, 0)
    page = house.browser("bob", Binding("", Role.ADMIN, "*")).get("/").text
    for row in told["clusters"]:
        assert row["health"]["word"] in page
        assert row["sync"]["word"] in page


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ({"q": "prod"}, ["orders"]),
        ({"q": "search"}, ["ledger"]),
        ({"health": "Progressing"}, ["ledger", "orders"]),
        ({"health": "Nothing"}, []),
        ({"limit": "1"}, ["ledger"]),
        ({"limit": "1", "after": "ledger"}, ["orders"]),
    ],
)
def test_the_fleet_is_filtered_and_paged(asked: dict[str, str], names: list[str]) -> None:
    told = two_clusters().client.get("/v1/fleet", params=asked).json()
    assert [row["cluster"]["name"] for row in told["clusters"]] == names


def test_the_fleet_of_somebody_is_theirs() -> None:
    told = ours(two_clusters()).get("/v1/fleet").json()
    assert ([row["cluster"]["name"] for row in told["clusters"]], told["total"]) == (["orders"], 1)
