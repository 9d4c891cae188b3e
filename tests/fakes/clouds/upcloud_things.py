"""What stands in the fake UpCloud: servers, storages, networks, groups, and the rules UpCloud holds them to.

Shapes are those of upcloud-go-api v8.38.0 (`upcloud_fields.json` has its names and where they are from).
"""

import ipaddress
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Body = dict[str, Any]

LONGEST_VALUE, KEY_LENGTHS = 255, range(2, 33)
"""Of labels: terraform-provider-upcloud 5.41.0, internal/utils/labels.go."""

MOST_DISKS = 16
"""UpCloud API documentation 1.3, 9. Storages."""


class RefusedError(Exception):
    """An error answer in UpCloud's form."""

    def __init__(self, status: int, code: str, message: str = "Refused by the fake.") -> None:
        super().__init__(f"{status} {code}")
        self.status = status
        self.body = {"error": {"error_code": code, "error_message": message}}


@dataclass
class Things:
    """All of one account. `slow` looks at a server pass before its change of state is over."""

    servers: dict[str, Body] = field(default_factory=dict)
    storages: dict[str, Body] = field(default_factory=dict)
    networks: dict[str, Body] = field(default_factory=dict)
    routers: dict[str, Body] = field(default_factory=dict)
    groups: dict[str, Body] = field(default_factory=dict)
    changing: dict[str, tuple[int, str]] = field(default_factory=dict)
    slow: int = 0
    most_servers: int = 1_000_000
    data_disks_first: bool = False
    """Whether an answer names a server's disks in an order nobody expects."""

    def add_template(self, title: str, zone: str) -> str:
        """A private template to clone root disks from."""
        return self._keep_storage({"title": title, "size": 5, "zone": zone, "tier": "maxiops"}, kind="template")

    def create_network(self, given: Body) -> Body:
        made = {"type": "private", "labels": [], "servers": {"server": []}, **given, "uuid": new_id("03")}
        self.networks[made["uuid"]] = made
        return made

    def create_storage(self, given: Body) -> Body:
        labels = _labels(given.get("labels") or ())
        made = self._keep_storage({**given, "size": int(given["size"]), "labels": labels}, kind="normal")
        return self.storages[made]

    def create_server(self, given: Body) -> Body:
        """Refuses before anything is made; the answer says `maintenance`, a later look `started`."""
        if len(self.servers) >= self.most_servers:
            raise RefusedError(403, "SERVER_CORE_LIMIT_REACHED")
        labels = _labels((given.get("labels") or {}).get("label", ()))
        devices = given["storage_devices"]["storage_device"]
        interfaces = given["networking"]["interfaces"]["interface"]
        if len(devices) > MOST_DISKS:
            raise RefusedError(409, "STORAGE_DEVICE_LIMIT_REACHED")
        self._check_group(given.get("server_group"))
        for device in devices:
            self._check_device(device, given["zone"])
        wanted = [self._interface(i, number, given["zone"]) for number, i in enumerate(interfaces, start=1)]
        made = {
            "boot_order": "disk",
            "core_number": "2",
            "firewall": given.get("firewall", "off"),
            "host": 6_862_160_515,
            "hostname": given["hostname"],
            "labels": {"label": labels},
            "license": 0,
            "memory_amount": "4096",
            "metadata": given.get("metadata", "no"),
            "networking": {"interfaces": {"interface": wanted}},
            "nic_model": "virtio",
            "plan": given.get("plan", "custom"),
            "server_group": given.get("server_group"),
            "simple_backup": "no",
            "state": "maintenance",
            "tags": {"tag": []},
            "timezone": "UTC",
            "title": given["title"],
            "user_data": given.get("user_data", ""),
            "uuid": new_id("00"),
            "video_model": "vga",
            "zone": given["zone"],
        }
        held = [self._device(d, n, made["uuid"]) for n, d in enumerate(devices)]
        made["storage_devices"] = {"storage_device": held[::-1] if self.data_disks_first else held}
        self.servers[made["uuid"]] = made
        self.changing[made["uuid"]] = (self.slow, "started")
        if made["server_group"]:
            self.groups[made["server_group"]]["servers"]["server"].append(made["uuid"])
        return made

    def modify_server(self, server: str, given: Body) -> Body:
        """Labels, of one that runs on; whatever else differs would have it stopped first."""
        found = self.server(server)
        others = sorted(k for k, v in given.items() if k != "labels" and str(found.get(k)) != str(v))
        if others:
            raise RefusedError(409, "SERVER_STATE_ILLEGAL", f"The server {server} runs; not changed: {others}")
        found["labels"] = {"label": _labels(given["labels"]["label"])}
        return found

    def modify_storage(self, storage: str, given: Body) -> Body:
        found = self.storage(storage)
        if (str(found["size"]), found["title"]) != (given["size"], given["title"]):
            raise RefusedError(409, "STORAGE_STATE_ILLEGAL", "this fake changes labels alone")
        found["labels"] = _labels(given["labels"])
        return found

    def stop_server(self, server: str) -> Body:
        found = self.server(server)
        if found["state"] != "started":
            raise RefusedError(409, "SERVER_STATE_ILLEGAL", f"The server {server} is in state {found['state']}.")
        found["state"] = "maintenance"
        self.changing[server] = (self.slow, "stopped")
        return found

    def delete_server(self, server: str, *, storages: bool = False) -> None:
        found = self.server(server)
        if found["state"] != "stopped":
            raise RefusedError(409, "SERVER_STATE_ILLEGAL", f"The server {server} is in state {found['state']}.")
        self.drop_server(server)
        if storages:
            for device in found["storage_devices"]["storage_device"]:
                self.storages.pop(device["storage"], None)

    def drop_server(self, server: str) -> None:
        """Gone, whatever state it was in: its disks stay, and nothing holds them any more."""
        found = self.servers.pop(server)
        self.changing.pop(server, None)
        for storage in self.storages.values():
            if server in storage["servers"]["server"]:
                storage["servers"]["server"].remove(server)
        if found["server_group"]:
            self.groups[found["server_group"]]["servers"]["server"].remove(server)

    def delete_storage(self, storage: str) -> None:
        found = self.storage(storage)
        if found["servers"]["server"]:
            raise RefusedError(409, "STORAGE_ATTACHED")
        del self.storages[storage]

    def attach_storage(self, server: str, given: Body) -> Body:
        found = self.server(server)
        self._check_device({**given, "action": "attach"}, found["zone"])
        devices = found["storage_devices"]["storage_device"]
        devices.append(self._device({**given, "action": "attach"}, 1 + len(devices), server))
        return found

    def server(self, server: str) -> Body:
        """With what its change of state came to by now."""
        if server not in self.servers:
            raise RefusedError(404, "SERVER_NOT_FOUND", f"The server {server} does not exist.")
        if server in self.changing:
            left, state = self.changing.pop(server)
            if left > 0:
                self.changing[server] = (left - 1, state)
            else:
                self.servers[server]["state"] = state
        return self.servers[server]

    def storage(self, storage: str) -> Body:
        if storage not in self.storages:
            raise RefusedError(404, "STORAGE_NOT_FOUND", f"The storage {storage} does not exist.")
        return self.storages[storage]

    def addresses(self) -> list[Body]:
        """As GET /ip_address tells them: each names its server."""
        return [
            {
                "access": interface["type"],
                "address": one["address"],
                "family": one["family"],
                "mac": interface["mac"],
                "ptr_record": "",
                "server": server["uuid"],
                "zone": server["zone"],
            }
            for server in self.servers.values()
            for interface in server["networking"]["interfaces"]["interface"]
            for one in interface["ip_addresses"]["ip_address"]
        ]

    def _check_group(self, group: str | None) -> None:
        if group and group not in self.groups:
            raise RefusedError(404, "GROUP_NOT_FOUND")

    def _check_device(self, device: Body, zone: str) -> None:
        found = self.storage(device["storage"])
        if found["zone"] != zone:
            raise RefusedError(409, "ZONE_MISMATCH")
        if device["action"] == "attach" and found["servers"]["server"]:
            raise RefusedError(409, "STORAGE_ATTACHED", f"{device['storage']} is attached to another server.")

    def _device(self, given: Body, number: int, server: str) -> Body:
        storage = given["storage"]
        if given["action"] == "clone":
            root = {k: given[k] for k in ("title", "tier", "encrypted") if given.get(k)}
            made_from = {
                "labels": [{"key": "_template_uuid", "value": storage}],
                "size": given.get("size", 25),
                "zone": self.storages[storage]["zone"],
            }
            storage = self._keep_storage({**made_from, **root}, kind="normal")
        found = self.storages[storage]
        found["servers"]["server"].append(server)
        return {
            "address": given["address"] if ":" in given.get("address", "") else f"virtio:{number}",
            "boot_disk": "0",
            "labels": found["labels"],
            "part_of_plan": "no",
            "storage": storage,
            "storage_encrypted": found["encrypted"],
            "storage_size": found["size"],
            "storage_tier": found["tier"],
            "storage_title": found["title"],
            "type": "disk",
        }

    def _interface(self, given: Body, number: int, zone: str) -> Body:
        if given["type"] == "public":
            return self._public(given, number)
        network = self.networks.get(given.get("network", ""))
        if given["type"] != "private" or network is None:
            raise RefusedError(404, "NETWORK_NOT_FOUND")
        if network["zone"] != zone:
            raise RefusedError(409, "ZONE_MISMATCH")
        asked = given["ip_addresses"]["ip_address"][0].get("address")
        address = {
            "address": self._address(network, asked),
            "dhcp_provided": "yes",
            "family": "IPv4",
            "floating": "no",
        }
        return {
            "bootable": given.get("bootable", "no"),
            "index": given.get("index") or number,
            "ip_addresses": {"ip_address": [address]},
            "mac": "ee:1b:" + ":".join(f"{b:02x}" for b in uuid.uuid4().bytes[:4]),
            "network": network["uuid"],
            "source_ip_filtering": given.get("source_ip_filtering", "yes"),
            "type": given["type"],
        }

    def _public(self, given: Body, number: int) -> Body:
        """An interface of the internet, which is in a network of UpCloud's own."""
        (asked,) = given["ip_addresses"]["ip_address"]
        if asked.get("family") != "IPv4" or asked.get("address"):
            raise RefusedError(400, "IP_ADDRESS_INVALID")
        taken = {one["address"] for one in self.addresses()}
        free = (str(a) for a in ipaddress.IPv4Network("203.0.113.0/24").hosts() if str(a) not in taken)
        address = {"address": next(free), "dhcp_provided": "yes", "family": "IPv4", "floating": "no"}
        return {
            "bootable": given.get("bootable", "no"),
            "index": given.get("index") or number,
            "ip_addresses": {"ip_address": [address]},
            "mac": "ee:1b:" + ":".join(f"{b:02x}" for b in uuid.uuid4().bytes[:4]),
            "network": "03000000-0000-4000-8001-000000000000",
            "source_ip_filtering": given.get("source_ip_filtering", "yes"),
            "type": "public",
        }

    def _address(self, network: Body, asked: str | None) -> str:
        range_ = ipaddress.IPv4Network(network["ip_networks"]["ip_network"][0]["address"])
        taken = {one["address"] for one in self.addresses()}
        if asked:
            if ipaddress.IPv4Address(asked) not in range_:
                raise RefusedError(400, "IP_ADDRESS_INVALID")
            if asked in taken:
                raise RefusedError(409, "ADDRESS_ATTACHED", f"{asked} is attached to another server.")
            return asked
        return next(str(a) for a in list(range_.hosts())[9:] if str(a) not in taken)

    def _keep_storage(self, given: Mapping[str, Any], *, kind: str) -> str:
        made = {
            "access": "private",
            "created": "2026-11-22T00:00:00Z",
            "encrypted": "no",
            "labels": [],
            "license": 0,
            "servers": {"server": []},
            "state": "online",
            "tier": "hdd",
            "type": kind,
            "uuid": new_id("01"),
            **given,
        }
        self.storages[made["uuid"]] = made
        return str(made["uuid"])


def new_id(prefix: str) -> str:
    """As UpCloud gives them: the first byte says what it is of."""
    return prefix + str(uuid.uuid4())[2:]


def _labels(given: Any) -> list[Body]:
    for label in given:
        if len(label["key"]) not in KEY_LENGTHS or label["key"].startswith("_"):
            raise RefusedError(400, "INVALID_LABEL_KEY")
        if len(label["value"]) > LONGEST_VALUE:
            raise RefusedError(400, "INVALID_LABEL_VALUE")
    return [dict(label) for label in given]
