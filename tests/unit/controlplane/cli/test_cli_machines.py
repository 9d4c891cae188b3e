"""`kedge machines list`: figures with their sources, unknown ones told so, old ones flagged; without a server and by
one."""

import json
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from controlplane.api.presenters.machines import regions_out
from controlplane.api.schemas.machines import MachinesOut
from controlplane.cli import exits
from providers.price_list import read_price_list
from tests.unit.controlplane.cli.cli_world import START, URL, World, problem, snapshot

READ = date(2026, 11, 23)


@pytest.fixture
def world(tmp_path: Path) -> World:
    """The day after the shipped catalogues were read."""
    made = World(tmp_path)
    pass_days(made, (READ - START.date()).days)
    return made


def pass_days(world: World, days: int) -> None:
    world.time.elapsed_s += timedelta(days=days).total_seconds()


def catalog(world: World, **machines: Any) -> None:
    """A catalog.yaml for hetzner's eu-central."""
    region = {
        "sources": {"page": {"what": "a price page", "read": READ}},
        "machines": machines
        or {
            "ccx13": {
                "price_per_hour": {"value": "0.0312", "currency": "EUR", "source": "page"},
                "price_per_month": {"value": "19.49", "currency": "EUR", "source": "page"},
            }
        },
        "disks": {"persistent": {"price_per_gib_month": {"value": "0.0440", "currency": "EUR", "source": "page"}}},
    }
    (world.home / ".kedge" / "catalog.yaml").write_text(yaml.safe_dump({"hetzner": {"eu-central": region}}))


def test_the_table_of_a_region_has_prices_unknowns_and_sources(world: World) -> None:
    catalog(world)
    ran = world.run("machines", "list", "hetzner")
    assert (ran.exit_code, ran.stderr, world.server.requests) == (exits.OK, "", [])
    snapshot("machines.table", ran.stdout)


def test_the_document_has_null_for_what_nobody_has_read(world: World) -> None:
    catalog(world)
    ran = world.run("machines", "list", "hetzner", "--region", "eu-central", "-o", "json")
    assert ran.exit_code == exits.OK
    snapshot("machines.json", ran.stdout)


def test_without_catalog_yaml_every_cloud_is_shown_and_no_price(world: World) -> None:
    ran = world.run("machines", "list", "-o", "json")
    items = json.loads(ran.stdout)["items"]
    assert [one["cloud"] for one in items] == ["aws", "google", "azure", "digitalocean", "upcloud", "hetzner"]
    assert not any(m["price_per_hour"] or m["price_per_month"] for one in items for m in one["machines"])


def test_a_price_of_one_region_is_none_of_another(world: World) -> None:
    catalog(world)
    ran = world.run("machines", "list", "hetzner", "--region", "us-east", "-o", "json")
    (item,) = json.loads(ran.stdout)["items"]
    assert not any(m["price_per_month"] for m in item["machines"])


def test_figures_older_than_90_days_are_flagged_and_still_shown(world: World) -> None:
    catalog(world)
    pass_days(world, 91)
    ran = world.run("machines", "list", "hetzner")
    assert "a price page (read 2026-11-23, 91 d ago, OLD)" in ran.stdout
    assert "19.49 EUR" in ran.stdout
    assert "figures older than 90 days" in ran.stderr
    told = json.loads(world.run("machines", "list", "hetzner", "-o", "json").stdout)["items"][0]["machines"][0]
    assert (told["price_per_month"]["old"], told["price_per_month"]["age_days"]) == (True, 91)


def test_what_the_catalogue_has_not_is_told(world: World) -> None:
    catalog(world, ccx99={"price_per_hour": {"value": "1", "currency": "EUR", "source": "page"}})
    ran = world.run("machines", "list", "hetzner")
    assert "ccx99" not in ran.stdout
    assert "hetzner eu-central: catalog.yaml names what the catalogue has not: ccx99" in ran.stderr


def test_a_file_that_makes_no_sense_is_told_by_its_place(world: World) -> None:
    (world.home / ".kedge" / "catalog.yaml").write_text("hetzner: {eu-central: {machines: {ccx13: {price: 3}}}}")
    ran = world.run("machines", "list")
    assert ran.exit_code == exits.FAILED
    assert "catalog.yaml: hetzner.eu-central.machines.ccx13.price" in ran.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("list", "local"), "no cloud 'local' has a catalogue"),
        (("list", "aws", "--region", "mars-1"), "aws has no region 'mars-1'"),
        (("list", "--region", "mars-1"), "no cloud has a region 'mars-1'"),
        (("refresh", "nobodys"), "no cloud 'nobodys' has a catalogue"),
        (("refresh", "hetzner"), "nothing says with which account to ask"),
    ],
)
def test_what_cannot_be_done_is_said(world: World, arguments: tuple[str, ...], says: str) -> None:
    ran = world.run("machines", *arguments)
    assert ran.exit_code == exits.FAILED
    assert says in ran.stderr
    assert not (world.home / ".kedge" / "catalog.yaml").exists()


@pytest.mark.parametrize("text", ["accounts: 7", "[", "accounts: {a: 3}", "{}"])
def test_settings_that_name_no_account_are_told(world: World, text: str) -> None:
    (world.home / ".kedge" / "hetzner.yaml").write_text(text)
    ran = world.run("machines", "refresh", "hetzner")
    assert ran.exit_code == exits.FAILED
    assert "it does not name accounts and regions" in ran.stderr


@pytest.fixture
def elsewhere(world: World) -> World:
    """Somebody chose a server, which has a catalog.yaml of its own: prices this home does not know."""
    catalog(world)
    found = read_price_list(world.home / ".kedge").sold("hetzner")
    world.server.on("GET", "/machines", MachinesOut(items=regions_out(found, READ)))
    (world.home / ".kedge" / "catalog.yaml").unlink()
    world.environ["KEDGE_SERVER"] = URL
    return world


def test_a_server_that_was_chosen_is_asked_and_shown_alike(elsewhere: World) -> None:
    ran = elsewhere.run("machines", "list", "hetzner")
    assert (ran.exit_code, ran.stderr) == (exits.OK, "")
    snapshot("machines.table", ran.stdout)
    (asked,) = elsewhere.server.requests
    assert dict(asked.url.params) == {"cloud": "hetzner", "region": ""}
    snapshot("machines.json", elsewhere.run("machines", "list", "hetzner", "-o", "json").stdout)


def test_a_home_that_was_named_is_read_whatever_server_was_chosen(elsewhere: World) -> None:
    ran = elsewhere.run("machines", "list", "hetzner", "--home", str(elsewhere.home / ".kedge"))
    assert "19.49" not in ran.stdout
    assert elsewhere.server.requests == []


def test_what_the_server_refuses_or_lacks_is_told(elsewhere: World) -> None:
    elsewhere.server.on("GET", "/machines", problem(422, "place-unknown", "no cloud 'x' has a catalogue"))
    ran = elsewhere.run("machines", "list", "x")
    assert ran.exit_code == exits.FAILED
    assert "no cloud 'x' has a catalogue" in ran.stderr
    elsewhere.server.on("GET", "/machines", MachinesOut(items=[], problem="catalog.yaml: no such key"))
    assert "no price is known: catalog.yaml: no such key" in elsewhere.run("machines", "list").stderr
