"""The rendered set of one cluster as variables of `terraform/modules/aws`; the shape is terraform/README.md's."""

from providers import base, catalog_file, cloud_init, errors, tags, variables
from providers.aws.partitions import partition_of
from providers.aws.settings import AwsAccount, AwsRegion
from providers.aws.tags import EPHEMERAL_VOLUMES, IMAGE, SHAPE, ZONE
from providers.software import Software
from providers.variables import held_by, image_for, used_zones


def module_variables(
    resources: base.Resources, account: AwsAccount, region: AwsRegion, *, software: Software | None = None
) -> dict[str, object]:
    """JSON-safe variables. Pure: AWS chooses an address nobody recorded, so none is made up here.

    Raises `PlaceUnknown` for a zone without a subnet, a machine not in the catalogue, a version without an image.
    """
    for zone in used_zones(resources):
        if zone not in region.subnets:
            there = ", ".join(sorted(region.subnets))
            raise errors.PlaceUnknown(f"{resources.place}: no subnet for zone {zone!r} in aws.yaml; it has {there}")
    keys = account.ssh_keys
    return variables.module_variables(
        resources,
        cloud={
            "account_id": account.id,
            "security_groups": " ".join(region.security_groups),
            **({"placement_group": region.placement_group} if region.placement_group else {}),
            **{f"subnet_{zone}": subnet for zone, subnet in sorted(region.subnets.items())},
        },
        instance=lambda i: {
            **_instance(resources, i, region),
            "boot_data": cloud_init.born_with(i, software, cloud="aws", ssh_keys=keys),
        },
    )


def _instance(resources: base.Resources, instance: base.InstanceResource, region: AwsRegion) -> dict[str, object]:
    kind = catalog_file.machine_of("aws", instance)
    ephemeral = tags.joined(held_by(resources, instance, ephemeral=True))
    more = {SHAPE: instance.shape, IMAGE: instance.image, EPHEMERAL_VOLUMES: ephemeral}
    if partition_of(instance.zone) is not None:
        more[ZONE] = instance.zone
    return {
        "shape": kind.type,
        "image": image_for(resources, instance, region.images, kind),
        "tags": tags.instance_tags(resources, instance, more),
    }
