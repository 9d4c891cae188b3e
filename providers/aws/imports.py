"""By which address and id `terraform/modules/aws` takes in what exists; ids as in the pages "Import" of the provider.

    instance    aws_instance                         i-...
    volume      aws_ebs_volume                       vol-...
    attachment  aws_volume_attachment                DEVICE:VOLUME:INSTANCE
    address     aws_network_interface                eni-...
    binding     aws_network_interface_attachment     eni-attach-...

A VM's own disks are names only (`terraform_data`): they are made again, which makes nothing.
"""

from providers.base import Listing, Resources
from providers.tf.abilities import Import
from providers.tf.taken_in import is_own, taken_in, vm_id, volume_id


def imports_of(target: str, resources: Resources, listing: Listing) -> tuple[Import, ...] | None:
    """See `ImportsResources`. The listing has one VM and one volume a key, all of this cluster."""
    word, _, key = target.partition("/")
    uid = resources.cluster_uid
    match word:
        case "instance":
            return taken_in("aws_instance.instance", key, vm_id(listing, key))
        case "volume":
            return () if is_own(key, resources) else taken_in("aws_ebs_volume.volume", key, volume_id(listing, key))
        case "attachment":
            return _attachment(key, resources, listing)
        case "address":
            return taken_in("aws_network_interface.address", key, listing.node_address_ids.get((uid, key), ""))
        case "binding":
            node = next((b.node for b in resources.bindings if b.key == key), "")
            tie = listing.binding_ids.get((uid, node), "")
            return taken_in("aws_network_interface_attachment.binding", key, tie)
        case _:
            return None


def _attachment(key: str, resources: Resources, listing: Listing) -> tuple[Import, ...] | None:
    tie = next(a for a in resources.attachments if a.key == key)
    if is_own(tie.volume, resources):
        return ()
    machine = vm_id(listing, tie.instance)
    disk = next((v for v in listing.volumes if v.key == tie.volume), None)
    if disk is None or not (machine and disk.id and disk.device):
        return None
    return taken_in("aws_volume_attachment.attachment", key, f"{disk.device}:{disk.id}:{machine}")
