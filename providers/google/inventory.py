"""One reading of a project and region: three paged listings by our installation's label, whatever the fleet's size."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from google.api_core.exceptions import GoogleAPICallError

from providers import tags
from providers.base import CloudInstance, CloudVolume, InstanceState, Listing, Place
from providers.errors import AuthFailed, CloudUnavailable
from providers.google.access import GoogleAccess
from providers.google.errors import says_there_is_no, translated
from providers.google.tags import (
    EPHEMERAL_VOLUMES,
    IMAGE,
    REGION,
    SHAPE,
    address_filter,
    address_owner,
    decoded,
    volume_key,
)

PAGE = 500
"""maxResults of Compute Engine's lists is 500 at most."""

_STATES = {
    "PENDING": InstanceState.PENDING,
    "PROVISIONING": InstanceState.PENDING,
    "STAGING": InstanceState.PENDING,
    "RUNNING": InstanceState.RUNNING,
}
"""Any other word is of a VM that serves nobody and is not gone: TERMINATED is Google's word for one that is stopped."""

_EMPTY = ("", "NO_RESULTS_ON_PAGE")


def read_listing(access: GoogleAccess, place: Place, *, installation_id: str, page: int = PAGE) -> Listing:
    """Everything of this installation. A page that fails, or a zone that cannot be reached, fails the whole.

    A VM with our installation's label but not all of our labels was not made by us: it is left out and never touched.
    """
    at = datetime.now(UTC)
    project = access.settings.account(place).project
    ours = f'(labels.{tags.INSTALLATION} = "{installation_id}") (labels.{REGION} = "{place.region}")'
    with translated(f"{place}: listing"):
        machines = list(in_all_zones(access, place, "Instances", "instances", ours, page))
        disks = list(in_all_zones(access, place, "Disks", "disks", ours, page))
        addresses = list(_addresses(access, place, address_filter(installation_id), page))
    for found in (*machines, *disks, *addresses):
        if not _path(found.self_link).startswith(f"projects/{project}/"):
            raise AuthFailed(f"{place}: Google answered with {_path(found.self_link)}, the place is project {project}")
    own = {_path(m.self_link): decoded(m.labels) for m in machines}
    keys = {path: f"{t[tags.NODE]}.g{t[tags.GENERATION]}" for path, t in own.items() if tags.is_whole(t)}
    kept = {_path(d.self_link): key for d in disks if (key := _volume_key(d)) is not None}
    of_nodes = {
        (told[1], told[2]): a
        for a in addresses
        if (told := address_owner(a.description)) is not None and told[0] == installation_id
    }
    owned = {node: str(a.address) for node, a in of_nodes.items()}
    instances = (_instance(m, own[path], kept, owned) for m in machines if (path := _path(m.self_link)) in keys)
    volumes = (_volume(d, kept[path], keys) for d in disks if (path := _path(d.self_link)) in kept)
    return Listing(
        place=place,
        at=at,
        instances=tuple(sorted(instances, key=lambda i: (i.cluster_uid, i.node, i.generation, i.id))),
        volumes=tuple(sorted(volumes, key=lambda v: (v.cluster_uid, v.key))),
        node_addresses=owned,
        node_address_ids={node: _path(a.self_link) for node, a in of_nodes.items()},
    )


def read_machine(access: GoogleAccess, place: Place, zone: str, name: str) -> Any | None:
    """A VM by its name, None when Google says that there is no such VM. Raises when it says anything else."""
    project = access.settings.account(place).project
    with translated(f"{place}: describing {zone}/{name}"):
        try:
            return access.client(place, "Instances").get(
                request={"project": project, "zone": zone, "instance": name}, **access.how(place)
            )
        except GoogleAPICallError as error:
            if says_there_is_no(error, f"projects/{project}/zones/{zone}/instances/{name}"):
                return None
            raise


def count_owners(access: GoogleAccess, place: Place) -> Iterator[str]:
    """The installation of each VM that has one."""
    marked = f'(labels.{tags.INSTALLATION}:*) (labels.{REGION} = "{place.region}")'
    with translated(f"{place}: listing other installations"):
        for machine in in_all_zones(access, place, "Instances", "instances", marked, PAGE):
            yield decoded(machine.labels)[tags.INSTALLATION]


def state_of(machine: Any) -> InstanceState:
    """Ours of Google's words; one it did not have when this was written is taken for a VM in change, never for gone."""
    return _STATES.get(machine.status, InstanceState.STOPPING)


def id_of(machine: Any) -> str:
    """`<zone>/<name>/<number>`: a name may be given anew, the number never."""
    return f"{_last(machine.zone)}/{machine.name}/{machine.id}"


