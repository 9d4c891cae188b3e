"""One reading of an account and region: three paged listings by our installation's tag, whatever the fleet's size."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from providers import tags
from providers.aws.errors import translated
from providers.aws.tags import EPHEMERAL_VOLUMES, IMAGE, SHAPE, VOLUME, ZONE, tags_of
from providers.base import CloudInstance, CloudVolume, InstanceState, Listing, Place
from providers.errors import AuthFailed

PAGE = 1000
"""MaxResults of DescribeInstances is 5-1000; DescribeVolumes takes 500 at most, DescribeNetworkInterfaces 1000."""

_VOLUME_PAGE = 500

_STATES = {
    "pending": InstanceState.PENDING,
    "running": InstanceState.RUNNING,
    "stopping": InstanceState.STOPPING,
    "stopped": InstanceState.STOPPING,
    "shutting-down": InstanceState.STOPPING,
    "terminated": InstanceState.GONE,
}
"""A stopped VM serves nobody and is not gone: it may be started again, and what it holds is held."""

_NOT_TERMINATED = {
    "Name": "instance-state-name",
    "Values": sorted(name for name, state in _STATES.items() if state is not InstanceState.GONE),
}
"""The terminated stay described for about an hour, each under its id: asked for then, never listed."""


def read_listing(ec2: Any, place: Place, *, installation_id: str, account_id: str, page: int = PAGE) -> Listing:
    """Everything of this installation. A page that fails fails the whole: half a listing would look like a loss.

    A VM with our installation's tag but not all of our tags was not made by us: it is left out and never touched.
    """
    at = datetime.now(UTC)
    ours = {"Name": f"tag:{tags.INSTALLATION}", "Values": [installation_id]}
    with translated(f"{place}: listing"):
        machines = list(_instances(ec2, place, account_id, [ours, _NOT_TERMINATED], page))
        disks = list(_pages(ec2, "describe_volumes", "Volumes", [ours], min(page, _VOLUME_PAGE)))
        interfaces = list(_pages(ec2, "describe_network_interfaces", "NetworkInterfaces", [ours], page))
    keys = {
        m["InstanceId"]: f"{t[tags.NODE]}.g{t[tags.GENERATION]}" for m in machines if tags.is_whole(t := tags_of(m))
    }
    volumes = tuple(_volume(d, keys) for d in disks if {VOLUME, tags.CLUSTER_UID} <= tags_of(d).keys())
    owned = {i["NetworkInterfaceId"]: i for i in interfaces if {tags.CLUSTER_UID, tags.NODE} <= tags_of(i).keys()}
    of_nodes = _by_node(owned.values())
    attached = {d["VolumeId"]: tags_of(d)[VOLUME] for d in disks if VOLUME in tags_of(d)}
    found = (_instance(m, attached, owned) for m in machines if m["InstanceId"] in keys)
    return Listing(
        place=place,
        at=at,
        instances=tuple(sorted(found, key=lambda i: (i.cluster_uid, i.node, i.generation, i.id))),
        volumes=tuple(sorted(volumes, key=lambda v: (v.cluster_uid, v.key))),
        node_addresses={node: str(i["PrivateIpAddress"]) for node, i in of_nodes.items()},
        node_address_ids={node: str(i["NetworkInterfaceId"]) for node, i in of_nodes.items()},
        binding_ids={
            node: str(i["Attachment"]["AttachmentId"])
            for node, i in of_nodes.items()
            if "AttachmentId" in i.get("Attachment", ())
        },
    )


def read_states(ec2: Any, place: Place, ids: Sequence[str], *, account_id: str) -> Mapping[str, InstanceState]:
    """State by id of those EC2 describes, terminated ones among them. An id it says nothing about is left out."""
    wanted = {"Name": "instance-id", "Values": list(ids)}
    with translated(f"{place}: describing {len(ids)} instances"):
        return {m["InstanceId"]: state_of(m) for m in _instances(ec2, place, account_id, [wanted])}


def running_machines(ec2: Any, place: Place, *, account_id: str, page: int = PAGE) -> Iterator[Mapping[str, Any]]:
    """Every VM of the account that counts against its limits, as EC2 describes it."""
    wanted = {"Name": "instance-state-name", "Values": ["pending", "running"]}
    with translated(f"{place}: what runs"):
        yield from _instances(ec2, place, account_id, [wanted], page)


def count_owners(ec2: Any, place: Place, *, account_id: str) -> Iterator[str]:
    """The installation of each VM that has one."""
    marked = [{"Name": "tag-key", "Values": [tags.INSTALLATION]}, _NOT_TERMINATED]
    with translated(f"{place}: listing other installations"):
        for machine in _instances(ec2, place, account_id, marked):
            yield tags_of(machine)[tags.INSTALLATION]


def state_of(machine: Mapping[str, Any]) -> InstanceState:
    """Ours of EC2's words; a word it did not have when this was written is taken for a VM in change, never for gone."""
    return _STATES.get(machine["State"]["Name"], InstanceState.STOPPING)


