"""What a region sells: the shipped catalogue, and one region's figures over it."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from providers.catalog_file import sold_by
from providers.figures import CatalogFigure
from providers.offers import Offers, offers
from providers.overrides import RegionIn
from providers.price_list import PriceList

SHIPPED = ("aws", "azure", "digitalocean", "google", "hetzner", "upcloud")
SOURCES = {"page": {"what": "a page", "read": "2026-01-01"}}


def over(cloud: str = "aws", **parts: Any) -> Offers:
    return offers(sold_by(cloud), "eu-west-1", RegionIn.model_validate({"sources": SOURCES, **parts}))


def figure(value: str, **more: str) -> dict[str, str]:
    return {"value": value, "source": "page", **more}


@pytest.mark.parametrize("cloud", SHIPPED)
def test_every_shipped_catalogue_is_read_whole_and_none_has_a_price(cloud: str) -> None:
    found = over(cloud)
    raw = sold_by(cloud).raw
    assert list(found.machines) == list(raw["machines"])
    assert {o.size for o in found.machines.values()} - {""} == set(raw["shapes"])
    assert all(o.vcpus and o.memory_mib and o.architecture for o in found.machines.values())
    assert not any(o.monthly or o.hourly for o in found.machines.values())


def test_a_machine_is_found_by_its_size_and_by_its_type() -> None:
    small = over().machine("small")
    assert small is not None
    assert (small.type, small.size) == ("m7g.large", "small")
    assert over().machine("m7g.large") == small
    assert over().machine("m7g.huge") is None


def test_a_figure_laid_over_hides_the_shipped_one_and_no_other() -> None:
    shipped, laid = (
        over().machine("small"),
        over(machines={"m7g.large": {"nic_burst_gbps": figure("10")}}).machine("small"),
    )
    assert shipped is not None
    assert laid is not None
    assert laid.nic_burst_gbps == CatalogFigure(Decimal(10), "a page", date(2026, 1, 1))
    assert laid.nic_baseline_gbps == shipped.nic_baseline_gbps


def test_a_figure_of_the_shipped_catalogue_has_its_source_and_day() -> None:
    small = over().machine("small")
    assert small is not None
    assert small.nic_baseline_gbps is not None
    assert small.nic_baseline_gbps.source.startswith("EC2 DescribeInstanceTypes")
    assert small.nic_baseline_gbps.read == date(2026, 11, 22)


def test_a_price_an_hour_and_one_a_month_stand_for_each_other_by_730_hours() -> None:
    hour = over(machines={"m7g.large": {"price_per_hour": figure("0.10", currency="USD")}}).machine("small")
    month = over(machines={"m7g.large": {"price_per_month": figure("73", currency="USD")}}).machine("small")
    assert hour is not None
    assert hour.monthly is not None
    assert (hour.monthly.value, hour.monthly.currency) == (Decimal(73), "USD")
    assert month is not None
    assert month.hourly is not None
    assert month.hourly.value == Decimal("0.1")


def test_what_the_catalogue_has_not_is_named_and_sold_by_nobody() -> None:
    found = over(machines={"m7g.huge": {"price_per_hour": figure("9", currency="USD")}})
    assert found.unmatched == ("m7g.huge",)
    assert "m7g.huge" not in found.machines


@pytest.mark.parametrize(("today", "old"), [(date(2026, 4, 1), ()), (date(2026, 4, 2), ("m7g.large price_per_hour",))])
def test_a_figure_read_more_than_90_days_ago_is_named(today: date, old: tuple[str, ...]) -> None:
    found = over(machines={"m7g.large": {"price_per_hour": figure("1", currency="USD")}})
    assert found.old_figures(today) == old


@pytest.mark.parametrize("cloud", ["local", "nobodys"])
def test_a_cloud_without_a_catalogue_sells_nothing(cloud: str) -> None:
    assert PriceList().offers(cloud, "eu-west-1") is None
