"""A bench of any cloud whose regions leave their network to Kedge, and the runs on such a network."""

import json
import threading
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from providers.aws import permissions as aws
from providers.azure import permissions as azure
from providers.base import Place
from providers.digitalocean import permissions as digitalocean
from providers.google import permissions as google
from providers.hetzner.cloud import HetznerCloud
from providers.networks import FirewallPorts, NetworkRun, NetworkRunKind, name_in_account
from providers.tf.network_run import NetworkResult, execute_network, network_state_key
from providers.tf.state_file import LocalStates
from providers.upcloud import permissions as upcloud
from tests.fakes.clouds import digitalocean as digitalocean_fake
from tests.fakes.clouds.aws import DRY
from tests.fakes.clouds.hetzner import TOKEN, fake_hetzner
from tests.fakes.clouds.hetzner_hands import write_settings as write_hetzner
from tests.standins.mirror import MODULES
from tests.terraform.awslife import aws_bench
from tests.terraform.azurelife import azure_bench
from tests.terraform.cloudbench import CloudBench
from tests.terraform.digitaloceanlife import digitalocean_bench
from tests.terraform.googlelife import google_bench
from tests.terraform.hetznerlife import HetznerBench, hcloud_plugins
from tests.terraform.upcloudlife import upcloud_bench

KEY = "network-1-default"
CIDR = "10.64.0.0/20"

REST = frozenset({"images", "encrypt"})
"""What a person tells of a region whose network is Kedge's."""


@dataclass
class NetworkBench:
    """`made` is what the provider is told of networks: the last outcome of each run that made or changed one."""

    of: CloudBench
    place: Place
    made: dict[Place, Mapping[str, Any]] = field(default_factory=dict)
    installation_id: str = "test"

    def run(self, kind: NetworkRunKind, *, intent: str, **told: Any) -> NetworkResult:
        """The zones are those of a test, `a` and `b`, unless told."""
        run = self.wanted(kind, intent=intent, **told)
        result = execute_network(
            run,
            provider=self.of.cloud,
            states=LocalStates(self.of.state_root),
            module_root=MODULES,
            on_progress=self.of.progress.append,
            stop=threading.Event(),
            timeout_s=300.0,
        )
        if kind is NetworkRunKind.REMOVE:
            self.made.pop(self.place)
        else:
            self.made[self.place] = result.settings
        return result

    def wanted(self, kind: NetworkRunKind, *, intent: str, **told: Any) -> NetworkRun:
        given: dict[str, Any] = {"cidr": CIDR, "zones": {self.zone("a"): 0, self.zone("b"): 1}, **told}
        # Runs are found, and ended, by their id: one of this bench's own.
        intent = f"{intent}-{abs(hash(str(self.of.state_root))) % 10**8}"
        called = name_in_account(self.place, self.installation_id)
        return NetworkRun(intent, kind, KEY, self.place, self.installation_id, called=called, **given)

    def other_installation(self) -> "NetworkBench":
        """Another one in the same account, with states of its own."""
        here: Any = self.of
        made: dict[Place, Mapping[str, Any]] = {}
        cloud = replace(here.cloud, installation_id="other", networks=made.get)
        of = replace(here, cloud=cloud, state_root=here.state_root.with_name("states-of-the-other"))
        return NetworkBench(of, self.place, made, "other")

    def zone(self, letter: str) -> str:
        """What a test's zone is called on that cloud."""
        match self.place.cloud:
            case "aws":
                return f"{self.place.region}{letter}"
            case "google":
                return f"{self.place.region}-{'bcd'['abc'.index(letter)]}"
            case "azure":
                return f"{self.place.region}-{'123'['abc'.index(letter)]}"
            case "hetzner":
                return {"a": "fsn1", "b": "hel1", "c": "nbg1"}[letter]
        return f"{self.place.region}-{letter}"


