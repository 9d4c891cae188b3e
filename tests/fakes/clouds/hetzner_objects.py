"""A project at Hetzner as the fake keeps it: objects by kind and id, and what each call does to them."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network
from typing import Any

Told = tuple[int, dict[str, Any] | None]
Body = dict[str, Any]

LOCATIONS = {
    "fsn1": "eu-central",
    "nbg1": "eu-central",
    "hel1": "eu-central",
    "ash": "us-east",
    "hil": "us-west",
    "sin": "ap-southeast",
}
TYPES = {"ccx13": "x86", "ccx23": "x86", "ccx33": "x86", "cax21": "arm"}
CREATED = "2026-11-22T06:00:00Z"
MOST_PER_PAGE = 50

_LABEL = re.compile(r"([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?")
_HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,61}[A-Za-z0-9])?")
_SELECTORS = re.compile(r"(?P<no>!?)(?P<name>[\w./-]+?)((?P<how>!=|==?)(?P<value>[\w.-]*))?")


class Refused(Exception):
    """An answer that is an error."""

    def __init__(self, status: int, code: str, message: str, details: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.details = status, code, details


def call_of(method: str, parts: list[str]) -> str:
    """`POST /servers/ID/actions/poweron` for a path of that kind."""
    return f"{method} /{'/'.join('ID' if part.isdecimal() else part for part in parts)}"


@dataclass(slots=True)
class Project:
    """`most_servers` is the quota. `first` is where its ids begin: no other project has them."""

    first: int = 1000
    most_servers: int = 100_000
    running_polls: int = 0
    kinds: dict[str, dict[int, Body]] = field(
        default_factory=lambda: {
            kind: {}
            for kind in ("servers", "volumes", "networks", "placement_groups", "firewalls", "images", "actions")
        }
    )
    user_data: dict[int, str] = field(default_factory=dict)
    _last: int = 0

    @property
    def servers(self) -> dict[int, Body]:
        return self.kinds["servers"]

    @property
    def volumes(self) -> dict[int, Body]:
        return self.kinds["volumes"]

    @property
    def networks(self) -> dict[int, Body]:
        return self.kinds["networks"]

    def act(self, method: str, parts: list[str], query: Mapping[str, list[str]], body: Body) -> Told:
        """Do what a call asks. Raises `Refused`."""
        kind, rest = parts[0], parts[1:]
        if method == "GET":
            return 200, self._read(kind, rest, query)
        if method == "PUT" and len(rest) == 1:
            return 200, {kind.removesuffix("s"): self._renamed(self._one(kind, int(rest[0])), body)}
        if len(rest) == 3 and rest[1] == "actions":
            action = self._acted(kind, self._one(kind, int(rest[0])), rest[2], body)
            return 201, {"actions": [action]} if rest[2] == "set_rules" else {"action": action}
        if method == "POST" and not rest and kind in _MAKERS:
            return 201, _MAKERS[kind](self, body)
        if method == "DELETE" and len(rest) == 1:
            return self._deleted(kind, self._one(kind, int(rest[0])))
        raise Refused(404, "not_found", f"no such call: {method} /{'/'.join(parts)}")

    def new_id(self) -> int:
        self._last += 1
        return self.first + self._last

    def action(self, command: str, *about: int, polls: int | None = None) -> Body:
        """A new action about servers or volumes."""
        left = self.running_polls if polls is None else polls
        made: Body = {
            "id": self.new_id(),
            "command": command,
            "status": "running" if left else "success",
            "progress": 0 if left else 100,
            "started": CREATED,
            "finished": None if left else CREATED,
            "resources": [{"id": one, "type": "server" if one in self.servers else "volume"} for one in about],
            "error": None,
        }
        self.kinds["actions"][made["id"]] = {**made, "left": left}
        return made

    # Reading

    def _read(self, kind: str, rest: list[str], query: Mapping[str, list[str]]) -> Body:
        if kind == "actions":
            return self._page("actions", [self._polled(int(one)) for one in query.get("id", rest)], query)
        if rest:
            return {kind.removesuffix("s"): self._one(kind, int(rest[0]))}
        if kind == "server_types":
            found = [server_type(name) for name in TYPES]
        else:
            found = list(self._kind(kind).values())
        for name in ("name", "architecture"):
            if name in query:
                found = [one for one in found if one.get(name) == query[name][0]]
        if "label_selector" in query:
            found = [one for one in found if selected(one["labels"], query["label_selector"][0])]
        return self._page(kind, found, query)

    def _page(self, kind: str, found: list[Body], query: Mapping[str, list[str]]) -> Body:
        page, size = int(query.get("page", ["1"])[0]), min(int(query.get("per_page", ["25"])[0]), MOST_PER_PAGE)
        last = max(-(-len(found) // size), 1)
        pagination = {
            "page": page,
            "per_page": size,
            "previous_page": page - 1 if page > 1 else None,
            "next_page": page + 1 if page < last else None,
            "last_page": last,
            "total_entries": len(found),
        }
        return {kind: found[(page - 1) * size : page * size], "meta": {"pagination": pagination}}

    def _polled(self, number: int) -> Body:
        action = self._one("actions", number)
        if action["left"] > 0:
            action["left"] -= 1
        if action["left"] == 0:
            action |= {"status": "success", "progress": 100, "finished": CREATED}
        return {name: value for name, value in action.items() if name != "left"}

    def _kind(self, kind: str) -> dict[int, Body]:
        if kind not in self.kinds:
            raise Refused(404, "not_found", f"no such kind: {kind}")
        return self.kinds[kind]

    def _one(self, kind: str, number: int) -> Body:
        found = self._kind(kind).get(number)
        if found is None:
            raise Refused(404, "not_found", f"{kind.removesuffix('s')} with ID '{number}' not found")
        return found

    # Making

    def _made(self, kind: str, body: Body, **more: Any) -> Body:
        for name, value in (body.get("labels") or {}).items():
            if not _LABEL.fullmatch(value):
                raise invalid(f"labels.{name}", "label value is not valid")
        if any(one["name"] == body["name"] for one in self.kinds[kind].values()):
            words = f"{kind.removesuffix('s')} name is already used"
            raise Refused(409, "uniqueness_error", words, {"fields": [{"name": "name"}]})
        made = {
            "id": self.new_id(),
            "name": body["name"],
            "labels": body.get("labels") or {},
            "created": CREATED,
            **more,
        }
        self.kinds[kind][made["id"]] = made
        return made

    def _make_server(self, body: Body) -> Body:
        if not _HOST_NAME.fullmatch(body["name"]):
            raise invalid("name", "must be a valid hostname")
        if body["server_type"] not in TYPES:
            raise invalid("server_type", "server type not found")
        image = self._one("images", int(body["image"]))
        if len(self.servers) >= self.most_servers:
            raise Refused(403, "resource_limit_exceeded", "server limit exceeded")
        group = self._group(body.get("placement_group"))
        public = body.get("public_net") or {"enable_ipv4": True, "enable_ipv6": True}
        made = self._made(
            "servers",
            body,
            status="running" if body.get("start_after_create", True) else "off",
            server_type=server_type(body["server_type"]),
            location=location(body["location"]),
            image=image,
            iso=None,
            rescue_enabled=False,
            locked=False,
            backup_window=None,
            outgoing_traffic=0,
            ingoing_traffic=0,
            included_traffic=0,
            protection={"delete": False, "rebuild": False},
            volumes=[],
            load_balancers=[],
            private_net=[],
            primary_disk_size=80,
            placement_group=group,
            public_net={
                "ipv4": _address(n := self.new_id(), f"203.0.113.{n % 254 + 1}") if public.get("enable_ipv4") else None,
                "ipv6": _address(self.new_id(), "2001:db8::/64") if public.get("enable_ipv6") else None,
                "floating_ips": [],
                "firewalls": [],
            },
        )
        if group is not None:
            group["servers"].append(made["id"])
        self.user_data[made["id"]] = body.get("user_data", "")
        for network in body.get("networks") or ():
            self._into_network(made, {"network": network})
        action = self.action("create_server", made["id"])
        return {"server": made, "action": action, "next_actions": [], "root_password": "not-to-be-kept"}

    def _group(self, number: int | None) -> Body | None:
        if number is None:
            return None
        group = self._one("placement_groups", number)
        if len(group["servers"]) >= 10:
            raise Refused(412, "placement_error", "the placement group is full")
        return group

    def _make_volume(self, body: Body) -> Body:
        for name in ("name", "size", "location"):
            if name not in body:
                raise invalid(name, "Missing data for required field.")
        if not 10 <= body["size"] <= 10240:
            raise invalid("size", "must be between 10 and 10240")
        made = self._made(
            "volumes",
            body,
            size=body["size"],
            location=location(body["location"]),
            server=None,
            linux_device="",
            format=body.get("format"),
            status="available",
            protection={"delete": False},
        )
        made["linux_device"] = f"/dev/disk/by-id/scsi-0HC_Volume_{made['id']}"
        return {"volume": made, "action": self.action("create_volume", made["id"]), "next_actions": []}

    def _make_network(self, body: Body) -> Body:
        made = self._made(
            "networks",
            body,
            ip_range=body["ip_range"],
            subnets=[],
            routes=[],
            servers=[],
            load_balancers=[],
            protection={"delete": False},
            expose_routes_to_vswitch=False,
        )
        for subnet in body.get("subnets") or ():
            self._add_subnet(made, subnet)
        return {"network": made}

    def _make_group(self, body: Body) -> Body:
        return {"placement_group": self._made("placement_groups", body, type=body["type"], servers=[]), "action": None}

    def _make_firewall(self, body: Body) -> Body:
        made = self._made("firewalls", body, rules=_rules(body), applied_to=body.get("apply_to") or [])
        return {"firewall": made, "actions": [self.action("set_firewall_rules")]}

    def make_image(self, name: str, architecture: str = "x86") -> int:
        """A snapshot, made by whoever makes images."""
        made: Body = {
            "id": self.new_id(),
            "type": "snapshot",
            "status": "available",
            "name": None,
            "description": name,
            "image_size": 2.3,
            "disk_size": 40.0,
            "created": CREATED,
            "created_from": None,
            "bound_to": None,
            "os_flavor": "debian",
            "os_version": "12",
            "architecture": architecture,
            "rapid_deploy": False,
            "protection": {"delete": False},
            "deprecated": None,
            "deleted": None,
            "labels": {},
        }
        self.kinds["images"][made["id"]] = made
        return int(made["id"])

    # Changing

    def _renamed(self, one: Body, body: Body) -> Body:
        one |= {name: body[name] for name in ("name", "labels") if name in body}
        return one

    def _acted(self, kind: str, one: Body, command: str, body: Body) -> Body:
        known = _COMMANDS.get((kind, command))
        if known is None:
            raise Refused(404, "not_found", f"no such action: {kind} {command}")
        self._refuse_locked(one["id"], body.get("server"))
        known(self, one, body)
        return self.action(command, one["id"], *([body["server"]] if "server" in body else []))

    def _refuse_locked(self, *about: int | None) -> None:
        """One action of an object at a time."""
        for action in self.kinds["actions"].values():
            busy = {resource["id"] for resource in action["resources"]}
            if action["left"] > 0 and busy & set(about):
                raise Refused(423, "locked", "the item is locked: there is already an action running")

    def _into_network(self, server: Body, body: Body) -> None:
        network = self._one("networks", body["network"])
        if any(net["network"] == network["id"] for net in server["private_net"]):
            raise Refused(409, "server_already_attached", "server is already attached to the network")
        if len(server["private_net"]) >= 3 or len(network["servers"]) >= 100:
            raise Refused(403, "resource_limit_exceeded", "too many networks, or servers in one")
        address = self._free_address(network, body.get("ip"), body.get("ip_range"))
        network["servers"].append(server["id"])
        mac = (b"\x86\x00" + IPv4Address(address).packed).hex(":")
        server["private_net"].append({"network": network["id"], "ip": address, "alias_ips": [], "mac_address": mac})

    def _free_address(self, network: Body, wanted: str | None, ip_range: str | None) -> str:
        ranges = [IPv4Network(ip_range)] if ip_range else [IPv4Network(s["ip_range"]) for s in network["subnets"]]
        if not ranges:
            raise Refused(409, "no_subnet_available", "no subnet available")
        used = {net["ip"] for s in self.servers.values() for net in s["private_net"] if net["network"] == network["id"]}
        if wanted is not None:
            if wanted in used or not any(IPv4Address(wanted) in one for one in ranges):
                raise Refused(409, "ip_not_available", "the IP is not available")
            return wanted
        for address in ranges[-1].hosts():
            if str(address) not in used and address != ranges[-1][1]:
                return str(address)
        raise Refused(409, "no_subnet_available", "no IP is available")

    def _out_of_network(self, server: Body, body: Body) -> None:
        if not any(net["network"] == body["network"] for net in server["private_net"]):
            raise Refused(404, "not_found", "server is not attached to the network")
        server["private_net"] = [net for net in server["private_net"] if net["network"] != body["network"]]
        self.networks[body["network"]]["servers"].remove(server["id"])

    def _attach(self, volume: Body, body: Body) -> None:
        server = self._one("servers", body["server"])
        if volume["server"] is not None:
            raise Refused(422, "volume_already_attached", "volume is already attached to a server")
        if volume["location"]["name"] != server["location"]["name"]:
            raise invalid("server", "volume and server are in different locations")
        volume["server"] = server["id"]
        server["volumes"].append(volume["id"])

    def _resize(self, volume: Body, body: Body) -> None:
        """Upwards only, attached or not: the API's own rule."""
        if body["size"] <= volume["size"]:
            raise invalid("size", "volumes cannot become smaller")
        volume["size"] = body["size"]

    def _detach(self, volume: Body, body: Body) -> None:
        if volume["server"] is not None:
            self.servers[volume["server"]]["volumes"].remove(volume["id"])
        volume["server"] = None

    def _add_subnet(self, network: Body, body: Body) -> None:
        wanted, whole = IPv4Network(body["ip_range"]), IPv4Network(network["ip_range"])
        if not wanted.subnet_of(whole) or any(wanted.overlaps(IPv4Network(s["ip_range"])) for s in network["subnets"]):
            raise invalid("ip_range", "must be inside the network and overlap no other subnet")
        network["subnets"].append({**body, "gateway": str(whole[1])})

    def _drop_subnet(self, network: Body, body: Body) -> None:
        network["subnets"] = [s for s in network["subnets"] if s["ip_range"] != body["ip_range"]]

    def _add_route(self, network: Body, body: Body) -> None:
        """To a server in one of its subnets; the API does not ask whether one is there."""
        if not any(IPv4Address(body["gateway"]) in IPv4Network(s["ip_range"]) for s in network["subnets"]):
            raise invalid("gateway", "must be in a subnet of the network")
        network["routes"].append({"destination": body["destination"], "gateway": body["gateway"]})

    def _poweron(self, server: Body, body: Body) -> None:
        server["status"] = "running"

    def _set_rules(self, firewall: Body, body: Body) -> None:
        firewall["rules"] = _rules(body)

    def _unapply(self, firewall: Body, body: Body) -> None:
        firewall["applied_to"] = [one for one in firewall["applied_to"] if one not in body["remove_from"]]

    # Deleting

    def _deleted(self, kind: str, one: Body) -> Told:
        self._refuse_locked(one["id"])
        if kind == "servers":
            action = self.action("delete_server", one["id"])
            self.delete_server(one["id"])
            return 200, {"action": action}
        in_use = one.get("servers") or one.get("server") or one.get("applied_to")
        if in_use and kind != "firewalls":
            raise Refused(409, "resource_in_use", f"{kind.removesuffix('s')} is in use")
        if in_use:
            raise Refused(422, "resource_in_use", "firewall is still applied")
        del self.kinds[kind][one["id"]]
        return 204, None

    def delete_server(self, number: int) -> None:
        """It goes, and lets go of what it held."""
        server = self.servers.pop(number)
        for volume in server["volumes"]:
            self.volumes[volume]["server"] = None
        for net in server["private_net"]:
            self.networks[net["network"]]["servers"].remove(number)
        if server["placement_group"] is not None:
            server["placement_group"]["servers"].remove(number)


