"""The catalogue: every figure has a source and a date, or is `unknown`."""

import json
from pathlib import Path
from typing import Any

import pytest

import providers.hetzner
from providers.catalog import catalog
from providers.catalogfile import sold_by

HETZNER = sold_by("hetzner")
FILE: dict[str, Any] = json.loads(Path(str(providers.hetzner.__file__)).with_name("catalog.json").read_text())


def test_every_source_is_named_with_the_day_it_was_read() -> None:
    for source in FILE["sources"].values():
        assert source["what"]
        assert len(source["read"]) == len("2026-11-22")


@pytest.mark.parametrize("part", ["machines", "disks"])
def test_every_figure_has_a_source_or_is_unknown(part: str) -> None:
    for name, entry in FILE[part].items():
        assert entry["source"] in FILE["sources"], name
        assert all(isinstance(v, (int, float, bool)) or v for v in entry.values()), name
        assert entry["price_per_month"] == "unknown", "prices need a source of their own"


def test_the_neutral_sizes_are_types_and_grow() -> None:
    sizes = [HETZNER.machine(name) for name in ("small", "medium", "large")]
    assert [m.type for m in sizes] == ["ccx13", "ccx23", "ccx33"]
    assert [m.shape.vcpus for m in sizes] == [2, 4, 8]


def test_one_of_hetzners_own_names_is_a_machine_too() -> None:
    assert HETZNER.machine("cax21").architecture == "arm64"
    assert catalog("hetzner").shape("ccx43").memory_mib == 65_536


def test_a_speed_nobody_has_a_source_for_counts_for_none() -> None:
    assert catalog("hetzner").shape("small").nic_bytes_per_s == 0
    assert catalog("hetzner").disk("persistent").bytes_per_s == 0
    assert not catalog("hetzner").disk("ephemeral").outlives_vm


def test_a_region_is_a_network_zone() -> None:
    assert list(catalog("hetzner").misfits("eu-central", "small")) == []
    (found,) = catalog("hetzner").misfits("fsn1", "small")
    assert found.field == "region"