def let_in(bench: NetworkBench) -> dict[str, set[int]]:
    """Who is let in at which TCP ports, by the rules in the network's state: `members`, or clients by CIDR.
    For UDP see `tunnels_into`.

    On Hetzner members, and on UpCloud clients as well, are let in by VMs themselves: what its module tells them.
    """
    run = bench.wanted(NetworkRunKind.ACCESS, intent="look")
    body = LocalStates(bench.of.state_root).of(network_state_key(run)).read()
    found: dict[str, set[int]] = {}
    for resource in json.loads(body or b"{}")["resources"]:
        for one in resource["instances"]:
            for protocol, who, port in _rules(resource["type"], one["attributes"]):
                if protocol == "tcp":
                    found.setdefault(who, set()).add(int(port))
    if bench.place.cloud in ("hetzner", "upcloud"):
        told = bench.made[bench.place]
        brokers, members = (
            set(told.get(f"{who}_ports", usual)) for who, usual in (("broker", [9092]), ("member", [9093]))
        )
        found["members"] = brokers | members
        if bench.place.cloud == "upcloud":
            own = {int(port): clients for port, clients in told.get("port_clients", {}).items()}
            for port in brokers:
                for cidr in own.get(port, told["clients"]):
                    found.setdefault(cidr, set()).add(port)
            ports = FirewallPorts(tuple(sorted(brokers)), tuple(sorted(members)))
            found |= {cidr: {*ports.of_server} for cidr in told.get("servers", ())}
    return found


def tunnels_into(bench: NetworkBench) -> dict[str, set[int]]:
    """Who is let in at which UDP ports, as `let_in`; where VMs filter, as its module tells them (`told`), and as the
    cloud's own firewall does (Hetzner's, of public traffic)."""
    run = bench.wanted(NetworkRunKind.ACCESS, intent="look")
    body = LocalStates(bench.of.state_root).of(network_state_key(run)).read()
    found: dict[str, set[int]] = {}
    for resource in json.loads(body or b"{}")["resources"]:
        for one in resource["instances"]:
            for protocol, who, port in _rules(resource["type"], one["attributes"]):
                if protocol == "udp":
                    found.setdefault(who, set()).add(int(port))
    told = bench.made[bench.place]
    for word, name in (("members told", "overlay_ports"), ("anybody told", "open_overlay_ports")):
        found |= {word: set(told[name])} if told.get(name) else {}
    return found


OF_VMS: Mapping[str, Collection[str]] = {
    "aws": {*aws.READS, *aws.MAKES, *aws.CHANGES, *(name.partition(":")[2] for name in aws.QUOTAS)},
    "azure": azure.OF_CALLS,
    "digitalocean": digitalocean.OF_CALLS,
    "google": google.OF_METHODS,
    "upcloud": upcloud.OF_CALLS,
}
OF_NETWORKS: Mapping[str, Collection[str]] = {
    "aws": {*aws.NETWORK_READS, *aws.NETWORK_MAKES, *aws.NETWORK_CHANGES},
    "azure": azure.OF_NETWORKS,
    "digitalocean": digitalocean.OF_NETWORKS,
    "google": google.OF_NETWORKS,
    "upcloud": {
        *("GetAccount", "GetNetwork", "CreateNetwork", "DeleteNetwork", "GetRouter", "CreateRouter", "DeleteRouter"),
        *("GetServerGroup", "CreateServerGroup", "DeleteServerGroup"),
    },
}
"""Calls the tables of permissions name. A token of Hetzner's may do everything in its project. UpCloud gives a
sub-account what it creates: no table has a grant for networks that Kedge makes, nor for one by `upcloud.yaml`."""

UNMETERED = {"token", "GetCallerIdentity", f"RunInstances{DRY}"}
"""Questions about the caller itself: no permission is needed."""

ELSEWHERE = {"azure": {f"{verb} virtualmachinescalesets" for verb in ("GET", "PUT", "DELETE")}}
"""What this life has none of: regions without zones."""


