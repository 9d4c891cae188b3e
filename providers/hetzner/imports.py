"""By which address and id `terraform/modules/hetzner` takes in what exists; ids as in the provider's pages "Import".

    instance    hcloud_server               SERVER
    volume      hcloud_volume               VOLUME
    attachment  hcloud_volume_attachment    VOLUME
    binding     hcloud_server_network       SERVER-NETWORK

A node's address and a VM's own disk are names only (`terraform_data`): they are made again, which makes nothing. A VM
that was only half made is imported as it is: one that was never started never joins, which is what a deadline is for.
"""

from providers.base import Listing, Resources
from providers.tf.abilities import Import
from providers.tf.taken_in import is_own, taken_in, vm_id, volume_id


def imports_of(target: str, resources: Resources, listing: Listing) -> tuple[Import, ...] | None:
    """See `ImportsResources`. The listing has one VM and one volume a key, all of this cluster."""
    word, _, key = target.partition("/")
    match word:
        case "instance":
            return taken_in("hcloud_server.instance", key, vm_id(listing, key))
        case "volume":
            return () if is_own(key, resources) else taken_in("hcloud_volume.volume", key, volume_id(listing, key))
        case "attachment":
            volume = next((a.volume for a in resources.attachments if a.key == key), "")
            if is_own(volume, resources):
                return ()
            return taken_in("hcloud_volume_attachment.attachment", key, volume_id(listing, volume))
        case "address":
            return ()
        case "binding":
            node = next((b.node for b in resources.bindings if b.key == key), "")
            tie = listing.binding_ids.get((resources.cluster_uid, node), "")
            return taken_in("hcloud_server_network.binding", key, tie)
        case _:
            return None