_MAKERS: dict[str, Callable[[Project, Body], Body]] = {
    "servers": Project._make_server,
    "volumes": Project._make_volume,
    "networks": Project._make_network,
    "placement_groups": Project._make_group,
    "firewalls": Project._make_firewall,
}

_COMMANDS: dict[tuple[str, str], Callable[[Project, Body, Body], None]] = {
    ("servers", "attach_to_network"): Project._into_network,
    ("servers", "detach_from_network"): Project._out_of_network,
    ("servers", "poweron"): Project._poweron,
    ("volumes", "attach"): Project._attach,
    ("volumes", "detach"): Project._detach,
    ("volumes", "resize"): Project._resize,
    ("networks", "add_subnet"): Project._add_subnet,
    ("networks", "delete_subnet"): Project._drop_subnet,
    ("networks", "add_route"): Project._add_route,
    ("firewalls", "remove_from_resources"): Project._unapply,
    ("firewalls", "set_rules"): Project._set_rules,
}


def _rules(body: Body) -> list[Body]:
    return [{"description": None, "port": None, "destination_ips": [], **rule} for rule in body.get("rules") or ()]


def invalid(name: str, words: str) -> Refused:
    return Refused(
        422, "invalid_input", f"invalid input in field '{name}'", {"fields": [{"name": name, "messages": [words]}]}
    )