def asks_for_what_its_policies_give(bench: NetworkBench) -> None:
    """What was called since its bench was opened, by Kedge and by Terraform, is in the tables of permissions, and all
    that is in those for networks was called."""
    cloud, called = bench.place.cloud, {*+_calls(bench.of)} - UNMETERED
    print(f"calls at {cloud}: {sorted(called)}")
    if cloud in OF_NETWORKS:
        lacking = called - {*OF_VMS[cloud], *OF_NETWORKS[cloud]}
        assert not lacking, f"docs/clouds/policies does not give {sorted(lacking)}"
        assert {*OF_NETWORKS[cloud]} - called == ELSEWHERE.get(cloud, set()), "no least privilege"


def _calls(bench: CloudBench) -> Counter[str]:
    (calls,) = (fake.calls for fake in vars(bench).values() if isinstance(getattr(fake, "calls", None), Counter))
    counted: Counter[str] = calls
    return counted


def _rules(kind: str, has: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """(protocol, who, port)"""
    match kind:
        case "aws_vpc_security_group_ingress_rule":
            assert has["to_port"] == has["from_port"]
            yield has["ip_protocol"], has["cidr_ipv4"] or has["cidr_ipv6"] or "members", has["from_port"]
        case "azurerm_network_security_rule" if has["access"] == "Allow":
            sources = has["source_address_prefixes"]
            for port in has["destination_port_ranges"] or [has["destination_port_range"]]:
                who = ("members" if s.startswith("10.64.") else s for s in sources)
                yield from ((has["protocol"].lower(), s, port) for s in who)
        case "google_compute_firewall":
            for rule in has["allow"]:
                sources = has["source_ranges"] or ["members"]
                yield from ((rule["protocol"], source, port) for port in rule["ports"] for source in sources)
        case "digitalocean_firewall":
            for rule in has["inbound_rule"]:
                first, _, last = rule["port_range"].partition("-")
                for port in range(int(first), int(last or first) + 1):
                    tagged = ["members"] if rule["source_tags"] else []
                    sources = (*(rule["source_addresses"] or ()), *tagged)
                    yield from ((rule["protocol"], source, str(port)) for source in sources)
        case "hcloud_firewall":
            for rule in has["rule"] or ():
                yield from ((rule["protocol"], source, rule["port"]) for source in rule["source_ips"])


def left_to_kedge(file: Path) -> None:
    """Takes all ids of networks out of a cloud's settings."""
    told = yaml.safe_load(file.read_text())
    for account in told["accounts"].values():
        account["regions"] = {
            name: {key: value for key, value in region.items() if key in REST}
            for name, region in account["regions"].items()
        }
    file.write_text(yaml.safe_dump(told))


@contextmanager
def network_bench(cloud: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[NetworkBench]:
    """A bench of that cloud: the vendor's provider for AWS and Hetzner, a stand-in for the others."""
    monkeypatch.setenv("DIGITALOCEAN_TOKEN", digitalocean_fake.TOKEN)
    with cloud_bench(cloud, folder, monkeypatch) as opened:
        there = cast(Any, opened.cloud)
        left_to_kedge(there.settings_file)
        bench = NetworkBench(opened, opened.place)
        opened.cloud = replace(there, networks=bench.made.get)
        _calls(opened).clear()  # what its settings were made with
        yield bench


@contextmanager
def cloud_bench(cloud: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CloudBench]:
    """A bench of that cloud in a network of somebody's: the vendor's provider for AWS and Hetzner, stand-ins else."""
    if cloud == "aws":
        with aws_bench(folder, monkeypatch) as bench:
            yield bench
    elif cloud == "hetzner":
        monkeypatch.setenv("HCLOUD_TOKEN", TOKEN)
        with fake_hetzner() as hetzner:
            settings = write_hetzner(folder / "hetzner.yaml", hetzner, groups=0, plugins=hcloud_plugins())
            yield HetznerBench(HetznerCloud("test", settings), hetzner, folder / "states")
    elif cloud == "azure":
        with azure_bench(folder, monkeypatch) as azure:
            yield azure
    elif cloud == "google":
        with google_bench(folder) as google:
            yield google
    elif cloud == "digitalocean":
        with digitalocean_bench(folder) as digitalocean:
            yield digitalocean
    else:
        with upcloud_bench(folder, monkeypatch) as upcloud:
            yield upcloud
