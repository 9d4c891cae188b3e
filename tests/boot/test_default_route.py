"""What a VM does for a default route where its cloud's DHCP gives none, run with the routes that Hetzner's gives."""

import os
import subprocess
from collections.abc import Iterator
from importlib.resources import files

import pytest

from tests.boot import namespaces
from tests.boot.cloud_network import Card, CloudNetwork
from tests.boot.debian_vm import ran
from tests.marks import A_NETWORK_FOR_EACH_VM

pytestmark = [A_NETWORK_FOR_EACH_VM]

ADDRESS, SUBNET = "10.20.1.7", "10.20.1.0"


@pytest.fixture
def vm() -> Iterator[str]:
    """A namespace with a card in the network of nodes, and none in its own yet."""
    name = namespaces.make(f"kedge-{os.getpid()}-route")
    nodes = CloudNetwork(f"kedge-{os.getpid()}-nodes", "10.21.0.0/16", lambda _, __: None).open()
    try:
        nodes.join(Card(name, "enp8s0", "10.21.0.7"), own="10.21.0.7")
        yield name
    finally:
        nodes.close()
        namespaces.remove(name)


@pytest.fixture
def own() -> Iterator[CloudNetwork]:
    network = CloudNetwork(f"kedge-{os.getpid()}-own", "10.20.0.0/16", lambda _, __: None).open()
    yield network
    network.close()


def look(vm: str) -> int:
    script = str(files("providers.boot") / "default-route.sh")
    return subprocess.run(("ip", "netns", "exec", vm, "sh", script, SUBNET), check=False, timeout=60).returncode


def test_all_that_nothing_else_leads_to_goes_to_the_gateway_of_its_own_network_once_its_card_is_up(
    vm: str, own: CloudNetwork
) -> None:
    assert look(vm) != 0, "its own network is not there yet: asked again by its unit"
    own.join(Card(vm, "enp7s0", ADDRESS), own=ADDRESS)
    assert look(vm) == 0
    assert ran("ip", "-n", vm, "route", "show", "default") == "default via 10.20.0.1 dev enp7s0 onlink"
    assert look(vm) == 0, "and again, at each boot"


def test_a_default_route_that_is_there_stays(vm: str, own: CloudNetwork) -> None:
    own.join(Card(vm, "enp7s0", ADDRESS), own=ADDRESS)
    ran("ip", "-n", vm, "route", "add", "default", "via", "10.21.0.1", "dev", "enp8s0", "onlink")
    assert look(vm) == 0
    assert "via 10.21.0.1" in ran("ip", "-n", vm, "route", "show", "default")
