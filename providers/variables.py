"""The rendered set of one cluster as variables of `terraform/modules/<cloud>`; the shape is terraform/README.md's."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from providers import tags
from providers.base import AddressResource, InstanceResource, Resources, VolumeResource
from providers.catalog import EPHEMERAL
from providers.catalog_file import Machine
from providers.errors import PlaceUnknown

ImageT = TypeVar("ImageT")

ANY = "any"
"""In the place of a Kafka version among a region's images: for all versions that have none of their own."""

DescribeInstance = Callable[[InstanceResource], Mapping[str, object]]
"""What a cloud calls the parts of a VM: any of `shape`, `image`, `address`, `boot_data`, `tags` in its own words."""


def module_variables(
    resources: Resources,
    *,
    cloud: Mapping[str, str],
    instance: DescribeInstance = lambda _: {},
    address: Callable[[AddressResource], str | None] = lambda a: a.address,
) -> dict[str, object]:
    """JSON-safe variables. What `instance` and `address` do not choose stays as the rendered set has it."""
    return {
        "installation_id": resources.installation_id,
        "cluster_uid": resources.cluster_uid,
        "cluster_name": resources.cluster_name,
        "region": resources.place.region,
        "cloud": dict(cloud),
        "instances": {
            i.key: {
                "node": i.node,
                "generation": i.generation,
                "zone": i.zone,
                "shape": i.shape,
                "image": i.image,
                "intent_id": i.intent_id,
                "boot_data": i.boot_data,
                "address": i.address,
                "tags": tags.instance_tags(resources, i),
                **instance(i),
                # Said only where it is: what is rendered for all others stays what it was to the letter.
                **({"spot": True} if i.spot else {}),
                **({"ipv6": True} if i.ipv6 else {}),
                **({"public_address": True} if i.public_address else {}),
                **_tags(i.cost_tags),
            }
            for i in resources.instances
        },
        "volumes": {
            v.key: {
                "node": v.node,
                "dir": v.dir,
                "version": v.version,
                "zone": v.zone,
                "kind": v.kind,
                "size_gib": v.size_gib,
                **_options(v),
                **_tags(v.cost_tags),
            }
            for v in resources.volumes
        },
        "attachments": {a.key: {"instance": a.instance, "volume": a.volume} for a in resources.attachments},
        "addresses": {
            a.key: {"zone": a.zone, "address": address(a), **_tags(a.cost_tags)} for a in resources.addresses
        },
        "bindings": {b.key: {"node": b.node, "instance": b.instance} for b in resources.bindings},
    }


def _options(volume: VolumeResource) -> dict[str, object]:
    """Said only where they are: what is rendered for all others stays what it was to the letter."""
    told = {
        "type": volume.type,
        "iops": volume.iops,
        "throughput_mib_per_s": volume.throughput_mib_per_s,
        "kms_key": volume.kms_key,
    }
    return {name: value for name, value in told.items() if value}


def _tags(cost_tags: Mapping[str, str]) -> dict[str, object]:
    return {"cost_tags": dict(sorted(cost_tags.items()))} if cost_tags else {}


def held_by(resources: Resources, instance: InstanceResource, *, ephemeral: bool) -> list[str]:
    """Keys of the volumes on a VM, sorted: those that are its own disks, or those that outlive it."""
    own = {v.key for v in resources.volumes if v.kind == EPHEMERAL}
    held = (a.volume for a in resources.attachments if a.instance == instance.key)
    return sorted(volume for volume in held if (volume in own) is ephemeral)


def image_for(
    resources: Resources, instance: InstanceResource, images: Mapping[str, Mapping[str, ImageT]], kind: Machine
) -> ImageT | str:
    """The image of a VM for its machine's architecture: of the revision it is made from, else that of its Kafka version
    in the settings file of its cloud. Raises `PlaceUnknown` naming the images there are.
    """
    own = own_image(instance, kind.architecture)
    if own:
        return own
    image = chosen_image(instance, images, {}).get(kind.architecture)
    if image is None:
        there = [f"{version} for {each}" for version, by in sorted(images.items()) for each in sorted(by)]
        raise PlaceUnknown(
            f"{resources.place}: no image of Kafka {instance.image} for {kind.architecture} ({kind.type}) in "
            f"{resources.place.cloud}.yaml; it has {', '.join(there) or 'none'}"
        )
    return image


def chosen_image(instance: InstanceResource, images: Mapping[str, ImageT], otherwise: ImageT) -> ImageT:
    """The image of a VM's Kafka version, else the one for any version: a plain one that installs the rest."""
    return images.get(instance.image, images.get(ANY, otherwise))


def own_image(instance: InstanceResource, architecture: str) -> str:
    """The id of the image of the revision it is made from, "" where the settings file says it. `PlaceUnknown`."""
    return instance.made_from.image(architecture) if instance.made_from is not None else ""


def used_zones(resources: Resources) -> list[str]:
    """Zones anything of the rendered set is in, sorted."""
    zones = [i.zone for i in resources.instances] + [v.zone for v in resources.volumes]
    return sorted({*zones, *(a.zone for a in resources.addresses)})
