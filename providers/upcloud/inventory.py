"""One reading of an account and region: paged listings by our installation's labels, whatever the fleet's size.

The list of servers has labels and states and neither addresses nor disks. Disks tell which server holds them, where the
listing of storages was asked to; addresses are one list of the account. What a VM was made with is on its labels too,
for whatever those two leave out.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from providers import tags
from providers.base import CloudInstance, CloudVolume, InstanceState, Listing, Place
from providers.upcloud.calls import Calls
from providers.upcloud.errors import UpcloudAnswerError, is_gone, translated
from providers.upcloud.tags import ADDRESS, EPHEMERAL_VOLUMES, IMAGE, REGION, SHAPE, VOLUME, VOLUMES, ZONE, labels_of

PAGE = 100
"""The largest page of upcloud-go-api (upcloud/request/page.go, PageSizeMax); UpCloud documents no other bound."""

_STATES = {
    "started": InstanceState.RUNNING,
    "maintenance": InstanceState.PENDING,
    "stopped": InstanceState.STOPPING,
    "error": InstanceState.STOPPING,
}
"""A server in maintenance is made, started or stopped just now. A stopped one serves nobody and is not gone."""

_PRIVATE, _PUBLIC = "private", "public"
_COPIES = frozenset({"backup", "template", "cdrom"})


@dataclass(frozen=True, slots=True)
class _Found:
    """The parts of one listing, by UpCloud's ids."""

    servers: Mapping[str, Mapping[str, Any]]
    storages: Mapping[str, Mapping[str, Any]]
    addresses: Mapping[str, tuple[str, ...]]
    public: Mapping[str, tuple[str, ...]]

    def key(self, server: str) -> str:
        """`<node>.g<generation>`; the id itself of a VM that is not ours."""
        own = labels_of(self.servers[server]) if server in self.servers else {}
        return f"{own[tags.NODE]}.g{own[tags.GENERATION]}" if tags.is_whole(own, ZONE) else server

    def holders(self, storage: Mapping[str, Any]) -> tuple[str, ...]:
        """Servers that have a disk, by UpCloud's word, else those that were made with it."""
        if "servers" in storage:
            return tuple(storage["servers"]["server"])
        own = labels_of(storage)
        return tuple(
            server
            for server, described in self.servers.items()
            if (given := labels_of(described)).get(tags.CLUSTER_UID) == own[tags.CLUSTER_UID]
            and own[VOLUME] in given.get(VOLUMES, "").split()
        )


def read_listing(api: Calls, place: Place, *, installation_id: str, page: int = PAGE) -> Listing:
    """Everything of this installation. A page that fails fails the whole: half a listing would look like a loss.

    A VM with our installation's label but not all of our labels was not made by us: it is left out and never touched.
    """
    at = datetime.now(UTC)
    ours = [(tags.INSTALLATION, installation_id), (REGION, place.region)]
    with translated(f"{place}: listing"):
        servers = [s for s in api.pages("/server", ("servers", "server"), ours, size=page) if _is_here(s, place)]
        disks = api.pages("/storage", ("storages", "storage"), ours, size=page, more={"servers": "yes"})
        storages = [d for d in disks if _is_here(d, place) and _is_data_disk(d)]
        listed = api.get_request("/ip_address")["ip_addresses"]["ip_address"] if servers else []
        found = _Found(
            {s["uuid"]: s for s in servers},
            {d["uuid"]: d for d in storages},
            _by_server(listed),
            _by_server((one for one in listed if one["family"] == "IPv4"), _PUBLIC),
        )
        return Listing(
            place=place,
            at=at,
            instances=tuple(sorted(_instances(found), key=lambda i: (i.cluster_uid, i.node, i.generation, i.id))),
            volumes=tuple(sorted((_volume(d, found) for d in storages), key=lambda v: (v.cluster_uid, v.key))),
            node_addresses=dict(_node_addresses([*storages, *servers])),
        )


def read_taken(api: Calls, place: Place) -> frozenset[str]:
    """Private addresses that any server of the account has, and those of nodes that have no server just now, whoever's.

    No listing by our own label tells those of another installation, or of people's servers, in the same network.
    """
    with translated(f"{place}: listing addresses"):
        listed = api.get_request("/ip_address")["ip_addresses"]["ip_address"]
        disks = api.pages("/storage", ("storages", "storage"), [(ADDRESS, "")], size=PAGE)
        kept = {labels_of(disk)[ADDRESS] for disk in disks}
    return frozenset(kept.union(*_by_server(listed).values()))


