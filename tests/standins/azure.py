"""A stand-in for hashicorp/azurerm: the types of `terraform/modules/azure` and `azure-network`, as plain ARM calls.

Each type is a PUT, GET and DELETE of one path, as the provider does them; a long operation is polled at its
`Azure-AsyncOperation`. Errors have the provider's words (go-azure-sdk), so that providers/azure/errors.py is tried on
them. The address is that of `ARM_METADATA_HOSTNAME`, over plain http, and the secret itself is the token.
"""

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from tests.standins import azure_shapes as shapes
from tests.standins.azure_shapes import COMPUTE, NETWORK
from tests.standins.kind import Kind, Rules, StandIn, TroubleError, Values
from tests.standins.rest import AnsweredError, Rest, waited

_PATIENCE_S = 60.0

RULES = {
    "azurerm_linux_virtual_machine": Rules(
        replaces=frozenset({"name", "location", "custom_data", "source_image_id", "zone"}),
        sensitive=frozenset({"custom_data", "admin_password"}),
    ),
    "azurerm_managed_disk": Rules(replaces=frozenset({"name", "location", "zone"})),
    "azurerm_network_interface": Rules(replaces=frozenset({"name", "location"})),
    "azurerm_public_ip": Rules(replaces=frozenset({"name", "location", "sku", "zones"})),
    "azurerm_virtual_machine_data_disk_attachment": Rules(
        replaces=frozenset({"lun", "managed_disk_id", "virtual_machine_id"})
    ),
}


@dataclass(frozen=True)
class Arm:
    """Resource Manager, of one subscription."""

    rest: Rest
    account: str
    stopping: threading.Event

    def path(self, group: str, kind: str, name: str) -> str:
        return f"/subscriptions/{self.account}/resourceGroups/{group}/providers/{kind}/{name}"

    def get(self, arm_id: str) -> Values | None:
        """None when there is none."""
        try:
            return dict(self.rest.call("GET", _versioned(arm_id)).body)
        except AnsweredError as error:
            if error.answer.status == HTTPStatus.NOT_FOUND:
                return None
            raise TroubleError(f"retrieving {_told(arm_id)}: {_refused(error)}") from error

    def put(self, arm_id: str, body: Values, *, verb: str = "creating", made: Values | None = None) -> Values:
        """Creates or changes one and waits for it. `made` is kept in the state if the operation fails."""
        try:
            answer = self.rest.call("PUT", _versioned(arm_id), body)
        except AnsweredError as error:
            raise TroubleError(f"{verb} {_told(arm_id)}: performing CreateOrUpdate: {_refused(error)}") from error
        self._finish(answer.headers, f"{verb} {_told(arm_id)}: polling after CreateOrUpdate", made)
        return self.get(arm_id) or {}

    def tag(self, arm_id: str, tags: Values) -> None:
        """Exactly these tags, by the update that leaves all else as it is."""
        what = f"updating {_told(arm_id)}"
        try:
            answer = self.rest.call("PATCH", _versioned(arm_id), {"tags": tags})
        except AnsweredError as error:
            raise TroubleError(f"{what}: performing Update: {_refused(error)}") from error
        self._finish(answer.headers, f"{what}: polling after Update", None)

    def delete(self, arm_id: str) -> None:
        try:
            answer = self.rest.call("DELETE", _versioned(arm_id))
        except AnsweredError as error:
            raise TroubleError(f"deleting {_told(arm_id)}: performing Delete: {_refused(error)}") from error
        self._finish(answer.headers, f"deleting {_told(arm_id)}: polling after Delete", None)

    def refuse_existing(self, arm_id: str, type_name: str) -> None:
        """What the provider does before each create: an id may be somebody's already."""
        if self.get(arm_id) is not None:
            raise TroubleError(
                f'A resource with the ID "{arm_id}" already exists - to be managed via Terraform this resource needs '
                f'to be imported into the State. Please see the resource documentation for "{type_name}" for more '
                "information."
            )

    def _finish(self, headers: Any, what: str, made: Values | None) -> None:
        where = headers.get("azure-asyncoperation", "").removeprefix(self.rest.base)
        last: Values = {}

        def over() -> bool:
            last.update(self.rest.call("GET", where).body)
            return bool(last["status"] != "InProgress")

        if not where:
            return
        if not waited(over, stopping=self.stopping, timeout_s=_PATIENCE_S):
            raise TroubleError(f"{what}: context canceled", made=made)
        if last["status"] != "Succeeded":
            error = last.get("error", {})
            raise TroubleError(
                f"{what}: polling failed: the Azure API returned the following error:\n\n"
                f'Status: "{error.get("code", last["status"])}"\nCode: ""\nMessage: "{error.get("message", "")}"\n'
                'Activity Id: ""\n\n---\n\nAPI Response:\n\n----[start]----\n{}\n-----[end]-----\n',
                made=made,
            )