def in_all_zones(access: GoogleAccess, place: Place, kind: str, part: str, wanted: str, size: int) -> Iterator[Any]:
    """What all zones of the region have of a kind, as raw protobuf messages: wrapped ones take three times as long."""
    request = {"project": access.settings.account(place).project, "filter": wanted, "max_results": size}
    for wrapped in access.client(place, kind).aggregated_list(request=request, **access.how(place)).pages:
        page = type(wrapped).pb(wrapped)
        _refuse_gaps(page, place)
        for scope, scoped in page.items.items():
            if _is_of(scope, place.region):
                yield from getattr(scoped, part)


def _addresses(access: GoogleAccess, place: Place, wanted: str, size: int) -> Iterator[Any]:
    request = {
        "project": access.settings.account(place).project,
        "region": place.region,
        "filter": wanted,
        "max_results": size,
    }
    for wrapped in access.client(place, "Addresses").list(request=request, **access.how(place)).pages:
        page = type(wrapped).pb(wrapped)
        _refuse(place, place.region, page.warning)
        # `items` is a method of every mapping, and a field here.
        yield from page.items


def _refuse_gaps(page: Any, place: Place) -> None:
    """Raise for a zone of this region that was not read. What other regions cannot tell is not asked here."""
    for scope, scoped in page.items.items():
        if _is_of(scope, place.region):
            _refuse(place, scope, scoped.warning)
    for scope in page.unreachables:
        if _is_of(scope, place.region) or "/" not in scope:
            raise CloudUnavailable(f"{place}: {scope} cannot be reached; what is there is unknown")
    if not page.unreachables:
        _refuse(place, "the listing", page.warning)


def _refuse(place: Place, scope: str, warning: Any) -> None:
    if warning.code not in _EMPTY:
        raise CloudUnavailable(f"{place}: {scope}: {warning.message} ({warning.code}); what is there is unknown")


def _is_of(scope: str, region: str) -> bool:
    """Whether a scope (`zones/europe-west1-b`, or its address) is of a region."""
    name = _last(scope)
    return name == region or name.rpartition("-")[0] == region


def _instance(
    machine: Any, own: Mapping[str, str], kept: Mapping[str, str], owned: Mapping[tuple[str, str], str]
) -> CloudInstance:
    node, uid = own[tags.NODE], own[tags.CLUSTER_UID]
    address = machine.network_interfaces[0].network_i_p if machine.network_interfaces else ""
    disks = [path for d in machine.disks if (path := _path(d.source)) in kept]
    return CloudInstance(
        id=id_of(machine),
        cluster_uid=uid,
        node=node,
        generation=int(own[tags.GENERATION]),
        intent_id=own[tags.INTENT],
        zone=_last(machine.zone),
        state=state_of(machine),
        address=address or None,
        volumes=tuple(sorted([*(kept[path] for path in disks), *own.get(EPHEMERAL_VOLUMES, "").split()])),
        # The node's own address is on a VM from its birth to its end, or never.
        addresses=(address,) if address and owned.get((uid, node)) == address else (),
        cluster_name=own.get(tags.CLUSTER_NAME, ""),
        shape=own.get(SHAPE, ""),
        image=own.get(IMAGE, ""),
        spot=machine.scheduling.provisioning_model == "SPOT",
        ipv6=next((c.external_ipv6 for n in machine.network_interfaces for c in n.ipv6_access_configs), ""),
        public_address=next((c.nat_i_p for n in machine.network_interfaces for c in n.access_configs), ""),
    )


def _volume(disk: Any, key: str, keys: Mapping[str, str]) -> CloudVolume:
    holders = [_path(user) for user in disk.users]
    return CloudVolume(
        key=key,
        cluster_uid=decoded(disk.labels)[tags.CLUSTER_UID],
        zone=_last(disk.zone),
        size_gib=int(disk.size_gb),
        # On a VM that is not ours it is attached all the same: its path says so, and nobody takes it away.
        attached_to=keys.get(holders[0], holders[0]) if holders else None,
        id=_path(disk.self_link),
    )


def _volume_key(disk: Any) -> str | None:
    own = decoded(disk.labels)
    return volume_key(own, own.get(tags.NODE, "")) if own.get(tags.CLUSTER_UID) else None


def _path(link: str) -> str:
    """`projects/..` of a link: the same thing is linked by more than one host and version."""
    _, found, rest = link.partition("projects/")
    return found + rest


def _last(link: str) -> str:
    return link.rpartition("/")[2]
