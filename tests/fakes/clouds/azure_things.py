"""What Azure's things obey: who may be on what, what changes in place, which addresses are free."""

import copy
import ipaddress
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

MACHINES = "microsoft.compute/virtualmachines"
DISKS = "microsoft.compute/disks"
INTERFACES = "microsoft.network/networkinterfaces"
PUBLIC_ADDRESSES = "microsoft.network/publicipaddresses"

_RESERVED = 4
"""Azure keeps the first four addresses of a subnet ("Private IP addresses")."""

_LUNS = {"Standard_D2s_v5": 4, "Standard_D4s_v5": 8, "Standard_D8s_v5": 16}

Thing = dict[str, Any]


class Refusal(Exception):  # an answer of Azure, not a fault of ours
    """An error as Resource Manager gives it."""

    def __init__(self, status: int, code: str, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(code)
        self.status = status
        self.body = {"error": {"code": code, "message": message}}
        self.headers = headers or {}


@dataclass(slots=True)
class Things:
    """Everything of the subscription, by id in lower case."""

    by_id: dict[str, Thing] = field(default_factory=dict)
    quota: int | None = None
    """VMs there may be."""

    def put(self, arm_id: str, body: Thing) -> None:
        """Creates or changes one. Raises `Refusal`."""
        key, kind = arm_id.lower(), kind_of(arm_id)
        group = "/".join(key.split("/")[:5])
        if kind and group not in self.by_id:
            name = group.rpartition("/")[2]
            raise Refusal(404, "ResourceGroupNotFound", f"Resource group '{name}' could not be found.")
        old = self.by_id.get(key)
        new: Thing = {"id": arm_id, "name": arm_id.rpartition("/")[2], "type": kind, **copy.deepcopy(body)}
        new.setdefault("properties", {})
        if kind == MACHINES:
            self._machine(key, old, new)
        elif kind == DISKS:
            self._disk(old, new)
        elif kind == INTERFACES:
            self._interface(key, old, new)
        elif kind == PUBLIC_ADDRESSES:
            self._public_address(old, new)
        new["properties"].setdefault("provisioningState", "Succeeded")
        self.by_id[key] = new

    def subnet_usages(self, network: str) -> list[Thing]:
        """`VirtualNetworkUsage` of each subnet: addresses that interfaces have, of those Azure gives."""
        found = []
        for key, subnet in self.by_id.items():
            if key.startswith(f"{network}/subnets/"):
                size = _networks_of(subnet)[0].num_addresses
                held = sum(key in str(i).lower() for k, i in self.by_id.items() if kind_of(k) == INTERFACES)
                name = {"value": "SubnetSpace", "localizedValue": "Subnet size and usage"}
                left = {"limit": float(size - _RESERVED - 1), "currentValue": float(held)}
                found.append({"id": subnet["id"], "name": name, "unit": "Count", **left})
        return found

    def ready(self, key: str, failure: tuple[str, str] | None) -> tuple[str, str] | None:
        """A VM's create or change is over. One that failed stays, without power, as in Azure."""
        machine = self.by_id.get(key)
        if machine is None:
            return failure
        machine["properties"]["provisioningState"] = "Failed" if failure else "Succeeded"
        if failure is None and machine["power"] == "creating":
            machine["power"] = "running"
        return failure

    def going(self, key: str) -> None:
        """A VM's deletion has begun."""
        self.by_id[key]["properties"]["provisioningState"] = "Deleting"

    def delete(self, key: str) -> None:
        """Deletes one. A VM lets go of its disks and interfaces, which stay, that of its operating system too."""
        kind, gone = kind_of(key), self.by_id.get(key)
        if gone is None:
            return
        if kind == DISKS and gone.get("managedBy"):
            holder = gone["managedBy"]
            raise Refusal(409, "OperationNotAllowed", f"Disk {gone['name']} is attached to VM {holder}.")
        if kind == INTERFACES and gone["properties"].get("virtualMachine"):
            holder = gone["properties"]["virtualMachine"]["id"]
            raise Refusal(400, "NicInUse", f"Network Interface {gone['id']} is used by existing resource {holder}.")
        if kind == PUBLIC_ADDRESSES and (holders := self._called_at(key)):
            message = f"Public IP address {gone['id']} can not be deleted since it is still allocated to {holders[0]}."
            raise Refusal(400, "PublicIPAddressCannotBeDeleted", message)
        if kind == MACHINES:
            for thing in self.by_id.values():
                if str(thing.get("managedBy", "")).lower() == key:
                    thing["managedBy"] = None
                    thing["properties"]["diskState"] = "Unattached"
                if (thing["properties"].get("virtualMachine") or {}).get("id", "").lower() == key:
                    thing["properties"]["virtualMachine"] = None
        for child in [i for i in self.by_id if i == key or i.startswith(f"{key}/")]:
            del self.by_id[child]

    def power(self, key: str, action: str) -> None:
        """Starts, stops or deallocates a VM."""
        words = {"start": "running", "deallocate": "deallocated", "poweroff": "stopped"}
        self._there(key)["power"] = words[action]

    def tag(self, key: str, body: Thing) -> None:
        """The tags of one, all of them; an update of ours says nothing else. Raises `Refusal`."""
        if set(body) != {"tags"}:
            raise Refusal(400, "InvalidParameter", f"this fake updates tags alone, not {sorted(body)}")
        self._there(key)["tags"] = dict(body["tags"])

    def shown(self, key: str, *, expand: str = "") -> Thing:
        """One as a GET gives it. Raises `Refusal`."""
        thing = self._there(key)
        told = _visible(thing)
        if kind_of(key) == MACHINES and expand.lower() == "instanceview":
            told["properties"]["instanceView"] = _view(thing)
        return told

    def of_kind(self, kind: str) -> list[str]:
        """Ids of a type, in a stable order."""
        return sorted(i for i in self.by_id if kind_of(i) == kind)

    def listed(self, key: str, *, statuses: bool) -> Thing:
        """One as a listing of the subscription gives it: the resource group in upper case, as Azure has it there."""
        thing = self.by_id[key]
        told = _visible(thing)
        parts = told["id"].split("/")
        parts[4] = parts[4].upper()
        told["id"] = "/".join(parts)
        if statuses:
            view = {"instanceView": _view(thing), "vmId": thing["properties"]["vmId"]}
            return {k: told[k] for k in ("id", "name", "type", "location")} | {"properties": view}
        return told

    def _there(self, key: str) -> Thing:
        if key not in self.by_id:
            parts = key.split("/")
            if len(parts) > 5 and "/".join(parts[:5]) not in self.by_id:
                raise Refusal(404, "ResourceGroupNotFound", f"Resource group '{parts[4]}' could not be found.")
            if len(parts) == 5:
                raise Refusal(404, "ResourceGroupNotFound", f"Resource group '{parts[4]}' could not be found.")
            what = "/".join(parts[6:])
            raise Refusal(404, "ResourceNotFound", f"The Resource '{what}' under '{parts[4]}' was not found.")
        return self.by_id[key]

    def _machine(self, key: str, old: Thing | None, new: Thing) -> None:
        properties = new["properties"]
        interfaces = [n["id"].lower() for n in properties["networkProfile"]["networkInterfaces"]]
        storage = properties["storageProfile"]
        storage.setdefault("dataDisks", [])
        if old is None:
            self._is_allowed(new)
        elif old["power"] != "deallocated" and interfaces != _interfaces_of(old):
            code = "AddingOrDeletingNetworkInterfacesOnARunningVirtualMachineNotSupported"
            raise Refusal(409, code, "Network interfaces change only while the VM is deallocated.")
        elif storage.get("imageReference") != old["properties"]["storageProfile"].get("imageReference"):
            raise Refusal(409, "PropertyChangeNotAllowed", "Changing property 'imageReference' is not allowed.")
        for nic in interfaces:
            held = (self._referred(nic)["properties"].get("virtualMachine") or {}).get("id", key).lower()
            if held != key:
                raise Refusal(400, "NicInUse", f"Network Interface {nic} is used by existing resource {held}.")
        self._attach(key, new, storage["dataDisks"])
        for thing in self.by_id.values():
            if (thing["properties"].get("virtualMachine") or {}).get("id", "").lower() == key:
                thing["properties"]["virtualMachine"] = None
        for nic in interfaces:
            self.by_id[nic]["properties"]["virtualMachine"] = {"id": new["id"]}
        properties.get("osProfile", {}).pop("customData", None)
        properties["vmId"] = old["properties"]["vmId"] if old else str(uuid.uuid4())
        properties["timeCreated"] = old["properties"]["timeCreated"] if old else datetime.now(UTC).isoformat()
        properties["provisioningState"] = "Updating" if old else "Creating"
        new["power"] = old["power"] if old else "creating"
        new.setdefault("tags", {})
        if old is None:
            self._os_disk(new)
        else:
            storage["osDisk"] = {**storage.get("osDisk", {}), **old["properties"]["storageProfile"]["osDisk"]}

    def _is_allowed(self, new: Thing) -> None:
        if self.quota is not None and len(self.of_kind(MACHINES)) >= self.quota:
            message = "Operation could not be completed as it results in exceeding approved Total Regional Cores quota."
            raise Refusal(409, "OperationNotAllowed", message)
        if new["properties"].get("osProfile") is None or "id" not in new["properties"]["storageProfile"].get(
            "imageReference", {}
        ):
            raise Refusal(400, "InvalidParameter", "Required parameter 'osProfile' or 'imageReference' is missing.")
        keys = new["properties"]["osProfile"].get("linuxConfiguration", {}).get("ssh", {}).get("publicKeys")
        if not keys:
            raise Refusal(400, "InvalidParameter", "Authentication using SSH or by password must be enabled.")

        if _os_disk_id(new).lower() in self.by_id:
            raise Refusal(409, "ConflictingUserInput", f"Disk {_os_disk_id(new)} already exists.")

    def _attach(self, key: str, machine: Thing, wanted: list[Thing]) -> None:
        luns = [d["lun"] for d in wanted]
        most = _LUNS.get(machine["properties"].get("hardwareProfile", {}).get("vmSize", ""), 64)
        if len(set(luns)) < len(luns):
            raise Refusal(400, "InvalidParameter", f"A LUN is used twice: {luns}.")
        if any(lun >= most for lun in luns):
            raise Refusal(400, "InvalidParameter", f"The value of dataDisk.lun must be between 0 and {most - 1}.")
        ids = [d["managedDisk"]["id"].lower() for d in wanted]
        for disk_id in ids:
            disk = self._referred(disk_id)
            holder = str(disk.get("managedBy") or key).lower()
            if holder != key:
                message = f"Disk {disk['name']} cannot be attached as the disk is already owned by VM {holder}."
                raise Refusal(409, "ConflictingUserInput", message)
            if disk.get("zones", []) != machine.get("zones", []):
                raise Refusal(400, "BadRequest", f"Disk {disk['name']} is not in the zone of the VM.")
        for disk in self._disks_on(key):
            if disk["id"].lower() not in ids and not disk.get("is_os"):
                disk["managedBy"] = None
                disk["properties"]["diskState"] = "Unattached"
        for disk_id in ids:
            self.by_id[disk_id]["managedBy"] = machine["id"]
            self.by_id[disk_id]["properties"]["diskState"] = "Attached"

    def _os_disk(self, machine: Thing) -> None:
        told = machine["properties"]["storageProfile"]["osDisk"]
        disk_id = _os_disk_id(machine)
        told["osType"] = "Linux"
        told["managedDisk"] = {**told.get("managedDisk", {}), "id": disk_id}
        self.by_id[disk_id.lower()] = {
            "id": disk_id,
            "name": told["name"],
            "type": "Microsoft.Compute/disks",
            "location": machine["location"],
            "zones": machine.get("zones", []),
            "sku": {"name": told["managedDisk"].get("storageAccountType", "Premium_LRS")},
            "tags": {},
            "managedBy": machine["id"],
            "is_os": True,
            "properties": {
                "creationData": {"createOption": "FromImage"},
                "diskSizeGB": 30,
                "provisioningState": "Succeeded",
                "diskState": "Attached",
            },
        }

    def _disk(self, old: Thing | None, new: Thing) -> None:
        new["managedBy"] = old.get("managedBy") if old else None
        new["properties"]["diskState"] = "Attached" if new["managedBy"] else "Unattached"
        if old and new["properties"].get("diskSizeGB", 0) < old["properties"].get("diskSizeGB", 0):
            raise Refusal(409, "OperationNotAllowed", "A disk can only grow.")

    def _interface(self, key: str, old: Thing | None, new: Thing) -> None:
        new["properties"]["virtualMachine"] = old["properties"].get("virtualMachine") if old else None
        taken = {a for i, thing in self.by_id.items() if i != key for a in addresses_of(thing)}
        for configuration in new["properties"]["ipConfigurations"]:
            told = configuration["properties"]
            if public := (told.get("publicIPAddress") or {}).get("id", "").lower():
                self._referred(public)
                if held := [i for i in self._called_at(public) if i.lower() != key]:
                    raise Refusal(400, "PublicIPAddressInUse", f"{public} is used by {held[0]}.")
            subnet = self._referred(told["subnet"]["id"].lower())
            if _version(told) not in {f"IPv{n.version}" for n in _networks_of(subnet)}:
                raise Refusal(
                    400, "InvalidRequestFormat", f"Subnet {subnet['name']} has no prefix of {_version(told)}."
                )
            network = next(n for n in _networks_of(subnet) if f"IPv{n.version}" == _version(told))
            if told.get("privateIPAllocationMethod") == "Static":
                wanted = told["privateIPAddress"]
                if ipaddress.ip_address(wanted) not in network:
                    raise Refusal(400, "PrivateIPAddressNotInSubnet", f"{wanted} is not in {network}.")
                if wanted in taken:
                    raise Refusal(400, "PrivateIPAddressInUse", f"{wanted} is in use.")
            elif old is None:
                free = (str(network[n]) for n in range(_RESERVED, min(network.num_addresses, 1 << 16) - 1))
                told["privateIPAddress"] = next((a for a in free if a not in taken), "")
                if not told["privateIPAddress"]:
                    raise Refusal(400, "SubnetIsFull", f"Subnet {subnet['name']} is full.")

    def _public_address(self, old: Thing | None, new: Thing) -> None:
        """A static one has its address from the first moment on, and keeps it."""
        if (new.get("sku") or {}).get("name") != "Standard":
            raise Refusal(400, "IPv4BasicSkuPublicIpCountLimitReached", "Basic public addresses are sold no more.")
        taken = {t["properties"]["ipAddress"] for i, t in self.by_id.items() if kind_of(i) == PUBLIC_ADDRESSES}
        free = (str(a) for a in ipaddress.ip_network("203.0.113.0/24").hosts() if str(a) not in taken)
        new["properties"]["ipAddress"] = old["properties"]["ipAddress"] if old else next(free)

    def _called_at(self, public: str) -> list[str]:
        """Ids of the network interfaces that have that public address."""
        return [
            thing["id"]
            for key, thing in self.by_id.items()
            if kind_of(key) == INTERFACES
            for c in thing["properties"]["ipConfigurations"]
            if (c["properties"].get("publicIPAddress") or {}).get("id", "").lower() == public
        ]

    def _referred(self, key: str) -> Thing:
        if key not in self.by_id:
            raise Refusal(400, "InvalidResourceReference", f"Resource {key} referenced was not found.")
        return self.by_id[key]

    def _disks_on(self, key: str) -> Iterator[Thing]:
        return (d for i, d in self.by_id.items() if kind_of(i) == DISKS and str(d.get("managedBy")).lower() == key)


def kind_of(arm_id: str) -> str:
    """`microsoft.compute/disks`; empty for a resource group, and that of the child for children."""
    parts = arm_id.lower().split("/")
    if len(parts) < 9:
        return ""
    return f"{parts[6]}/{parts[7]}" if len(parts) == 9 else f"{parts[6]}/{parts[7]}/{parts[9]}"


def _networks_of(subnet: Thing) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    told = subnet["properties"]
    return [ipaddress.ip_network(prefix) for prefix in told.get("addressPrefixes") or [told["addressPrefix"]]]


def _version(configuration: Thing) -> str:
    return str(configuration.get("privateIPAddressVersion", "IPv4"))


def addresses_of(thing: Thing) -> list[str]:
    """Private addresses of a network interface."""
    told = thing["properties"].get("ipConfigurations") or ()
    return [c["properties"]["privateIPAddress"] for c in told if c["properties"].get("privateIPAddress")]


def _os_disk_id(machine: Thing) -> str:
    group = machine["id"].split("/providers/")[0]
    return f"{group}/providers/Microsoft.Compute/disks/{machine['properties']['storageProfile']['osDisk']['name']}"


def _interfaces_of(machine: Thing) -> list[str]:
    return [n["id"].lower() for n in machine["properties"]["networkProfile"]["networkInterfaces"]]


def _visible(thing: Thing) -> Thing:
    told = copy.deepcopy(
        {k: v for k, v in thing.items() if k not in ("power", "is_os", "console", "announced") and v is not None}
    )
    told["properties"] = {k: v for k, v in told["properties"].items() if v is not None}
    return told


def _view(machine: Thing) -> Thing:
    provisioning = machine["properties"]["provisioningState"].lower()
    statuses = [{"code": f"ProvisioningState/{provisioning}", "level": "Info"}]
    if machine["power"] != "creating":
        statuses.append({"code": f"PowerState/{machine['power']}", "level": "Info"})
    told: Thing = {"statuses": statuses}
    if "announced" in machine:
        told["maintenanceRedeployStatus"] = machine["announced"]
    return told
