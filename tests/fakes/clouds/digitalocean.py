"""DigitalOcean on a loopback port: Droplets, volumes, actions, networks, firewalls of one team; faults before it.

Made after DigitalOcean's API reference; `digitalocean_openapi.json` holds it to the reference, and
`differences.md` names what it does otherwise.
"""

import itertools
import json
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.fakes.clouds.allowances import SIZES, digitalocean_image
from tests.fakes.clouds.digitalocean_http import Answer, Answerer, serving
from tests.fakes.clouds.digitalocean_shapes import VPC, account, droplet_of, region, tag_of, told
from tests.fakes.clouds.faults import Faults

TEAM = "5df3e300-4a17-4e24-8b7c-20ca6c9fc25b"
OTHER_TEAM = "0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d"
TOKEN = "dop_v1_canary-secret"

_TAG = re.compile(r"^[a-zA-Z0-9:_-]{1,255}$")
_VOLUME_NAME = re.compile(r"^[a-z][a-z0-9-]{0,63}$")
_BUSY = "Droplet already has a pending event."
_MOST_USER_DATA = 64 * 1024


class RefusedError(Exception):
    """An answer of 400 or above."""

    def __init__(self, status: int, message: str, code: str = "") -> None:
        super().__init__(message)
        self.status, self.message = status, message
        self.code = code or {404: "not_found", 422: "unprocessable_entity", 429: "too_many_requests"}.get(
            status, "error"
        )


_LIMITS = {"ratelimit-limit": "5000", "ratelimit-remaining": "4816"}


