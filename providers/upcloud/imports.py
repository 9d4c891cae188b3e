"""By which address and id `terraform/modules/upcloud` takes in what exists; ids as in the provider's pages "Import".

    instance    upcloud_server       its UUID
    volume      upcloud_storage      its UUID
    attachment  a name, made again
    address     a name, made again: only where it would get the address that the node has
    binding     a name, made again

The provider does not know the root disk of a server it imported: deleting that server leaves the disk behind.
"""

from collections.abc import Mapping

from providers.base import Listing, Resources
from providers.catalog import EPHEMERAL
from providers.tf.abilities import Import
from providers.tf.imports import in_module


def imports_of(
    target: str, resources: Resources, listing: Listing, *, rendered_addresses: Mapping[str, str]
) -> tuple[Import, ...] | None:
    """See `ImportsResources`. The listing has one VM and one volume a key, all of this cluster."""
    word, _, key = target.partition("/")
    match word:
        case "instance":
            return _one("upcloud_server.instance", key, next((i.id for i in listing.instances if i.key == key), ""))
        case "volume":
            if any(v.key == key and v.kind == EPHEMERAL for v in resources.volumes):
                return ()
            return _one("upcloud_storage.volume", key, next((v.id for v in listing.volumes if v.key == key), ""))
        case "attachment" | "binding":
            return ()
        case "address":
            owned = listing.node_addresses.get((resources.cluster_uid, key))
            return () if owned == rendered_addresses.get(key) else None
        case _:
            return None


def _one(resource: str, key: str, found: str) -> tuple[Import, ...] | None:
    return (Import(in_module(resource, key), found),) if found else None
