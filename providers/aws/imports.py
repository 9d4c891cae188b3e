"""By which address and id `terraform/modules/aws` takes in what exists; ids as in the pages "Import" of the provider.

    instance    aws_instance                         i-...
    volume      aws_ebs_volume                       vol-...
    attachment  aws_volume_attachment                DEVICE:VOLUME:INSTANCE
    address     aws_network_interface                eni-...
    binding     aws_network_interface_attachment     eni-attach-...

A VM's own disks are names only (`terraform_data`): they are made again, which makes nothing.
"""

from providers.base import Listing, Resources
from providers.catalog import EPHEMERAL
from providers.tf.abilities import Import
from providers.tf.imports import in_module


def imports_of(target: str, resources: Resources, listing: Listing) -> tuple[Import, ...] | None:
    """See `ImportsResources`. The listing has one VM and one volume a key, all of this cluster."""
    word, _, key = target.partition("/")
    uid = resources.cluster_uid
    match word:
        case "instance":
            return _one("aws_instance.instance", key, next((i.id for i in listing.instances if i.key == key), ""))
        case "volume":
            if _is_own(key, resources):
                return ()
            return _one("aws_ebs_volume.volume", key, next((v.id for v in listing.volumes if v.key == key), ""))
        case "attachment":
            return _attachment(key, resources, listing)
        case "address":
            return _one("aws_network_interface.address", key, listing.node_address_ids.get((uid, key), ""))
        case "binding":
            node = next((b.node for b in resources.bindings if b.key == key), "")
            tie = listing.binding_ids.get((uid, node), "")
            return _one("aws_network_interface_attachment.binding", key, tie)
        case _:
            return None


def _attachment(key: str, resources: Resources, listing: Listing) -> tuple[Import, ...] | None:
    tie = next(a for a in resources.attachments if a.key == key)
    if _is_own(tie.volume, resources):
        return ()
    machine = next((i.id for i in listing.instances if i.key == tie.instance), "")
    disk = next((v for v in listing.volumes if v.key == tie.volume), None)
    if disk is None or not (machine and disk.id and disk.device):
        return None
    return _one("aws_volume_attachment.attachment", key, f"{disk.device}:{disk.id}:{machine}")


def _is_own(volume: str, resources: Resources) -> bool:
    return any(v.key == volume and v.kind == EPHEMERAL for v in resources.volumes)


def _one(resource: str, key: str, found: str) -> tuple[Import, ...] | None:
    return (Import(in_module(resource, key), found),) if found else None
