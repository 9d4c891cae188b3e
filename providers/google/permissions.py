"""What the credentials of a project need: each method of Compute Engine that Kedge or its module calls, and its price.

From "Compute Engine IAM roles and permissions" and the reference page of each method (Google documentation, read
2026-11-22); the methods are those of recorded calls (tests/contract/test_cloud_policies.py).
"""

from collections.abc import Mapping

from providers.permissions import of_all

OF_METHODS: Mapping[str, tuple[str, ...]] = {
    "projects.get": ("compute.projects.get",),
    "projects.testIamPermissions": (),  # whoever asks learns what they may do, and needs nothing for it
    "regions.get": ("compute.regions.get",),
    "zones.get": ("compute.zones.get",),
    "machineTypes.get": ("compute.machineTypes.get",),
    "images.get": ("compute.images.get", "compute.images.useReadOnly"),
    "subnetworks.get": ("compute.subnetworks.get",),
    "instances.aggregatedList": ("compute.instances.list",),
    "instances.get": ("compute.instances.get",),
    "instances.insert": (
        "compute.instances.create",
        "compute.instances.setLabels",
        "compute.instances.setMetadata",
        "compute.instances.setTags",
        "compute.disks.create",
        "compute.disks.setLabels",
        "compute.subnetworks.use",
        "compute.addresses.useInternal",
    ),
    "instances.delete": ("compute.instances.delete",),
    "instances.setLabels": ("compute.instances.setLabels",),
    "instances.attachDisk": ("compute.instances.attachDisk", "compute.disks.use"),
    "instances.detachDisk": ("compute.instances.detachDisk",),
    "instances.getSerialPortOutput": ("compute.instances.getSerialPortOutput",),
    "disks.aggregatedList": ("compute.disks.list",),
    "disks.get": ("compute.disks.get",),
    "disks.insert": ("compute.disks.create", "compute.disks.setLabels"),
    "disks.delete": ("compute.disks.delete",),
    "disks.setLabels": ("compute.disks.setLabels",),
    "addresses.list": ("compute.addresses.list",),
    "addresses.get": ("compute.addresses.get",),
    "addresses.insert": ("compute.addresses.createInternal", "compute.subnetworks.use"),
    "addresses.delete": ("compute.addresses.deleteInternal",),
    "zoneOperations.get": ("compute.zoneOperations.get",),
    "regionOperations.get": ("compute.regionOperations.get",),
}


_POLICY = "compute.networks.updatePolicy"
"""Of the network, for whoever puts a subnetwork or a firewall rule into it, changes one or takes it out."""

OF_NETWORKS: Mapping[str, tuple[str, ...]] = {
    "networks.get": ("compute.networks.get",),
    "networks.insert": ("compute.networks.create",),
    "networks.delete": ("compute.networks.delete",),
    "subnetworks.get": ("compute.subnetworks.get",),
    "subnetworks.insert": ("compute.subnetworks.create", _POLICY),
    "subnetworks.delete": ("compute.subnetworks.delete", _POLICY),
    "firewalls.get": ("compute.firewalls.get",),
    "firewalls.insert": ("compute.firewalls.create", _POLICY),
    "firewalls.patch": ("compute.firewalls.update", _POLICY),
    "firewalls.delete": ("compute.firewalls.delete", _POLICY),
    "globalOperations.get": ("compute.globalOperations.get",),
    "regionOperations.get": ("compute.regionOperations.get",),
}
"""For networks that Kedge makes, beside the others."""

_MAKING = ("instances.insert", "disks.insert", "addresses.insert")


def needed_to_make() -> tuple[str, ...]:
    """Of a surge, without what may be held on one thing alone, as on a shared network: a project tells only its own."""
    named = {one for method in _MAKING for one in OF_METHODS[method]}
    return tuple(sorted(one for one in named if ".use" not in one))


def needed() -> tuple[str, ...]:
    """Every permission, sorted."""
    return of_all(OF_METHODS)


def needed_for_networks() -> tuple[str, ...]:
    """Every permission to make, change and remove a network, sorted."""
    return of_all(OF_NETWORKS)
