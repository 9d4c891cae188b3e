"""By which address and id `terraform/modules/digitalocean` takes in what exists; ids as in the provider's importers.

    instance    digitalocean_droplet              DROPLET
    volume      digitalocean_volume               VOLUME
    attachment  digitalocean_volume_attachment    DROPLET,VOLUME

A VM's own disk is a name only (`terraform_data`): it is made again, which makes nothing.
"""

from providers.base import Listing, Resources
from providers.catalog import EPHEMERAL
from providers.tf.abilities import Import
from providers.tf.taken_in import taken_in


def imports_of(target: str, resources: Resources, listing: Listing) -> tuple[Import, ...] | None:
    """See `ImportsResources`. The listing has one VM and one volume a key, all of this cluster."""
    word, _, key = target.partition("/")
    machines = {i.key: i.id for i in listing.instances}
    disks = {v.key: v.id for v in listing.volumes}
    own = {v.key for v in resources.volumes if v.kind == EPHEMERAL}
    match word:
        case "instance":
            return taken_in("digitalocean_droplet.instance", key, machines.get(key, ""))
        case "volume":
            return () if key in own else taken_in("digitalocean_volume.volume", key, disks.get(key, ""))
        case "attachment":
            tie = next(a for a in resources.attachments if a.key == key)
            if tie.volume in own:
                return ()
            ends = (machines.get(tie.instance, ""), disks.get(tie.volume, ""))
            return taken_in("digitalocean_volume_attachment.attachment", key, ",".join(ends) if all(ends) else "")
        case _:
            return None
