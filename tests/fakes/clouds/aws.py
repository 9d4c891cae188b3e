"""AWS on a loopback port: moto's EC2, STS and IAM behind a small HTTP server, with faults before it.

moto's own server needs Flask; its table of URLs and handlers does not. Whoever speaks AWS's query protocol may call:
boto3, and the real Terraform provider.
"""

import os
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl

# Reading the recorded machine images of all regions takes seconds, and no test asks for one.
os.environ.setdefault("MOTO_EC2_LOAD_DEFAULT_AMIS", "false")

import boto3
import moto.ec2  # noqa: F401  # registers its backend
from moto.backends import get_backend
from moto.moto_proxy.proxy3 import MotoRequestHandler
from werkzeug.exceptions import HTTPException

from tests.fakes.clouds.moto_patches import patched

ACCOUNT = "123456789012"
OTHER_ACCOUNT = "210987654321"

_SCOPE = re.compile(r"Credential=[^/]+/\d+/(?P<region>[^/]+)/(?P<service>[^/]+)/aws4_request")

_ERROR = (
    '<?xml version="1.0" encoding="UTF-8"?><Response><Errors><Error><Code>{code}</Code><Message>{code} (fault of a '
    "test)</Message></Error></Errors><RequestID>fault</RequestID></Response>"
)


Answer = Callable[[str, str, dict[str, str], bytes], tuple[int, dict[str, str], bytes]]
"""(method, path, headers, body) -> (status, headers, body)"""


@dataclass(slots=True)
class Fault:
    """What the next calls of an action get instead of an answer. `skip` of them pass first."""

    action: str
    code: str
    status: int = 400
    times: int = 1
    skip: int = 0


@dataclass(slots=True)
class MotoCloud:
    """A running server. `calls` counts what was asked; `lag` listings of VMs repeat the one before."""

    port: int
    calls: Counter[str] = field(default_factory=Counter)
    faults: list[Fault] = field(default_factory=list)
    lag: int = 0
    ignored_terminations: int = 0
    account: str = ACCOUNT
    """Whose the credentials are, whatever they are."""
    clients: dict[tuple[str, str], Any] = field(default_factory=dict)
    answering: Answer | None = None
    """A test's own way to answer, in the place of `answer`, which it may call."""
    last_listing: tuple[int, dict[str, str], bytes] | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def client(self, region: str, service: str = "ec2") -> Any:
        """A client for the hands of a test, made once: making one takes longer than what a test asks of it."""
        if (service, region) not in self.clients:
            self.clients[service, region] = boto3.client(
                service,
                region_name=region,
                endpoint_url=self.url,
                aws_access_key_id="test",
                aws_secret_access_key="test",
            )
        return self.clients[service, region]

    def told(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        """What the server says."""
        return (self.answering or self.answer)(method, path, headers, body)

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        """One call: a fault, or moto's answer. moto is not made for threads, so one at a time."""
        asked = dict(parse_qsl(body.decode()))
        action = asked.get("Action", "")
        with self.lock:
            self.calls[action] += 1
            fault = next((f for f in self.faults if f.action in (action, "*") and f.times > 0), None)
            if fault is not None and fault.skip > 0:
                fault.skip -= 1
            elif fault is not None:
                fault.times -= 1
                return fault.status, {"Content-Type": "text/xml"}, _ERROR.format(code=fault.code).encode()
            listing = action == "DescribeInstances" and "Filter.1.Name" in asked and "tag" in asked["Filter.1.Name"]
            if listing and self.lag > 0 and self.last_listing is not None:
                self.lag -= 1
                return self.last_listing
            if action == "TerminateInstances" and self.ignored_terminations > 0:
                self.ignored_terminations -= 1
                return 200, {"Content-Type": "text/xml"}, b"<TerminateInstancesResponse/>"
            told = _moto(method, path, headers, body, self.account)
            if listing:
                self.last_listing = told
            return told


@contextmanager
def moto_cloud() -> Iterator[MotoCloud]:
    """An empty AWS on a free loopback port, with every patch of `moto_patches`; over when the block ends."""
    for name in ("ec2", "sts", "iam"):
        get_backend(name).reset()
    cloud = MotoCloud(port=0)
    with patched(), serving(cloud.told) as cloud.port:
        yield cloud


@contextmanager
def serving(answer: Answer) -> Iterator[int]:
    """Whoever answers AWS's calls, on a loopback port of its own: that port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and body in one packet: in two, the second waits for an acknowledgement

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, headers, told = answer("POST", self.path, dict(self.headers.items()), body)
            self.send_response(status)
            for name, value in headers.items():
                if name.lower() not in ("content-length", "connection", "date", "server"):
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(told)))
            self.end_headers()
            self.wfile.write(told)

        def log_message(self, *_: object) -> None:
            """Quiet: a test that fails shows what was asked by `calls`."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, name="aws", daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _moto(
    method: str, path: str, headers: dict[str, str], body: bytes, account: str
) -> tuple[int, dict[str, str], bytes]:
    scope = _SCOPE.search(headers.get("Authorization", ""))
    if scope is None:
        return 403, {}, _ERROR.format(code="MissingAuthenticationToken").encode()
    host = f"https://{scope['service']}.{scope['region']}.amazonaws.com"
    signed = {**headers, "Host": host.removeprefix("https://")}
    signed["x-moto-account-id"] = account
    try:
        status, told_headers, told = MotoRequestHandler(0).parse_request(method, host, path, signed, body)
    except HTTPException as error:
        response = error.get_response()
        return error.code or 500, {"Content-Type": "text/xml"}, response.get_data()
    content = told.encode() if isinstance(told, str) else told
    return int(status), {k: str(v) for k, v in dict(told_headers).items()}, content
