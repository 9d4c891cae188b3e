"""Azure's catalogue: every figure has a source and a date, or is `unknown`."""

import json
from pathlib import Path
from typing import Any

import pytest

import providers.azure
from providers.catalog_file import sold_by
from providers.catalogs import catalog
from providers.errors import PlaceUnknown

AZURE = sold_by("azure")
FILE: dict[str, Any] = json.loads(Path(str(providers.azure.__file__)).with_name("catalog.json").read_text())


def test_the_neutral_sizes_are_sizes_of_azure_and_grow() -> None:
    sizes = [AZURE.machine(name) for name in ("small", "medium", "large")]
    assert [m.type for m in sizes] == ["Standard_D2s_v5", "Standard_D4s_v5", "Standard_D8s_v5"]
    assert [(m.shape.vcpus, m.shape.memory_mib) for m in sizes] == [(2, 8192), (4, 16384), (8, 32768)]


def test_a_network_that_is_up_to_some_speed_counts_for_none() -> None:
    # "Max Network Bandwidth ... Upper limits aren't guaranteed", and nothing else is said.
    assert catalog("azure").shape("small").nic_bytes_per_s == 0
    assert FILE["machines"]["Standard_D2s_v5"]["nic_burst_gbps"] == 12.5


def test_a_disk_whose_speed_goes_by_its_size_counts_for_none() -> None:
    assert catalog("azure").disk("persistent").bytes_per_s == 0
    assert catalog("azure").disk("persistent").outlives_vm
    assert not catalog("azure").disk("ephemeral").outlives_vm


def test_machines_of_both_architectures_are_there() -> None:
    assert AZURE.machine("Standard_D2ps_v5").architecture == "arm64"
    assert AZURE.machine("Standard_L8s_v3").architecture == "x86_64"


def test_an_unknown_machine_of_azures_names_what_there_is() -> None:
    with pytest.raises(PlaceUnknown, match="small, medium, large, Standard_D2s_v5"):
        AZURE.machine("Standard_Z1")


def test_regions_are_by_their_short_names() -> None:
    assert {"westeurope", "eastus2", "germanywestcentral"} <= set(AZURE.regions())
    assert not any(name.startswith(("china", "usgov")) or " " in name for name in AZURE.regions())
    assert list(catalog("azure").misfits("westeurope", "Standard_E4s_v5")) == []
    (found,) = catalog("azure").misfits("West Europe", "small")
    assert found.field == "region"
