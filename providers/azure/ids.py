"""Ids of Azure Resource Manager: paths, compared without case, which Azure itself spells in more than one way."""

import re

_ID = re.compile(
    r"^/subscriptions/(?P<account>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/resourceGroups/(?P<group>[^/?#]+)"
    r"/providers/Microsoft\.Compute/virtualMachines/(?P<name>[^/?#]+)$"
)

_WORDS = {
    word.lower(): word
    for word in (
        "resourceGroups",
        "Microsoft.Compute",
        "Microsoft.Network",
        "virtualMachines",
        "networkInterfaces",
        "publicIPAddresses",
    )
}


def canonical(arm_id: str) -> str:
    """One spelling of an id: names in lower case, as ours are, and Azure's own words as Terraform imports them.

    Listings give resource groups in upper case, gets as they were written.
    """
    parts = arm_id.lower().split("/")
    return "/".join(_WORDS.get(part, part) if place in (3, 6, 7) else part for place, part in enumerate(parts))


def machine_of(instance: str, account_id: str) -> tuple[str, str] | None:
    """(resource group, name) of a VM of this subscription; None for what could never be one."""
    found = _ID.match(canonical(instance))
    return (found["group"], found["name"]) if found and found["account"] == account_id else None


def interface_of(machine: str) -> str:
    """Id of the network interface the module makes for a VM: it has the VM's name."""
    return machine.replace("/Microsoft.Compute/virtualMachines/", "/Microsoft.Network/networkInterfaces/")


def public_address_of(machine: str) -> str:
    """Id of the public address the module makes for a VM that asks for one: it has the VM's name, too."""
    return machine.replace("/Microsoft.Compute/virtualMachines/", "/Microsoft.Network/publicIPAddresses/")


def name_of(arm_id: str) -> str:
    """The last part of an id."""
    return arm_id.rpartition("/")[2]


def is_of(arm_id: str, account_id: str) -> bool:
    """Whether the thing is of that subscription."""
    return canonical(arm_id).startswith(f"/subscriptions/{account_id}/")
