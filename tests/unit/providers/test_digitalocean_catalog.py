"""The catalogue: every figure has a source and a date, or is `unknown`; a size is what its slug says."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import providers.digitalocean
from providers.catalog_file import sold_by
from providers.catalogs import catalog
from providers.errors import PlaceUnknown

FILE: dict[str, Any] = json.loads(Path(str(providers.digitalocean.__file__)).with_name("catalog.json").read_text())


def test_a_size_is_what_its_slug_says() -> None:
    for slug, entry in FILE["machines"].items():
        told = re.search(r"-(\d+)vcpu-(\d+)gb$", slug)
        assert told is not None
        assert (entry["vcpus"], entry["memory_mib"]) == (int(told[1]), int(told[2]) * 1024)


def test_the_neutral_sizes_are_sizes_and_grow() -> None:
    sizes = [sold_by("digitalocean").machine(name) for name in ("small", "medium", "large")]
    assert [m.type for m in sizes] == ["g-2vcpu-8gb", "g-4vcpu-16gb", "g-8vcpu-32gb"]
    assert [m.shape.vcpus for m in sizes] == [2, 4, 8]


def test_what_nobody_measured_counts_for_none() -> None:
    assert catalog("digitalocean").shape("small").nic_bytes_per_s == 0
    assert catalog("digitalocean").disk("persistent").bytes_per_s == 0
    assert catalog("digitalocean").disk("persistent").outlives_vm


def test_it_says_that_racks_promise_nothing() -> None:
    assert "without any guarantee" in FILE["sources"]["racks"]["what"]


def test_an_unknown_machine_names_what_there_is() -> None:
    with pytest.raises(PlaceUnknown, match="small, medium, large"):
        catalog("digitalocean").shape("x1.enormous")
