"""What of a network exists at Hetzner, by its labels: what an interrupted run made and nobody knows is imported.

Names are unique in a project, so a second one could not be made in any case; without imports a run would only fail.
"""

from collections.abc import Iterator, Mapping
from ipaddress import IPv4Network
from typing import Any

from hcloud import Client

from providers.base import Place
from providers.hetzner.errors import translated
from providers.networks import NetworkRun
from providers.tf.imports import in_module

_PAGE = 50


def network_pieces(client: Client, run: NetworkRun) -> dict[str, str]:
    """Terraform's address -> id to import by."""
    own, name = dict[str, str](), run.cloud_name
    for network in _labelled(client, run, "networks"):
        if network["name"] not in (name, f"{name}-nodes"):
            continue
        resource = "own" if network["name"] == name else "node"
        own[f"module.kedge.hcloud_network.{resource}"] = str(network["id"])
        ranges = {str(s["ip_range"]): f"{network['id']}-{s['ip_range']}" for s in network["subnets"]}
        own |= {address: ranges[cidr] for address, cidr in _subnets(run, resource).items() if cidr in ranges}
    for firewall in _labelled(client, run, "firewalls"):
        if firewall["name"] == f"{name}-kafka":
            own["module.kedge.hcloud_firewall.kafka"] = str(firewall["id"])
    for group in _labelled(client, run, "placement_groups"):
        number = str(group["name"]).removeprefix(f"{name}-")
        if number.isdecimal():
            own[in_module("hcloud_placement_group.spread", number)] = str(group["id"])
    return own


def _subnets(run: NetworkRun, resource: str) -> dict[str, str]:
    """Terraform's address of each subnet -> its range, as the module reckons it."""
    halves = list(IPv4Network(run.cidr).subnets(1))
    if resource == "own":
        sixteenths = list(halves[0].subnets(4))
        return {in_module("hcloud_network_subnet.zone", zone): str(sixteenths[n]) for zone, n in run.zones.items()}
    member, node = halves[1].subnets(1)
    where = "module.kedge.hcloud_network_subnet"
    return {f"{where}.member": str(member), f"{where}.node": str(node)}


def _labelled(client: Client, run: NetworkRun, kind: str) -> Iterator[Mapping[str, Any]]:
    selector = f"kedge-installation={run.installation_id},kedge-network={run.cloud_name}"
    page: int | None = 1
    while page is not None:
        told = _page(client, run.place, kind, {"label_selector": selector, "page": page, "per_page": _PAGE})
        yield from told[kind]
        page = (told.get("meta") or {}).get("pagination", {}).get("next_page")


def _page(client: Client, place: Place, kind: str, asked: Mapping[str, Any]) -> Mapping[str, Any]:
    with translated(f"{place}: looking for {kind}"):
        told: Mapping[str, Any] = client.request(method="GET", url=f"/{kind}", params=dict(asked))
    return told
