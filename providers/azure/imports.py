"""By which address and id `terraform/modules/azure` takes in what exists; ids as in the pages "Import" of the provider.

    instance    azurerm_linux_virtual_machine                   .../virtualMachines/NAME
                azurerm_network_interface (instance_nic)        .../networkInterfaces/NAME, unless the node's is bound
                azurerm_public_ip (instance_public)             .../publicIPAddresses/NAME, of who asks for one
    volume      azurerm_managed_disk                            .../disks/NAME
    attachment  azurerm_virtual_machine_data_disk_attachment    VM/dataDisks/DISK
    address     azurerm_network_interface                       .../networkInterfaces/NAME

A binding and a VM's own disks are names only (`terraform_data`): they are made again, which makes nothing.
"""

from providers.azure.ids import interface_of, name_of, public_address_of
from providers.base import Listing, Resources
from providers.tf.abilities import Import
from providers.tf.imports import in_module
from providers.tf.taken_in import is_own, taken_in, vm_id, volume_id

Imports = tuple[Import, ...] | None


def imports_of(target: str, resources: Resources, listing: Listing) -> Imports:
    """See `ImportsResources`. The listing has one VM and one volume a key, all of this cluster."""
    word, _, key = target.partition("/")
    match word:
        case "instance":
            return _instance(key, resources, listing)
        case "volume":
            return (
                () if is_own(key, resources) else taken_in("azurerm_managed_disk.volume", key, volume_id(listing, key))
            )
        case "attachment":
            return _attachment(key, resources, listing)
        case "address":
            found = listing.node_address_ids.get((resources.cluster_uid, key), "")
            return taken_in("azurerm_network_interface.address", key, found)
        case "binding":
            return ()
        case _:
            return None


def _instance(key: str, resources: Resources, listing: Listing) -> Imports:
    machine = vm_id(listing, key)
    made = taken_in("azurerm_linux_virtual_machine.instance", key, machine)
    if made is None or any(b.instance == key for b in resources.bindings):
        return made
    nic = Import(in_module("azurerm_network_interface.instance_nic", key), interface_of(machine))
    asks = any(i.key == key and i.public_address for i in resources.instances)
    public = Import(in_module("azurerm_public_ip.instance_public", key), public_address_of(machine))
    return (*made, nic, *([public] if asks else []))


def _attachment(key: str, resources: Resources, listing: Listing) -> Imports:
    tie = next(a for a in resources.attachments if a.key == key)
    if is_own(tie.volume, resources):
        return ()
    machine = vm_id(listing, tie.instance)
    disk = volume_id(listing, tie.volume)
    found = f"{machine}/dataDisks/{name_of(disk)}" if machine and disk else ""
    return taken_in("azurerm_virtual_machine_data_disk_attachment.attachment", key, found)