def _instances(
    ec2: Any, place: Place, account_id: str, filters: list[dict[str, Any]], page: int = PAGE
) -> Iterator[dict[str, Any]]:
    for reservation in _pages(ec2, "describe_instances", "Reservations", filters, page):
        if reservation["OwnerId"] != account_id:
            raise AuthFailed(f"{place}: EC2 answered for account {reservation['OwnerId']}, the place is {account_id}")
        yield from reservation["Instances"]


def _pages(ec2: Any, call: str, part: str, filters: list[dict[str, Any]], size: int) -> Iterator[dict[str, Any]]:
    for page in ec2.get_paginator(call).paginate(Filters=filters, PaginationConfig={"PageSize": size}):
        yield from page[part]


def _by_node(interfaces: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], Mapping[str, Any]]:
    """(cluster uid, node) -> its interface. Of two, which a killed run may leave, the one on a VM, else the first."""
    found: dict[tuple[str, str], Mapping[str, Any]] = {}
    for interface in sorted(interfaces, key=lambda i: (not i.get("Attachment"), i["NetworkInterfaceId"])):
        own = tags_of(interface)
        found.setdefault((own[tags.CLUSTER_UID], own[tags.NODE]), interface)
    return found


def _instance(
    machine: Mapping[str, Any], volumes: Mapping[str, str], owned: Mapping[str, Mapping[str, Any]]
) -> CloudInstance:
    own = tags_of(machine)
    disks = [m["Ebs"]["VolumeId"] for m in machine.get("BlockDeviceMappings", ()) if "Ebs" in m]
    interfaces = machine.get("NetworkInterfaces", ())
    nics = [n["NetworkInterfaceId"] for n in interfaces]
    return CloudInstance(
        id=machine["InstanceId"],
        cluster_uid=own[tags.CLUSTER_UID],
        node=own[tags.NODE],
        generation=int(own[tags.GENERATION]),
        intent_id=own[tags.INTENT],
        zone=own.get(ZONE) or machine["Placement"]["AvailabilityZone"],
        state=state_of(machine),
        address=machine.get("PrivateIpAddress"),
        volumes=tuple(sorted([*(volumes[d] for d in disks if d in volumes), *own.get(EPHEMERAL_VOLUMES, "").split()])),
        addresses=tuple(sorted(str(owned[n]["PrivateIpAddress"]) for n in nics if n in owned)),
        cluster_name=own.get(tags.CLUSTER_NAME, ""),
        shape=own.get(SHAPE, ""),
        image=own.get(IMAGE, ""),
        spot=machine.get("InstanceLifecycle") == "spot",
        ipv6=next((str(a["Ipv6Address"]) for n in interfaces for a in n.get("Ipv6Addresses", ())), ""),
        public_address=str(machine.get("PublicIpAddress") or ""),
    )


def _volume(disk: Mapping[str, Any], keys: Mapping[str, str]) -> CloudVolume:
    own = tags_of(disk)
    ties = [a for a in disk.get("Attachments", ()) if a.get("State") != "detached"]
    holder = str(ties[0]["InstanceId"]) if ties else None
    return CloudVolume(
        key=own[VOLUME],
        cluster_uid=own[tags.CLUSTER_UID],
        zone=own.get(ZONE) or disk["AvailabilityZone"],
        size_gib=int(disk["Size"]),
        # On a VM that is not ours it is attached all the same: its id says so, and nobody takes it away.
        attached_to=keys.get(holder, holder) if holder else None,
        id=disk["VolumeId"],
        device=str(ties[0].get("Device", "")) if ties else "",
    )
