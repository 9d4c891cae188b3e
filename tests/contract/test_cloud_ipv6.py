"""Inventories of all clouds tell the IPv6 address of a VM that has one."""

from ipaddress import IPv4Address, IPv6Network, ip_address
from pathlib import Path

import pytest

from tests.contract.cloud_harnesses import HARNESSES
from tests.fakes.resources import instance, resources


@pytest.mark.parametrize("cloud", ["digitalocean", "google", "hetzner"])
def test_a_listing_tells_the_ipv6_address_of_who_has_one(
    cloud: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AWS and Azure give one in a subnet that has IPv6 alone: their networks are made with it in tests/terraform."""
    with HARNESSES[cloud](tmp_path, monkeypatch) as harness:
        harness.create(resources(instance("b-0", ipv6=True), instance("b-1")))
        there = {i.key: i for i in harness.cloud.list_place(harness.place).instances}
    assert there["b-1.g1"].ipv6 == ""
    assert IPv6Network(there["b-0.g1"].ipv6)
    assert {type(ip_address(str(one.address))) for one in there.values()} == {IPv4Address}, "Kafka's stays IPv4"
