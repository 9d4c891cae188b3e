"""The rendered set of one cluster as variables of `terraform/modules/azure`; the shape is terraform/README.md's."""

from providers import tags, variables
from providers.azure.settings import AzureAccount, AzureRegion
from providers.azure.tags import EPHEMERAL_VOLUMES, IMAGE, SHAPE, ZONE
from providers.base import InstanceResource, Resources
from providers.catalog_file import machine_of
from providers.cloud_init import born_with
from providers.errors import PlaceUnknown
from providers.software import Software
from providers.variables import held_by, image_for, used_zones


def module_variables(
    resources: Resources, account: AzureAccount, region: AzureRegion, *, software: Software | None = None
) -> dict[str, object]:
    """JSON-safe variables. Pure: Azure chooses an address nobody recorded, so none is made up here.

    Raises `PlaceUnknown` for a zone that is not in the settings, a machine not in the catalogue, a version without an
    image.
    """
    for zone in used_zones(resources):
        if zone not in region.zones:
            there = ", ".join(sorted(region.zones))
            raise PlaceUnknown(f"{resources.place}: no zone {zone!r} in azure.yaml; it has {there}")
    return variables.module_variables(
        resources,
        cloud={
            "account_id": account.id,
            "tenant_id": account.tenant_id,
            "resource_group": region.resource_group,
            "ssh_key": account.ssh_key,
            "encryption_at_host": str(account.encryption_at_host).lower(),
            "secure_boot": str(account.secure_boot).lower(),
            "scale_set": region.scale_set or "",
            **{f"subnet_{name}": zone.subnet for name, zone in sorted(region.zones.items())},
            **{f"zone_{name}": zone.place for name, zone in sorted(region.zones.items())},
        },
        instance=lambda i: {**_instance(resources, i, region), "boot_data": born_with(i, software, cloud="azure")},
    )


def _instance(resources: Resources, instance: InstanceResource, region: AzureRegion) -> dict[str, object]:
    kind = machine_of("azure", instance)
    ephemeral = tags.joined(held_by(resources, instance, ephemeral=True))
    more = {ZONE: instance.zone, SHAPE: instance.shape, IMAGE: instance.image, EPHEMERAL_VOLUMES: ephemeral}
    return {
        "shape": kind.type,
        "image": image_for(resources, instance, region.images, kind),
        "tags": tags.instance_tags(resources, instance, more),
    }
