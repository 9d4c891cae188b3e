"""What `kedge doctor` asks Hetzner: the token, images, types, placement groups, networks. Nothing is changed."""

from collections.abc import Callable, Iterator, Set
from ipaddress import IPv4Network
from typing import Any

from hcloud import APIException, Client

from providers.base import Place, Resources
from providers.catalog_file import sold_by
from providers.finding import Finding, looked_at
from providers.hetzner.errors import translated
from providers.hetzner.settings import HetznerRegion
from providers.preflight import of_addresses

MEMBERS_OF_A_GROUP = 10
"""Servers a spread group takes, and `MEMBERS_OF_A_NETWORK` a network (docs.hetzner.cloud, limits)."""
MEMBERS_OF_A_NETWORK = 100

_CORRECT = "Correct hetzner.yaml."
_ROUTE = "Give the network a route to a server of yours in it that passes packets on, or put Kedge's into the network."
_WRITE = "Make a token that may read and write."
_QUOTA = "Look at the project's limits in Hetzner's console."

_ARCHITECTURES = {"arm": "arm64", "x86": "x86_64"}

_Look = Callable[[], tuple[bool | None, str]]


def examine_region(client: Client, place: Place, region: HetznerRegion) -> Iterator[Finding]:
    """A finding for the token, and for what hetzner.yaml names in the region."""
    yield looked_at(f"{place}: permissions", _may_write(client, place), _WRITE)
    for name, number in (("network", region.network), ("node network", region.node_network)):
        yield looked_at(f"{place}: {name}", _network(client, place, number), "Use another network.")
    if region.servers:
        yield looked_at(f"{place}: way to Kedge's servers", _way_to_servers(client, place, region), _ROUTE)
    if region.placement_groups:
        yield looked_at(f"{place}: placement groups", _groups(client, place, region), "Add groups to hetzner.yaml.")
    if not region.images:
        yield Finding(f"{place}: images", False, "hetzner.yaml names none", "Name one for each Kafka version in use.")
    for version, by in sorted(region.images.items()):
        for architecture, image in sorted(by.items()):
            what = f"{place}: image of {version} for {architecture}"
            yield looked_at(what, _image(client, what, architecture, image), _CORRECT)
    yield looked_at(f"{place}: types", _types(client, place), "Use types by their own names.")
    yield Finding(f"{place}: quota", None, "Hetzner's API does not tell a project's limits", _QUOTA)


def look_ahead(client: Client, wanted: Resources, new: Set[str], region: HetznerRegion) -> Iterator[Finding]:
    """Room in the network for the new VMs; one call. The token was judged by `doctor`, with a request that writes."""
    what = f"network {region.network}"
    told = _get(client, f"{wanted.place}: {what}", f"/networks/{region.network}")["network"]
    needed = sum(f"instance/{i.key}" in new for i in wanted.instances)
    yield from of_addresses({"": (what, MEMBERS_OF_A_NETWORK - len(told["servers"]))}, {"": needed})


def _may_write(client: Client, place: Place) -> _Look:
    """A volume without anything a volume must have: whoever may only read is told so, else that it is no volume."""

    def look() -> tuple[bool | None, str]:
        with translated(f"{place}: may the token write"):
            try:
                client.request(method="POST", url="/volumes", json={})
            except APIException as error:
                if error.code == "token_readonly":
                    return False, "the token may only read"
                if error.code == "invalid_input":
                    return True, "the token may read and write"
                raise
        return None, "Hetzner took a request for nothing; what the token may do is unknown"

    return look


def _network(client: Client, place: Place, number: int) -> _Look:
    def look() -> tuple[bool | None, str]:
        told = _get(client, f"{place}: network {number}", f"/networks/{number}")["network"]
        left = MEMBERS_OF_A_NETWORK - len(told["servers"])
        return left > 0, f"{told['ip_range']}; room for {left} more servers"

    return look


def _way_to_servers(client: Client, place: Place, region: HetznerRegion) -> _Look:
    """Whether packets get there: VMs send all to the network's gateway, which knows the network and its routes."""

    def look() -> tuple[bool | None, str]:
        told = _get(client, f"{place}: routes of {region.network}", f"/networks/{region.network}")["network"]
        ways = [IPv4Network(told["ip_range"]), *(IPv4Network(one["destination"]) for one in told["routes"])]
        lost = [one for one in region.servers if not any(IPv4Network(one).subnet_of(way) for way in ways)]
        if lost:
            return False, f"network {region.network} has no route to {', '.join(lost)}: VMs would not reach Kedge there"
        return True, f"network {region.network} leads to {', '.join(region.servers)}"

    return look


def _groups(client: Client, place: Place, region: HetznerRegion) -> _Look:
    def look() -> tuple[bool | None, str]:
        held = 0
        for number in region.placement_groups:
            told = _get(client, f"{place}: group {number}", f"/placement_groups/{number}")["placement_group"]
            held += len(told["servers"])
        left = MEMBERS_OF_A_GROUP * len(region.placement_groups) - held
        return left > 0, f"{len(region.placement_groups)} groups, room for {left} more servers"

    return look


def _image(client: Client, what: str, architecture: str, image: int) -> _Look:
    def look() -> tuple[bool | None, str]:
        told = _get(client, what, f"/images/{image}")["image"]
        is_for = _ARCHITECTURES.get(told["architecture"], told["architecture"])
        return is_for == architecture and told["status"] == "available", f"{image} is for {is_for}, {told['status']}"

    return look


def _types(client: Client, place: Place) -> _Look:
    def look() -> tuple[bool | None, str]:
        with translated(f"{place}: types"):
            there = {str(one.name) for one in client.server_types.get_all()}
        sizes = sold_by("hetzner").raw["shapes"]
        missing = sorted(set(sizes.values()) - there)
        if missing:
            return False, f"Hetzner has no {', '.join(missing)}"
        return True, ", ".join(f"{size} {own}" for size, own in sizes.items())

    return look


def _get(client: Client, what: str, url: str) -> Any:
    with translated(what):
        return client.request(method="GET", url=url)
