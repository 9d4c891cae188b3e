"""Hetzner Cloud on a loopback port: the part of its API that hcloud and the real Terraform provider ask for.

It keeps servers, volumes, networks, groups, firewalls and actions of several projects, each seen by its own tokens.
Where it is known to differ from Hetzner, `differences.md` says so.
"""

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.fakes.clouds import loopback
from tests.fakes.clouds.faults import Faults
from tests.fakes.clouds.hetzner_objects import Project, Refused, call_of
from tests.fakes.clouds.loopback import Answer

TOKEN, OTHER_TOKEN = "t" * 64, "o" * 64
"""Tokens of two projects; Terraform's provider takes none that has not 64 signs."""

Answering = Callable[[str, str, str, bytes], Answer]
"""(method, path with query, token, body) -> (status, headers, body)"""


@dataclass(slots=True)
class FakeHetzner:
    """A running server. `calls` counts what was asked, as `GET /servers/ID`; `faults` are before it.

    `running_polls`: how often an action is still running when it is asked for; until then its server is locked.
    """

    port: int = 0
    projects: dict[str, Project] = field(default_factory=lambda: {TOKEN: Project(), OTHER_TOKEN: Project(first=9000)})
    calls: Counter[str] = field(default_factory=Counter)
    faults: Faults = field(default_factory=Faults)
    ignored_terminations: int = 0
    read_only: set[str] = field(default_factory=set)
    """Tokens that may not change anything."""
    running_polls: int = 0
    answering: Answering | None = None
    """A test's own way to answer, in the place of `answer`, which it may call."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def project(self) -> Project:
        """The project of the token tests use, for their own look: nothing of it is counted, late or refused."""
        return self.projects[TOKEN]

    def told(self, method: str, path: str, token: str, body: bytes) -> Answer:
        """What the server says."""
        return (self.answering or self.answer)(method, path, token, body)

    def answer(self, method: str, path: str, token: str, body: bytes) -> Answer:
        """One call: a fault, or what the project answers."""
        url = urlsplit(path)
        query = parse_qs(url.query)
        parts = url.path.removeprefix("/v1").strip("/").split("/")
        call = call_of(method, parts)
        with self.lock:
            self.calls[call] += 1
            fault = self.faults.meets(call, lambda: self._act(method, parts, query, token, body))
            if fault is not None:
                return _error(fault.status, fault.code, fault.said, fault.headers)
            if call == "DELETE /servers/ID" and self.ignored_terminations > 0:
                self.ignored_terminations -= 1
                return _answer(200, {"action": self.project.action("delete_server", polls=0)})
            if call == "GET /servers":
                return self.faults.late(lambda: self._act(method, parts, query, token, body))
            return self._act(method, parts, query, token, body)

    def _act(self, method: str, parts: list[str], query: dict[str, list[str]], token: str, body: bytes) -> Answer:
        project = self.projects.get(token)
        if project is None:
            return _error(401, "unauthorized", "unable to authenticate")
        if method != "GET" and token in self.read_only:
            return _error(403, "token_readonly", "this token is only allowed to do read-only requests")
        project.running_polls = self.running_polls
        try:
            return _answer(*project.act(method, parts, query, json.loads(body or b"{}")))
        except Refused as refused:
            return _error(refused.status, refused.code, str(refused), details=refused.details)


def _answer(status: int, told: dict[str, Any] | None, headers: dict[str, str] | None = None) -> Answer:
    limits = {"RateLimit-Limit": "3600", "RateLimit-Remaining": "3599", "RateLimit-Reset": "1800000000"}
    body = b"" if told is None else json.dumps(told).encode()
    return status, {"Content-Type": "application/json", **limits, **(headers or {})}, body


def _error(
    status: int, code: str, message: str, headers: dict[str, str] | None = None, details: dict[str, Any] | None = None
) -> Answer:
    return _answer(status, {"error": {"code": code, "message": message, "details": details}}, headers)


@contextmanager
def fake_hetzner(token: str = TOKEN) -> Iterator[FakeHetzner]:
    """Empty projects behind a free loopback port; over when the block ends. `token`: opens the first one, too."""
    cloud = FakeHetzner()
    cloud.projects[token] = cloud.projects[TOKEN]
    with serving(cloud.told) as cloud.port:
        yield cloud


@contextmanager
def serving(answer: Answering) -> Iterator[int]:
    """Whoever answers Hetzner's calls by their token, on a loopback port of its own: that port."""

    def told(method: str, path: str, headers: dict[str, str], body: bytes) -> Answer:
        return answer(method, path, headers.get("Authorization", "").removeprefix("Bearer "), body)

    with loopback.serving(told) as port:
        yield port