@dataclass(frozen=True)
class Simple(Kind):
    """A type that is one thing at one path."""

    arm: Arm
    type_name: str
    where: Callable[[Arm, Values], str]
    body: Callable[[Values], Values]
    facts: Callable[[Values], Values]

    def create(self, wanted: Values) -> Values:
        arm_id = self.where(self.arm, wanted)
        self.arm.refuse_existing(arm_id, self.type_name)
        return {"id": arm_id, **self.facts(self.arm.put(arm_id, self.body(wanted)))}

    def read(self, state: Values) -> Values | None:
        there = self.arm.get(state["id"])
        return None if there is None else {"id": state["id"], **_named(state["id"], there), **self.facts(there)}

    def delete(self, state: Values) -> None:
        self.arm.delete(state["id"])


@dataclass(frozen=True)
class Rule(Simple):
    """A rule of a security group: the one type a module changes in place."""

    def update(self, state: Values, wanted: Values) -> Values:
        there = self.arm.put(state["id"], self.body(wanted), verb="updating")
        return {"id": state["id"], **self.facts(there)}


@dataclass(frozen=True)
class Tagged(Simple):
    """A type of which a module changes the tags in place, and nothing else."""

    def update(self, state: Values, wanted: Values) -> Values:
        self.arm.tag(state["id"], wanted["tags"] or {})
        return self.read(state) or {}


@dataclass(frozen=True)
class Machine(Kind):
    """A VM: stopped before it is deleted, and the disk of its operating system after it."""

    arm: Arm

    def create(self, wanted: Values) -> Values:
        arm_id = self.arm.path(wanted["resource_group_name"], f"{COMPUTE}/virtualMachines", wanted["name"])
        self.arm.refuse_existing(arm_id, "azurerm_linux_virtual_machine")
        there = self.arm.put(arm_id, shapes.machine_body(wanted), verb="creating Linux", made={"id": arm_id})
        return {"id": arm_id, **self._facts(there)}

    def read(self, state: Values) -> Values | None:
        there = self.arm.get(state["id"])
        return None if there is None else {"id": state["id"], **_named(state["id"], there), **self._facts(there)}

    def delete(self, state: Values) -> None:
        there = self.arm.get(state["id"])
        if there is None:
            return
        self.arm.rest.call("POST", _versioned(f"{state['id']}/powerOff"))
        self.arm.delete(state["id"])
        self.arm.delete(there["properties"]["storageProfile"]["osDisk"]["managedDisk"]["id"])

    def update(self, state: Values, wanted: Values) -> Values:
        self.arm.tag(state["id"], wanted["tags"] or {})
        return self.read(state) or {}

    def _facts(self, there: Values) -> Values:
        properties = there["properties"]
        nics = [n["id"] for n in properties["networkProfile"]["networkInterfaces"]]
        first = (self.arm.get(nics[0]) or {}) if nics else {}
        address = shapes.private_addresses(first)
        disk = properties["storageProfile"]["osDisk"]
        return {
            "size": properties["hardwareProfile"]["vmSize"],
            "source_image_id": properties["storageProfile"]["imageReference"]["id"],
            "tags": there.get("tags", {}),
            "zone": (there.get("zones") or [None])[0],
            "network_interface_ids": nics,
            "computer_name": properties["osProfile"]["computerName"],
            "admin_username": properties["osProfile"]["adminUsername"],
            "private_ip_address": address[0] if address else None,
            "private_ip_addresses": address,
            "virtual_machine_id": properties["vmId"],
            "os_disk": [{"name": disk["name"], "id": disk["managedDisk"]["id"], "disk_size_gb": 30}],
        }


