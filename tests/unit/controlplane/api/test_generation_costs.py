"""What each generation costs a month, by today's prices, and how that differs from the one before: API and History."""

from datetime import UTC, datetime

import pytest
from fastapi.testclient import TestClient

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from providers.errors import PlaceUnknown
from providers.price_list import PriceList
from tests.unit.controlplane.api.portal_house import House
from tests.unit.controlplane.api.test_plan_costs import ON_AWS
from tests.unit.controlplane.price_pages import aws_page, price_list
from tests.unit.events.spec_texts import ORDERS

PATH = "/v1/clusters/orders/generations"
TODAY = datetime(2026, 2, 1, tzinfo=UTC)


def house_with(*texts: str, prices: PriceList | None = None) -> House:
    known = price_list() if prices is None else prices
    house = House(prices=lambda: known)
    house.now = TODAY
    for text in texts:
        house.apply(text)
    return house


def told(house: House, **asked: int) -> list[tuple[int, list[str], int | None, list[str] | None]]:
    answer = house.client.get(PATH, params=asked)
    assert answer.status_code == 200, answer.text
    return [
        (
            g["generation"],
            [f"{m['amount']} {m['currency']}" for m in g["bill"]["totals"]] if g["bill"] else [],
            g["before"],
            None if g["difference"] is None else [f"{m['amount']} {m['currency']}" for m in g["difference"]],
        )
        for g in answer.json()["generations"]
    ]


def larger() -> str:
    """With twice the brokers."""
    at = ON_AWS.index("name: brokers")
    return ON_AWS[:at] + ON_AWS[at:].replace("size: 3", "size: 6", 1)


def test_each_generation_has_its_cost_and_the_difference_to_the_one_before() -> None:
    house = house_with(ON_AWS, larger(), ON_AWS)
    # 3 brokers more: 3 x 0.10 x 730 + 300 GiB x 0.08.
    assert told(house) == [
        (3, ["464.40 USD"], 2, ["-243.00 USD"]),
        (2, ["707.40 USD"], 1, ["243.00 USD"]),
        (1, ["464.40 USD"], None, None),
    ]


def test_the_oldest_that_is_told_has_its_difference_too() -> None:
    house = house_with(ON_AWS, larger())
    assert told(house, limit=1) == [(2, ["707.40 USD"], 1, ["243.00 USD"])]
    page = house.client.get("/v1/clusters/orders/generations", params={"limit": 1})
    behind = house.client.get(page.links["next"]["url"])
    assert [g["generation"] for g in behind.json()["generations"]] == [1]
    assert "link" not in behind.headers
    assert house.client.get(PATH, params={"limit": 1}).json()["total"] == 2


def test_all_of_them_are_by_todays_prices_and_it_says_of_which_day() -> None:
    house = house_with(ON_AWS)
    house.pass_time(days=200)
    answer = house.client.get(PATH).json()
    assert answer["prices_of"] == "2026-08-20"
    assert answer["generations"][0]["declared_at"].startswith("2026-02-01")
    assert answer["generations"][0]["bill"]["parts"][0]["read"] == "2026-01-01"
    assert answer["old"] == ["a price page (read 2026-01-01)"]


def test_a_part_nobody_has_a_price_of_stays_unknown_and_with_it_the_difference() -> None:
    house = house_with(ON_AWS, larger(), prices=price_list(aws_page(disks={})))
    assert told(house)[0] == (2, ["657.00 USD"], 1, None)
    unknown = house.client.get(PATH).json()["generations"][0]["bill"]["unknown"]
    assert "brokers: 6 x 100 GiB persistent (aws eu-west-1)" in unknown


def test_without_any_price_nothing_is_counted_as_0() -> None:
    house = house_with(ON_AWS, larger(), prices=PriceList())
    assert told(house) == [(2, [], 1, None), (1, [], None, None)]
    assert all(g["bill"]["unknown"] for g in house.client.get(PATH).json()["generations"])


def test_where_nothing_is_sold_there_is_no_bill_and_no_table() -> None:
    house = house_with(ORDERS)
    assert house.client.get(PATH).json()["generations"][0]["bill"] is None
    assert 'id="costs"' not in browser(house).get("/clusters/orders/history").text


def test_the_history_shows_them_and_says_whose_prices_they_are() -> None:
    text = browser(house_with(ON_AWS, larger())).get("/clusters/orders/history").text
    costs = text.partition('id="costs"')[2].partition("</details>")[0]
    assert "Costs of 2 generations, by the prices of 2026-02-01" in costs
    assert "not by that of the day it was declared" in costs
    assert "707.40 USD" in costs
    assert "+243.00 USD" in costs


def test_the_history_names_what_is_unknown_and_why_no_price_was_read() -> None:
    house = house_with(ON_AWS, larger(), prices=price_list(aws_page(disks={})))
    text = browser(house).get("/clusters/orders/history").text
    assert "at least 657.00 USD, without price: data disks (9)" in text
    assert "brokers: 6 x 100 GiB persistent (aws eu-west-1)" in text

    def broken() -> PriceList:
        raise PlaceUnknown("catalog.yaml: no sense")

    mute = House(prices=broken)
    mute.apply(ON_AWS)
    assert "Prices were not read: catalog.yaml: no sense" in browser(mute).get("/clusters/orders/history").text
    assert mute.client.get(PATH).json()["problem"] == "catalog.yaml: no sense"


def test_whose_cluster_it_is_not_is_told_nothing_of_its_costs() -> None:
    house = house_with(ON_AWS)
    assert house.client.get("/v1/clusters/ledger/generations").status_code == 404
    stranger = house.browser("eve", Binding("", Role.OWNER, "team:search"))
    assert stranger.get("/clusters/orders/history").status_code == 404


@pytest.mark.parametrize("limit", [0, 201])
def test_a_page_has_bounds(limit: int) -> None:
    assert house_with(ON_AWS).client.get(PATH, params={"limit": limit}).status_code == 422


def browser(house: House) -> TestClient:
    return house.browser("ada", Binding("", Role.VIEWER, "*"))
