"""What an overlay needs of a cloud: its UDP ports in the firewall and no others, and public addresses of VMs that ask.

Hetzner and AWS (soak: it waits long for each thing) with the vendors' providers, the others with stand-ins. A network
of Kedge's is made, its firewall opened to tunnels and closed again, with VMs in it, until all is gone.
"""

from collections.abc import Iterator
from dataclasses import replace
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest
import yaml

from providers.base import Resources, RunKind
from providers.networks import NetworkRunKind, OverlayPorts
from providers.packet_filter import FiltersPackets
from providers.tf.network_run import network_state_key
from providers.tf.state_body import addresses_in, output_in
from providers.tf.state_file import LocalStates
from providers.tf.states import state_key
from tests.fakes.resources import UID, attachment, instance, resources, run, surge, targets, volume
from tests.terraform.ipv6life import say_ipv6
from tests.terraform.networklife import NetworkBench, let_in, network_bench, tunnels_into
from tests.terraform.standins import provider_of

pytestmark = [pytest.mark.terraform, pytest.mark.timeout(600)]

MAKE, GROW, ACCESS, REMOVE = (
    NetworkRunKind.MAKE,
    NetworkRunKind.GROW,
    NetworkRunKind.ACCESS,
    NetworkRunKind.REMOVE,
)
ELSEWHERE = "10.65.0.0/20"
TUNNELS = OverlayPorts((51820, 51822), (51821, 51823))
PRIVATE, PUBLIC = {51820, 51822}, {51821, 51823}

SLOW = pytest.param("aws", marks=[pytest.mark.soak, pytest.mark.timeout(1800)])
CLOUDS = [
    "hetzner",
    *(provider_of(cloud) for cloud in ("azure", "digitalocean", "google", "upcloud")),
    SLOW,
]


@pytest.fixture(params=CLOUDS)
def bench(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[NetworkBench]:
    with network_bench(request.param, tmp_path, monkeypatch) as opened:
        yield opened


def test_a_firewall_opens_exactly_the_ports_of_tunnels_and_closes_them_again(bench: NetworkBench) -> None:
    bench.run(MAKE, intent="make")
    assert tunnels_into(bench) == {}
    before = let_in(bench)

    assert bench.run(ACCESS, intent="private", overlay=OverlayPorts(TUNNELS.members)).changed or _filters(bench)
    assert tunnels_into(bench) == _members(bench)
    told = {"overlay": TUNNELS, "peers": (ELSEWHERE,)}
    assert bench.run(ACCESS, intent="public", **told).changed or bench.place.cloud == "upcloud"
    assert tunnels_into(bench) == {**_members(bench, ELSEWHERE), **_anybody(bench)}
    assert bench.run(ACCESS, intent="public", **told).changed == (), "plan empty"
    grown = {bench.zone(z): n for n, z in enumerate("abc")}
    bench.run(GROW, intent="grow", zones=grown, **told)
    assert tunnels_into(bench) == {**_members(bench, ELSEWHERE), **_anybody(bench)}
    if _filters(bench):
        rules = cast_filter(bench)
        assert "udp dport { 51820, 51822 } ip saddr {" in rules
        assert "udp dport { 51821, 51823 } accept" in rules
        assert rules.count("udp dport") == 4, "an address of its own, tunnels of two kinds, probes within them"
        assert rules in _born(bench)

    bench.run(ACCESS, intent="off", zones=grown)
    assert (tunnels_into(bench), let_in(bench)) == ({}, before)
    assert bench.run(REMOVE, intent="remove", zones=grown).changed
    state = LocalStates(bench.of.state_root).of(network_state_key(bench.wanted(REMOVE, intent="x")))
    assert addresses_in(state.read()) == frozenset()


@pytest.mark.parametrize("cloud", [provider_of("digitalocean"), provider_of("google"), SLOW])
def test_where_a_network_has_public_ipv6_anybody_may_call_by_it(
    cloud: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with network_bench(cloud, tmp_path, monkeypatch) as bench:
        say_ipv6(bench)
        bench.run(MAKE, intent="make", overlay=TUNNELS)
        assert tunnels_into(bench) == {**_members(bench), "0.0.0.0/0": PUBLIC, "::/0": PUBLIC}
        bench.run(ACCESS, intent="off")
        assert tunnels_into(bench) == {}


def test_vms_that_ask_have_a_public_address_each_for_life(bench: NetworkBench) -> None:
    """One asks and has a disk, one asks not. Where a zone's VM has no choice (DigitalOcean) both have one."""
    bench.run(MAKE, intent="make", overlay=TUNNELS)
    wanted = _two(bench)
    assert set(bench.of.execute(surge(wanted)).changed) == targets(wanted)
    there = {i.key: i for i in bench.of.listing().instances}
    public = there["b-0.g1"].public_address
    assert IPv4Address(public)
    assert bool(there["b-1.g1"].public_address) is (bench.place.cloud == "digitalocean")
    assert str(there["b-0.g1"].address).startswith("10."), "Kafka's stays private"
    body = LocalStates(bench.of.state_root).of(state_key(UID, bench.place)).read()
    outputs: Any = output_in(body, "instances")
    assert outputs["b-0.g1"] == {"id": there["b-0.g1"].id, "address": there["b-0.g1"].address, "public_address": public}
    assert outputs["b-1.g1"].keys() == {"id", "address"}
    assert bench.of.execute(surge(wanted)).changed == (), "plan empty"

    gone = run(RunKind.DESTROY, wanted, deletes=targets(wanted), intent="run-2")
    assert set(bench.of.execute(gone).changed) == targets(wanted)
    assert bench.of.listing().instances == ()
    after = LocalStates(bench.of.state_root).of(state_key(UID, bench.place)).read()
    assert addresses_in(after) == frozenset()
    if bench.place.cloud == "azure":
        azure: Any = bench.of
        assert azure.azure.things.of_kind("microsoft.network/publicipaddresses") == []
    assert bench.run(REMOVE, intent="remove").changed, "nothing of a VM is left in it"


def cast_filter(bench: NetworkBench) -> str:
    cloud = bench.of.cloud
    assert isinstance(cloud, FiltersPackets)
    return cloud.packet_filter(bench.place)


def _born(bench: NetworkBench) -> str:
    """The packet filter in the boot data of a VM that is made now."""
    told: Any = bench.of.cloud.variables(_two(bench))["instances"]
    return str(yaml.safe_load(told["b-0.g1"]["boot_data"])["bootcmd"][0][1])


def _filters(bench: NetworkBench) -> bool:
    return isinstance(bench.of.cloud, FiltersPackets)


def _members(bench: NetworkBench, *peers: str) -> dict[str, set[int]]:
    """Where VMs filter packets, agents tell them of members elsewhere."""
    return {"members told": PRIVATE} if _filters(bench) else dict.fromkeys(("members", *peers), PRIVATE)


def _anybody(bench: NetworkBench) -> dict[str, set[int]]:
    match bench.place.cloud:
        case "upcloud":
            return {"anybody told": PUBLIC}
        case "hetzner":
            return {"anybody told": PUBLIC, "0.0.0.0/0": PUBLIC, "::/0": PUBLIC}
    return {"0.0.0.0/0": PUBLIC}


def _two(bench: NetworkBench) -> Resources:
    a = bench.zone("a")
    parts = (instance("b-0", zone=a, public_address=True), volume("b-0", zone=a), attachment("b-0.g1", "b-0.data.v1"))
    wanted = resources(*parts, instance("b-1", zone=a))
    sizes = tuple(replace(v, size_gib=10) for v in wanted.volumes)
    return replace(wanted, place=bench.place, volumes=sizes)
