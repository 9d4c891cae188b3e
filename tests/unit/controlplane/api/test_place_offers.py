"""What the form for new clusters offers: places, zones, machines and versions as choices, never a guess of a name."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from controlplane.api.placement_offers import PlaceOffer, PlacesOffered, machine_choices, version_choices, zone_choices
from controlplane.portal.app import create_app
from controlplane.server.clouds import Clouds, places_in
from controlplane.server.settings import Settings
from events.spec.releases import SUPPORTED
from providers.overrides import read_overrides
from providers.price_list import PriceList
from tests.unit.controlplane.api.portal_house import House

ZONES = ("eu-central-1a", "eu-central-1b")
AWS = """\
accounts:
  default:
    id: "123456789012"
    regions:
      eu-central-1:
        subnets: {eu-central-1a: subnet-0a1b2c3d, eu-central-1b: subnet-0a1b2c3e}
        security_groups: [sg-0a1b2c3d]
"""
PRICES = """\
aws:
  eu-central-1:
    sources: {list: {what: the price list, read: 2026-11-01}}
    machines:
      m7g.large: {price_per_hour: {value: 0.1, currency: USD, source: list}}
"""
OFFERED = PlacesOffered(
    (PlaceOffer("aws", "eu-central-1", ("a", "b", "c", "d")), PlaceOffer("local", "local-1", ("a", "b", "c"))),
    ("aws.yaml: accounts.other: no regions",),
)


def options(page: str, name: str) -> list[str]:
    (select,) = re.findall(rf'<select id="[fp]-{name}".*?</select>', page, flags=re.S)
    return re.findall(r'<option value="([^"]*)"', select)


@pytest.fixture
def house() -> House:
    house = House()
    house.services = replace(house.services, fleet=replace(house.services.fleet, places_offered=lambda: OFFERED))
    house.app = create_app(house.services)
    return house


def test_a_form_starts_in_the_first_place_with_what_there_is(house: House) -> None:
    page = house.browser().get("/new").text
    assert options(page, "place") == ["aws/eu-central-1", "local/local-1"]
    assert options(page, "version") == list(reversed(SUPPORTED))
    assert {"small", "medium", "large", "m7g.large"} <= set(options(page, "machine"))
    assert "m7g.large: 2 CPUs, 8 GiB, arm64, price unknown" in page
    assert re.findall(r'name="zones" value="(.)" checked', page) == ["a", "b", "c"]
    assert re.findall(r'name="zones" value="(.)"', page) == ["a", "b", "c", "d"]
    assert "A cloud offers nothing here: aws.yaml: accounts.other: no regions" in page


def test_another_place_brings_its_own_machines_and_a_scratch_cluster_one_zone(house: House) -> None:
    page = house.browser().get("/new?place=local/local-1&tier=scratch").text
    assert options(page, "machine") == ["small", "medium", "large"]
    assert "small: 1 CPU, 1 GiB" in page
    assert re.findall(r'name="zones" value="(.)" checked', page) == ["a"]
    assert 'name="region" value="local-1"' in page


def test_ticked_zones_become_those_of_the_spec(house: House) -> None:
    fields = {"name": "clicks", "cloud": "local", "region": "local-1", "zones": ["a", "c"], "machine": "small"}
    more = {"controllers": "3", "brokers": "2", "disk": "20", "version": "4.2.0"}
    page = house.browser().post("/new", data={**fields, **more}).text
    assert re.search(r"zones:\n\s+- a\n\s+- c\n", page)
    assert re.findall(r'name="zones" value="(.)" checked', page) == ["a", "c"]


def test_what_is_on_no_list_stays_as_it_was_sent_with_its_problem(house: House) -> None:
    """Another value in its place would be declared unseen."""
    fields = {"name": "clicks", "cloud": "local", "region": "local-1", "zones": ["a", "x"], "machine": "huge"}
    more = {"controllers": "1", "brokers": "1", "disk": "20", "version": "4.0.1"}
    answer = house.browser().post("/new", data={**fields, **more})
    assert answer.status_code == 422
    for name, sent in (("machine", "huge"), ("version", "4.0.1")):
        assert re.search(rf'<option value="{sent}" selected>', answer.text), name
    assert re.findall(r'name="zones" value="(.)" checked', answer.text) == ["a", "x"]


def test_places_are_those_of_the_settings_files_and_a_broken_one_says_why(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    clouds = Clouds(settings, "inst")
    assert places_in(clouds, settings).clouds == ("local",)
    (tmp_path / "aws.yaml").write_text(AWS)
    (tmp_path / "hetzner.yaml").write_text("accounts: {}")
    found = places_in(Clouds(settings, "inst"), settings)
    assert [(p.cloud, p.region, p.zones) for p in found.places][:2] == [
        ("aws", "eu-central-1", ZONES),
        ("local", "local-1", ("a", "b", "c")),
    ]
    (problem,) = found.problems
    assert "hetzner.yaml" in problem


def test_a_price_of_the_region_is_told_by_the_month(tmp_path: Path) -> None:
    (tmp_path / "catalog.yaml").write_text(PRICES)
    price_list = PriceList(read_overrides(tmp_path / "catalog.yaml"))
    words = {c.name: c.words for c in machine_choices(OFFERED.places[0], price_list, "")}
    assert words["m7g.large"] == "m7g.large: 2 CPUs, 8 GiB, arm64, 73.00 USD a month"


def test_a_place_of_no_catalogue_and_of_no_zones_leaves_them_to_be_typed() -> None:
    nowhere = PlaceOffer("elsewhere", "somewhere")
    assert machine_choices(nowhere, PriceList(), "small") == ()
    assert zone_choices(nowhere, ["a"]) == ()
    assert version_choices("4.1.1") == version_choices()
