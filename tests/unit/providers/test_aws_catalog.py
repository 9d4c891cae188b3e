"""The catalogue: every figure has a source and a date, or is `unknown`."""

import pytest

from providers.catalog_file import sold_by
from providers.catalogs import catalog
from providers.errors import PlaceUnknown

AWS = sold_by("aws")


def test_the_neutral_sizes_are_types_and_grow() -> None:
    sizes = [AWS.machine(name) for name in ("small", "medium", "large")]
    assert [m.type for m in sizes] == ["m7g.large", "m7g.xlarge", "m7g.2xlarge"]
    assert [m.shape.vcpus for m in sizes] == [2, 4, 8]


def test_a_network_figure_is_the_sustained_one_in_bytes() -> None:
    # 0.937 Gbit/s sustained; the "up to 12.5 Gigabit" of the price list is a burst.
    assert catalog("aws").shape("m7g.large").nic_bytes_per_s == 117_125_000


def test_one_of_ec2s_own_names_is_a_machine_too() -> None:
    assert AWS.machine("r7g.xlarge").architecture == "arm64"
    assert catalog("aws").shape("r7g.xlarge").memory_mib == 32_768


def test_an_unknown_machine_names_what_there_is() -> None:
    with pytest.raises(PlaceUnknown, match="small, medium, large"):
        catalog("aws").shape("x1.enormous")


def test_regions_are_those_of_the_ordinary_partition() -> None:
    assert {"eu-west-1", "us-east-1"} <= set(AWS.regions())
    assert not any(name.startswith(("cn-", "us-gov", "fips")) for name in AWS.regions())


def test_a_disk_whose_speed_nobody_measured_counts_for_none() -> None:
    assert catalog("aws").disk("ephemeral").bytes_per_s == 0
    assert catalog("aws").disk("persistent").bytes_per_s == 125 * 1024 * 1024
    assert not catalog("aws").disk("ephemeral").outlives_vm


def test_a_region_that_aws_has_and_a_machine_of_the_catalogue_fit() -> None:
    assert list(catalog("aws").misfits("eu-west-1", "r7g.xlarge")) == []
    assert list(catalog("aws").misfits("eu-west-1", "small")) == []


@pytest.mark.parametrize(
    ("region", "machine", "expected"),
    [("eu-west-9", "small", "region"), ("eu-west-1", "m4.tiny", "machine")],
)
def test_what_does_not_fit_is_named(region: str, machine: str, expected: str) -> None:
    (found,) = catalog("aws").misfits(region, machine)
    assert found.field == expected
    assert found.message
    assert found.fix


def test_bare_metal_is_a_machine_like_any_other() -> None:
    metal = AWS.machine("i4i.metal")
    assert (metal.architecture, metal.shape.vcpus, metal.shape.memory_mib) == ("x86_64", 128, 1_048_576)
    assert catalog("aws").shape("m7g.metal").nic_bytes_per_s == 3_750_000_000
    assert list(catalog("aws").misfits("eu-west-1", "i4i.metal", disk="ephemeral")) == []


def test_an_own_disk_is_asked_only_of_machines_that_may_have_one() -> None:
    aws = catalog("aws")
    assert list(aws.misfits("eu-west-1", "m7g.large", disk="persistent")) == []
    found = list(aws.misfits("eu-west-1", "small", ("i4g.large", "m7i.large"), disk="ephemeral"))
    assert [one.field for one in found] == ["machine", "alternatives"]
    assert "'small' of aws has no disk of its own" in found[0].message
    assert "i4g.large" in found[0].fix
    assert "m7g.large" not in found[0].fix


@pytest.mark.parametrize("cloud", ["digitalocean", "hetzner", "upcloud"])
def test_where_every_machine_has_a_disk_or_nobody_knows_none_is_refused_for_it(cloud: str) -> None:
    sold = catalog(cloud)
    assert [m for name in sold.shapes for m in sold.misfits(sold.regions[0], name, disk="ephemeral")] == []


def test_the_local_cloud_judges_no_place() -> None:
    assert list(catalog("local").misfits("anywhere", "anything")) == []
