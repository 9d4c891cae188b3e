"""Inventories of all clouds tell the public address of a VM that has one, and it goes with its VM."""

from ipaddress import IPv4Address, ip_address
from pathlib import Path

import pytest

from tests.contract.cloud_harnesses import HARNESSES
from tests.fakes.resources import instance, resources

CLOUDS = ["aws", "azure", "digitalocean", "google", "hetzner", "upcloud"]


@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_listing_tells_the_public_address_of_who_has_one(
    cloud: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with HARNESSES[cloud](tmp_path, monkeypatch) as harness:
        wanted = resources(instance("b-0", public_address=True), instance("b-1", public_address=True), instance("b-2"))
        harness.create(wanted)
        there = {i.key: i for i in harness.cloud.list_place(harness.place).instances}
        harness.delete(wanted)
        assert harness.cloud.list_place(harness.place).instances == ()
    given = {key: one.public_address for key, one in there.items()}
    every_vm = cloud == "digitalocean"
    assert bool(given["b-2.g1"]) is every_vm
    assert len({*given.values()}) == 3, "each has its own"
    assert {type(ip_address(a)) for a in given.values() if a} == {IPv4Address}
    assert all(one.address and one.address not in given.values() for one in there.values()), "Kafka's stays private"
