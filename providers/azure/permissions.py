"""What an identity needs of Azure: the operations of each call that Kedge or its module makes, and what it lacks.

From "Azure permissions for Compute" and "... for Networking" (Azure documentation, read 2026-11-22); the calls are
those that were recorded (tests/contract/test_cloud_policies.py).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from providers.permissions import of_all

OF_CALLS: Mapping[str, tuple[str, ...]] = {
    "GET subscriptions": ("Microsoft.Resources/subscriptions/read",),
    "LIST virtualmachines": ("Microsoft.Compute/virtualMachines/read",),
    "GET virtualmachines": (
        "Microsoft.Compute/virtualMachines/read",
        "Microsoft.Compute/virtualMachines/instanceView/read",
    ),
    "PUT virtualmachines": (
        "Microsoft.Compute/virtualMachines/write",
        "Microsoft.Network/networkInterfaces/join/action",
        "Microsoft.Compute/images/read",
        "Microsoft.Compute/galleries/images/versions/read",
        "Microsoft.Compute/virtualMachineScaleSets/read",
    ),
    "PATCH virtualmachines": ("Microsoft.Compute/virtualMachines/write",),
    "DELETE virtualmachines": ("Microsoft.Compute/virtualMachines/delete",),
    "POST poweroff": ("Microsoft.Compute/virtualMachines/powerOff/action",),
    "POST retrievebootdiagnosticsdata": ("Microsoft.Compute/virtualMachines/retrieveBootDiagnosticsData/action",),
    "LIST disks": ("Microsoft.Compute/disks/read",),
    "GET disks": ("Microsoft.Compute/disks/read",),
    "PUT disks": ("Microsoft.Compute/disks/write",),
    "PATCH disks": ("Microsoft.Compute/disks/write",),
    "DELETE disks": ("Microsoft.Compute/disks/delete",),
    "LIST networkinterfaces": ("Microsoft.Network/networkInterfaces/read",),
    "GET networkinterfaces": ("Microsoft.Network/networkInterfaces/read",),
    "PUT networkinterfaces": (
        "Microsoft.Network/networkInterfaces/write",
        "Microsoft.Network/virtualNetworks/subnets/join/action",
    ),
    "PATCH networkinterfaces": ("Microsoft.Network/networkInterfaces/write",),
    "DELETE networkinterfaces": ("Microsoft.Network/networkInterfaces/delete",),
    "GET resourcegroups": ("Microsoft.Resources/subscriptions/resourceGroups/read",),
    "GET permissions": ("Microsoft.Authorization/permissions/read",),
    "GET usages": ("Microsoft.Network/virtualNetworks/usages/read",),
    "GET images": ("Microsoft.Compute/images/read",),
    "GET operations": ("Microsoft.Compute/locations/operations/read",),
    "LIST locations": (
        "Microsoft.Compute/locations/usages/read",
        "Microsoft.Compute/locations/vmSizes/read",
    ),
}

_GROUPS = "Microsoft.Resources/subscriptions/resourceGroups"
_NETWORKS, _FILTERS = "Microsoft.Network/virtualNetworks", "Microsoft.Network/networkSecurityGroups"
_SETS = "Microsoft.Compute/virtualMachineScaleSets"

OF_NETWORKS: Mapping[str, tuple[str, ...]] = {
    "GET resourcegroups": (f"{_GROUPS}/read",),
    "PUT resourcegroups": (f"{_GROUPS}/write",),
    "DELETE resourcegroups": (f"{_GROUPS}/delete", f"{_GROUPS}/resources/read"),
    "GET virtualnetworks": (f"{_NETWORKS}/read",),
    "PUT virtualnetworks": (f"{_NETWORKS}/write",),
    "DELETE virtualnetworks": (f"{_NETWORKS}/delete",),
    "GET subnets": (f"{_NETWORKS}/subnets/read",),
    "PUT subnets": (f"{_NETWORKS}/subnets/write", f"{_FILTERS}/join/action"),
    "DELETE subnets": (f"{_NETWORKS}/subnets/delete",),
    "GET networksecuritygroups": (f"{_FILTERS}/read",),
    "PUT networksecuritygroups": (f"{_FILTERS}/write",),
    "DELETE networksecuritygroups": (f"{_FILTERS}/delete",),
    "GET securityrules": (f"{_FILTERS}/securityRules/read",),
    "PUT securityrules": (f"{_FILTERS}/securityRules/write",),
    "DELETE securityrules": (f"{_FILTERS}/securityRules/delete",),
    "GET virtualmachinescalesets": (f"{_SETS}/read",),
    "PUT virtualmachinescalesets": (f"{_SETS}/write",),
    "DELETE virtualmachinescalesets": (f"{_SETS}/delete",),
}
"""For networks that Kedge makes, beside the others, on the subscription: a resource group is made there. A scale set is
made in regions without zones alone. Terraform's provider looks what a resource group holds before it deletes it."""


TO_MAKE = (
    "Microsoft.Compute/disks/write",
    "Microsoft.Compute/virtualMachines/write",
    "Microsoft.Network/networkInterfaces/write",
)
"""What a surge changes in its resource group; what it reads or joins may be given elsewhere, and is not told there."""


def needed() -> tuple[str, ...]:
    """Every operation, sorted."""
    return of_all(OF_CALLS)


def needed_for_networks() -> tuple[str, ...]:
    """Every operation to make, change and remove a network, sorted."""
    return of_all(OF_NETWORKS)


def lacking(permissions: Sequence[Mapping[str, Any]], wanted: Iterable[str] = ()) -> tuple[str, ...]:
    """What of `wanted` (all that is needed) no permission gives: each has `actions` and `notActions`, `*` for any.

    An operation is given when one assignment names it and the same one does not take it back (Azure documentation,
    "Understand Azure role definitions").
    """
    return tuple(one for one in wanted or needed() if not any(_gives(each, one) for each in permissions))


def _gives(permission: Mapping[str, Any], operation: str) -> bool:
    return _any(permission.get("actions") or (), operation) and not _any(permission.get("notActions") or (), operation)


def _any(patterns: Iterable[str], operation: str) -> bool:
    return any(re.fullmatch(".*".join(map(re.escape, p.split("*"))), operation, re.IGNORECASE) for p in patterns)
