"""The rendered set of one cluster as variables of `terraform/modules/aws`; the shape is terraform/README.md's."""

from providers import tags
from providers.aws.catalog import Machine, machine
from providers.aws.settings import AwsAccount, AwsRegion
from providers.aws.tags import EPHEMERAL_VOLUMES, IMAGE, SHAPE, joined
from providers.base import InstanceResource, Resources
from providers.catalog import EPHEMERAL
from providers.errors import PlaceUnknown


def module_variables(resources: Resources, account: AwsAccount, region: AwsRegion) -> dict[str, object]:
    """JSON-safe variables. Pure: AWS chooses an address nobody recorded, so none is made up here.

    Raises `PlaceUnknown` for a zone without a subnet, a machine not in the catalogue, a version without an image.
    """
    used = {i.zone for i in resources.instances} | {v.zone for v in resources.volumes}
    for zone in sorted(used | {a.zone for a in resources.addresses}):
        if zone not in region.subnets:
            there = ", ".join(sorted(region.subnets))
            raise PlaceUnknown(f"{resources.place}: no subnet for zone {zone!r} in aws.yaml; it has {there}")
    return {
        "installation_id": resources.installation_id,
        "cluster_uid": resources.cluster_uid,
        "cluster_name": resources.cluster_name,
        "region": resources.place.region,
        "cloud": {
            "account_id": account.id,
            "security_groups": " ".join(region.security_groups),
            **{f"subnet_{zone}": subnet for zone, subnet in sorted(region.subnets.items())},
        },
        "instances": {i.key: _instance(resources, i, region) for i in resources.instances},
        "volumes": {
            v.key: {
                "node": v.node,
                "dir": v.dir,
                "version": v.version,
                "zone": v.zone,
                "kind": v.kind,
                "size_gib": v.size_gib,
            }
            for v in resources.volumes
        },
        "attachments": {a.key: {"instance": a.instance, "volume": a.volume} for a in resources.attachments},
        "addresses": {a.key: {"zone": a.zone, "address": a.address} for a in resources.addresses},
        "bindings": {b.key: {"node": b.node, "instance": b.instance} for b in resources.bindings},
    }


def _instance(resources: Resources, instance: InstanceResource, region: AwsRegion) -> dict[str, object]:
    kind = machine(instance.shape)
    own = {v.key for v in resources.volumes if v.kind == EPHEMERAL}
    ephemeral = joined(a.volume for a in resources.attachments if a.instance == instance.key and a.volume in own)
    more = {SHAPE: instance.shape, IMAGE: instance.image, EPHEMERAL_VOLUMES: ephemeral}
    return {
        "node": instance.node,
        "generation": instance.generation,
        "zone": instance.zone,
        "shape": kind.type,
        "image": _image(resources, instance, region, kind),
        "intent_id": instance.intent_id,
        "boot_data": instance.boot_data,
        "address": instance.address,
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
