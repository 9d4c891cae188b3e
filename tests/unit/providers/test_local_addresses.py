"""A node's address on the local cloud: one for life in a region, and another one in each region it moves to."""

import sys
from pathlib import Path

import pytest

from providers.base import AddressResource, Place, Resources
from providers.local.address import NodeAddresses
from providers.local.claimed_addresses import CLAIMS
from providers.local.cloud import LocalCloud
from providers.local.layout import Layout

HERE, THERE = "local-1", "local-2"


@pytest.fixture
def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalCloud:
    monkeypatch.setenv(CLAIMS, str(tmp_path / "claims"))
    return LocalCloud(tmp_path / "cloud", "i", sys.executable)


def made_in(cloud: LocalCloud, region: str) -> str:
    """The address of the node, recorded there as a run does."""
    wanted = Resources(
        installation_id="i",
        cluster_uid="c0ffee",
        cluster_name="orders",
        place=Place("local", region),
        addresses=(AddressResource("controllers-a-0", "a"),),
    )
    addresses = cloud.variables(wanted)["addresses"]
    assert isinstance(addresses, dict)
    address = str(addresses["controllers-a-0"]["address"])
    NodeAddresses(Layout(cloud.root, region)).create("c0ffee", "controllers-a-0", address, "i")
    return address


def forgotten_in(cloud: LocalCloud, region: str) -> None:
    NodeAddresses(Layout(cloud.root, region)).destroy("c0ffee", "controllers-a-0")


def test_a_node_that_moves_has_another_address_there_and_keeps_both_meanwhile(cloud: LocalCloud) -> None:
    old = made_in(cloud, HERE)
    new = made_in(cloud, THERE)
    assert old != new
    assert (made_in(cloud, HERE), made_in(cloud, THERE)) == (old, new)


def test_its_new_address_stays_when_the_old_place_is_empty_and_after_it_came_back(cloud: LocalCloud) -> None:
    old, new = made_in(cloud, HERE), made_in(cloud, THERE)
    forgotten_in(cloud, HERE)
    assert made_in(cloud, THERE) == new
    back = made_in(cloud, HERE)
    assert back not in (old, new), "an address that events name is never given out for something else"
    forgotten_in(cloud, THERE)
    assert made_in(cloud, HERE) == back
