"""The catalogue: every figure has a source and a date, or is `unknown`."""

from providers.catalog_file import sold_by
from providers.catalogs import catalog

HETZNER = sold_by("hetzner")


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