@dataclass(frozen=True)
class Attachment(Kind):
    """A data disk on a VM: a change of the whole VM."""

    arm: Arm

    def create(self, wanted: Values) -> Values:
        machine, disk = wanted["virtual_machine_id"], wanted["managed_disk_id"]
        arm_id = f"{machine}/dataDisks/{disk.rpartition('/')[2]}"
        there = self._machine(machine)
        new = {
            "lun": int(wanted["lun"]),
            "name": disk.rpartition("/")[2],
            "createOption": "Attach",
            "caching": wanted["caching"],
            "managedDisk": {"id": disk},
        }
        there["properties"]["storageProfile"]["dataDisks"].append(new)
        self.arm.put(machine, there, verb="updating")
        return {"id": arm_id}

    def read(self, state: Values) -> Values | None:
        machine, _, name = state["id"].partition("/dataDisks/")
        there = self.arm.get(machine)
        disks = there["properties"]["storageProfile"]["dataDisks"] if there else []
        found = next((d for d in disks if d["managedDisk"]["id"].endswith(f"/{name}")), None)
        if found is None:
            return None
        return {
            "id": state["id"],
            "virtual_machine_id": machine,
            "managed_disk_id": found["managedDisk"]["id"],
            "lun": found["lun"],
            "caching": found.get("caching", "None"),
            "create_option": found["createOption"],
        }

    def delete(self, state: Values) -> None:
        machine, _, name = state["id"].partition("/dataDisks/")
        there = self.arm.get(machine)
        if there is None:
            return
        storage = there["properties"]["storageProfile"]
        storage["dataDisks"] = [d for d in storage["dataDisks"] if not d["managedDisk"]["id"].endswith(f"/{name}")]
        self.arm.put(machine, there, verb="removing Disk from")

    def _machine(self, arm_id: str) -> Values:
        there = self.arm.get(arm_id)
        if there is None:
            raise TroubleError(f"retrieving {_told(arm_id)}: not found")
        return there


@dataclass(frozen=True)
class Association(Kind):
    """A security group on a subnet: a change of the subnet."""

    arm: Arm

    def create(self, wanted: Values) -> Values:
        self._set(wanted["subnet_id"], {"id": wanted["network_security_group_id"]})
        return {"id": wanted["subnet_id"]}

    def read(self, state: Values) -> Values | None:
        there = self.arm.get(state["id"]) or {"properties": {}}
        held = there["properties"].get("networkSecurityGroup")
        return {"id": state["id"], "network_security_group_id": held["id"]} if held else None

    def delete(self, state: Values) -> None:
        self._set(state["id"], None)

    def _set(self, subnet: str, group: Values | None) -> None:
        there = self.arm.get(subnet)
        if there is None:
            return
        there["properties"]["networkSecurityGroup"] = group
        self.arm.put(subnet, there, verb="updating")


