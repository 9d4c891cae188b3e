"""The rendered set of one cluster as variables of `terraform/modules/upcloud`; the shape is terraform/README.md's."""

import hashlib
import ipaddress
from collections.abc import Mapping, Sequence

from providers import base, catalog_file, cloud_init, errors, made_from, tags, variables
from providers.software import Software
from providers.upcloud.settings import UpcloudRegion
from providers.upcloud.tags import EPHEMERAL_VOLUMES, IMAGE, REGION, SHAPE, VOLUMES, ZONE, joined
from providers.variables import chosen_image, held_by, own_image, used_zones

Owner = tuple[str, str]
"""Cluster uid and node."""


def module_variables(
    resources: base.Resources,
    region: UpcloudRegion,
    in_use: Mapping[str, Owner | None] = {},
    *,
    software: Software | None = None,
    ssh_keys: Sequence[str] = (),
) -> dict[str, object]:
    """JSON-safe variables. Pure. `in_use` is what `addresses_in_use` gives of the place.

    Raises `PlaceUnknown` for a zone that is not in the settings, a machine not in the catalogue, a version without a
    template, and `QuotaExceeded` when the range for nodes has no address left.
    """
    for zone in used_zones(resources):
        if zone not in region.zones:
            there = ", ".join(region.zones)
            raise errors.PlaceUnknown(f"{resources.place}: no zone {zone!r} in upcloud.yaml; it has {there}")
    chosen = node_addresses(resources, region, in_use)
    return variables.module_variables(
        resources,
        cloud={
            "network": region.network,
            "encrypt": "true" if region.encrypt else "false",
            **({"server_group": region.server_group} if region.server_group else {}),
        },
        instance=lambda i: {
            **_instance(resources, i, region),
            "boot_data": cloud_init.born_with(
                i, software, cloud="upcloud", own_disks="root", packet_filter=region.packet_filter(), ssh_keys=ssh_keys
            ),
        },
        address=lambda a: chosen[a.node],
    )


def addresses_in_use(listing: base.Listing) -> dict[str, Owner | None]:
    """Address -> the node that owns it, None where it is a VM's own."""
    of_machines: dict[str, Owner | None] = {i.address: None for i in listing.instances if i.address}
    return of_machines | {address: owner for owner, address in listing.node_addresses.items()}


def node_addresses(
    resources: base.Resources, region: UpcloudRegion, in_use: Mapping[str, Owner | None] = {}
) -> dict[str, str]:
    """An address of the region's range for each node that owns one: the recorded, the one it has in the cloud, else one
    that follows from its name, past those in use.

    UpCloud reserves no private address, so it has to be known before the node's first VM is made. The module keeps the
    first one it was given. Two clusters that are made at the same moment may still meet: UpCloud refuses the second VM.
    """
    own = {owner[1]: address for address, owner in in_use.items() if owner and owner[0] == resources.cluster_uid}
    range_ = ipaddress.IPv4Network(region.node_addresses)
    first, usable = int(range_.network_address) + 1, range_.num_addresses - 2
    recorded = {a.node: a.address or own.get(a.node) for a in resources.addresses}
    chosen = {node: address for node, address in recorded.items() if address}
    taken = {*chosen.values(), *in_use}
    within = sum(ipaddress.IPv4Address(address) in range_ for address in taken)
    if within + len(recorded) - len(chosen) > usable:
        raise errors.QuotaExceeded(
            f"{resources.place}: `node_addresses` in upcloud.yaml is {range_}, {usable} addresses; "
            f"{resources.cluster_name} needs one that is free"
        )
    for node in sorted(recorded.keys() - chosen.keys()):
        digest = hashlib.sha256(f"{resources.installation_id}/{resources.cluster_uid}/{node}".encode()).digest()
        number = int.from_bytes(digest[:8]) % usable
        while (address := str(ipaddress.IPv4Address(first + number))) in taken:
            number = (number + 1) % usable
        taken.add(address)
        chosen[node] = address
    return chosen


def _instance(resources: base.Resources, instance: base.InstanceResource, region: UpcloudRegion) -> dict[str, object]:
    more = {
        ZONE: instance.zone,
        REGION: resources.place.region,
        SHAPE: instance.shape,
        IMAGE: instance.image,
        VOLUMES: joined(held_by(resources, instance, ephemeral=False)),
        EPHEMERAL_VOLUMES: joined(held_by(resources, instance, ephemeral=True)),
    }
    return {
        "shape": catalog_file.machine_of("upcloud", instance).type,
        "image": _template(resources, instance, region),
        "tags": tags.instance_tags(resources, instance, more),
    }


def _template(resources: base.Resources, instance: base.InstanceResource, region: UpcloudRegion) -> str:
    template = own_image(instance, made_from.X86_64) or chosen_image(instance, region.images, None)
    if template is None:
        there = ", ".join(sorted(region.images)) or "none"
        raise errors.PlaceUnknown(
            f"{resources.place}: no template of Kafka {instance.image} in upcloud.yaml; it has {there}"
        )
    return template
