"""What the local cloud says it has: only what is really alive is running, and only what is ours is listed."""

from datetime import UTC, datetime
from pathlib import Path

from providers import tags
from providers.base import CloudInstance, CloudVolume, Listing, Place
from providers.catalog import EPHEMERAL
from providers.local.address import NodeAddresses, bound_addresses
from providers.local.disk import DiskRecords, attached_keys
from providers.local.layout import Layout, instance_id
from providers.local.machine import state_of
from providers.local.record import Record, read_record


def read_listing(layout: Layout, place: Place, installation_id: str) -> Listing:
    """One reading of a region. VMs that lost power are listed as `GONE`; terminated ones are only `described` so."""
    at = datetime.now(UTC)
    return Listing(
        place=place,
        at=at,
        instances=tuple(
            _instance(path.parent, record, at)
            for path in sorted(layout.instances.glob("*/*/vm.json"))
            if (record := read_record(path)) and tags.owned_by(record["tags"], installation_id)
            if not layout.tombstone(path.parent.parent.name, path.parent.name).exists()
        ),
        volumes=_volumes(layout, installation_id),
        node_addresses={
            (uid, node): record["address"]
            for uid, node, record in NodeAddresses(layout).list_all()
            if record["installation_id"] == installation_id
        },
    )


def _instance(vm_dir: Path, record: Record, at: datetime) -> CloudInstance:
    own = record["tags"]
    return CloudInstance(
        id=instance_id(own[tags.CLUSTER_UID], vm_dir.name),
        cluster_uid=own[tags.CLUSTER_UID],
        node=own[tags.NODE],
        generation=int(own[tags.GENERATION]),
        intent_id=own[tags.INTENT],
        zone=record["zone"],
        state=state_of(record, now=at),
        address=record["address"],
        volumes=attached_keys(vm_dir),
        addresses=bound_addresses(vm_dir),
        cluster_name=own.get(tags.CLUSTER_NAME, ""),
        shape=record.get("shape", ""),
        image=record.get("image", ""),
    )


def _volumes(layout: Layout, installation_id: str) -> tuple[CloudVolume, ...]:
    return tuple(
        CloudVolume(
            key=disk.key,
            cluster_uid=disk.cluster_uid,
            zone=disk.zone,
            size_gib=disk.size_gib,
            attached_to=disk.attached_to,
        )
        for disk in DiskRecords(layout).list_all()
        if disk.installation_id == installation_id and disk.kind != EPHEMERAL
    )