def selected(labels: Mapping[str, str], selector: str) -> bool:
    """Whether labels fit a selector of `name`, `!name`, `name=value`, `name!=value`, with commas between."""
    for part in selector.split(","):
        found = _SELECTORS.fullmatch(part.strip())
        if found is None:
            raise invalid("label_selector", f"not understood: {part}")
        name, how = found["name"], found["how"]
        there = name in labels if how is None else labels.get(name) == found["value"]
        if there == bool(found["no"] or how == "!="):
            return False
    return True


def location(name: str) -> Body:
    if name not in LOCATIONS:
        raise invalid("location", "location not found")
    return {
        "id": 1 + list(LOCATIONS).index(name),
        "name": name,
        "description": name,
        "country": "DE",
        "city": name,
        "latitude": 50.0,
        "longitude": 12.0,
        "network_zone": LOCATIONS[name],
    }


def server_type(name: str) -> Body:
    return {
        "id": 1 + list(TYPES).index(name),
        "name": name,
        "description": name.upper(),
        "category": "dedicated",
        "cores": 2,
        "memory": 8.0,
        "disk": 80,
        "prices": [],
        "storage_type": "local",
        "cpu_type": "dedicated",
        "architecture": TYPES[name],
        "deprecated": False,
        "deprecation": None,
        "locations": [],
    }


def _address(number: int, ip: str) -> Body:
    """Of IPv4 with the name of one address, of IPv6 with those of many."""
    return {"id": number, "ip": ip, "blocked": False, "dns_ptr": [] if ":" in ip else ""}
