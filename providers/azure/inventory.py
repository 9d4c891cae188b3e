"""One reading of a subscription: four paged listings, whatever the fleet's size, and what of them is ours and here. A
fifth, of public addresses, where a VM of ours has one.

Azure filters nothing by tag, and tells the power state of VMs in a listing of its own (`statusOnly`): the listing of
VMs takes `instanceView` only with a filter that names a scale set ("Virtual Machines - List All").
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from providers import tags
from providers.azure.access import Clients
from providers.azure.errors import translated
from providers.azure.ids import canonical, is_of
from providers.azure.tags import EPHEMERAL_VOLUMES, IMAGE, SHAPE, VOLUME, ZONE, tags_of
from providers.base import CloudInstance, CloudVolume, InstanceState, Listing, Place
from providers.errors import AuthFailed

_MACHINES = ("Microsoft.Compute/virtualMachines", "2026-04-01")
_DISKS = ("Microsoft.Compute/disks", "2026-03-02")
_INTERFACES = ("Microsoft.Network/networkInterfaces", "2026-03-01")
_PUBLIC_ADDRESSES = ("Microsoft.Network/publicIPAddresses", "2026-03-01")
"""Types, and the version of their API that the SDK of this release speaks (compute 39.0.0, network 33.1.0)."""

_POWER = {
    "running": InstanceState.RUNNING,
    "starting": InstanceState.PENDING,
    "stopping": InstanceState.STOPPING,
    "stopped": InstanceState.STOPPING,
    "deallocating": InstanceState.STOPPING,
    "deallocated": InstanceState.STOPPING,
}
"""A stopped or deallocated VM serves nobody and is not gone: it may be started again, and what it holds is held."""

_Thing = Mapping[str, Any]


def read_listing(clients: Clients, place: Place, *, installation_id: str, account_id: str) -> Listing:
    """Everything of this installation in the region. A page that fails fails the whole: half would look like a loss.

    A VM with our installation's tag but not all of our tags was not made by us: it is left out and never touched.
    """
    at = datetime.now(UTC)
    with translated(f"{place}: listing"):
        machines = _here(clients.listed(*_MACHINES), place, account_id)
        views = views_of(clients, place, account_id)
        disks = _here(clients.listed(*_DISKS), place, account_id)
        interfaces = _here(clients.listed(*_INTERFACES), place, account_id)
        ours = [m for m in machines if tags.owned_by(tags_of(m), installation_id) and tags.is_whole(tags_of(m))]
        public = _public_addresses(clients, place, account_id, ours, interfaces)
    keys = {_id(m): f"{t[tags.NODE]}.g{t[tags.GENERATION]}" for m in ours if (t := tags_of(m))}
    volumes = {_id(d): d for d in disks if _is_ours(d, installation_id, VOLUME, tags.CLUSTER_UID)}
    owned = {_id(i): i for i in interfaces if _is_ours(i, installation_id, tags.NODE, tags.CLUSTER_UID)}
    of_nodes = {(t[tags.CLUSTER_UID], t[tags.NODE]): i for i in owned.values() if (t := tags_of(i))}
    own_keys = {disk_id: tags_of(disk)[VOLUME] for disk_id, disk in volumes.items()}
    addresses = {_id(i): _address(i) for i in interfaces}
    sixth = {_id(i): address for i in interfaces if (address := _address(i, "IPv6"))}
    found = (_instance(m, views.get(_id(m), {}), own_keys, addresses, sixth, public, owned.keys()) for m in ours)
    return Listing(
        place=place,
        at=at,
        instances=tuple(sorted(found, key=lambda i: (i.cluster_uid, i.node, i.generation, i.id))),
        volumes=tuple(sorted((_volume(d, keys) for d in volumes.values()), key=lambda v: (v.cluster_uid, v.key))),
        node_addresses={node: address for node, i in of_nodes.items() if (address := _address(i))},
        node_address_ids={node: _id(i) for node, i in of_nodes.items()},
        binding_ids={node: _id(i["properties"]["virtualMachine"]) for node, i in of_nodes.items() if _is_bound(i)},
    )


def read_states(clients: Clients, place: Place, *, account_id: str) -> Mapping[str, InstanceState]:
    """State by id of every VM of the region, from the two listings of VMs."""
    with translated(f"{place}: listing VMs"):
        machines = _here(clients.listed(*_MACHINES), place, account_id)
        views = views_of(clients, place, account_id)
    return {_id(m): state_of(m, views.get(_id(m), {})) for m in machines}


def count_owners(clients: Clients, place: Place, *, account_id: str) -> Iterator[str]:
    """The installation of each VM that has one."""
    with translated(f"{place}: listing other installations"):
        machines = _here(clients.listed(*_MACHINES), place, account_id)
    for machine in machines:
        if owner := tags_of(machine).get(tags.INSTALLATION):
            yield owner


def views_of(clients: Clients, place: Place, account_id: str) -> dict[str, _Thing]:
    """The instance view of each VM of the region by id, in one listing. Raises what the SDK does."""
    listed = _here(clients.listed(*_MACHINES, "&statusOnly=true"), place, account_id)
    return {_id(m): (m.get("properties") or {}).get("instanceView") or {} for m in listed}


def state_of(machine: _Thing, view: _Thing) -> InstanceState:
    """Ours of Azure's words: what it provisions, then the power. A word it did not have when this was written is taken
    for a VM in change, never for gone."""
    properties = machine.get("properties") or {}
    provisioning = str(properties.get("provisioningState", "")).lower()
    if provisioning == "deleting":
        return InstanceState.STOPPING
    words = [str(s.get("code", "")).partition("/") for s in view.get("statuses") or ()]
    power = next((word.lower() for kind, _, word in words if kind == "PowerState"), "")
    if provisioning == "creating" or not power:
        return InstanceState.STOPPING if provisioning == "failed" else InstanceState.PENDING
    return _POWER.get(power, InstanceState.STOPPING)


def _here(things: Iterable[_Thing], place: Place, account_id: str) -> list[_Thing]:
    """Those of the region. Raises `AuthFailed` when Azure answers for another subscription."""
    here = []
    for thing in things:
        if not is_of(thing["id"], account_id):
            raise AuthFailed(f"{place}: Azure answered with {thing['id']}, the place is subscription {account_id}")
        if str(thing.get("location", "")).lower().replace(" ", "") == place.region:
            here.append(thing)
    return here


def _is_ours(thing: _Thing, installation_id: str, *needed: str) -> bool:
    own = tags_of(thing)
    return tags.owned_by(own, installation_id) and all(own.get(name) for name in needed)


def _instance(
    machine: _Thing,
    view: _Thing,
    volumes: Mapping[str, str],
    addresses: Mapping[str, str],
    sixth: Mapping[str, str],
    public: Mapping[str, str],
    owned: Iterable[str],
) -> CloudInstance:
    own, properties = tags_of(machine), machine["properties"]
    disks = [_id(d["managedDisk"]) for d in _part(properties, "storageProfile", "dataDisks") if d.get("managedDisk")]
    nics = _interfaces_of(machine)
    attached = [volumes[d] for d in disks if d in volumes]
    return CloudInstance(
        id=_id(machine),
        cluster_uid=own[tags.CLUSTER_UID],
        node=own[tags.NODE],
        generation=int(own[tags.GENERATION]),
        intent_id=own[tags.INTENT],
        zone=own.get(ZONE, ""),
        state=state_of(machine, view),
        address=next((addresses[n] for n in nics if addresses.get(n)), None),
        volumes=tuple(sorted([*attached, *own.get(EPHEMERAL_VOLUMES, "").split()])),
        addresses=tuple(sorted(addresses[n] for n in nics if n in owned and addresses.get(n))),
        cluster_name=own.get(tags.CLUSTER_NAME, ""),
        shape=own.get(SHAPE, ""),
        image=own.get(IMAGE, ""),
        spot=properties.get("priority") == "Spot",
        ipv6=next((sixth[n] for n in nics if sixth.get(n)), ""),
        public_address=next((public[n] for n in nics if public.get(n)), ""),
    )


def _public_addresses(
    clients: Clients, place: Place, account_id: str, ours: Iterable[_Thing], interfaces: Iterable[_Thing]
) -> Mapping[str, str]:
    """By network interface of our VMs. An interface names its public address by id alone; nobody is asked for none."""
    nics = {nic for machine in ours for nic in _interfaces_of(machine)}
    named = {
        _id(interface): canonical(str(public["id"]))
        for interface in interfaces
        if _id(interface) in nics
        for c in _part(interface, "properties", "ipConfigurations")
        if (public := (c.get("properties") or {}).get("publicIPAddress"))
    }
    if not named:
        return {}
    there = {_id(p): p for p in _here(clients.listed(*_PUBLIC_ADDRESSES), place, account_id)}
    told = {nic: there[public].get("properties") or {} for nic, public in named.items() if public in there}
    return {nic: str(address) for nic, one in told.items() if (address := one.get("ipAddress"))}


def _interfaces_of(machine: _Thing) -> list[str]:
    return [_id(n) for n in _part(machine["properties"], "networkProfile", "networkInterfaces")]


def _volume(disk: _Thing, keys: Mapping[str, str]) -> CloudVolume:
    own, holder = tags_of(disk), canonical(str(disk.get("managedBy") or ""))
    return CloudVolume(
        key=own[VOLUME],
        cluster_uid=own[tags.CLUSTER_UID],
        zone=own.get(ZONE, ""),
        size_gib=int((disk.get("properties") or {}).get("diskSizeGB") or 0),
        # On a VM that is not ours it is attached all the same: its id says so, and nobody takes it away.
        attached_to=keys.get(holder, holder) if holder else None,
        id=_id(disk),
    )


def _is_bound(interface: _Thing) -> bool:
    return bool(((interface.get("properties") or {}).get("virtualMachine") or {}).get("id"))


def _address(interface: _Thing, version: str = "IPv4") -> str:
    """The private address of a network interface; empty while it has none of that version."""
    told = [c.get("properties") or {} for c in _part(interface, "properties", "ipConfigurations")]
    own = (p for p in told if p.get("privateIPAddressVersion", "IPv4") == version)
    return next((a for p in own if (a := p.get("privateIPAddress"))), "")


def _part(thing: _Thing, outer: str, inner: str) -> Iterable[_Thing]:
    return (thing.get(outer) or {}).get(inner) or ()


def _id(thing: _Thing) -> str:
    return canonical(str(thing["id"]))
