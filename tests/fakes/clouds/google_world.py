"""What a fake Compute Engine holds and by which rules it changes: no HTTP here.

Every change is an Operation. Its effect is there at once unless `polls` makes it slow: then it is there when the
operation was asked for that often, and until then a second change of the same thing is refused.
"""

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

PROJECT, NUMBER = "kedge-test-1", "123456789012"
BASE = "https://www.googleapis.com/compute/v1/"
NAME = re.compile(r"^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$")
LABEL = re.compile(r"^[a-z0-9_-]{0,63}$")
BORN = "2026-11-22T00:00:00.000-08:00"

Thing = dict[str, Any]


class Refused(Exception):
    """An HTTP error of the API: status, reason, message."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status, self.reason = status, reason


@dataclass(slots=True)
class Pending:
    """An operation that is not over: how many looks it still takes, and what happens then."""

    operation: Thing
    target: str
    polls: int
    finish: Callable[[], None]


@dataclass(slots=True)
class World:
    """One project. `things` by path (`projects/P/zones/Z/instances/N`)."""

    project: str = PROJECT
    number: str = NUMBER
    regions: tuple[str, ...] = ("europe-west1", "europe-west4")
    letters: str = "bcd"
    polls: int = 0
    quota: int = 10_000
    """Most VMs of the project."""
    things: dict[str, Thing] = field(default_factory=dict)
    operations: dict[str, Thing] = field(default_factory=dict)
    pending: dict[str, Pending] = field(default_factory=dict)
    numbered: int = 0

    def zones(self) -> list[str]:
        return [f"{region}-{letter}" for region in self.regions for letter in self.letters]

    def of(self, kind: str) -> list[Thing]:
        """All things of a kind, by path."""
        return [thing for path, thing in sorted(self.things.items()) if path.split("/")[-2] == kind]

    def get(self, path: str) -> Thing:
        if path not in self.things:
            raise Refused(404, "notFound", f"The resource '{path}' was not found")
        return self.things[path]

    def insert(self, scope: str, kind: str, body: Thing) -> Thing:
        """Make one; `scope` is `zones/Z`, `regions/R` or `global`."""
        parent, path = f"projects/{self.project}/{scope}", f"projects/{self.project}/{scope}/{kind}/{body.get('name')}"
        if not NAME.match(str(body.get("name"))):
            raise Refused(400, "invalid", f"Invalid value for field 'resource.name': '{body.get('name')}'")
        _check_labels(body)
        if path in self.things:
            raise Refused(409, "alreadyExists", f"The resource '{path}' already exists")
        thing = {**body, "id": self._number(), "kind": f"compute#{kind.removesuffix('s')}", "selfLink": BASE + path}
        thing["creationTimestamp"] = BORN
        if scope != "global":
            thing[scope.split("/")[0].removesuffix("s")] = BASE + parent
        complete, failing = _MAKERS.get(kind, _plain)(self, path, thing)
        if failing is not None:
            return self._done(scope, "insert", path, error=failing)
        self.things[path] = thing
        return self._operate(scope, "insert", path, complete)

    def patch(self, path: str, body: Thing) -> Thing:
        """What is named is another value from now on."""
        thing, (scope, _) = self.get(path), _place_of(path)
        return self._operate(scope, "patch", path, lambda: thing.update(body))

    def label(self, path: str, body: Thing) -> Thing:
        """setLabels of a VM or a disk: all of them, for whoever knows those there were."""
        thing, (scope, _) = self.get(path), _place_of(path)
        _check_labels(body)
        if body.get("labelFingerprint") != thing.get("labelFingerprint"):
            raise Refused(412, "conditionNotMet", "Labels fingerprint either invalid or resource labels have changed")

        def finish() -> None:
            thing.update(labels=body["labels"], labelFingerprint=f"{self._number()}=")

        return self._operate(scope, "setLabels", path, finish)

    def delete(self, path: str) -> Thing:
        thing, (scope, kind) = self.get(path), _place_of(path)
        self._is_free(path)
        users = thing.get("users") or _members(self, thing, kind)
        if users:
            in_use = f"The {kind.removesuffix('s')} resource '{path}' is already being used by '{short(users[0])}'"
            raise Refused(400, "resourceInUseByAnotherResource", in_use)

        if kind == "instances":
            thing["status"] = "STOPPING"

        def finish() -> None:
            del self.things[path]
            for disk in thing.get("disks", []) if kind == "instances" else []:
                self._let_go(disk, path)
            for address in self.of("addresses"):
                self._reserve(address)

        return self._operate(scope, "delete", path, finish)

    def attach(self, path: str, body: Thing) -> Thing:
        """attachDisk of a VM."""
        machine, source = self.get(path), short(body["source"])
        self._is_free(path)
        disk = self.get(source)
        if _place_of(source)[0] != _place_of(path)[0]:
            raise Refused(400, "invalid", f"The disk '{source}' is not in the zone of '{path}'")
        if disk.get("users"):
            words = f"The disk resource '{source}' is already being used by '{short(disk['users'][0])}'"
            raise Refused(400, "RESOURCE_IN_USE_BY_ANOTHER_RESOURCE", words)
        used = {d["deviceName"] for d in machine["disks"]}
        device = body.get("deviceName") or next(
            f"persistent-disk-{n}" for n in range(99) if f"persistent-disk-{n}" not in used
        )
        if device in used:
            raise Refused(400, "invalid", f"The device name '{device}' is already in use")
        disk["users"] = [machine["selfLink"]]

        def finish() -> None:
            machine["disks"].append(
                {
                    "kind": "compute#attachedDisk",
                    "type": "PERSISTENT",
                    "mode": body.get("mode", "READ_WRITE"),
                    "source": disk["selfLink"],
                    "deviceName": device,
                    "index": len(machine["disks"]),
                    "boot": False,
                    "autoDelete": False,
                    "diskSizeGb": disk["sizeGb"],
                }
            )

        return self._operate(_place_of(path)[0], "attachDisk", path, finish)

    def detach(self, path: str, device: str) -> Thing:
        """detachDisk of a VM."""
        machine = self.get(path)
        self._is_free(path)
        found = [d for d in machine["disks"] if d["deviceName"] == device]
        if not found:
            raise Refused(400, "invalid", f"No attached disk found with device name '{device}'")

        def finish() -> None:
            machine["disks"] = [d for d in machine["disks"] if d["deviceName"] != device]
            self.things[short(found[0]["source"])].pop("users", None)

        return self._operate(_place_of(path)[0], "detachDisk", path, finish)

    def look(self, path: str) -> Thing:
        """An operation, one look further on."""
        if path not in self.operations:
            raise Refused(404, "notFound", f"The resource '{path}' was not found")
        if path in self.pending:
            waiting = self.pending[path]
            waiting.polls -= 1
            if waiting.polls <= 0:
                self._finish(path)
        return self.operations[path]

    def nothing_happens(self, path: str) -> Thing:
        """An operation that says it is done, and was not."""
        return self._done(_place_of(path)[0], "delete", path)

    def _operate(self, scope: str, verb: str, path: str, finish: Callable[[], None]) -> Thing:
        operation = self._done(scope, verb, path)
        mine = short(operation["selfLink"])
        self.pending[mine] = Pending(operation, path, self.polls, finish)
        told = {**operation, "status": "RUNNING", "progress": 0}
        if self.polls:
            operation.update(status="RUNNING", progress=0)
        else:
            self._finish(mine)
        return told

    def _finish(self, operation: str) -> None:
        done = self.pending.pop(operation)
        done.finish()
        done.operation.update(status="DONE", progress=100)

    def _done(self, scope: str, verb: str, path: str, *, error: tuple[str, str] | None = None) -> Thing:
        name = f"operation-{self._number()}"
        link = f"projects/{self.project}/{scope}/operations/{name}"
        operation: Thing = {
            "kind": "compute#operation",
            "id": self._number(),
            "name": name,
            "operationType": verb,
            "status": "DONE",
            "progress": 100,
            "targetLink": BASE + path,
            "selfLink": BASE + link,
            "insertTime": BORN,
        }
        if scope != "global":
            operation[scope.split("/")[0].removesuffix("s")] = f"{BASE}projects/{self.project}/{scope}"
        if error is not None:
            operation["error"] = {"errors": [{"code": error[0], "message": error[1]}]}
            operation |= {"httpErrorStatusCode": 409, "httpErrorMessage": "CONFLICT"}
        self.operations[link] = operation
        return operation

    def _is_free(self, path: str) -> None:
        if any(waiting.target == path for waiting in self.pending.values()):
            raise Refused(400, "resourceNotReady", f"The resource '{path}' is not ready")

    def _let_go(self, disk: Thing, machine: str) -> None:
        path = short(disk["source"])
        if disk["autoDelete"]:
            self.things.pop(path, None)
        elif path in self.things:
            self.things[path].pop("users", None)

    def _reserve(self, address: Thing) -> None:
        """An address is in use while a VM has it."""
        holders = [m["selfLink"] for m in self.of("instances") if address["address"] in ips_of(m)]
        address.pop("users", None)
        address["status"] = "IN_USE" if holders else "RESERVED"
        if holders:
            address["users"] = holders

    def _number(self) -> str:
        self.numbered += 1
        return str(4_000_000_000_000_000_000 + self.numbered)

    def public_ip(self) -> str:
        """An address of the internet that nobody has."""
        taken = {
            config["natIP"]
            for machine in self.of("instances")
            for nic in machine["networkInterfaces"]
            for config in nic.get("accessConfigs") or ()
        }
        return next(a for n in range(1, 255) if (a := f"203.0.113.{n}") not in taken)

    def _free_ip(self, subnetwork: str) -> str:
        """The lowest address nobody has; a subnetwork nobody made is 10.0.0.0/16."""
        made = self.things.get(short(subnetwork), {})
        network = ipaddress.ip_network(made.get("ipCidrRange", "10.0.0.0/16"))
        taken = {ip for m in self.of("instances") for ip in ips_of(m)} | {a["address"] for a in self.of("addresses")}
        # Google keeps the first two and the last two of a subnetwork.
        return next(str(ip) for n, ip in enumerate(network) if n >= 2 and str(ip) not in taken)


def _check_labels(body: Thing) -> None:
    wrong = [v for v in (body.get("labels") or {}).values() if not LABEL.match(v)]
    if wrong:
        raise Refused(400, "invalid", f"Invalid value for field 'resource.labels': '{wrong[0]}'")


def short(link: str) -> str:
    """`projects/..` of a link."""
    return link[link.index("projects/") :]


def ips_of(machine: Thing) -> list[str]:
    return [nic["networkIP"] for nic in machine.get("networkInterfaces", [])]


def _place_of(path: str) -> tuple[str, str]:
    """(`zones/Z`, kind) of a path."""
    parts = path.split("/")
    return "/".join(parts[2:-2]), parts[-2]


def _members(world: World, thing: Thing, kind: str) -> list[str]:
    """What still hangs on a network or a subnetwork."""
    if kind == "networks":
        parts = world.of("subnetworks") + world.of("firewalls")
        return [p["selfLink"] for p in parts if p["network"].endswith(f"/networks/{thing['name']}")]
    if kind == "subnetworks":
        parts = [m for m in world.of("instances") if m["networkInterfaces"][0]["subnetwork"] == thing["selfLink"]]
        return [p["selfLink"] for p in parts]
    return []


Made = tuple[Callable[[], None], tuple[str, str] | None]
"""What is left to do when the operation is over, and the error it ends with instead."""


def _plain(world: World, path: str, thing: Thing) -> Made:
    """Every reference comes back as a whole address, and no null is ever echoed."""
    for key in [k for k, v in thing.items() if v is None]:
        del thing[key]
    for key in ("network", "subnetwork", "region"):
        if isinstance(thing.get(key), str) and not thing[key].startswith("https://"):
            thing[key] = BASE + thing[key].removeprefix("/")
    return (lambda: None), None


def _disk(world: World, path: str, thing: Thing) -> Made:
    thing.setdefault("sizeGb", "10")
    thing["sizeGb"] = str(thing["sizeGb"])
    thing["type"] = _linked(thing.get("type", "pd-standard"), path)
    thing |= {"status": "READY", "physicalBlockSizeBytes": "4096", "labelFingerprint": "42WmSpB8rSM="}
    return _plain(world, path, thing)


def _address(world: World, path: str, thing: Thing) -> Made:
    if thing.get("labels"):
        raise Refused(400, "invalid", "Labels can only be added by setLabels")
    _plain(world, path, thing)
    wanted = thing.get("address") or world._free_ip(thing["subnetwork"])
    if any(wanted == a["address"] for a in world.of("addresses")):
        return (lambda: None), (
            "IP_IN_USE_BY_ANOTHER_RESOURCE",
            f"IP '{wanted}' is already being used by another resource.",
        )
    thing |= {"address": wanted, "status": "RESERVED", "networkTier": "PREMIUM", "prefixLength": 0}
    return (lambda: world._reserve(thing)), None


def _instance(world: World, path: str, thing: Thing) -> Made:
    zone = path.split("/")[3]
    nic = thing["networkInterfaces"][0]
    _plain(world, path, nic)
    ip = nic.get("networkIP") or world._free_ip(nic["subnetwork"])
    if len(world.of("instances")) >= world.quota:
        return (lambda: None), ("QUOTA_EXCEEDED", f"Quota 'INSTANCES' exceeded.  Limit: {world.quota}.0 in region x.")
    if any(ip in ips_of(m) for m in world.of("instances")):
        return (lambda: None), (
            "IP_IN_USE_BY_ANOTHER_RESOURCE",
            f"IP '{ip}' is already being used by another resource.",
        )
    stack = nic.get("stackType") or "IPV4_ONLY"
    if stack == "IPV4_IPV6":
        if world.things.get(short(nic["subnetwork"]), {}).get("stackType", stack) != stack:
            return (lambda: None), ("INVALID_USAGE", f"Subnetwork {short(nic['subnetwork'])} is not of {stack}.")
        for config in nic.get("ipv6AccessConfigs") or ():
            own = ipaddress.IPv6Address("2600:1900::") + int(ipaddress.IPv4Address(ip))
            config |= {"externalIpv6": str(own), "externalIpv6PrefixLength": 96}
        nic["ipv6AccessType"] = "EXTERNAL"
    for config in nic.get("accessConfigs") or ():
        config |= {"name": "external-nat", "kind": "compute#accessConfig", "natIP": world.public_ip()}
    nic |= {"networkIP": ip, "name": "nic0", "kind": "compute#networkInterface", "stackType": stack}
    nic["network"] = world.things.get(short(nic["subnetwork"]), {}).get(
        "network", f"{BASE}projects/{world.project}/global/networks/default"
    )
    boot = thing["disks"][0]
    wanted = boot.pop("initializeParams")
    link = f"projects/{world.project}/zones/{zone}/disks/{thing['name']}"
    world.things[link] = {
        "kind": "compute#disk",
        "id": world._number(),
        "creationTimestamp": BORN,
        "name": thing["name"],
        "sizeGb": str(wanted.get("diskSizeGb", 10)),
        "type": _linked(wanted.get("diskType", "pd-standard"), link),
        "sourceImage": BASE + short(wanted["sourceImage"]),
        "labels": wanted.get("labels", {}),
        "zone": thing["zone"],
        "status": "READY",
        "selfLink": BASE + link,
        "users": [thing["selfLink"]],
    }
    boot |= {"source": BASE + link, "deviceName": "persistent-disk-0", "index": 0, "kind": "compute#attachedDisk"}
    boot |= {"type": "PERSISTENT", "mode": "READ_WRITE", "diskSizeGb": world.things[link]["sizeGb"]}
    thing["machineType"] = (
        f"{BASE}projects/{world.project}/zones/{zone}/machineTypes/{thing['machineType'].rpartition('/')[2]}"
    )
    thing |= {
        "status": "PROVISIONING",
        "cpuPlatform": "AMD Milan",
        "fingerprint": "dGVzdA==",
        "labelFingerprint": "dGVzdA==",
    }
    thing.setdefault("metadata", {}).update(kind="compute#metadata", fingerprint="dGVzdA==")
    thing.setdefault("tags", {}).update(fingerprint="dGVzdA==")
    thing.setdefault("scheduling", {"onHostMaintenance": "MIGRATE", "automaticRestart": True, "preemptible": False})
    for key in [k for k, v in thing.items() if v is None]:
        del thing[key]

    def finish() -> None:
        thing["status"] = "RUNNING"
        for address in world.of("addresses"):
            world._reserve(address)

    return finish, None


def _linked(name: str, path: str) -> str:
    zone = "/".join(path.split("/")[:4])
    return f"{BASE}{zone}/diskTypes/{name.rpartition('/')[2]}"


_MAKERS: dict[str, Callable[[World, str, Thing], Made]] = {
    "disks": _disk,
    "addresses": _address,
    "instances": _instance,
}
