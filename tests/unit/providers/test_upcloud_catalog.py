"""UpCloud's catalogue: figures with a source, or none."""

import json
from pathlib import Path
from typing import Any

import pytest

import providers.upcloud
from providers.catalog_file import sold_by
from providers.catalogs import catalog
from providers.errors import PlaceUnknown

UPCLOUD = sold_by("upcloud")
FILE: dict[str, Any] = json.loads(Path(str(providers.upcloud.__file__)).with_name("catalog.json").read_text())


def test_the_neutral_sizes_are_plans_and_grow() -> None:
    sizes = [UPCLOUD.machine(name) for name in ("small", "medium", "large")]
    assert [m.type for m in sizes] == ["2xCPU-4GB", "4xCPU-8GB", "8xCPU-32GB"]
    assert [m.shape.memory_mib for m in sizes] == [4096, 8192, 32768]


def test_a_plan_is_what_its_name_says() -> None:
    for name, entry in FILE["machines"].items():
        cores, memory = name.split("xCPU-")
        assert (entry["vcpus"], entry["memory_mib"]) == (int(cores), int(memory.removesuffix("GB")) * 1024)


def test_a_speed_nobody_published_counts_for_none() -> None:
    assert catalog("upcloud").shape("small").nic_bytes_per_s == 0
    assert catalog("upcloud").disk("persistent").bytes_per_s == 0
    assert not catalog("upcloud").disk("ephemeral").outlives_vm


def test_an_unknown_machine_names_what_there_is() -> None:
    with pytest.raises(PlaceUnknown, match="small, medium, large"):
        catalog("upcloud").shape("x1.enormous")


def test_a_place_is_judged_by_region_and_machine() -> None:
    assert list(catalog("upcloud").misfits("fi-hel1", "small")) == []
    assert [m.field for m in catalog("upcloud").misfits("fi-hel9", "small")] == ["region"]
    assert [m.field for m in catalog("upcloud").misfits("fi-hel1", "m7g.large")] == ["machine"]