@dataclass
class DigitaloceanFake:
    """One team. `calls` counts what was asked; `faults` are before it.

    With `pending_polls` an action is over after that many looks at it; until then its Droplet is busy.
    """

    port: int = 0
    team: str = TEAM
    calls: Counter[str] = field(default_factory=Counter)
    faults: Faults = field(default_factory=Faults)
    ignored_deletions: int = 0
    pending_polls: int = 0
    droplet_limit: int = 1000
    no_images: set[int] = field(default_factory=set)
    delay_s: dict[str, float] = field(default_factory=dict)
    droplets: dict[int, dict[str, Any]] = field(default_factory=dict)
    user_data: dict[int, str] = field(default_factory=dict)
    volumes: dict[str, dict[str, Any]] = field(default_factory=dict)
    actions: dict[int, dict[str, Any]] = field(default_factory=dict)
    vpcs: dict[str, dict[str, Any]] = field(default_factory=dict)
    firewalls: dict[str, dict[str, Any]] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    answering: Answerer | None = None
    """A test's own way to answer, in the place of `answer`, which it may call."""
    lock: threading.RLock = field(default_factory=threading.RLock)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(3164444))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def told(self, method: str, target: str, headers: dict[str, str], body: bytes) -> Answer:
        """What the server says."""
        return (self.answering or self.answer)(method, target, headers, body)

    def answer(self, method: str, target: str, headers: dict[str, str], body: bytes) -> Answer:
        """One call: a fault, or what DigitalOcean would say."""
        path, asked = urlsplit(target).path, dict(parse_qsl(urlsplit(target).query))
        action = f"{method} {_pattern(path)}"
        time.sleep(self.delay_s.get(action, 0.0))
        with self.lock:
            self.calls[action] += 1
            given = json.loads(body) if body else {}
            try:
                fault = self.faults.meets(action, lambda: self._route(method, path, asked, given))
                if fault is not None:
                    return fault.status, fault.headers, _error(fault.code, fault.said)
                if headers.get("Authorization") != f"Bearer {TOKEN}":
                    raise RefusedError(401, "Unable to authenticate you", "Unauthorized")
                if action == "GET /v2/droplets" and "tag_name" in asked:
                    status, more, value = self.faults.late(lambda: self._route(method, path, asked, given))
                else:
                    status, more, value = self._route(method, path, asked, given)
            except RefusedError as refused:
                return refused.status, _LIMITS, _error(refused.code, refused.message)
            return status, _LIMITS | more, value

    def settle(self) -> None:
        """Every action that is under way is over."""
        for number in list(self.actions):
            self._finish(number)

    def power_cut(self, droplet: int) -> None:
        """A VM that is destroyed by somebody else: its volumes stay, free."""
        with self.lock:
            self._remove_droplet(droplet)

    def _route(self, method: str, path: str, asked: dict[str, str], given: dict[str, Any]) -> Answer:
        parts = [unquote(p) for p in path.removeprefix("/v2/").split("/")]
        match [method, *parts]:
            case ["GET", "account" | "regions" | "images" as kind, *rest]:
                return self._sold(kind, rest)
            case ["GET", "droplets"]:
                return self._page("droplets", self._tagged(asked), asked)
            case ["POST", "droplets"]:
                return self._make_droplet(given)
            case ["GET", "droplets", number]:
                return 200, {}, {"droplet": self._droplet(number)}
            case ["DELETE", "droplets", number]:
                return self._delete_droplet(number)
            case ["GET", "volumes"]:
                return self._page("volumes", [v for v in self.volumes.values() if _in(v, asked)], asked)
            case ["POST", "volumes"]:
                return self._make_volume(given)
            case ["GET", "volumes", one]:
                return 200, {}, {"volume": _found(self.volumes, one)}
            case ["DELETE", "volumes", one]:
                return self._delete_volume(one)
            case ["POST", "volumes", one, "actions"]:
                return self._attach(one, given)
            case ["GET", "actions", number]:
                return 200, {}, {"action": self._looked_at(int(number))}
            case [_, "vpcs" | "firewalls" | "tags", *_]:
                return self._network(method, parts, given)
            case _:
                raise RefusedError(404, "The resource you requested could not be found.")

    def _tagged(self, asked: dict[str, str]) -> list[dict[str, Any]]:
        word = asked.get("tag_name", "").lower()
        found = [d for d in self.droplets.values() if not word or word in (t.lower() for t in d["tags"])]
        return [_plain(d) for d in found]

    def _page(self, part: str, items: list[dict[str, Any]], asked: dict[str, str]) -> Answer:
        size, number = int(asked.get("per_page", 20)), int(asked.get("page", 1))
        if not 1 <= size <= 200:
            raise RefusedError(422, "per_page must be between 1 and 200")
        start = (number - 1) * size
        last = max(1, -(-len(items) // size))
        at = f"{self.url}/v2/{part}?page="
        pages = {"next": f"{at}{number + 1}", "last": f"{at}{last}"} if number < last else {}
        return 200, {}, {part: items[start : start + size], "links": {"pages": pages}, "meta": {"total": len(items)}}

    def _make_droplet(self, given: dict[str, Any]) -> Answer:
        if len(self.droplets) >= self.droplet_limit:
            raise RefusedError(422, "creating this/these droplet(s) will exceed your droplet limit")
        if len(given.get("user_data") or "") > _MOST_USER_DATA:
            raise RefusedError(422, "user_data is too long (maximum is 64 KiB)")
        if not given.get("name") or not given.get("size") or not given.get("image"):
            raise RefusedError(422, "You must specify a name, a size and an image")
        words = self._words(given.get("tags"))
        number = next(self._numbers)
        self.droplets[number] = droplet_of(number, given, words)
        self.user_data[number] = given.get("user_data") or ""
        action = self._act(number, "create")
        link = {"id": action["id"], "rel": "create", "href": f"{self.url}/v2/actions/{action['id']}"}
        return 202, {}, {"droplet": _plain(self.droplets[number]), "links": {"actions": [link]}}

    def _droplet(self, number: str) -> dict[str, Any]:
        droplet = self.droplets.get(int(number)) if number.isdecimal() else None
        if droplet is None:
            raise RefusedError(404, "The resource you requested could not be found.")
        for action in [a for a in self.actions.values() if a["type"] == "create" and a["droplet"] == droplet["id"]]:
            self._looked_at(action["id"])
        return _plain(droplet)

    def _delete_droplet(self, number: str) -> Answer:
        droplet = self._droplet(number)
        if self._is_busy(droplet["id"]):
            raise RefusedError(422, _BUSY)
        if self.ignored_deletions > 0:
            self.ignored_deletions -= 1
            return 204, {}, None
        self._remove_droplet(droplet["id"])
        return 204, {}, None

    def _remove_droplet(self, number: int) -> None:
        for volume in self.volumes.values():
            volume["droplet_ids"] = [d for d in volume["droplet_ids"] if d != number]
        del self.droplets[number]

    def _make_volume(self, given: dict[str, Any]) -> Answer:
        name, size = str(given.get("name", "")), int(given.get("size_gigabytes", 0))
        if not _VOLUME_NAME.match(name):
            raise RefusedError(422, "name is not valid")
        if size < 1:
            raise RefusedError(422, "size_gigabytes must be at least 1")
        if any((v["name"], v["region"]["slug"]) == (name, given["region"]) for v in self.volumes.values()):
            raise RefusedError(409, "a volume with that name already exists", "conflict")
        words = self._words(given.get("tags"))
        one = f"{next(self._numbers):08x}-ea86-4a5a-8c15-e2a4a4d7d2b1"
        self.volumes[one] = {
            "id": one,
            "name": name,
            "size_gigabytes": size,
            "region": region(given["region"]),
            "droplet_ids": [],
            "tags": words,
            "description": given.get("description") or "",
            "filesystem_type": "",
            "filesystem_label": "",
            "created_at": "2026-11-22T06:00:00Z",
        }
        return 201, {}, {"volume": self.volumes[one]}

    def _delete_volume(self, one: str) -> Answer:
        if _found(self.volumes, one)["droplet_ids"]:
            raise RefusedError(409, "The volume is attached to a Droplet; detach it first", "conflict")
        del self.volumes[one]
        return 204, {}, None

    def _attach(self, one: str, given: dict[str, Any]) -> Answer:
        volume, droplet = _found(self.volumes, one), self._droplet(str(given.get("droplet_id")))
        if self._is_busy(droplet["id"]):
            raise RefusedError(422, _BUSY)
        holders = volume["droplet_ids"]
        if given["type"] == "attach":
            if holders:
                raise RefusedError(422, "This volume is already attached to a Droplet")
            if volume["region"]["slug"] != droplet["region"]["slug"]:
                raise RefusedError(422, "The volume and the Droplet must be in the same region")
            holders.append(droplet["id"])
            self.droplets[droplet["id"]]["volume_ids"].append(one)
        elif given["type"] == "detach":
            if droplet["id"] not in holders:
                raise RefusedError(404, "The volume is not attached to that Droplet: attachment not found")
            holders.remove(droplet["id"])
            self.droplets[droplet["id"]]["volume_ids"].remove(one)
        else:
            raise RefusedError(422, f"no action {given['type']!r}")
        action = self._act(droplet["id"], f"{given['type']}_volume")
        return 202, {}, {"action": told(action)}

    def _sold(self, kind: str, rest: list[str]) -> Answer:
        """The account, the regions, and images of the team."""
        if kind == "account":
            return 200, {}, {"account": {**account(self.team), "droplet_limit": self.droplet_limit}}
        if kind == "regions":
            regions = [{**region(slug), "sizes": list(SIZES)} for slug in ("nyc3", "fra1")]
            return 200, {}, {"regions": regions, "links": {}, "meta": {"total": len(regions)}}
        if not rest or int(rest[0]) in self.no_images:
            raise RefusedError(404, "The resource you requested could not be found.")
        return 200, {}, {"image": digitalocean_image(int(rest[0]), ["nyc3", "fra1"])}

    def _network(self, method: str, parts: list[str], given: dict[str, Any]) -> Answer:
        kind, *rest = parts
        kept: dict[str, dict[str, Any]] = {"vpcs": self.vpcs, "firewalls": self.firewalls}.get(kind, {})
        match [method, *rest]:
            case ["POST"] if kind == "tags":
                (word,) = self._words([given["name"]])
                return 201, {}, {"tag": tag_of(word)}
            case ["GET", word] if kind == "tags":
                if word.lower() not in self.tags:
                    raise RefusedError(404, "The resource you requested could not be found.")
                return 200, {}, {"tag": tag_of(self.tags[word.lower()])}
            case ["DELETE", word] if kind == "tags":
                self.tags.pop(word.lower(), None)
                return 204, {}, None
            case ["POST" | "DELETE", word, "resources"] if kind == "tags":
                return self._tag(word, given["resources"], on=method == "POST")
            case ["POST"]:
                one = f"{next(self._numbers):08x}-dc84-11e8-981e-3cfdfeaae000"
                if kind == "firewalls" and [t for t in given.get("tags") or () if t.lower() not in self.tags]:
                    raise RefusedError(422, "tags: a tag of the firewall does not exist")
                kept[one] = {"id": one, "created_at": "2026-11-22T06:00:00Z", **given}
                return (202 if kind == "firewalls" else 201), {}, {kind.removesuffix("s"): kept[one]}
            case ["GET", one]:
                return 200, {}, {kind.removesuffix("s"): _found(kept, one)}
            case ["PUT", one]:
                _found(kept, one).update(given)
                return 200, {}, {kind.removesuffix("s"): kept[one]}
            case ["DELETE", one]:
                _found(kept, one)
                if kind == "vpcs" and any(d["vpc_uuid"] == one for d in self.droplets.values()):
                    raise RefusedError(403, "Can not delete VPC with members", "forbidden")
                del kept[one]
                return 204, {}, None
            case _:
                raise RefusedError(404, "The resource you requested could not be found.")

    def _tag(self, word: str, resources: list[dict[str, str]], *, on: bool) -> Answer:
        """Puts a tag that exists on Droplets and volumes, or takes it off."""
        if word.lower() not in self.tags:
            raise RefusedError(404, "The resource you requested could not be found.")
        for one in resources:
            by_id = self.volumes if one["resource_type"] == "volume" else {str(n): d for n, d in self.droplets.items()}
            thing = _found(by_id, one["resource_id"])
            left = [tag for tag in thing["tags"] if tag.lower() != word.lower()]
            thing["tags"] = [*left, self.tags[word.lower()]] if on else left
        return 204, {}, None

    def _words(self, given: list[str] | None) -> list[str]:
        """Tags come into being by being used; whoever writes one otherwise gets it as it was written first."""
        for word in given or ():
            if not _TAG.match(word):
                raise RefusedError(422, f"tags: {word!r} is not valid")
            self.tags.setdefault(word.lower(), word)
        return [self.tags[word.lower()] for word in given or ()]

    def _act(self, droplet: int, kind: str) -> dict[str, Any]:
        number = next(self._numbers)
        self.actions[number] = {
            "id": number,
            "type": kind,
            "droplet": droplet,
            "left": self.pending_polls,
            "status": "in-progress",
            "region": self.droplets[droplet]["region"],
        }
        if self.pending_polls == 0:
            self._finish(number)
        return self.actions[number]

    def _looked_at(self, number: int) -> dict[str, Any]:
        action = self.actions.get(number)
        if action is None:
            raise RefusedError(404, "The resource you requested could not be found.")
        if action["left"] > 0:
            action["left"] -= 1
        if action["left"] == 0:
            self._finish(number)
        return told(action)

    def _finish(self, number: int) -> None:
        action = self.actions[number]
        if action["status"] == "completed":
            return
        action["status"] = "completed"
        if action["type"] == "create" and action["droplet"] in self.droplets:
            self.droplets[action["droplet"]]["status"] = "active"

    def _is_busy(self, droplet: int) -> bool:
        return any(a["droplet"] == droplet and a["status"] == "in-progress" for a in self.actions.values())


@contextmanager
def digitalocean_cloud() -> Iterator[DigitaloceanFake]:
    """An empty team on a free loopback port; over when the block ends."""
    cloud = DigitaloceanFake()
    cloud.vpcs[VPC] = {"id": VPC, "name": "default", "region": "nyc3", "ip_range": "10.10.0.0/20"}
    with serving(cloud.told) as cloud.port:
        yield cloud


def _pattern(path: str) -> str:
    return re.sub(r"(?<=/)(\d+|[0-9a-f]{8}-[0-9a-f-]{27}|(?<=tags/)[^/]+)(?=/|$)", "*", path)


def _error(code: str, message: str) -> dict[str, str]:
    return {"id": code, "message": message, "request_id": "4d9d8375-3c56-4925-a3e7-eb137fed17e9"}


def _found(kept: dict[str, dict[str, Any]], one: str) -> dict[str, Any]:
    if one not in kept:
        raise RefusedError(404, "The resource you requested could not be found.")
    return kept[one]


def _in(volume: dict[str, Any], asked: dict[str, str]) -> bool:
    return asked.get("region") in (None, volume["region"]["slug"]) and asked.get("name") in (None, volume["name"])


def _plain(droplet: dict[str, Any]) -> dict[str, Any]:
    return dict(droplet, volume_ids=list(droplet["volume_ids"]))