def open_stand_in(config: Values, stopping: threading.Event) -> StandIn:
    """A provider for `subscription_id`."""
    account = config["subscription_id"]
    secret = os.environ.get("ARM_CLIENT_SECRET", "")
    if not secret:
        raise TroubleError("building account: could not acquire access token to parse claims: no client secret")
    base = f"http://{os.environ['ARM_METADATA_HOSTNAME']}"
    arm = Arm(Rest(base, {"Authorization": f"Bearer {secret}"}, retries=2, stopping=stopping), account, stopping)

    def simple(name: str, where: Any, body: Any, facts: Any) -> tuple[str, Kind]:
        return name, Simple(arm, name, where, body, facts)

    def at(kind: str) -> Callable[[Arm, Values], str]:
        return lambda a, w: a.path(w["resource_group_name"], kind, w["name"])

    kinds: dict[str, Kind] = dict(
        [
            simple(
                "azurerm_resource_group",
                lambda a, w: f"/subscriptions/{a.account}/resourceGroups/{w['name']}",
                lambda w: {"location": w["location"], "tags": w["tags"] or {}},
                lambda t: {"tags": t.get("tags", {})},
            ),
            simple(
                "azurerm_virtual_network",
                at(f"{NETWORK}/virtualNetworks"),
                lambda w: shapes.body(w, addressSpace={"addressPrefixes": list(w["address_space"])}),
                lambda t: {
                    "address_space": t["properties"]["addressSpace"]["addressPrefixes"],
                    "tags": t.get("tags", {}),
                },
            ),
            simple("azurerm_subnet", shapes.subnet_path, shapes.subnet_body, shapes.subnet_facts),
            simple(
                "azurerm_network_security_group",
                at(f"{NETWORK}/networkSecurityGroups"),
                shapes.body,
                lambda t: {"tags": t.get("tags", {})},
            ),
            (
                rule := "azurerm_network_security_rule",
                Rule(arm, rule, shapes.rule_path, shapes.rule_body, shapes.rule_facts),
            ),
            simple(
                "azurerm_orchestrated_virtual_machine_scale_set",
                at(f"{COMPUTE}/virtualMachineScaleSets"),
                lambda w: shapes.body(w, platformFaultDomainCount=int(w["platform_fault_domain_count"])),
                lambda t: {"tags": t.get("tags", {})},
            ),
            (
                nic := "azurerm_network_interface",
                Tagged(arm, nic, at(f"{NETWORK}/networkInterfaces"), shapes.nic_body, shapes.nic_facts),
            ),
            (
                public := "azurerm_public_ip",
                Tagged(arm, public, at(f"{NETWORK}/publicIPAddresses"), shapes.public_body, shapes.public_facts),
            ),
            (
                disk := "azurerm_managed_disk",
                Tagged(arm, disk, at(f"{COMPUTE}/disks"), shapes.disk_body, shapes.disk_facts),
            ),
        ]
    )
    kinds |= {
        "azurerm_linux_virtual_machine": Machine(arm),
        "azurerm_virtual_machine_data_disk_attachment": Attachment(arm),
        "azurerm_subnet_network_security_group_association": Association(arm),
    }
    return StandIn(kinds, stopping)


def _named(arm_id: str, there: Values) -> Values:
    """What an id and the thing itself tell of its place; needed after an import, the same as ever else."""
    parts = arm_id.split("/")
    told = {"name": parts[-1], "location": there.get("location")}
    if len(parts) == 9:
        told["resource_group_name"] = parts[4]
    return {name: value for name, value in told.items() if value is not None}


def _versioned(path: str) -> str:
    return f"{path}?api-version=2026-04-01"


_KINDS = {
    "virtualMachines": "Virtual Machine",
    "networkInterfaces": "Network Interface",
    "disks": "Managed Disk",
    "virtualNetworks": "Virtual Network",
    "networkSecurityGroups": "Network Security Group",
}


def _told(arm_id: str) -> str:
    """An id as the provider prints it."""
    parts = arm_id.split("/")
    kind = _KINDS.get(parts[7], parts[7]) if len(parts) > 7 else "Resource Group"
    name = f'\n{kind} Name: "{parts[8]}"' if len(parts) > 8 else ""
    return f'{kind} (Subscription: "{parts[2]}"\nResource Group Name: "{parts[4]}"{name})'


def _refused(error: AnsweredError) -> str:
    status = error.answer.status
    said = error.answer.body.get("error", {}) if isinstance(error.answer.body, dict) else {}
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = ""
    return f"unexpected status {status} ({status} {phrase}) with error: {said.get('code')}: {said.get('message')}"
