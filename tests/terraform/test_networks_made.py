"""Networks that Kedge makes, through their whole life: the real Terraform with the vendors' providers for AWS, against
moto, and Hetzner, against a fake, and with stand-ins for the four others. Each run goes through the guard.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from providers.base import Resources
from providers.errors import UnsafeChange
from providers.networks import NetworkMissing, NetworkRunKind, Ports
from providers.tf.networkrun import network_state_key
from providers.tf.statebody import addresses_in
from providers.tf.statefile import LocalStates
from tests.fakes.resources import instance, resources
from tests.terraform.networklife import NetworkBench, let_in, network_bench

pytestmark = [pytest.mark.terraform, pytest.mark.timeout(400)]

MAKE, GROW, ACCESS, REMOVE = (
    NetworkRunKind.MAKE,
    NetworkRunKind.GROW,
    NetworkRunKind.ACCESS,
    NetworkRunKind.REMOVE,
)
OFFICE, OTHER = "192.168.8.0/24", "192.168.9.0/24"
PORTS = Ports((9092, 9192), (2181, 2888, 3888, 9093))


SLOW = pytest.param("aws", marks=[pytest.mark.soak, pytest.mark.timeout(900)])
"""Ten runs, and each of their commands starts the vendor's provider of 700 MB: a run took 40 s on a busy machine."""


@pytest.fixture(params=["hetzner", SLOW, "azure", "google", "digitalocean", "upcloud"])
def bench(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[NetworkBench]:
    with network_bench(request.param, tmp_path, monkeypatch) as opened:
        yield opened


def test_a_network_is_made_used_grown_opened_and_removed(bench: NetworkBench) -> None:
    filters = bench.place.cloud != "upcloud"  # which filters nothing in a private network
    with pytest.raises(NetworkMissing, match="Kedge's to make"):
        bench.of.cloud.variables(_one_vm(bench))

    made = bench.run(MAKE, intent="make")
    assert made.changed
    assert bench.of.cloud.variables(_one_vm(bench))["instances"]
    again = bench.run(MAKE, intent="make")
    assert (again.changed, again.imported) == ((), ())

    grown = bench.run(GROW, intent="grow", zones={bench.zone(z): n for n, z in enumerate("abc")})
    assert bench.of.cloud.variables(_one_vm(bench, "c"))["instances"]
    zones = {"zones": {bench.zone(z): n for n, z in enumerate("abc")}}
    assert all("zone" in a or "rule" in a for a in grown.changed), grown.changed

    if filters:
        opened = bench.run(ACCESS, intent="open", clients=(OFFICE,), **zones)
        assert opened.changed
        assert all("clients" in a or a.endswith("firewall.kafka") for a in opened.changed), opened.changed
        told = {"clients": (OFFICE, OTHER), "ports": PORTS, **zones}
        assert bench.run(ACCESS, intent="more", **told).changed
        clients = set(PORTS.brokers)
        assert let_in(bench) == {"members": {*PORTS.brokers, *PORTS.members}, OFFICE: clients, OTHER: clients}
        assert bench.run(ACCESS, intent="more", **told).changed == ()
        with pytest.raises(UnsafeChange, match="changes nothing that is there"):
            bench.run(MAKE, intent="not-this", clients=(), **zones)
        assert bench.run(ACCESS, intent="none", clients=(), **zones).changed
        assert let_in(bench) == {"members": {9092, 9093}}
    if bench.place.cloud in ("aws", "azure", "google", "hetzner"):  # elsewhere a zone is a word, and nothing is made
        with pytest.raises(UnsafeChange, match="would delete it; a change of access touches"):
            bench.run(ACCESS, intent="fewer-zones")

    assert bench.run(REMOVE, intent="remove", **zones).changed
    state = LocalStates(bench.of.state_root).of(network_state_key(bench.wanted(REMOVE, intent="x")))
    assert addresses_in(state.read()) == frozenset()


def _one_vm(bench: NetworkBench, zone: str = "a") -> Resources:
    wanted = resources(replace(instance("b-0"), zone=bench.zone(zone)))
    return replace(wanted, place=bench.place)
