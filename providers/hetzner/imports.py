"""By which address and id `terraform/modules/hetzner` takes in what exists; ids as in the provider's pages "Import".

    instance    hcloud_server               SERVER
    volume      hcloud_volume               VOLUME
    attachment  hcloud_volume_attachment    VOLUME
    binding     hcloud_server_network       SERVER-NETWORK

A node's address and a VM's own disk are names only (`terraform_data`): they are made again, which makes nothing. A VM
that was only half made is imported as it is: one that was never started never joins, which is what a deadline is for.
"""

from providers.base import Listing, Resources
from providers.catalog import EPHEMERAL
from providers.tf.abilities import Import
from providers.tf.imports import in_module


def imports_of(target: str, resources: Resources, listing: Listing) -> tuple[Import, ...] | None:
    """See `ImportsResources`. The listing has one VM and one volume a key, all of this cluster."""
    word, _, key = target.partition("/")
    match word:
        case "instance":
            return _one("hcloud_server.instance", key, next((i.id for i in listing.instances if i.key == key), ""))
        case "volume":
            return () if _is_own(key, resources) else _one("hcloud_volume.volume", key, _volume_id(key, listing))
        case "attachment":
            volume = next((a.volume for a in resources.attachments if a.key == key), "")
            if _is_own(volume, resources):
                return ()
            return _one("hcloud_volume_attachment.attachment", key, _volume_id(volume, listing))
        case "address":
            return ()
        case "binding":
            node = next((b.node for b in resources.bindings if b.key == key), "")
            tie = listing.binding_ids.get((resources.cluster_uid, node), "")
            return _one("hcloud_server_network.binding", key, tie)
        case _:
            return None


def _volume_id(key: str, listing: Listing) -> str:
    return next((v.id for v in listing.volumes if v.key == key), "")


def _is_own(volume: str, resources: Resources) -> bool:
    return any(v.key == volume and v.kind == EPHEMERAL for v in resources.volumes)


def _one(resource: str, key: str, found: str) -> tuple[Import, ...] | None:
    return (Import(in_module(resource, key), found),) if found else None
