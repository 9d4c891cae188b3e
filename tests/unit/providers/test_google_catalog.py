"""The catalogue of Google Cloud: every figure has a source and a date, or is `unknown`."""

import json
from pathlib import Path
from typing import Any

import pytest

import providers.google
from providers.catalog_file import sold_by
from providers.catalogs import catalog
from providers.errors import PlaceUnknown

GOOGLE = sold_by("google")
FILE: dict[str, Any] = json.loads(Path(str(providers.google.__file__)).with_name("catalog.json").read_text())


def test_the_neutral_sizes_are_types_and_grow() -> None:
    sizes = [GOOGLE.machine(name) for name in ("small", "medium", "large")]
    assert [m.type for m in sizes] == ["n2d-standard-2", "n2d-standard-4", "n2d-standard-8"]
    assert [(m.shape.vcpus, m.shape.memory_mib) for m in sizes] == [(2, 8192), (4, 16384), (8, 32768)]


def test_what_a_network_goes_up_to_is_not_what_it_sustains() -> None:
    assert catalog("google").shape("n2d-standard-2").nic_bytes_per_s == 0
    assert catalog("google").disk("persistent").bytes_per_s == 0


def test_every_machine_takes_the_kind_of_disk_the_module_makes() -> None:
    # C4, N4 and what is newer take Hyperdisk only, so none of them is sold here.
    assert {name.partition("-")[0] for name in FILE["machines"]} == {"n2", "n2d", "t2a", "c3"}
    assert GOOGLE.disk_type("persistent") == "pd-balanced"


def test_disks_that_come_with_a_machine_are_told_by_its_name() -> None:
    for name, entry in FILE["machines"].items():
        assert (entry["own_disk_gb"] > 0) == name.endswith("-lssd"), name


def test_what_does_not_fit_is_named() -> None:
    assert [m.field for m in catalog("google").misfits("europe-west9", "n2d-highmem-8")] == []
    assert [m.field for m in catalog("google").misfits("mars", "small")] == ["region"]
    assert [m.field for m in catalog("google").misfits("europe-west1", "f1-micro")] == ["machine"]
    with pytest.raises(PlaceUnknown, match="small, medium, large"):
        catalog("google").shape("f1-micro")