def read_states(api: Calls, place: Place, ids: Sequence[str]) -> tuple[dict[str, InstanceState], tuple[str, ...]]:
    """State by id of those UpCloud describes, and the ids it says it has no server of.

    One call per id: those asked about are few, and no listing answers for an id that is not in it.
    """
    states: dict[str, InstanceState] = {}
    nowhere: list[str] = []
    for server in ids:
        described = read_server(api, place, server)
        if described is None:
            nowhere.append(server)
        else:
            states[server] = state_of(described)
    return states, tuple(nowhere)


def read_server(api: Calls, place: Place, server: str) -> dict[str, Any] | None:
    """One server with all its details, None where UpCloud has none by that id."""
    with translated(f"{place}: describing {server}"):
        try:
            described: dict[str, Any] = api.get_request(f"/server/{server}")["server"]
        except UpcloudAnswerError as error:
            if is_gone(error):
                return None
            raise
    return described


def count_owners(api: Calls, place: Place) -> Iterator[str]:
    """The installation of each VM here that has one."""
    with translated(f"{place}: listing other installations"):
        for server in api.pages("/server", ("servers", "server"), [(tags.INSTALLATION, "")], size=PAGE):
            if _is_here(server, place) and (owner := labels_of(server).get(tags.INSTALLATION)):
                yield owner


def state_of(server: Mapping[str, Any]) -> InstanceState:
    """Ours of UpCloud's words; one it did not have when this was written is a VM in change, never a gone one."""
    return _STATES.get(server["state"], InstanceState.STOPPING)


def _is_here(described: Mapping[str, Any], place: Place) -> bool:
    return bool(described["zone"] == place.region)


def _is_data_disk(storage: Mapping[str, Any]) -> bool:
    """A backup or a template that somebody makes of a disk may have its labels, and is not that disk."""
    return storage["type"] not in _COPIES and {VOLUME, tags.CLUSTER_UID} <= labels_of(storage).keys()


def _by_server(listed: Iterable[Mapping[str, Any]], access: str = _PRIVATE) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for one in listed:
        if one["access"] == access and one.get("server"):
            found[one["server"]] = (*found.get(one["server"], ()), str(one["address"]))
    return found


def _instances(found: _Found) -> Iterator[CloudInstance]:
    held: dict[str, list[str]] = {}
    for storage in found.storages.values():
        for server in found.holders(storage):
            held.setdefault(server, []).append(labels_of(storage)[VOLUME])
    for server, described in found.servers.items():
        own = labels_of(described)
        if not tags.is_whole(own, ZONE):
            continue
        addresses = found.addresses.get(server, ())
        yield CloudInstance(
            id=server,
            cluster_uid=own[tags.CLUSTER_UID],
            node=own[tags.NODE],
            generation=int(own[tags.GENERATION]),
            intent_id=own[tags.INTENT],
            zone=own[ZONE],
            state=state_of(described),
            address=addresses[0] if addresses else own.get(ADDRESS),
            volumes=tuple(sorted([*held.get(server, ()), *own.get(EPHEMERAL_VOLUMES, "").split()])),
            addresses=(own[ADDRESS],) if own.get(ADDRESS) else (),
            cluster_name=own.get(tags.CLUSTER_NAME, ""),
            shape=own.get(SHAPE, ""),
            image=own.get(IMAGE, ""),
            public_address=next(iter(found.public.get(server, ())), ""),
        )


def _volume(storage: Mapping[str, Any], found: _Found) -> CloudVolume:
    own = labels_of(storage)
    holders = found.holders(storage)
    return CloudVolume(
        key=own[VOLUME],
        cluster_uid=own[tags.CLUSTER_UID],
        zone=own.get(ZONE, ""),
        size_gib=int(storage["size"]),
        # On a VM that is not ours it is attached all the same: its id says so, and nobody takes it away.
        attached_to=found.key(holders[0]) if holders else None,
        id=storage["uuid"],
    )


def _node_addresses(described: Iterable[Mapping[str, Any]]) -> Iterator[tuple[tuple[str, str], str]]:
    """A node's address is on its disks, so that it is known while the node has no VM, and on the VM that has it."""
    for one in described:
        own = labels_of(one)
        if own.get(ADDRESS) and {tags.CLUSTER_UID, tags.NODE} <= own.keys():
            yield (own[tags.CLUSTER_UID], own[tags.NODE]), own[ADDRESS]
