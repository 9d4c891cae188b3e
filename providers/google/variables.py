"""The rendered set of one cluster as variables of `terraform/modules/google`; the shape is terraform/README.md's."""

from providers import tags, variables
from providers.base import InstanceResource, Place, Resources
from providers.catalog import EPHEMERAL
from providers.catalogfile import Machine, sold_by
from providers.errors import PlaceUnknown
from providers.google.settings import GoogleAccount, GoogleRegion
from providers.google.tags import EPHEMERAL_VOLUMES, IMAGE, REGION, SHAPE, encoded, joined
from providers.variables import used_zones


def module_variables(resources: Resources, account: GoogleAccount, region: GoogleRegion) -> dict[str, object]:
    """JSON-safe variables. Pure: Google chooses an address nobody recorded, so none is made up here.

    Raises `PlaceUnknown` for a zone without a subnetwork, a machine not in the catalogue, a version without an image.
    """
    for zone in used_zones(resources):
        if zone not in region.subnetworks:
            there = ", ".join(sorted(region.subnetworks))
            raise PlaceUnknown(f"{resources.place}: no subnetwork for zone {zone!r} in google.yaml; it has {there}")
    return variables.module_variables(
        resources,
        cloud={
            "project": account.project,
            "network_tags": " ".join(region.network_tags),
            **{f"subnetwork_{zone}": subnetwork for zone, subnetwork in sorted(region.subnetworks.items())},
        },
        instance=lambda i: _instance(resources, i, region),
    )


def _instance(resources: Resources, instance: InstanceResource, region: GoogleRegion) -> dict[str, object]:
    kind = sold_by("google").machine(instance.shape)
    own = {v.key for v in resources.volumes if v.kind == EPHEMERAL}
    more = {
        REGION: resources.place.region,
        SHAPE: instance.shape,
        IMAGE: instance.image,
        EPHEMERAL_VOLUMES: joined(
            a.volume for a in resources.attachments if a.instance == instance.key and a.volume in own
        ),
    }
    told = tags.instance_tags(resources, instance) | {k: v for k, v in more.items() if v}
    return {"shape": kind.type, "image": _image(resources.place, instance, region, kind), "tags": encoded(told)}


def _image(place: Place, instance: InstanceResource, region: GoogleRegion, kind: Machine) -> str:
    image = region.images.get(instance.image, {}).get(kind.architecture)
    if image is None:
        there = [f"{version} for {each}" for version, by in sorted(region.images.items()) for each in sorted(by)]
        raise PlaceUnknown(
            f"{place}: no image of Kafka {instance.image} for {kind.architecture} ({kind.type}) in google.yaml; "
            f"it has {', '.join(there) or 'none'}"
        )
    return image
