"""The rendered set of one cluster as variables of `terraform/modules/<cloud>`; the shape is terraform/README.md's."""

from collections.abc import Callable

from providers import tags
from providers.base import Resources

ChooseAddress = Callable[[str, str | None], str]
"""(owner, address recorded in an event or None) -> the owner's address."""


def module_variables(resources: Resources, *, cloud: dict[str, str], choose: ChooseAddress) -> dict[str, object]:
    """JSON-safe variables. Addresses that no event names yet are chosen here, before the run: it stays repeatable."""
    uid = resources.cluster_uid
    return {
        "installation_id": resources.installation_id,
        "cluster_uid": uid,
        "cluster_name": resources.cluster_name,
        "region": resources.place.region,
        "cloud": cloud,
        "instances": {
            i.key: {
                "node": i.node,
                "generation": i.generation,
                "zone": i.zone,
                "shape": i.shape,
                "image": i.image,
                "intent_id": i.intent_id,
                "boot_data": i.boot_data,
                "address": choose(f"{uid}/{i.key}", i.address),
                "tags": tags.instance_tags(resources, i),
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
        "addresses": {
            a.key: {"zone": a.zone, "address": choose(f"{uid}/{a.node}", a.address)} for a in resources.addresses
        },
        "bindings": {b.key: {"node": b.node, "instance": b.instance} for b in resources.bindings},
    }
