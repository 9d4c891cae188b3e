"""UpCloud on a loopback port: the part of its API 1.3 that upcloud-api and the Terraform provider use, with faults.

Whoever speaks that API may call: the real Python SDK, and the stand-in of the Terraform provider. What it does
otherwise than UpCloud is in `differences.md`.
"""

import base64
import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.fakes.clouds.allowances import upcloud_account, upcloud_plans, upcloud_zones
from tests.fakes.clouds.faults import Faults
from tests.fakes.clouds.loopback import Answer, serving
from tests.fakes.clouds.upcloud_things import Body, RefusedError, Things, new_id

USERNAME, OTHER_USERNAME = "kedge-test", "somebody-else"
TOKEN = "ucat_test"

Query = list[tuple[str, str]]
Routed = tuple[str, Callable[[], tuple[int, Body | None]]]
"""The name of what is asked, and what answers: (status, JSON)."""

_LEFT_OUT = frozenset(
    {"boot_order", "firewall", "metadata", "networking", "nic_model", "storage_devices", "timezone", "user_data"}
    | {"video_model"}
)
"""What the list of servers does not tell: addresses and disks above all (recorded in getserverswithfilters.yaml)."""

TOTAL = "Upcloud-Total-Count"
_JSON = {"Content-Type": "application/json; charset=UTF-8"}
_DEFAULT_LIMIT, _LARGEST_LIMIT = 25, 100


