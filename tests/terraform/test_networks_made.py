"""Networks that Kedge makes, through their whole life: the real Terraform with the vendors' providers for AWS, against
moto, and Hetzner, against a fake, and with stand-ins for the four others. Each run goes through the guard.

Where VMs may have IPv6 a network is made with it, too, and two VMs live in it, one of them with IPv6: on Hetzner in
each `make test`, elsewhere in soak. So it is with what the guard and the rules of clients do alike on all clouds.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from providers.base import Resources, RunKind
from providers.errors import UnsafeChange
from providers.networks import FirewallPorts, NetworkMissing, NetworkRunKind
from providers.packet_filter import FiltersPackets
from providers.tf.network_run import network_state_key
from providers.tf.state_body import addresses_in
from providers.tf.state_file import LocalStates
from tests.fakes.resources import instance, resources, run, surge, targets
from tests.terraform.audits import audited, looked_at
from tests.terraform.ipv6life import cluster_with_ipv6, nobody_is_let_in_by_ipv6, say_ipv6, who_asked_has_it
from tests.terraform.networklife import NetworkBench, asks_for_what_its_policies_give, let_in, network_bench
from tests.terraform.standins import provider_of

pytestmark = [pytest.mark.terraform, pytest.mark.timeout(400)]

MAKE, GROW, ACCESS, REMOVE = (
    NetworkRunKind.MAKE,
    NetworkRunKind.GROW,
    NetworkRunKind.ACCESS,
    NetworkRunKind.REMOVE,
)
OFFICE, OTHER, LAB = "192.168.8.0/24", "192.168.9.0/24", "192.168.10.0/24"
ELSEWHERE = "10.65.0.0/20"
"""The network of another place of its clusters."""
SERVER = "10.99.0.5/32"
"""Where Kedge's own server dials from."""
PORTS = FirewallPorts((9092, 9094, 9095, 9192), (2181, 2888, 3888, 9093))
OWN = ((9094, (LAB, OFFICE)), (9095, ()))
"""Listeners with clients of their own, the other with none."""

SLOW = provider_of("aws", marks=[pytest.mark.soak, pytest.mark.timeout(1800)])
"""Thirteen runs, each of whose commands starts the vendor's provider of 700 MB: a run took 70 s on a busy machine."""


AS_EVER = ["azure", "google", "digitalocean", "upcloud"]
WITH_IPV6 = ["hetzner", SLOW, *(provider_of(cloud, marks=pytest.mark.soak) for cloud in AS_EVER[:-1])]
"""UpCloud has none to give."""


