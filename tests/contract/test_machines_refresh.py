"""`kedge machines refresh`: from a cloud's API through its SDK into catalog.yaml, and nothing lost on the way."""

from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
import yaml

from controlplane.cli import exits
from providers.added_machines import add_machines_of
from providers.catalogs import catalog
from providers.overrides import Overrides, read_overrides
from tests.fakes.clouds.faults import Fault
from tests.fakes.clouds.hetzner import TOKEN, FakeHetzner, fake_hetzner
from tests.fakes.clouds.hetzner_hands import write_settings
from tests.fakes.clouds.price_lists import sells_hetzner
from tests.unit.controlplane.cli.cli_world import START, World


@pytest.fixture
def hetzner(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHetzner]:
    monkeypatch.setenv("HCLOUD_TOKEN", TOKEN)
    with fake_hetzner() as fake:
        sells_hetzner(fake)
        yield fake


@pytest.fixture(autouse=True)
def no_home_afterwards(tmp_path: Path) -> Iterator[None]:
    """What a home adds is the process's: the next test has its own."""
    yield
    add_machines_of(tmp_path / "none")


@pytest.fixture
def world(tmp_path: Path, hetzner: FakeHetzner) -> World:
    made = World(tmp_path)
    write_settings(made.home / ".kedge" / "hetzner.yaml", hetzner)
    return made


def written(world: World) -> Overrides:
    return read_overrides(world.home / ".kedge" / "catalog.yaml")


def hourly(world: World, region: str, machine: str) -> tuple[Decimal, date] | None:
    there = written(world).region("hetzner", region)
    told = there.price(there.machines[machine].price_per_hour)
    return (told.value, told.read) if told else None


def test_every_region_of_the_settings_is_written(world: World) -> None:
    ran = world.run("machines", "refresh", "hetzner")
    assert ran.exit_code == exits.OK
    assert "hetzner eu-central: 5 types, 1 of them in no shipped catalogue, 5 with a price" in ran.stderr
    assert written(world).regions("hetzner") == ("eu-central", "us-east")
    assert hourly(world, "eu-central", "ccx13") == (Decimal("0.055"), START.date())
    assert "0.055 EUR" in world.run("machines", "list", "hetzner").stdout


def test_a_type_nobody_shipped_is_sold_from_then_on(world: World) -> None:
    """And the next refresh tells its figures anew, in the same file."""
    home = world.home / ".kedge"
    assert [one.field for one in catalog("hetzner").misfits("eu-central", "cpx31")] == ["machine"]
    assert world.run("machines", "refresh", "hetzner").exit_code == exits.OK
    add_machines_of(home)
    assert list(catalog("hetzner").misfits("eu-central", "cpx31")) == []
    assert "cpx31" in world.run("machines", "list", "hetzner").stdout
    assert world.run("machines", "refresh", "hetzner").exit_code == exits.OK
    assert written(world).region("hetzner", "eu-central").machines["cpx31"].architecture == "x86_64"


def test_only_types_like_those_asked_for_are_added_and_shipped_ones_read_all_the_same(world: World) -> None:
    ran = world.run("machines", "refresh", "hetzner", "--types", "ccx*", "--types", "cax*")
    assert ran.exit_code == exits.OK
    assert set(written(world).region("hetzner", "eu-central").machines) == {"ccx13", "ccx23", "ccx33", "cax21"}
    world.run("machines", "refresh", "hetzner", "--types", "cpx*")
    assert "cpx31" in written(world).region("hetzner", "eu-central").machines


def test_only_one_region_is_asked_for(world: World, hetzner: FakeHetzner) -> None:
    assert world.run("machines", "refresh", "hetzner", "--region", "us-east").exit_code == exits.OK
    assert written(world).regions("hetzner") == ("us-east",)
    assert hetzner.calls["GET /pricing"] == 1


def test_a_region_the_settings_have_not_is_refused(world: World) -> None:
    ran = world.run("machines", "refresh", "hetzner", "--region", "mars")
    assert ran.exit_code == exits.FAILED
    assert "it has eu-central, us-east" in ran.stderr


def test_what_was_not_read_anew_stays_with_its_own_day(world: World) -> None:
    file = world.home / ".kedge" / "catalog.yaml"
    price = {"value": "9", "currency": "EUR", "source": "mine"}
    mine = {"sources": {"mine": {"what": "my contract", "read": date(2025, 12, 1)}}, "machines": {"ccx43": {}}}
    mine["machines"] = {"ccx43": {"price_per_hour": price}, "ccx13": {"price_per_hour": price}}
    file.write_text(yaml.safe_dump({"hetzner": {"eu-central": mine}, "aws": {"eu-west-1": mine}}))
    assert world.run("machines", "refresh", "hetzner").exit_code == exits.OK
    assert hourly(world, "eu-central", "ccx43") == (Decimal(9), date(2025, 12, 1))
    assert hourly(world, "eu-central", "ccx13") == (Decimal("0.055"), START.date())
    assert written(world).region("aws", "eu-west-1").machines["ccx13"].price_per_hour is not None


def test_a_second_refresh_of_another_day_moves_the_day(world: World) -> None:
    world.run("machines", "refresh", "hetzner")
    world.time.elapsed_s += timedelta(days=100).total_seconds()
    assert world.run("machines", "refresh", "hetzner").exit_code == exits.OK
    assert hourly(world, "eu-central", "ccx13") == (Decimal("0.055"), START.date() + timedelta(days=100))
    assert len(written(world).region("hetzner", "eu-central").sources) == 1


def test_the_same_refresh_twice_writes_the_same_file(world: World) -> None:
    world.run("machines", "refresh", "hetzner")
    once = (world.home / ".kedge" / "catalog.yaml").read_text()
    assert world.run("machines", "refresh", "hetzner").exit_code == exits.OK
    assert (world.home / ".kedge" / "catalog.yaml").read_text() == once


def test_a_cloud_that_fails_leaves_the_file_as_it_was(world: World, hetzner: FakeHetzner) -> None:
    world.run("machines", "refresh", "hetzner")
    before = (world.home / ".kedge" / "catalog.yaml").read_text()
    hetzner.faults.append(Fault("*", "unauthorized", 401, times=99))
    ran = world.run("machines", "refresh", "hetzner")
    assert ran.exit_code == exits.FAILED
    assert "was not read" in ran.stderr
    assert (world.home / ".kedge" / "catalog.yaml").read_text() == before


def test_a_file_that_makes_no_sense_is_not_overwritten(world: World) -> None:
    file = world.home / ".kedge" / "catalog.yaml"
    file.write_text("hetzner: [")
    ran = world.run("machines", "refresh", "hetzner")
    assert ran.exit_code == exits.FAILED
    assert "catalog.yaml was not written" in ran.stderr
    assert file.read_text() == "hetzner: ["
