"""Golden states of networks: as a released version of a module wrote them, with what the cloud held beside them.

Each has two zones, clients, ports beyond the usual ones and members in another place. `local` has no networks to make.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from providers.networks import FirewallPorts, NetworkRunKind
from providers.tf.network_run import network_state_key
from providers.tf.state_file import LocalStates, StatePaths
from tests.terraform.goldenaws import NETWORK_LISTINGS, objects_of, put_back, recording
from tests.terraform.goldenstandins import STAND_INS, Kept
from tests.terraform.networklife import NetworkBench, network_bench

FOLDER = Path(__file__).parent / "golden_states" / "networks"
LINEAGE = "00000000-0000-4000-8000-000000000000"
CLOUDS = ("aws", "azure", "digitalocean", "google", "hetzner", "upcloud")

TOLD: Mapping[str, Any] = {
    "clients": ("192.168.8.0/24",),
    "ports": FirewallPorts((9092, 9192), (2181, 9093)),
    "peers": ("10.65.0.0/20",),
}


@contextmanager
def golden_network(cloud: str, folder: Path) -> Iterator[NetworkBench]:
    """A bench of an empty account."""
    with pytest.MonkeyPatch.context() as monkeypatch, network_bench(cloud, folder, monkeypatch) as bench:
        yield bench


def golden_files(cloud: str) -> list[Path]:
    """The states of every released version of a cloud's network module, oldest first."""
    return sorted((FOLDER / cloud).glob("*.tfstate.json"))


def put(bench: NetworkBench, golden: Path) -> bytes:
    """Has the cloud hold what was recorded beside a golden state, and makes that the network's; as it is kept now."""
    cloud, text = bench.place.cloud, golden.read_text()
    recorded = json.loads(golden.with_name(golden.name.replace(".tfstate.", ".objects.")).read_text())
    if cloud == "aws":
        text = put_back(cast(Any, bench.of), recorded, text)
    else:
        for kind, things in _kept(bench).items():
            things.clear()
            things.update({int(one) if cloud == "hetzner" else one: thing for one, thing in recorded[kind].items()})
    kept = state_of(bench)
    with kept.locked("golden", on_lost=lambda: None):
        kept.write(text.encode())
    return text.encode()


def state_of(bench: NetworkBench) -> StatePaths:
    key = network_state_key(bench.wanted(NetworkRunKind.MAKE, intent="look"))
    return LocalStates(bench.of.state_root).of(key)


def is_written(cloud: str, version: str) -> bool:
    return (FOLDER / cloud / f"{version}.tfstate.json").exists()


def write(cloud: str, version: str, folder: Path) -> None:
    """By today's module."""
    with golden_network(cloud, folder) as bench:
        objects: Any
        if cloud == "aws":
            opened = cast(Any, bench.of)
            with recording(opened.aws) as calls:
                bench.run(NetworkRunKind.MAKE, intent="make", **TOLD)
            objects = objects_of(opened, calls, NETWORK_LISTINGS)
        else:
            bench.run(NetworkRunKind.MAKE, intent="make", **TOLD)
            objects = _kept(bench)
        body = state_of(bench).read()
        assert body is not None
        (FOLDER / cloud).mkdir(parents=True, exist_ok=True)
        for kind, told in (("objects", objects), ("tfstate", {**json.loads(body), "lineage": LINEAGE})):
            text = json.dumps(told, indent=1, sort_keys=True) + "\n"
            (FOLDER / cloud / f"{version}.{kind}.json").write_text(text)


def _kept(bench: NetworkBench) -> Kept:
    """Everything of networks a fake holds: its own dictionaries."""
    cloud, opened = bench.place.cloud, cast(Any, bench.of)
    match cloud:
        case "hetzner":
            return cast(Kept, opened.hetzner.project.kinds)
        case "digitalocean":
            return {"vpcs": opened.fake.vpcs, "firewalls": opened.fake.firewalls, "tags": opened.fake.tags}
        case "upcloud":
            there = opened.upcloud.things
            return {"networks": there.networks, "routers": there.routers, "groups": there.groups}
    return STAND_INS[cloud].kept(opened)
