"""IPv6 in a network of Kedge's: as a person asks for it, and what is to be true of VMs and of the way in."""

import json
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Network, ip_address
from typing import Any, cast

import yaml

from providers.base import Resources
from providers.networks import NetworkRunKind
from providers.tf.network_run import network_state_key
from providers.tf.state_file import LocalStates
from tests.fakes.resources import attachment, instance, resources, volume
from tests.terraform.networklife import NetworkBench


def say_ipv6(bench: NetworkBench) -> None:
    """As a person does: `ipv6: true` in each region of the cloud's settings. A server reads them when it starts."""
    cloud = cast(Any, bench.of.cloud)
    told = yaml.safe_load(cloud.settings_file.read_text())
    for account in told["accounts"].values():
        for name in account["regions"]:
            account["regions"][name]["ipv6"] = True
    cloud.settings_file.write_text(yaml.safe_dump(told))
    bench.of.cloud = replace(cloud)


def cluster_with_ipv6(bench: NetworkBench) -> Resources:
    """One VM with IPv6 and a disk, one without."""
    a = bench.zone("a")
    parts = (instance("b-0", zone=a, ipv6=True), volume("b-0", zone=a), attachment("b-0.g1", "b-0.data.v1"))
    wanted = resources(*parts, instance("b-1", zone=a))
    sizes = tuple(replace(v, size_gib=10) for v in wanted.volumes)
    return replace(wanted, place=bench.place, volumes=sizes)


def who_asked_has_it(bench: NetworkBench) -> None:
    """Of `cluster_with_ipv6`."""
    there = {i.key: i for i in bench.of.listing().instances}
    assert there["b-1.g1"].ipv6 == ""
    assert IPv6Network(there["b-0.g1"].ipv6)
    assert {type(ip_address(str(one.address))) for one in there.values()} == {IPv4Address}, "Kafka's stays IPv4"


def nobody_is_let_in_by_ipv6(bench: NetworkBench, client: str) -> None:
    """Neither by the rules of members nor by those of clients, of whom there is one; out may who is in it."""
    made = _state_of(bench)
    match bench.place.cloud:
        case "aws":
            assert [r["cidr_ipv6"] for r in made["aws_vpc_security_group_ingress_rule.members"]] == [None, None]
            assert [r["cidr_ipv6"] for r in made["aws_vpc_security_group_ingress_rule.clients"]] == [None]
            assert [r["cidr_ipv6"] for r in made["aws_vpc_security_group_egress_rule.out_ipv6"]] == ["::/0"]
        case "azure":
            rules = {r["name"]: r for key, found in made.items() if "security_rule" in key for r in found}
            allowed = [r for r in rules.values() if r["access"] == "Allow"]
            sources = [prefix for r in allowed for prefix in r["source_address_prefixes"]]
            assert sources
            assert not [prefix for prefix in sources if ":" in prefix]
            assert rules["nobody-else"]["source_address_prefix"] == "*"
        case "google":
            ranges = [r for one in made.values() for i in one for r in i.get("source_ranges") or ()]
            assert ranges == [client]
        case "digitalocean":
            (firewall,) = made["digitalocean_firewall.kafka"]
            inside = [a for r in firewall["inbound_rule"] for a in r["source_addresses"] or ()]
            assert inside == [client]
            assert all("::/0" in r["destination_addresses"] for r in firewall["outbound_rule"])
        case "hetzner":
            (firewall,) = made["hcloud_firewall.kafka"]
            assert [a for r in firewall["rule"] for a in r["source_ips"]] == [client]
            given = bench.of.cloud.variables(cluster_with_ipv6(bench))
            told = str(cast(Any, given)["instances"]["b-0.g1"]["boot_data"])
            assert "table inet kedge" in told
            assert "policy drop" in told
            assert "ip6 saddr" not in told


def _state_of(bench: NetworkBench) -> dict[str, Any]:
    """Attributes by Terraform's address of what the network's state holds."""
    run = bench.wanted(NetworkRunKind.MAKE, intent="x")
    held = json.loads(LocalStates(bench.of.state_root).of(network_state_key(run)).read() or b"")["resources"]
    return {f"{r['type']}.{r['name']}": [i["attributes"] for i in r["instances"]] for r in held}
