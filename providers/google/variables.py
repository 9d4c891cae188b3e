"""The rendered set of one cluster as variables of `terraform/modules/google`; the shape is terraform/README.md's."""

from providers import tags, variables
from providers.base import InstanceResource, Resources
from providers.catalog_file import machine_of
from providers.cloud_init import born_with
from providers.errors import PlaceUnknown
from providers.google.settings import GoogleAccount, GoogleRegion
from providers.google.tags import EPHEMERAL_VOLUMES, IMAGE, REGION, SHAPE, encoded, joined
from providers.software import Software
from providers.variables import held_by, image_for, used_zones


def module_variables(
    resources: Resources, account: GoogleAccount, region: GoogleRegion, *, software: Software | None = None
) -> dict[str, object]:
    """JSON-safe variables. Pure: Google chooses an address nobody recorded, so none is made up here.

    Raises `PlaceUnknown` for a zone without a subnetwork, a machine not in the catalogue, a version without an image.
    """
    for zone in used_zones(resources):
        if zone not in region.subnetworks:
            there = ", ".join(sorted(region.subnetworks))
            raise PlaceUnknown(f"{resources.place}: no subnetwork for zone {zone!r} in google.yaml; it has {there}")
    keys = account.ssh_keys
    return variables.module_variables(
        resources,
        cloud={
            "project": account.project,
            "network_tags": " ".join(region.network_tags),
            **{f"subnetwork_{zone}": subnetwork for zone, subnetwork in sorted(region.subnetworks.items())},
        },
        instance=lambda i: {
            **_instance(resources, i, region),
            "boot_data": born_with(i, software, cloud="google", ssh_keys=keys),
        },
    )


def _instance(resources: Resources, instance: InstanceResource, region: GoogleRegion) -> dict[str, object]:
    kind = machine_of("google", instance)
    more = {
        REGION: resources.place.region,
        SHAPE: instance.shape,
        IMAGE: instance.image,
        EPHEMERAL_VOLUMES: joined(held_by(resources, instance, ephemeral=True)),
    }
    told = tags.instance_tags(resources, instance, more)
    return {"shape": kind.type, "image": image_for(resources, instance, region.images, kind), "tags": encoded(told)}
