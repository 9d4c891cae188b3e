"""By which address and id `terraform/modules/google` takes in what exists; ids as the provider's pages have them.

    instance    google_compute_instance         projects/P/zones/Z/instances/NAME
    volume      google_compute_disk             projects/P/zones/Z/disks/NAME
    attachment  google_compute_attached_disk    projects/P/zones/Z/instances/NAME/DISK
    address     google_compute_address          projects/P/regions/R/addresses/NAME

A binding and a VM's own disks are names only (`terraform_data`): they are made again, which makes nothing.
"""

from providers.base import Listing, Resources
from providers.tf.abilities import Import
from providers.tf.taken_in import is_own, taken_in, vm_id, volume_id


def imports_of(target: str, resources: Resources, listing: Listing, project: str) -> tuple[Import, ...] | None:
    """See `ImportsResources`. The listing has one VM and one volume a key, all of this cluster."""
    word, _, key = target.partition("/")
    match word:
        case "instance":
            return taken_in("google_compute_instance.instance", key, _machine(key, listing, project))
        case "volume" if is_own(key, resources):
            return ()
        case "volume":
            return taken_in("google_compute_disk.volume", key, volume_id(listing, key))
        case "attachment":
            tie = next(a for a in resources.attachments if a.key == key)
            if is_own(tie.volume, resources):
                return ()
            machine, disk = _machine(tie.instance, listing, project), volume_id(listing, tie.volume)
            whole = f"{machine}/{disk.rpartition('/')[2]}" if machine and disk else ""
            return taken_in("google_compute_attached_disk.attachment", key, whole)
        case "address":
            found = listing.node_address_ids.get((resources.cluster_uid, key), "")
            return taken_in("google_compute_address.address", key, found)
        case "binding":
            return ()
        case _:
            return None


def _machine(key: str, listing: Listing, project: str) -> str:
    found = vm_id(listing, key)
    zone, _, rest = found.partition("/")
    return f"projects/{project}/zones/{zone}/instances/{rest.partition('/')[0]}" if found else ""
