"""The rendered set of one cluster as variables of `terraform/modules/<cloud>`; the shape is terraform/README.md's."""

from collections.abc import Callable, Mapping

from providers import tags
from providers.base import AddressResource, InstanceResource, Resources

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
            }
            for v in resources.volumes
        },
        "attachments": {a.key: {"instance": a.instance, "volume": a.volume} for a in resources.attachments},
        "addresses": {a.key: {"zone": a.zone, "address": address(a)} for a in resources.addresses},
        "bindings": {b.key: {"node": b.node, "instance": b.instance} for b in resources.bindings},
    }


def used_zones(resources: Resources) -> list[str]:
    """Zones anything of the rendered set is in, sorted."""
    zones = [i.zone for i in resources.instances] + [v.zone for v in resources.volumes]
    return sorted({*zones, *(a.zone for a in resources.addresses)})
