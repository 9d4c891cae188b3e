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
from providers.tf.abilities import Import
from providers.tf.taken_in import is_own, taken_in, vm_id, volume_id


def imports_of(
    target: str, resources: Resources, listing: Listing, *, rendered_addresses: Mapping[str, str]
) -> tuple[Import, ...] | None:
    """See `ImportsResources`. The listing has one VM and one volume a key, all of this cluster."""
    word, _, key = target.partition("/")
    match word:
        case "instance":
            return taken_in("upcloud_server.instance", key, vm_id(listing, key))
        case "volume":
            return () if is_own(key, resources) else taken_in("upcloud_storage.volume", key, volume_id(listing, key))
        case "attachment" | "binding":
            return ()
        case "address":
            owned = listing.node_addresses.get((resources.cluster_uid, key))
            return () if owned == rendered_addresses.get(key) else None
        case _:
            return None
