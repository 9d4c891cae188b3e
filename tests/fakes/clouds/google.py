"""Compute Engine on a loopback port: one project behind a small HTTP server, with faults before it.

Whoever speaks its REST API may call: google-cloud-compute, and a Terraform provider. `google_world` has the rules.
"""

import json
import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.fakes.clouds.allowances import google_region
from tests.fakes.clouds.faults import Fault, Faults
from tests.fakes.clouds.google_world import BASE, PROJECT, Refused, Thing, World, short
from tests.fakes.clouds.loopback import Answer, Answering, serving

OTHER_NUMBER = "210987654321"
TOKEN = "ya29.canary-secret"

_PART = {"instances": "instances", "disks": "disks"}


@dataclass(frozen=True, slots=True)
class Exchange:
    """One call and its answer, for whoever holds them against Google's own document."""

    action: str
    method: str
    path: str
    query: dict[str, str]
    body: Thing | None
    status: int
    answer: Thing


@dataclass(slots=True)
class GoogleFake:
    """A running server. `calls` counts what was asked; `faults` are before it. With status 200 a call is taken, and
    its operation ends with the fault's `code`."""

    port: int = 0
    world: World = field(default_factory=World)
    calls: Counter[str] = field(default_factory=Counter)
    exchanges: list[Exchange] = field(default_factory=list)
    faults: Faults = field(default_factory=Faults)
    token_lasts_s: int = 3599
    ignored_deletions: int = 0
    used: dict[str, float] = field(default_factory=dict)
    """What others use of a region's quotas, by metric."""
    no_images: set[str] = field(default_factory=set)
    consoles: dict[str, str] = field(default_factory=dict)
    """What VMs wrote to their first serial port, by name."""
    denied: set[str] = field(default_factory=set)
    """Permissions the caller does not hold on the project."""
    unreachable: set[str] = field(default_factory=set)
    """Zones that do not answer."""
    answering: Answering | None = None
    """A test's own way to answer, in the place of `answer`, which it may call."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def told(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answer:
        """What the server says."""
        return (self.answering or self.answer)(method, path, headers, body)

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answer:
        """One call: a token, a fault, or what the project says."""
        asked = urlsplit(path)
        if asked.path == "/token":
            self.calls["token"] += 1
            return _json(200, {"access_token": TOKEN, "expires_in": self.token_lasts_s, "token_type": "Bearer"})
        if asked.path.endswith(":testIamPermissions"):
            self.calls["projects.testIamPermissions"] += 1
            wanted = json.loads(body)["permissions"]
            return _json(200, {"permissions": [one for one in wanted if one not in self.denied]})
        route, words = _route(method, asked.path)
        query, given = dict(parse_qsl(asked.query)), json.loads(body) if body else None
        with self.lock:
            self.calls[route] += 1
            try:
                status, told, more = 200, self._carried_out(route, words, headers, query, given), {}
            except _Faulted as met:
                fault = met.fault
                status, told, more = fault.status, _error(fault.status, fault.code, fault.said), fault.headers
            except Refused as refused:
                status, told, more = refused.status, _error(refused.status, refused.reason, str(refused)), {}
            self.exchanges.append(Exchange(route, method, asked.path, query, given, status, told))
        status, known, content = _json(status, told)
        return status, known | more, content

    def _carried_out(
        self, route: str, words: dict[str, str], headers: dict[str, str], query: dict[str, str], body: Thing | None
    ) -> Thing:
        if not headers.get("Authorization", headers.get("authorization", "")).startswith("Bearer ya29."):
            raise Refused(401, "required", "Login Required.")
        fault = self.faults.meets(route, lambda: self._perform(route, words, query, body))
        if fault is not None:
            if fault.status == 200:
                return self._failing(words, fault)
            raise _Faulted(fault)
        if route == "instances.getSerialPortOutput":
            return self._serial(words, int(query.get("start", 0)))
        return self._perform(route, words, query, body)

    def _serial(self, words: dict[str, str], start: int) -> Thing:
        """The output from a byte on, or so many of its last bytes."""
        machine = self.world.get(f"projects/{words['project']}/{words['scope']}/instances/{words['name']}")
        text = self.consoles.get(words["name"], "").encode()
        first = max(0, len(text) + start) if start < 0 else start
        return {
            "kind": "compute#serialPortOutput",
            "contents": text[first:].decode(),
            "start": str(first),
            "next": str(len(text)),
            "selfLink": f"{machine['selfLink']}/serialPort",
        }

    def _failing(self, words: dict[str, str], fault: Fault) -> Thing:
        path = f"projects/{words['project']}/{words['scope']}/{words['kind']}/{words.get('name', 'new')}"
        failed = self.world._done(words["scope"], "insert", path, error=(fault.code, fault.said))
        return {**failed, "status": "RUNNING"}

    def _perform(self, route: str, words: dict[str, str], query: dict[str, str], body: Thing | None) -> Thing:
        world, kind, verb = self.world, *route.split(".")
        if words.get("project") != world.project and kind != "images":
            raise Refused(403, "forbidden", f"Required permission for 'projects/{words.get('project')}'")
        path = "/".join(f"projects/{words[k]}" if k == "project" else words[k] for k in words if k != "verb")
        match kind, verb:
            case "projects", "get":
                return {"kind": "compute#project", "id": world.number, "name": world.project, "selfLink": BASE + path}
            case (("zones" | "regions" | "images" | "machineTypes"), "get"):
                return self._fixture(kind, path)
            case _, "aggregatedList":
                return self._everywhere(kind, query)
            case _, "list":
                return self._one_scope(kind, words["scope"], query)
            case "zoneOperations" | "regionOperations" | "globalOperations", "get":
                return world.look(path)
            case _, "get":
                return world.get(path)
            case _, "insert":
                return world.insert(words["scope"], kind, body or {})
            case "instances", "attachDisk":
                return world.attach(path, body or {})
            case "instances", "detachDisk":
                return world.detach(path, query["deviceName"])
            case "instances", "delete" if self.ignored_deletions > 0:
                self.ignored_deletions -= 1
                return world.nothing_happens(path)
            case _, "delete":
                return world.delete(path)
            case _, "setLabels" | "patch":
                return (world.label if verb == "setLabels" else world.patch)(path, body or {})
        raise Refused(404, "notFound", f"no method {route} in this fake")

    def _fixture(self, kind: str, path: str) -> Thing:
        name = path.rpartition("/")[2]
        known = {"zones": self.world.zones(), "regions": list(self.world.regions)}
        if name not in known.get(kind, [name]):
            raise Refused(404, "notFound", f"The resource '{path}' was not found")
        if kind == "images" and name in self.no_images:
            raise Refused(404, "notFound", f"The resource '{path}' was not found")
        told = {"kind": f"compute#{kind.removesuffix('s')}", "name": name, "id": "1", "selfLink": BASE + path}
        more: dict[str, Thing] = {
            "images": {"status": "READY", "architecture": "X86_64"},
            "regions": google_region(name, self.world.zones(), BASE, self.used, path),
        }
        return told | more.get(kind, {})

    def _everywhere(self, kind: str, query: dict[str, str]) -> Thing:
        if kind == "instances":
            return self.faults.late(lambda: self._aggregated(kind, query))
        return self._aggregated(kind, query)

    def _aggregated(self, kind: str, query: dict[str, str]) -> Thing:
        found = [t for t in self.world.of(kind) if _fits(t, query.get("filter", "")) and not self._is_away(t)]
        page, more = _paged(found, query)
        items: dict[str, Thing] = {}
        for zone in self.world.zones():
            here = [t for t in page if t["zone"].endswith(f"/{zone}")]
            away = zone in self.unreachable
            code, words = ("UNREACHABLE", "cannot be reached") if away else ("NO_RESULTS_ON_PAGE", "has no results")
            warning = {"code": code, "message": f"The scope 'zones/{zone}' {words}.", "data": []}
            items[f"zones/{zone}"] = {_PART[kind]: here} if here else {"warning": warning}
        return {"kind": f"compute#{kind.removesuffix('s')}AggregatedList", "id": "list", "items": items, **more}

    def _one_scope(self, kind: str, scope: str, query: dict[str, str]) -> Thing:
        mine = f"/{scope}/{kind}/"
        found = [t for t in self.world.of(kind) if mine in t["selfLink"] and _fits(t, query.get("filter", ""))]
        page, more = _paged(found, query)
        return {
            "kind": f"compute#{kind.removesuffix('s')}List",
            "id": "list",
            **({"items": page} if page else {}),
            **more,
        }

    def _is_away(self, thing: Thing) -> bool:
        return short(thing["zone"]).rpartition("/")[2] in self.unreachable


class _Faulted(Exception):
    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.said)
        self.fault = fault


@contextmanager
def google_fake(project: str = PROJECT) -> Iterator[GoogleFake]:
    """An empty project on a free loopback port; over when the block ends."""
    fake = GoogleFake(world=World(project=project))
    with serving(fake.told) as fake.port:
        yield fake


_PATHS: tuple[tuple[str, str, str], ...] = (
    ("GET", r"projects/(?P<project>[^/]+)", "projects.get"),
    ("GET", r"projects/(?P<project>[^/]+)/aggregated/(?P<kind>instances|disks)", "{kind}.aggregatedList"),
    ("GET", r"projects/(?P<project>[^/]+)/(?P<kind>zones|regions)/(?P<name>[^/]+)", "{kind}.get"),
    (
        "GET",
        r"projects/(?P<project>[^/]+)/(?P<scope>(?:zones|regions)/[^/]+|global)/(?P<kind>operations)/(?P<name>[^/]+)",
        "{of}Operations.get",
    ),
    (
        "POST",
        r"projects/(?P<project>[^/]+)/(?P<scope>zones/[^/]+)/(?P<kind>instances)/(?P<name>[^/]+)/(?P<verb>attachDisk|detachDisk)",
        "{kind}.{verb}",
    ),
    (
        "POST",
        r"projects/(?P<project>[^/]+)/(?P<scope>zones/[^/]+)/(?P<kind>instances|disks)/(?P<name>[^/]+)/(?P<verb>setLabels)",
        "{kind}.{verb}",
    ),
    (
        "GET",
        r"projects/(?P<project>[^/]+)/(?P<scope>zones/[^/]+)/(?P<kind>instances)/(?P<name>[^/]+)/serialPort",
        "{kind}.getSerialPortOutput",
    ),
    ("GET", r"projects/(?P<project>[^/]+)/(?P<scope>(?:zones|regions)/[^/]+|global)/(?P<kind>\w+)", "{kind}.list"),
    ("POST", r"projects/(?P<project>[^/]+)/(?P<scope>(?:zones|regions)/[^/]+|global)/(?P<kind>\w+)", "{kind}.insert"),
    (
        "GET",
        r"projects/(?P<project>[^/]+)/(?P<scope>(?:zones|regions)/[^/]+|global)/(?P<kind>\w+)/(?P<name>[^/]+)",
        "{kind}.get",
    ),
    ("PATCH", r"projects/(?P<project>[^/]+)/(?P<scope>global)/(?P<kind>firewalls)/(?P<name>[^/]+)", "{kind}.patch"),
    (
        "DELETE",
        r"projects/(?P<project>[^/]+)/(?P<scope>(?:zones|regions)/[^/]+|global)/(?P<kind>\w+)/(?P<name>[^/]+)",
        "{kind}.delete",
    ),
)


def _route(method: str, path: str) -> tuple[str, dict[str, str]]:
    """(method of the API, words of its path)."""
    for verb, pattern, name in _PATHS:
        found = re.fullmatch(f"/compute/v1/{pattern}", path)
        if verb == method and found:
            words = {k: v for k, v in found.groupdict().items() if v is not None}
            of = words.get("scope", "").partition("/")[0].removesuffix("s")
            return name.format(**words, of=of), words
    return "unknown.unknown", {}


_LABELLED = re.compile(r'\(labels\.(?P<key>[a-z0-9_-]+)(?: = "(?P<value>[^"]*)"|(?P<any>:\*))\)')
_DESCRIBED = re.compile(r'description eq "(?P<pattern>.*)"')


def _fits(thing: Thing, wanted: str) -> bool:
    """The two ways to filter Kedge uses; anything else is an error of the test that asks."""
    if found := _DESCRIBED.fullmatch(wanted):
        return re.fullmatch(found["pattern"], thing.get("description", "")) is not None
    labels = thing.get("labels", {})
    left = _LABELLED.sub("", wanted).strip()
    assert not left, f"this fake does not know the filter {wanted!r}"
    return all(m["key"] in labels and (m["any"] or labels[m["key"]] == m["value"]) for m in _LABELLED.finditer(wanted))


def _paged(found: list[Thing], query: dict[str, str]) -> tuple[list[Thing], dict[str, str]]:
    size, start = int(query.get("maxResults", 500)), int(query.get("pageToken", 0))
    assert 0 <= size <= 500
    more = {"nextPageToken": str(start + size)} if start + size < len(found) else {}
    return found[start : start + size], more


def _error(status: int, reason: str, message: str) -> Thing:
    detail = {"message": message, "domain": "global", "reason": reason}
    return {"error": {"code": status, "message": message, "errors": [detail]}}


def _json(status: int, told: Any) -> Answer:
    return status, {"Content-Type": "application/json; charset=UTF-8"}, json.dumps(told).encode()
