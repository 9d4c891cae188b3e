"""AWS on a loopback port: moto's EC2, STS and IAM behind a small HTTP server, with faults before it.

moto's own server needs Flask; its table of URLs and handlers does not. Whoever speaks AWS's query protocol may call:
boto3, and the real Terraform provider.
"""

import json
import os
import re
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

# Reading the recorded machine images of all regions takes seconds, and no test asks for one.
os.environ.setdefault("MOTO_EC2_LOAD_DEFAULT_AMIS", "false")

import boto3
import moto.ec2  # noqa: F401  # registers its backend
from moto.backends import get_backend
from moto.moto_proxy.proxy3 import MotoRequestHandler
from werkzeug.exceptions import HTTPException

from tests.fakes.clouds.faults import Faults
from tests.fakes.clouds.loopback import Answer, Answering, serving
from tests.fakes.clouds.moto_patches import patched

ACCOUNT = "123456789012"
OTHER_ACCOUNT = "210987654321"

DRY = " (dry run)"

_SCOPE = re.compile(r"Credential=[^/]+/\d+/(?P<region>[^/]+)/(?P<service>[^/]+)/aws4_request")

_ERROR = (
    '<?xml version="1.0" encoding="UTF-8"?><Response><Errors><Error><Code>{code}</Code><Message>{message}</Message>'
    "</Error></Errors><RequestID>fault</RequestID></Response>"
)


@dataclass(slots=True)
class MotoCloud:
    """A running server. `calls` counts what was asked; `faults` are before it."""

    port: int
    calls: Counter[str] = field(default_factory=Counter)
    faults: Faults = field(default_factory=Faults)
    ignored_terminations: int = 0
    vcpu_limits: dict[str, float] = field(default_factory=dict)
    """What Service Quotas says, by code, where that is not what `moto_patches` gives every account."""
    account: str = ACCOUNT
    """Whose the credentials are, whatever they are."""
    clients: dict[tuple[str, str], Any] = field(default_factory=dict)
    answering: Answering | None = None
    """A test's own way to answer, in the place of `answer`, which it may call."""
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

    def told(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answer:
        """What the server says."""
        return (self.answering or self.answer)(method, path, headers, body)

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answer:
        """One call: a fault, or moto's answer. moto is not made for threads, so one at a time."""
        target = headers.get("X-Amz-Target", "")
        asked = {} if target else dict(parse_qsl(body.decode()))
        action = target.rpartition(".")[2] or action_of(asked)
        with self.lock:
            self.calls[action] += 1
            fault = self.faults.meets(action, lambda: _moto(method, path, headers, body, self.account))
            if fault is not None:
                if target:
                    told = json.dumps({"__type": fault.code, "message": fault.said}).encode()
                    return fault.status, {"Content-Type": "application/x-amz-json-1.1", **fault.headers}, told
                told = _ERROR.format(code=fault.code, message=fault.said).encode()
                return fault.status, {"Content-Type": "text/xml", **fault.headers}, told
            if action == "TerminateInstances" and self.ignored_terminations > 0:
                self.ignored_terminations -= 1
                return 200, {"Content-Type": "text/xml"}, b"<TerminateInstancesResponse/>"
            if action == "DescribeInstances" and "tag" in asked.get("Filter.1.Name", ""):
                return self.faults.late(lambda: _moto(method, path, headers, body, self.account))
            return _moto(method, path, headers, body, self.account)


def action_of(asked: Mapping[str, str]) -> str:
    """What was called. A dry run is no call of that name: it makes nothing, and is counted by itself."""
    return f"{asked.get('Action', '')}{DRY if asked.get('DryRun') == 'true' else ''}"


@contextmanager
def moto_cloud() -> Iterator[MotoCloud]:
    """An empty AWS on a free loopback port, with every patch of `moto_patches`; over when the block ends."""
    for name in ("ec2", "sts", "iam"):
        get_backend(name).reset()
    cloud = MotoCloud(port=0)
    with patched(cloud.vcpu_limits), serving(cloud.told) as cloud.port:
        yield cloud


def _moto(method: str, path: str, headers: dict[str, str], body: bytes, account: str) -> Answer:
    scope = _SCOPE.search(headers.get("Authorization", ""))
    if scope is None:
        return 403, {}, _ERROR.format(code="MissingAuthenticationToken", message="who are you?").encode()
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
