"""The rendered set of one cluster as variables of `terraform/modules/digitalocean` (shape: terraform/README.md)."""

from providers import base, catalog_file, cloud_init, errors, made_from, tags, variables
from providers.digitalocean.settings import DigitaloceanAccount, DigitaloceanRegion
from providers.digitalocean.tags import EPHEMERAL_VOLUMES, IMAGE, SHAPE, encoded_values
from providers.software import Software
from providers.variables import chosen_image, held_by, own_image, used_zones


def module_variables(
    resources: base.Resources,
    account: DigitaloceanAccount,
    region: DigitaloceanRegion,
    *,
    software: Software | None = None,
) -> dict[str, object]:
    """JSON-safe variables; values of tags are in DigitalOcean's words (`providers.digitalocean.tags`). Pure.

    Raises `PlaceUnknown` for a node that is to own an address, a rack the settings do not have, a machine that is not
    in the catalogue, a version without an image. `ValueError` for a tag that does not fit.
    """
    _refuse_addresses(resources)
    for zone in used_zones(resources):
        if zone not in region.racks:
            there = ", ".join(region.racks)
            raise errors.PlaceUnknown(f"{resources.place}: no rack {zone!r} in digitalocean.yaml; it has {there}")
    return variables.module_variables(
        resources,
        cloud={
            "vpc": region.vpc,
            "firewall_tag": region.firewall_tag,
            "ssh_keys": " ".join(map(str, account.ssh_keys)),
        },
        instance=lambda i: {
            **_instance(resources, i, region),
            "boot_data": cloud_init.born_with(i, software, cloud="digitalocean", own_disks="root"),
        },
    )


def _refuse_addresses(resources: base.Resources) -> None:
    nodes = sorted({*(a.node for a in resources.addresses), *(b.node for b in resources.bindings)})
    if nodes:
        raise errors.PlaceUnknown(
            f"{resources.place}: {', '.join(nodes)} cannot own an address: DigitalOcean hands no private address from "
            "a VM to another, and its reserved addresses are public. Before fewer than two listed controllers keep "
            "their addresses, give the brokers the new bootstrap list, or put controllers where addresses pass on"
        )


def _instance(
    resources: base.Resources, instance: base.InstanceResource, region: DigitaloceanRegion
) -> dict[str, object]:
    ephemeral = " ".join(held_by(resources, instance, ephemeral=True))
    more = {SHAPE: instance.shape, IMAGE: instance.image, EPHEMERAL_VOLUMES: ephemeral}
    given = tags.instance_tags(resources, instance, more)
    return {
        "shape": catalog_file.machine_of("digitalocean", instance).type,
        "image": _image(resources, instance, region),
        "tags": encoded_values(given),
    }


def _image(resources: base.Resources, instance: base.InstanceResource, region: DigitaloceanRegion) -> str:
    image = own_image(instance, made_from.X86_64) or chosen_image(instance, region.images, None)
    if image is None:
        there = ", ".join(sorted(region.images)) or "none"
        raise errors.PlaceUnknown(
            f"{resources.place}: no image of Kafka {instance.image} in digitalocean.yaml; it has {there}"
        )
    return str(image)
