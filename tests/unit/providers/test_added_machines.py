"""Machine types that `catalog.yaml` adds: sold like shipped ones, read again when the file changes."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.cluster.bandwidth import nic_bytes_per_s
from providers.added_machines import add_machines_of
from providers.catalog_file import sold_by
from providers.catalogs import catalog
from providers.errors import PlaceUnknown
from providers.price_list import read_price_list

R6I = """
aws:
  eu-west-1:
    sources:
      types: {what: "AWS, EC2 instance types", read: 2026-11-28}
    machines:
      r6i.xlarge:
        architecture: x86_64
        vcpus: {value: 4, source: types}
        memory_mib: {value: 32768, source: types}
        nic_baseline_gbps: {value: 1.6, source: types}
"""


@pytest.fixture(autouse=True)
def a_home(tmp_path: Path) -> Iterator[Path]:
    add_machines_of(tmp_path)
    yield tmp_path
    add_machines_of(tmp_path / "none")


def write(home: Path, text: str, at_s: int = 1_000) -> None:
    """A file that was written at another time than the one before."""
    (home / "catalog.yaml").write_text(text)
    os.utime(home / "catalog.yaml", (at_s, at_s))


def test_a_type_nobody_shipped_is_refused_with_all_ways_to_have_it() -> None:
    (found,) = catalog("aws").misfits("eu-west-1", "r6i.xlarge")
    assert found.message == "the catalogue of aws has no machine 'r6i.xlarge'"
    ways = ("r7g.xlarge", "catalog.yaml", "`architecture`, `vcpus` and `memory_mib`", "kedge machines refresh aws")
    for way in (*ways, "machineFigures: [{type: r6i.xlarge,"):
        assert way in found.fix


def test_a_type_the_file_tells_enough_of_is_sold(a_home: Path) -> None:
    write(a_home, R6I)
    assert list(catalog("aws").misfits("eu-west-1", "r6i.xlarge")) == []
    kind = sold_by("aws").machine("r6i.xlarge")
    assert (kind.architecture, kind.shape.vcpus, kind.shape.memory_mib) == ("x86_64", 4, 32768)
    assert nic_bytes_per_s("aws", "r6i.xlarge") == 200_000_000
    assert list(catalog("google").misfits("europe-west1", "r6i.xlarge")) != []


def test_it_is_listed_with_its_source_and_not_among_what_is_ignored(a_home: Path) -> None:
    write(a_home, R6I)
    (offers,) = read_price_list(a_home).sold("aws", "eu-west-1")
    found = offers.machine("r6i.xlarge")
    assert found is not None
    assert found.vcpus is not None
    assert (found.architecture, int(found.vcpus.value), found.vcpus.source) == ("x86_64", 4, "AWS, EC2 instance types")
    assert offers.unmatched == ()


@pytest.mark.parametrize("lacking", ["architecture", "vcpus", "memory_mib"])
def test_a_part_of_it_alone_adds_nothing(lacking: str, a_home: Path) -> None:
    write(a_home, "\n".join(line for line in R6I.splitlines() if not line.strip().startswith(f"{lacking}:")))
    with pytest.raises(PlaceUnknown, match=r"no machine 'r6i\.xlarge'"):
        sold_by("aws").machine("r6i.xlarge")


def test_without_a_figure_of_its_network_that_is_unknown_and_not_0(a_home: Path) -> None:
    write(a_home, "\n".join(line for line in R6I.splitlines() if "nic_baseline" not in line))
    assert sold_by("aws").machine("r6i.xlarge").shape.nic_bytes_per_s == 0
    assert nic_bytes_per_s("aws", "r6i.xlarge") is None


def test_a_shipped_figure_stays_what_it_is(a_home: Path) -> None:
    before = sold_by("aws").machine("r7g.xlarge")
    write(a_home, R6I.replace("r6i.xlarge", "r7g.xlarge"))
    assert sold_by("aws").machine("r7g.xlarge") == before


def test_the_file_is_read_again_and_one_without_sense_takes_nothing_away(a_home: Path) -> None:
    write(a_home, R6I)
    sold_by("aws").machine("r6i.xlarge")
    write(a_home, "aws: [", at_s=2_000)
    assert sold_by("aws").machine("r6i.xlarge").architecture == "x86_64"
    write(a_home, R6I.replace("r6i", "m6i"), at_s=3_000)
    sold_by("aws").machine("m6i.xlarge")
    with pytest.raises(PlaceUnknown):
        sold_by("aws").machine("r6i.xlarge")


def test_of_hundreds_of_types_a_refusal_names_those_most_like_the_one_that_was_asked_for(a_home: Path) -> None:
    one = "{architecture: x86_64, vcpus: {value: 4, source: types}, memory_mib: {value: 32768, source: types}}"
    types = "".join(f"      x{number}i.xlarge: {one}\n" for number in range(500))
    write(a_home, R6I + types)
    (found,) = catalog("aws").misfits("eu-west-1", "r6i.xlarg")
    assert "r6i.xlarge" in found.fix
    assert len(found.fix) < 900
    assert "others (`kedge machines list`)" in found.fix


def test_a_catalogue_of_a_home_is_made_once_until_its_file_changes(a_home: Path) -> None:
    """It is asked for each broker in every tick."""
    write(a_home, R6I)
    assert catalog("aws") is catalog("aws")
    before = catalog("aws")
    write(a_home, R6I.replace("32768", "16384"), at_s=2_000)
    assert catalog("aws") is not before
    assert catalog("aws").shape("r6i.xlarge").memory_mib == 16384


def test_a_price_list_is_read_again_when_its_file_was_written(a_home: Path) -> None:
    assert read_price_list(a_home).overrides.regions("aws") == ()
    write(a_home, R6I)
    assert read_price_list(a_home) is read_price_list(a_home)
    assert read_price_list(a_home).overrides.regions("aws") == ("eu-west-1",)
    write(a_home, R6I.replace("eu-west-1", "eu-west-3"), at_s=2_000)
    assert read_price_list(a_home).overrides.regions("aws") == ("eu-west-3",)