@dataclass(slots=True)
class UpcloudServer:
    """A running server. `calls` counts what was asked; `faults` are before it."""

    port: int
    things: Things = field(default_factory=Things)
    calls: Counter[str] = field(default_factory=Counter)
    faults: Faults = field(default_factory=Faults)
    ignored_terminations: int = 0
    limits: dict[str, int] = field(default_factory=dict)
    """Of the account, by name."""
    prices: list[Body] = field(default_factory=list)
    plans: tuple[str, ...] = ("2xCPU-4GB", "4xCPU-8GB", "8xCPU-32GB")
    username: str = USERNAME
    """Whose the credentials are, whatever they are."""
    tells_holders: bool = True
    """Whether a listing of storages that was asked for servers has them."""
    tells_private_addresses: bool = True
    tells_total: bool = False
    """Whether listings of servers and storages say how many there are; with `counts_all` of the account."""
    counts_all: bool = False
    watching: Callable[[str], None] | None = None
    """Told the name of each call, before it is answered."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    _total: int | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def told(self, method: str, target: str, headers: dict[str, str], body: bytes) -> Answer:
        """What the server says: one call at a time, a fault or an answer."""
        parts = urlsplit(target)
        given = json.loads(body) if body else {}
        with self.lock:
            self._total = None
            try:
                action, answer = self._route(method, parts.path, parse_qsl(parts.query), given)
                self.calls[action] += 1
                if self.watching is not None:
                    self.watching(action)
                fault = self.faults.meets(action, answer)
                if fault is not None:
                    refused = {"error": {"error_code": fault.code, "error_message": fault.said}}
                    return fault.status, _JSON | fault.headers, json.dumps(refused).encode()
                _check_login(headers)
                status, told = answer()
            except RefusedError as error:
                status, told = error.status, error.body
            total: dict[str, str] = {} if self._total is None else {TOTAL: str(self._total)}
            return status, _JSON | total, b"" if told is None else json.dumps(told).encode()

    def _route(self, method: str, path: str, query: Query, given: Body) -> Routed:
        match method, *path.strip("/").split("/")[1:]:
            case "GET", "account":
                return "GetAccount", lambda: (200, upcloud_account(self.username, self.limits))
            case "GET", "zone":
                return "ListZones", lambda: (200, upcloud_zones(("fi-hel1", "de-fra1")))
            case "GET", "plan":
                return "ListPlans", lambda: (200, upcloud_plans(self.plans))
            case "GET", "price":
                return "ListPrices", lambda: (200, {"prices": {"zone": self.prices}})
            case "GET", "storage", "private":
                return "ListStorages", lambda: (200, self._list_storages(query))
            case "GET", "ip_address":
                return "ListIpAddresses", lambda: (200, {"ip_addresses": {"ip_address": self._addresses()}})
            case method, "server", *rest if routed := self._on_servers(method, rest, query, given):
                return routed
            case method, "storage", *rest if routed := self._on_storages(method, rest, query, given):
                return routed
            case method, ("network" | "router" | "server-group") as kind, *rest:
                return self._plain(method, kind, rest, given)
        raise RefusedError(404, "NOT_FOUND", f"The fake has no {method} {path}.")

    def _on_servers(self, method: str, rest: list[str], query: Query, given: Body) -> Routed | None:
        things, device = self.things, given.get("storage_device", {})
        match method, *rest:
            case ["GET"]:
                return "ListServers", lambda: (200, self._list_servers(query))
            case ["POST"]:
                return "CreateServer", lambda: (202, _told(things.create_server(given["server"])))
            case "GET", uuid:
                return "GetServer", lambda: (200, _told(things.server(uuid)))
            case "PUT", uuid:
                return "ModifyServer", lambda: (202, _told(things.modify_server(uuid, given["server"])))
            case "POST", uuid, "stop":
                return "StopServer", lambda: (200, _told(self._stopped(uuid)))
            case "POST", uuid, "storage", "attach":
                return "AttachStorage", lambda: (200, _told(things.attach_storage(uuid, device)))
            case "DELETE", uuid:
                wide = dict(query).get("storages") in ("1", "true")
                name = "DeleteServerAndStorages" if wide else "DeleteServer"
                return name, lambda: _done(lambda: self._deleted(uuid, storages=wide))
        return None

    def _on_storages(self, method: str, rest: list[str], query: Query, given: Body) -> Routed | None:
        things = self.things
        match method, *rest:
            case ["GET"]:
                return "ListStorages", lambda: (200, self._list_storages(query))
            case ["POST"]:
                return "CreateStorage", lambda: (201, {"storage": things.create_storage(given["storage"])})
            case "GET", uuid:
                return "GetStorage", lambda: (200, {"storage": things.storage(uuid)})
            case "PUT", uuid:
                return "ModifyStorage", lambda: (202, {"storage": things.modify_storage(uuid, given["storage"])})
            case "DELETE", uuid:
                return "DeleteStorage", lambda: _done(lambda: things.delete_storage(uuid))
        return None

    def _plain(self, method: str, kind: str, rest: list[str], given: Body) -> Routed:
        """Networks, routers and groups: made, read, deleted."""
        things, word = self.things, kind.replace("-", "_")
        kept = {"network": things.networks, "router": things.routers, "server_group": things.groups}[word]
        name = word.title().replace("_", "")
        if method == "POST":
            return f"Create{name}", lambda: (201, {word: self._made(word, kept, given[word])})
        uuid = rest[0] if rest else ""
        if uuid not in kept:
            code = {"network": "NETWORK_NOT_FOUND", "router": "ROUTER_NOT_FOUND"}.get(word, "GROUP_NOT_FOUND")
            return f"Get{name}", lambda: _refuse(404, code)
        if method == "GET":
            return f"Get{name}", lambda: (200, {word: kept[uuid]})
        return f"Delete{name}", lambda: _done(lambda: self._gone(word, kept, uuid))

    def _made(self, word: str, kept: dict[str, Body], given: Body) -> Body:
        if word == "network":
            return self.things.create_network(given)
        more: Body = {"type": "normal"} if word == "router" else {"servers": {"server": []}}
        prefix = "04" if word == "router" else "0b"
        made = {**more, **given, "uuid": new_id(prefix)}
        kept[made["uuid"]] = made
        return made

    def _gone(self, word: str, kept: dict[str, Body], uuid: str) -> None:
        if word == "network" and any(uuid in json.dumps(s["networking"]) for s in self.things.servers.values()):
            raise RefusedError(409, "NETWORK_NOT_EMPTY")
        if word == "router" and any(n.get("router") == uuid for n in self.things.networks.values()):
            raise RefusedError(409, "ROUTER_ATTACHED")
        del kept[uuid]

    def _stopped(self, uuid: str) -> Body:
        return self.things.server(uuid) if self.ignored_terminations > 0 else self.things.stop_server(uuid)

    def _deleted(self, uuid: str, *, storages: bool) -> None:
        if self.ignored_terminations > 0:
            self.ignored_terminations -= 1
            return
        self.things.server(uuid)
        self.things.delete_server(uuid, storages=storages)

    def _list_servers(self, query: Query) -> Body:
        return self.faults.late(lambda: self._listed(query), asked=json.dumps(query))

    def _listed(self, query: Query) -> Body:
        servers = [self.things.server(uuid) for uuid in list(self.things.servers)]
        found = [s for s in servers if _has(s["labels"]["label"], query)]
        listed = [{k: v for k, v in s.items() if k not in _LEFT_OUT} for s in self._page(found, query)]
        told: Body = json.loads(json.dumps({"servers": {"server": listed}}))
        return told

    def _list_storages(self, query: Query) -> Body:
        found = [s for s in self.things.storages.values() if _has(s["labels"], query)]
        with_holders = self.tells_holders and dict(query).get("servers") in ("yes", "1")
        left_out = () if with_holders else ("servers",)
        listed = [{k: v for k, v in s.items() if k not in left_out} for s in self._page(found, query)]
        return {"storages": {"storage": listed}}

    def _page(self, found: list[Body], query: Query) -> list[Body]:
        asked = dict(query)
        offset, limit = int(asked.get("offset", 0)), min(int(asked.get("limit", _DEFAULT_LIMIT)), _LARGEST_LIMIT)
        of_all = len(self.things.servers) + len(self.things.storages)
        self._total = (of_all if self.counts_all else len(found)) if self.tells_total else None
        return found[offset : offset + limit]

    def _addresses(self) -> list[Body]:
        told = self.things.addresses()
        return told if self.tells_private_addresses else [a for a in told if a["access"] != "private"]


@contextmanager
def upcloud_cloud() -> Iterator[UpcloudServer]:
    """An empty account on a free loopback port; over when the block ends."""
    cloud = UpcloudServer(port=0)
    with serving(cloud.told) as cloud.port:
        yield cloud


def _check_login(headers: dict[str, str]) -> None:
    given = headers.get("Authorization", "")
    if re.fullmatch(r"Bearer \S+", given):
        return
    if given.startswith("Basic ") and b":" in base64.b64decode(given.removeprefix("Basic ")):
        return
    raise RefusedError(401, "AUTHENTICATION_FAILED", "Authentication failed using the given username and password.")


def _done(act: Callable[[], None]) -> tuple[int, None]:
    act()
    return 204, None


def _refuse(status: int, code: str) -> Any:
    raise RefusedError(status, code)


def _told(server: Body) -> Body:
    """A server with its details: never the user data, and its addresses a second time."""
    interfaces = server["networking"]["interfaces"]["interface"]
    addresses = [
        {"access": i["type"], "address": a["address"], "family": a["family"]}
        for i in interfaces
        for a in i["ip_addresses"]["ip_address"]
    ]
    shown = {k: v for k, v in server.items() if k != "user_data"}
    return {"server": {**shown, "ip_addresses": {"ip_address": addresses}}}


def _has(labels: list[Body], query: Query) -> bool:
    own = {label["key"]: label["value"] for label in labels}
    for name, wanted in query:
        key, told, value = wanted.partition("=")
        if name == "label" and (key not in own or (told and own[key] != value)):
            return False
    return True
