"""What a place holds, as Hetzner tells it: paged listings of servers and volumes by our installation's label."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from hcloud import APIException, Client

from providers import tags
from providers.base import CloudInstance, CloudVolume, InstanceState, Listing, Place
from providers.hetzner.errors import is_not_found, translated
from providers.hetzner.settings import HetznerRegion
from providers.hetzner.tags import (
    ADDRESS,
    DIR,
    EPHEMERAL_VOLUMES,
    IMAGE,
    SHAPE,
    VERSION,
    ZONE,
    selector,
    tags_of,
)

PAGE = 50
"""The most Hetzner gives at once (docs.hetzner.cloud, Pagination)."""

_STATES = {
    "initializing": InstanceState.PENDING,
    "starting": InstanceState.PENDING,
    "running": InstanceState.RUNNING,
}
"""Every other word (off, stopping, deleting, rebuilding, migrating, unknown) is a VM that serves nobody and is not
gone: it may come back, and what it holds is held."""


@dataclass(frozen=True, slots=True)
class PlaceLimits:
    """What of a place decides where the next VM and the next address go.

    `groups`: placement group of each VM, by (cluster uid, instance key). `addresses`: those that belong to nodes, by
    (cluster uid, node). `taken`: every address in the node network, as far as was read. `foreign_vms`: VMs of others by
    placement group; read only before something new is placed.
    """

    groups: Mapping[tuple[str, str], int] = field(default_factory=dict)
    addresses: Mapping[tuple[str, str], str] = field(default_factory=dict)
    taken: frozenset[str] = frozenset()
    foreign_vms: Mapping[int, int] = field(default_factory=dict)


def read_listing(
    client: Client, place: Place, region: HetznerRegion, *, installation_id: str, page: int = PAGE
) -> tuple[Listing, PlaceLimits]:
    """Everything of this installation. A page that fails fails the whole: half a listing would look like a loss.

    A VM with our installation's label but not all of our labels was not made by us: it is left out and never touched.
    """
    at = datetime.now(UTC)
    ours = selector({tags.INSTALLATION: installation_id})
    with translated(f"{place}: listing"):
        servers = list(_here(_all(client, "servers", ours, page), place))
        disks = list(_here(_all(client, "volumes", ours, page), place))
    machines = [(s, own) for s in servers if tags.is_whole(own := tags_of(s["labels"]))]
    keys = {s["id"]: f"{own[tags.NODE]}.g{own[tags.GENERATION]}" for s, own in machines}
    known = [
        (d, own) for d in disks if {tags.CLUSTER_UID, tags.NODE, DIR, VERSION} <= (own := tags_of(d["labels"])).keys()
    ]
    volumes = {d["id"]: _key(own) for d, own in known}
    fixed = IPv4Network(region.node_range)
    instances = [_instance(s, own, volumes, region, fixed) for s, own in machines]
    addresses = _node_addresses(machines, instances)
    listing = Listing(
        place=place,
        at=at,
        instances=tuple(sorted(instances, key=lambda i: (i.cluster_uid, i.node, i.generation, int(i.id)))),
        volumes=tuple(sorted((_volume(d, own, keys) for d, own in known), key=lambda v: (v.cluster_uid, v.key))),
        node_addresses=addresses,
        binding_ids={(i.cluster_uid, i.node): f"{i.id}-{region.node_network}" for i in instances if i.addresses},
    )
    return listing, _limits(servers, machines, addresses, region)


def beside_foreign_vms(
    client: Client, place: Place, region: HetznerRegion, limits: PlaceLimits, *, installation_id: str
) -> PlaceLimits:
    """The same with what is not this installation's: another one's VMs, and people's, fill groups and have addresses in
    the same networks, and no listing by our label has them. One paged listing of the whole project."""
    with translated(f"{place}: listing what is not ours"):
        found = [
            s
            for s in _all(client, "servers", "", PAGE)
            if tags_of(s["labels"]).get(tags.INSTALLATION) != installation_id
        ]
    labelled = {own[ADDRESS] for s in found if ADDRESS in (own := tags_of(s["labels"]))}
    bound = {ip for server in found for ip in _private(server, region.node_network)}
    grouped = Counter(int(s["placement_group"]["id"]) for s in found if s["placement_group"])
    return replace(limits, taken=limits.taken | bound | labelled, foreign_vms=grouped)


def read_states(client: Client, place: Place, ids: Sequence[str]) -> Mapping[str, InstanceState | None]:
    """State by id, a call each; None for an id the project has no server of."""
    return {one: state_of(found) if (found := find(client, place, one)) else None for one in ids}


def find(client: Client, place: Place, server_id: str) -> dict[str, Any] | None:
    """One server, None when Hetzner answered that the project has none of that id."""
    with translated(f"{place}: server {server_id}"):
        try:
            found: dict[str, Any] = client.request(method="GET", url=f"/servers/{server_id}")["server"]
        except APIException as error:
            if is_not_found(error):
                return None
            raise
    return found


def count_owners(client: Client, place: Place) -> Iterator[str]:
    """The installation of each server that has one."""
    with translated(f"{place}: listing other installations"):
        for server in _here(_all(client, "servers", tags.INSTALLATION, PAGE), place):
            yield tags_of(server["labels"]).get(tags.INSTALLATION, "")


def state_of(server: Mapping[str, Any]) -> InstanceState:
    """Ours of Hetzner's words; never gone, since Hetzner shows nothing of a server that is."""
    return _STATES.get(str(server["status"]), InstanceState.STOPPING)


