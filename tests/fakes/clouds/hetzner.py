"""Hetzner Cloud on a loopback port: the part of its API that hcloud and the real Terraform provider ask for.

It keeps servers, volumes, networks, groups, firewalls and actions of several projects, each seen by its own tokens.
Where it is known to differ from Hetzner, `differences.md` says so.
"""

import json
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.fakes.clouds.hetzner_objects import Project, Refused, call_of

TOKEN, OTHER_TOKEN = "t" * 64, "o" * 64
"""Tokens of two projects; Terraform's provider takes none that has not 64 signs."""

Answer = tuple[int, dict[str, str], bytes]
Answering = Callable[[str, str, str, bytes], Answer]
"""(method, path with query, token, body) -> (status, headers, body)"""


@dataclass(slots=True)
class Fault:
    """What the next calls get instead of an answer. `action` is a call as `POST /servers/ID` or `*`.

    `skip` of them pass first. With `done` the call is carried out all the same: made, and answered with an error.
    """

    action: str
    code: str
    status: int = 500
    times: int = 1
    skip: int = 0
    done: bool = False
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class FakeHetzner:
    """A running server. `calls` counts what was asked, as `GET /servers/ID`; `lag` listings of servers repeat the last.

    `running_polls`: how often an action is still running when it is asked for; until then its server is locked.
    """

    port: int = 0
    projects: dict[str, Project] = field(default_factory=lambda: {TOKEN: Project(), OTHER_TOKEN: Project(first=9000)})
    calls: Counter[str] = field(default_factory=Counter)
    faults: list[Fault] = field(default_factory=list)
    lag: int = 0
    ignored_terminations: int = 0
    read_only: set[str] = field(default_factory=set)
    """Tokens that may not change anything."""
    running_polls: int = 0
    answering: Answering | None = None
    """A test's own way to answer, in the place of `answer`, which it may call."""
    last_listing: Answer | None = None
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
            fault = next((f for f in self.faults if f.action in (call, "*") and f.times > 0), None)
            if fault is not None and fault.skip > 0:
                fault.skip -= 1
            elif fault is not None:
                fault.times -= 1
                if fault.done:
                    self._act(method, parts, query, token, body)
                return _error(fault.status, fault.code, "fault of a test", fault.headers)
            if call == "GET /servers" and self.lag > 0 and self.last_listing is not None:
                self.lag -= 1
                return self.last_listing
            if call == "DELETE /servers/ID" and self.ignored_terminations > 0:
                self.ignored_terminations -= 1
                return _answer(200, {"action": self.project.action("delete_server", polls=0)})
            told = self._act(method, parts, query, token, body)
            if call == "GET /servers":
                self.last_listing = told
            return told

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


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Quiet about callers that were killed; anything else is told as ever."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def fake_hetzner() -> Iterator[FakeHetzner]:
    """Empty projects behind a free loopback port; over when the block ends."""
    cloud = FakeHetzner()
    with serving(cloud.told) as cloud.port:
        yield cloud


@contextmanager
def serving(answer: Answering) -> Iterator[int]:
    """Whoever answers Hetzner's calls, on a loopback port of its own: that port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1
        """An answer leaves in one piece: in two, the second waits for the first to be acknowledged, 40 ms each time."""

        def do_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            token = self.headers.get("Authorization", "").removeprefix("Bearer ")
            status, headers, told = answer(self.command, self.path, token, body)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(told)))
            self.end_headers()
            self.wfile.write(told)
            self.wfile.flush()

        do_GET = do_POST = do_PUT = do_DELETE = do_any  # noqa: N815  # names of http.server

        def log_message(self, *_: object) -> None:
            """Quiet: a test that fails shows what was asked by `calls`."""

    server = _Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, name="hetzner", daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
