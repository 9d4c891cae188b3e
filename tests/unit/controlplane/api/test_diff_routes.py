"""/v1/clusters/NAME/diff, /compare and /generations/N: what differs, as the pages show it."""

from typing import Any

import pytest
import yaml

from tests.unit.controlplane.api.portal_house import House
from tests.unit.controlplane.api.test_api_tokens import ADMIN
from tests.unit.controlplane.api.test_reported_settings import house_with_reports
from tests.unit.controlplane.background.git_sync.git_house import LARGER
from tests.unit.controlplane.portal.test_portal_roles_matrix import house_with_orders


@pytest.fixture
def house() -> House:
    house = house_with_orders()
    house.apply(LARGER.replace("name: orders", "name: orders\n  owner: payments"))
    return house


def told(house: House, tail: str, **asked: str) -> dict[str, Any]:
    answer = house.client.get(f"/v1/clusters/orders/{tail}", params=asked)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_what_differs_is_what_the_page_counts(house: House) -> None:
    found = told(house, "diff")
    page = house.browser("ada", ADMIN).get("/clusters/orders/diff").text
    assert f"{found['differ']} differ" in page
    assert f"all {found['differ'] + found['same']}" in page
    assert len(found["fields"]) == found["differ"] > 0
    assert not [f for f in found["fields"] if f["same"]]
    whole = told(house, "diff", unchanged="true")["fields"]
    assert len(whole) == found["differ"] + found["same"]
    assert {f["id"] for f in whole} >= {"cluster/generation", "brokers-a-0/rack"}
    assert found["pending"], "what is left to do is there"
    assert found["metadata_age_s"] is None


def test_fields_come_in_pages(house: House) -> None:
    whole = [f["id"] for f in told(house, "diff", unchanged="true")["fields"]]
    assert len(set(whole)) == len(whole)
    seen: list[str] = []
    while page := told(house, "diff", unchanged="true", limit="7", after=seen[-1] if seen else "")["fields"]:
        seen += [f["id"] for f in page]
    assert seen == whole


def test_brokers_are_asked_when_that_is_asked_for_and_silence_is_told() -> None:
    house = house_with_reports()
    house.kafka.outage = True
    assert (told(house, "diff")["reported"], told(house, "diff")["reported_unknown"]) == ([], "")
    assert told(house, "diff", ask="true")["reported_unknown"], "no broker answers"
    house.kafka.outage = False
    house.kafka.settings.by_hand(1001, "num.io.threads", "12")
    house.pass_time(seconds=30)
    (row,) = told(house, "diff", ask="true")["reported"]
    assert (row["name"], row["declared"], row["word"]) == ("num.io.threads", "8", "differs")
    assert row["runs"] == {"8": [1000], "12": [1001]}


def test_a_generation_is_told_as_it_was_declared(house: House) -> None:
    first = told(house, "generations/1")
    assert (first["generation"], first["in_force"], first["declared_by"]) == (1, False, "person:local")
    assert yaml.safe_load(first["text"]) == first["document"]
    assert first["document"]["metadata"]["name"] == "orders"
    assert told(house, "generations/2")["in_force"]
    answer = house.client.get("/v1/clusters/orders/generations/9")
    assert (answer.status_code, answer.json()["code"]) == (404, "generation-not-found")


def test_two_generations_are_compared_as_on_the_page(house: House) -> None:
    last = told(house, "compare")
    assert (last["old"], last["new"], last["total"]) == (1, 2, len(last["changes"]))
    assert last["changes"]
    page = house.browser("ada", ADMIN).get("/clusters/orders/compare").text
    for change in last["changes"]:
        assert change["path"] in page
    assert told(house, "compare", old="2", new="2")["changes"] == []
    back = told(house, "compare", old="2", new="1")["changes"]
    assert [(c["old"], c["new"]) for c in back] == [(c["new"], c["old"]) for c in last["changes"]]
    answer = house.client.get("/v1/clusters/orders/compare", params={"old": "9"})
    assert (answer.status_code, answer.json()["code"]) == (404, "generation-not-found")