def _all(client: Client, part: str, labels: str, page: int) -> list[dict[str, Any]]:
    """All pages, by id. What is deleted meanwhile moves the rest forward, past the end of a page that was read: when
    there are fewer at the end than at the beginning all is read once more, and what either time told is in it."""
    found, shrank = _once(client, part, labels, page)
    if shrank:
        again, _ = _once(client, part, labels, page)
        found |= again
    return [found[key] for key in sorted(found)]


def _once(client: Client, part: str, labels: str, page: int) -> tuple[dict[int, dict[str, Any]], bool]:
    found: dict[int, dict[str, Any]] = {}
    totals: list[int] = []
    number: int | None = 1
    while number is not None:
        asked = {"sort": "id:asc", "page": number, "per_page": page} | ({"label_selector": labels} if labels else {})
        told = client.request(method="GET", url=f"/{part}", params=asked)
        found |= {one["id"]: one for one in told[part]}
        pagination = told["meta"]["pagination"]
        totals.append(int(pagination["total_entries"]))
        number = pagination["next_page"]
    return found, totals[-1] < totals[0]


def _here(found: Sequence[dict[str, Any]], place: Place) -> Iterator[dict[str, Any]]:
    """A project has servers of all regions in one list."""
    return (one for one in found if one["location"]["network_zone"] == place.region)


def _instance(
    server: Mapping[str, Any],
    own: Mapping[str, str],
    volumes: Mapping[int, str],
    region: HetznerRegion,
    fixed: IPv4Network,
) -> CloudInstance:
    attached = [volumes[disk] for disk in server["volumes"] if disk in volumes]
    return CloudInstance(
        id=str(server["id"]),
        cluster_uid=own[tags.CLUSTER_UID],
        node=own[tags.NODE],
        generation=int(own[tags.GENERATION]),
        intent_id=own[tags.INTENT],
        zone=own.get(ZONE) or server["location"]["name"],
        state=state_of(server),
        address=next(iter(_private(server, region.network)), None),
        volumes=tuple(sorted([*attached, *own.get(EPHEMERAL_VOLUMES, "").split()])),
        addresses=tuple(ip for ip in _private(server, region.node_network) if IPv4Address(ip) in fixed),
        cluster_name=own.get(tags.CLUSTER_NAME, ""),
        shape=own.get(SHAPE, ""),
        image=own.get(IMAGE, ""),
        ipv6=str((server["public_net"].get("ipv6") or {}).get("ip", "")),
        public_address=str((server["public_net"].get("ipv4") or {}).get("ip", "")),
    )


def _private(server: Mapping[str, Any], network: int) -> list[str]:
    return [net["ip"] for net in server["private_net"] if net["network"] == network]


def _node_addresses(
    machines: Sequence[tuple[Mapping[str, Any], Mapping[str, str]]], instances: Sequence[CloudInstance]
) -> dict[tuple[str, str], str]:
    """What a VM has by its binding counts; for a node that has none bound just now, what its VMs carry as a label."""
    told = {(own[tags.CLUSTER_UID], own[tags.NODE]): own[ADDRESS] for _, own in machines if ADDRESS in own}
    return told | {(i.cluster_uid, i.node): address for i in instances for address in i.addresses}


def _volume(disk: Mapping[str, Any], own: Mapping[str, str], keys: Mapping[int, str]) -> CloudVolume:
    holder = disk["server"]
    return CloudVolume(
        key=_key(own),
        cluster_uid=own[tags.CLUSTER_UID],
        zone=own.get(ZONE) or disk["location"]["name"],
        size_gib=int(disk["size"]),
        # On a VM that is not ours it is attached all the same: its id says so, and nobody takes it away.
        attached_to=None if holder is None else keys.get(holder, str(holder)),
        id=str(disk["id"]),
        device=disk["linux_device"],
    )


def _key(own: Mapping[str, str]) -> str:
    return f"{own[tags.NODE]}.{own[DIR]}.v{own[VERSION]}"


def _limits(
    servers: Sequence[Mapping[str, Any]],
    machines: Sequence[tuple[Mapping[str, Any], Mapping[str, str]]],
    addresses: Mapping[tuple[str, str], str],
    region: HetznerRegion,
) -> PlaceLimits:
    groups = {
        (own[tags.CLUSTER_UID], f"{own[tags.NODE]}.g{own[tags.GENERATION]}"): int(server["placement_group"]["id"])
        for server, own in machines
        if server["placement_group"]
    }
    bound = {ip for server in servers for ip in _private(server, region.node_network)}
    return PlaceLimits(groups, addresses, frozenset(bound | set(addresses.values())))
