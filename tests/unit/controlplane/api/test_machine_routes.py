"""/v1/machines: what clouds sell, by this server's catalogue: narrowed, page by page, told where it is broken."""

from datetime import UTC, datetime
from typing import Any

import pytest

from providers.errors import PlaceUnknown
from providers.overrides import Overrides
from providers.price_list import CLOUDS, PriceList
from tests.unit.controlplane.api.portal_house import House

READ = "2026-11-23"


def region(machine: str) -> dict[str, Any]:
    price = {"value": "19.49", "currency": "EUR", "source": "page"}
    return {
        "sources": {"page": {"what": "a price page", "read": READ}},
        "machines": {machine: {"price_per_month": price}, "none-such": {"price_per_month": price}},
    }


PRICE_LIST = PriceList(
    Overrides.model_validate(
        {
            "hetzner": {"eu-central": region("ccx13"), "us-east": region("ccx13")},
            "aws": {"eu-west-1": region("m7g.large"), "eu-north-1": region("m7g.large")},
        }
    )
)


@pytest.fixture(scope="module")
def house() -> House:
    return House(prices=lambda: PRICE_LIST, now=datetime(2027, 3, 1, tzinfo=UTC))


def asked(house: House, **params: str | int) -> list[dict[str, Any]]:
    answer = house.client.get("/v1/machines", params=params)
    assert answer.status_code == 200, answer.text
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


def test_every_cloud_is_told_each_region_that_has_prices_an_item(house: House) -> None:
    told = [(item["cloud"], item["region"]) for item in asked(house)]
    assert told == [
        ("aws", "eu-north-1"),
        ("aws", "eu-west-1"),
        ("google", None),
        ("azure", None),
        ("digitalocean", None),
        ("upcloud", None),
        ("hetzner", "eu-central"),
        ("hetzner", "us-east"),
    ]


def test_a_price_says_where_it_is_from_and_how_old_it_is(house: House) -> None:
    (item,) = asked(house, cloud="hetzner", region="eu-central")
    machine = next(m for m in item["machines"] if m["type"] == "ccx13")
    assert machine["price_per_month"] == {
        "value": "19.49",
        "currency": "EUR",
        "source": "a price page",
        "read": READ,
        "age_days": 98,
        "old": True,
    }
    assert machine["price_per_hour"] is None
    assert "ccx13 price_per_month" in item["old"]
    assert item["unmatched"] == ["none-such"]


def test_a_region_without_prices_is_told_as_it_is_shipped(house: House) -> None:
    (item,) = asked(house, cloud="aws", region="us-east-1")
    assert item["machines"]
    assert not any(m["price_per_hour"] or m["price_per_month"] for m in item["machines"])


def test_page_by_page_the_list_is_the_same(house: House) -> None:
    walked: list[dict[str, Any]] = []
    while page := asked(house, limit=3, after=named(walked[-1]) if walked else ""):
        assert len(page) <= 3
        walked += page
    assert walked == asked(house)


def named(item: dict[str, Any]) -> str:
    return f"{item['cloud']}/{item['region']}" if item["region"] else str(item["cloud"])


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"cloud": "local"}, "place-unknown"),
        ({"cloud": "nobodys"}, "place-unknown"),
        ({"region": "mars-1"}, "place-unknown"),
        ({"cloud": "aws", "region": "eu-central"}, "place-unknown"),
        ({"after": "aws/mars-1"}, "after-unknown"),
        ({"limit": "0"}, "request-invalid"),
    ],
)
def test_what_makes_no_sense_is_refused(house: House, params: dict[str, str], code: str) -> None:
    answer = house.client.get("/v1/machines", params=params)
    assert (answer.status_code, answer.json()["code"]) == (422, code)


def test_a_catalogue_that_makes_no_sense_is_told_and_no_price_is_known() -> None:
    def broken() -> PriceList:
        raise PlaceUnknown("catalog.yaml: hetzner.eu-central: no such key")

    told = House(prices=broken).client.get("/v1/machines").json()
    assert told["problem"] == "catalog.yaml: hetzner.eu-central: no such key"
    assert [item["cloud"] for item in told["items"]] == list(CLOUDS)


def test_everybody_with_a_token_may_read_it_and_it_names_no_cluster(house: House) -> None:
    shown = house.client.post("/v1/tokens", json={"label": "prices", "role": "viewer", "scope": "team:search"}).json()
    theirs = house.client_with({"Authorization": f"Bearer {shown['text']}"}).get("/v1/machines")
    assert theirs.status_code == 200
    assert theirs.json() == house.client.get("/v1/machines").json()