@pytest.mark.parametrize("cloud", [provider_of(cloud) for cloud in AS_EVER])
def test_a_network_is_made_grown_opened_and_removed(
    cloud: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with network_bench(cloud, tmp_path, monkeypatch) as opened:
        its_life(opened, ipv6=False, whole=False)


@pytest.mark.parametrize("cloud", WITH_IPV6)
def test_a_network_with_ipv6_is_made_used_grown_opened_and_removed(
    cloud: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with network_bench(cloud, tmp_path, monkeypatch) as opened:
        its_life(opened, ipv6=True, whole=True)


@pytest.mark.parametrize(
    "cloud",
    ["hetzner", *(provider_of(cloud, marks=pytest.mark.soak) for cloud in ("azure", "google", "digitalocean"))],
)
def test_two_installations_may_each_have_a_network_of_one_name_in_one_account(
    cloud: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """These clouds refuse a second thing of a name; the first one's is as it was when the second's is gone."""
    with network_bench(cloud, tmp_path, monkeypatch) as bench:
        other = bench.other_installation()
        bench.run(MAKE, intent="make")
        other.run(MAKE, intent="make", cidr="10.64.16.0/20")
        other.run(REMOVE, intent="remove", cidr="10.64.16.0/20")
        found = looked_at(bench)
        assert (found.drifts, found.resources > 0) == ((), True)


def its_life(bench: NetworkBench, *, ipv6: bool, whole: bool) -> None:
    walled = bench.place.cloud != "upcloud"  # whose VMs filter packets by themselves, as they are told
    if ipv6:
        say_ipv6(bench)
    with pytest.raises(NetworkMissing, match="Kedge's to make"):
        bench.of.cloud.variables(_one_vm(bench))

    made = bench.run(MAKE, intent="make")
    assert made.changed
    assert made.settings.get("ipv6", False) is (ipv6 and bench.place.cloud != "hetzner")
    assert bench.of.cloud.variables(_one_vm(bench))["instances"]
    again = bench.run(MAKE, intent="make")
    assert (again.changed, again.imported) == ((), ())
    if ipv6:
        vms_live_in_it(bench)

    grown = bench.run(GROW, intent="grow", zones={bench.zone(z): n for n, z in enumerate("abc")})
    assert bench.of.cloud.variables(_one_vm(bench, "c"))["instances"]
    zones = {"zones": {bench.zone(z): n for n, z in enumerate("abc")}}
    assert all("zone" in a or "rule" in a for a in grown.changed), grown.changed

    if whole:
        opened = bench.run(ACCESS, intent="open", clients=(OFFICE,), **zones)
        assert opened.changed
        assert all("clients" in a or a.endswith("firewall.kafka") for a in opened.changed), opened.changed
    if ipv6:
        nobody_is_let_in_by_ipv6(bench, OFFICE)
    told = {"clients": (OFFICE, OTHER), "ports": PORTS, "peers": (ELSEWHERE,), "servers": (SERVER,), **zones}
    told |= {"port_clients": OWN}
    assert bool(bench.run(ACCESS, intent="more", **told).changed) is walled
    clients, members = {9092, 9192}, {*PORTS.brokers, *PORTS.members}
    # Where VMs filter packets, agents tell them of members elsewhere.
    beside = {} if isinstance(bench.of.cloud, FiltersPackets) else {ELSEWHERE: members}
    dialled = {SERVER: {*PORTS.of_server}}
    own = {OFFICE: {*clients, 9094}, LAB: {9094}}
    assert let_in(bench) == {"members": members, OTHER: clients, **own, **beside, **dialled}
    if isinstance(bench.of.cloud, FiltersPackets):
        assert bench.of.cloud.packet_filter(bench.place) in born(bench)
        assert f"tcp dport {{ 9092, 9192 }} ip saddr {{ {OFFICE}, {OTHER} }} accept" in born(bench)
        assert f"tcp dport 9094 ip saddr {{ {OFFICE}, {LAB} }} accept" in born(bench)
        assert f"tcp dport {{ 2181, 9092, 9093, 9094, 9095, 9192 }} ip saddr {{ {SERVER} }} accept" in born(bench)
    if whole:
        assert bench.run(ACCESS, intent="more", **told).changed == ()
        with pytest.raises(UnsafeChange, match="changes nothing that is there"):
            bench.run(MAKE, intent="not-this", clients=(), **zones)
    assert bool(bench.run(ACCESS, intent="none", clients=(), **zones).changed) is walled
    assert let_in(bench) == {"members": {9092, 9093}}
    if bench.place.cloud in ("aws", "azure", "google", "hetzner"):  # elsewhere a zone is a word, and nothing is made
        with pytest.raises(UnsafeChange, match="would delete it; a change of access touches"):
            bench.run(ACCESS, intent="fewer-zones")

    if ipv6:
        vms_go(bench)
    assert bench.run(REMOVE, intent="remove", **zones).changed
    state = LocalStates(bench.of.state_root).of(network_state_key(bench.wanted(REMOVE, intent="x")))
    assert addresses_in(state.read()) == frozenset()
    asks_for_what_its_policies_give(bench)


def born(bench: NetworkBench) -> str:
    """The packet filter in the boot data of a VM that is made now."""
    told: Any = bench.of.cloud.variables(_one_vm(bench))["instances"]
    return str(yaml.safe_load(told["b-0.g1"]["boot_data"])["bootcmd"][0][1])


def vms_live_in_it(bench: NetworkBench) -> None:
    wanted = cluster_with_ipv6(bench)
    assert set(bench.of.execute(surge(wanted)).changed) == targets(wanted)
    who_asked_has_it(bench)
    assert bench.of.execute(surge(wanted)).changed == (), "plan empty"
    if bench.place.cloud == "hetzner":  # a stand-in's records are not whole enough to be audited
        assert audited(bench.of, wanted).drifts == ()


def vms_go(bench: NetworkBench) -> None:
    """After all that was changed of their network, they are as they were, and leave it."""
    who_asked_has_it(bench)
    wanted = cluster_with_ipv6(bench)
    gone = run(RunKind.DESTROY, wanted, deletes=targets(wanted), intent="run-2")
    assert set(bench.of.execute(gone).changed) == targets(wanted)


def _one_vm(bench: NetworkBench, zone: str = "a") -> Resources:
    wanted = resources(replace(instance("b-0"), zone=bench.zone(zone)))
    return replace(wanted, place=bench.place)
