"""The rendered set of one cluster as variables of `terraform/modules/aws`; the shape is terraform/README.md's."""

from providers import tags, variables
from providers.aws.settings import AwsAccount, AwsRegion
from providers.aws.tags import EPHEMERAL_VOLUMES, IMAGE, SHAPE, joined
from providers.base import InstanceResource, Resources
from providers.catalog import EPHEMERAL
from providers.catalogfile import Machine, sold_by
from providers.errors import PlaceUnknown
from providers.variables import used_zones


def module_variables(resources: Resources, account: AwsAccount, region: AwsRegion) -> dict[str, object]:
    """JSON-safe variables. Pure: AWS chooses an address nobody recorded, so none is made up here.

    Raises `PlaceUnknown` for a zone without a subnet, a machine not in the catalogue, a version without an image.
    """
    for zone in used_zones(resources):
        if zone not in region.subnets:
            there = ", ".join(sorted(region.subnets))
            raise PlaceUnknown(f"{resources.place}: no subnet for zone {zone!r} in aws.yaml; it has {there}")
    return variables.module_variables(
        resources,
        cloud={
            "account_id": account.id,
            "security_groups": " ".join(region.security_groups),
            **{f"subnet_{zone}": subnet for zone, subnet in sorted(region.subnets.items())},
        },
        instance=lambda i: _instance(resources, i, region),
    )


def _instance(resources: Resources, instance: InstanceResource, region: AwsRegion) -> dict[str, object]:
    kind = sold_by("aws").machine(instance.shape)
    own = {v.key for v in resources.volumes if v.kind == EPHEMERAL}
    ephemeral = joined(a.volume for a in resources.attachments if a.instance == instance.key and a.volume in own)
    more = {SHAPE: instance.shape, IMAGE: instance.image, EPHEMERAL_VOLUMES: ephemeral}
    return {
        "shape": kind.type,
        "image": _image(resources, instance, region, kind),
        "tags": tags.instance_tags(resources, instance) | {k: v for k, v in more.items() if v},
    }


def _image(resources: Resources, instance: InstanceResource, region: AwsRegion, kind: Machine) -> str:
    image = region.images.get(instance.image, {}).get(kind.architecture)
    if image is None:
        there = [f"{version} for {each}" for version, by in sorted(region.images.items()) for each in sorted(by)]
        raise PlaceUnknown(
            f"{resources.place}: no image of Kafka {instance.image} for {kind.architecture} ({kind.type}) in aws.yaml; "
            f"it has {', '.join(there) or 'none'}"
        )
    return image
