"""The rendered set of one cluster as variables of `terraform/modules/hetzner`; the shape is terraform/README.md's."""

from collections.abc import Sequence
from ipaddress import IPv4Network

from providers import base, catalog, catalog_file, cloud_init, errors, tags, variables
from providers.hetzner.inventory import PlaceLimits
from providers.hetzner.placement import addresses_for, groups_for
from providers.hetzner.settings import HetznerRegion
from providers.hetzner.tags import ADDRESS, EPHEMERAL_VOLUMES, IMAGE, SHAPE, ZONE, labels_of
from providers.software import Software
from providers.variables import held_by, image_for, used_zones

SMALLEST_GIB = 10
"""The smallest volume Hetzner sells (docs.hetzner.com, Volumes)."""


def module_variables(
    resources: base.Resources,
    region: HetznerRegion,
    limits: PlaceLimits,
    *,
    software: Software | None = None,
    ssh_keys: Sequence[str] = (),
    impatient: bool = False,
) -> dict[str, object]:
    """JSON-safe variables. Pure. `impatient`: ask after actions often, which a stand-in for Hetzner does not mind.

    Raises `PlaceUnknown` for a zone without a subnet, a machine not in the catalogue, a version without an image, a
    volume too small; `QuotaExceeded` where addresses are used up.
    """
    _refuse_what_is_not_there(resources, region)
    addresses = addresses_for(resources, region.node_range, limits)
    return variables.module_variables(
        resources,
        cloud=_cloud(resources, region, limits)
        | ({"poll_interval": "50ms", "poll_function": "constant"} if impatient else {}),
        instance=lambda i: {
            **_instance(resources, i, region, addresses.get(i.node)),
            # A server has the one disk it boots from: looked for as a device, its own would never be found.
            "boot_data": cloud_init.born_with(
                i,
                software,
                cloud="hetzner",
                own_disks="root",
                packet_filter=region.packet_filter(),
                default_route=str(IPv4Network(region.subnets[i.zone]).network_address),
                ssh_keys=ssh_keys,
            ),
        },
        address=lambda a: addresses[a.node],
    )


def _refuse_what_is_not_there(resources: base.Resources, region: HetznerRegion) -> None:
    for zone in used_zones(resources):
        if zone not in region.subnets:
            there = ", ".join(sorted(region.subnets))
            raise errors.PlaceUnknown(f"{resources.place}: no subnet for zone {zone!r} in hetzner.yaml; it has {there}")
    for volume in resources.volumes:
        if volume.kind != catalog.EPHEMERAL and volume.size_gib < SMALLEST_GIB:
            least = f"the smallest volume of Hetzner has {SMALLEST_GIB}"
            raise errors.PlaceUnknown(f"{resources.place}: {volume.key} is to have {volume.size_gib} GiB; {least}")


def _cloud(resources: base.Resources, region: HetznerRegion, limits: PlaceLimits) -> dict[str, str]:
    owner = {
        tags.INSTALLATION: resources.installation_id,
        tags.CLUSTER_UID: resources.cluster_uid,
        tags.CLUSTER_NAME: resources.cluster_name,
    }
    groups = groups_for(resources, region.placement_groups, limits)
    return {
        "network": str(region.network),
        "node_network": str(region.node_network),
        "member_range": region.member_range,
        "node_range": region.node_range,
        **{f"subnet_{zone}": subnet for zone, subnet in sorted(region.subnets.items())},
        **{f"label_{name}": value for name, value in labels_of(owner).items()},
        **{f"placement_group_{key}": str(group) for key, group in sorted(groups.items())},
    }


def _instance(
    resources: base.Resources,
    instance: base.InstanceResource,
    region: HetznerRegion,
    owned: str | None,
) -> dict[str, object]:
    kind = catalog_file.machine_of("hetzner", instance)
    ephemeral = held_by(resources, instance, ephemeral=True)
    more = {
        ZONE: instance.zone,
        SHAPE: instance.shape,
        IMAGE: instance.image,
        EPHEMERAL_VOLUMES: " ".join(ephemeral),
        ADDRESS: owned or "",
    }
    return {
        "shape": kind.type,
        "image": str(image_for(resources, instance, region.images, kind)),
        "tags": labels_of(tags.instance_tags(resources, instance, more)),
    }
