"""Azure on a loopback port: Resource Manager's paths for what Kedge uses, stateful, with faults before it.

Written from Azure's REST reference; `tests/contract/test_azure_document.py` holds its answers to Microsoft's own
document of the API, and differences.md lists what it does otherwise. Who may call: the SDK, and the stand-in for
Terraform's provider. What a type of thing obeys is in `azure_things.py`.
"""

import json
import re
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.fakes.clouds.allowances import azure_sizes, azure_usages
from tests.fakes.clouds.azure_things import MACHINES, Refusal, Things
from tests.fakes.clouds.faults import Faults
from tests.fakes.clouds.loopback import Answer, Answering, serving

ACCOUNT = "00000000-1111-2222-3333-444444444444"
OTHER_ACCOUNT = "99999999-1111-2222-3333-444444444444"
TENANT = "aaaaaaaa-1111-2222-3333-444444444444"
OTHER_TENANT = "bbbbbbbb-1111-2222-3333-444444444444"

BLOB_SIGNATURE = "canary-signature"

_THING = re.compile(
    r"^/subscriptions/(?P<account>[^/]+)/resourcegroups/(?P<group>[^/]+)"
    r"(?:/providers/(?P<kind>microsoft\.\w+/\w+)/(?P<name>[^/]+)(?:/(?P<part>subnets|securityrules)/(?P<child>[^/]+))?"
    r"(?:/(?P<action>start|deallocate|poweroff|retrievebootdiagnosticsdata))?)?$"
)
_LISTING = re.compile(r"^/subscriptions/(?P<account>[^/]+)/providers/(?P<kind>microsoft\.\w+/\w+)$")
_LOCATED = re.compile(
    r"^/subscriptions/(?P<account>[^/]+)/providers/microsoft\.compute/locations/(?P<region>[^/]+)/(?P<kind>usages|vmsizes)$"
)
_NETWORK_USAGES = re.compile(r"^(?P<network>.*/virtualnetworks/[^/]+)/usages$")
_GALLERY = re.compile(r"^.*/microsoft\.compute/galleries/[^/]+/images/[^/]+/versions/(?P<version>[\d.]+)$")
_PERMISSIONS = re.compile(r"^(?P<group>.*)/providers/microsoft\.authorization/permissions$")
_OPERATION = re.compile(
    r"^/subscriptions/(?P<account>[^/]+)/providers/microsoft\.\w+/locations/[^/]+/operations/(?P<id>.+)$"
)
_ACCOUNT = re.compile(r"^/subscriptions/(?P<account>[^/]+)$")


@dataclass(slots=True)
class Operation:
    """Something that takes its time. `end` does it, or gives the (code, message) of its failure."""

    subject: str
    end: Callable[[], tuple[str, str] | None]
    ready_at: float
    status: str = "InProgress"
    error: tuple[str, str] | None = None


@dataclass(slots=True)
class AzureCloudFake:
    """A running server. `calls` counts what was asked; `faults` are before it."""

    port: int = 0
    account: str = ACCOUNT
    tenant: str = TENANT
    state: str = "Enabled"
    things: Things = field(default_factory=Things)
    calls: Counter[str] = field(default_factory=Counter)
    faults: Faults = field(default_factory=Faults)
    page: int = 1000
    ignored_terminations: int = 0
    limits: dict[str, int] = field(default_factory=dict)
    """Of usages, by name."""
    no_images: set[str] = field(default_factory=set)
    sizes: tuple[str, ...] = ("Standard_D2s_v5", "Standard_D4s_v5", "Standard_D8s_v5")
    permissions: list[dict[str, list[str]]] = field(default_factory=lambda: [{"actions": ["*"], "notActions": []}])
    operation_s: float = 0.0
    """How long a change of a VM takes. 0: it is over at the next call."""
    failing_operations: list[tuple[str, str]] = field(default_factory=list)
    """(code, message) the next creates of VMs end with, after they were accepted."""
    answering: Answering | None = None
    """A test's own way to answer, in the place of `answer`, which it may call."""
    operations: dict[str, Operation] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def told(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answer:
        """What the server says."""
        return (self.answering or self.answer)(method, path, headers, body)

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answer:
        """One call: a fault, or what Azure would say. One at a time."""
        with self.lock:
            self._end_operations(time.monotonic())
            url = urlsplit(path)
            query = {name: values[0] for name, values in parse_qs(url.query).items()}
            if url.path.startswith("/blobs/"):
                return self._blob(url.path, query, headers)
            action = _action(method, url.path.lower())
            self.calls[action] += 1
            given = json.loads(body or b"{}")
            try:
                fault = self.faults.meets(action, lambda: self._act(method, url.path, query, given))
                if fault is not None:
                    raise Refusal(fault.status, fault.code, fault.said, fault.headers)
                if not headers.get("Authorization", "").startswith("Bearer "):
                    raise Refusal(401, "AuthenticationFailed", "Authentication failed. No bearer token.")
                status, more, told = self._act(method, url.path, query, given)
            except Refusal as refusal:
                status, more, told = refusal.status, refusal.headers, refusal.body
            text = b"" if told is None else json.dumps(told).encode()
            return status, {"Content-Type": "application/json", **more}, text

    def by_hand(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """What a test does there itself: uncounted, past every fault, and over at once. Raises `Refusal`."""
        with self.lock:
            told = self._act(method, path, {"api-version": "by-hand"}, body or {})[2]
            self._end_operations(float("inf"))
            return told or {}

    def finish(self) -> None:
        """Every operation on its way is over."""
        with self.lock:
            self._end_operations(float("inf"))

    def _act(
        self, method: str, path: str, query: dict[str, str], body: dict[str, Any]
    ) -> tuple[int, dict[str, str], dict[str, Any] | None]:
        low = path.lower()
        if "api-version" not in query:
            raise Refusal(400, "MissingApiVersionParameter", "The api-version query parameter is required.")
        if not low.startswith(f"/subscriptions/{self.account}"):
            account = low.split("/")[2]
            raise Refusal(404, "SubscriptionNotFound", f"The subscription '{account}' could not be found.")
        if _ACCOUNT.match(low):
            told = {"id": path, "subscriptionId": self.account, "tenantId": self.tenant, "state": self.state}
            return 200, {}, told
        if found := _LOCATED.match(low):
            if found["kind"] == "vmsizes":
                return 200, {}, {"value": azure_sizes(self.sizes)}
            return 200, {}, {"value": azure_usages(len(self.things.of_kind(MACHINES)), self.limits)}
        if found := _NETWORK_USAGES.match(low):
            return 200, {}, {"value": self.things.subnet_usages(found["network"])}
        if found := _GALLERY.match(low):
            if found["version"] in self.no_images:
                raise Refusal(404, "ResourceNotFound", f"The Resource '{path}' was not found.")
            return 200, {}, {"id": path, "location": "westeurope", "properties": {"provisioningState": "Succeeded"}}
        if _PERMISSIONS.match(low):
            return 200, {}, {"value": self.permissions}
        if found := _OPERATION.match(low):
            return 200, {}, self._operation(found["id"])
        if found := _LISTING.match(low):
            return 200, {}, self._listed(found["kind"], query)
        if found := _THING.match(low):
            return self._thing(method, path, found, query, body)
        raise Refusal(404, "InvalidResourceType", f"The resource type of {path} could not be found.")

    def _thing(
        self, method: str, path: str, found: re.Match[str], query: dict[str, str], body: dict[str, Any]
    ) -> tuple[int, dict[str, str], dict[str, Any] | None]:
        arm_id, things = path.lower(), self.things
        if found["action"] == "retrievebootdiagnosticsdata":
            return 200, {}, self._diagnostics(arm_id.rpartition("/")[0])
        if found["action"]:
            things.power(arm_id.rpartition("/")[0], found["action"])
            return 202, {}, None
        if method == "GET":
            return 200, {}, things.shown(arm_id, expand=query.get("$expand", ""))
        if any(o.subject == arm_id and o.status == "InProgress" for o in self.operations.values()):
            raise Refusal(409, "Conflict", "The request failed due to conflict with a concurrent request.")
        is_machine = found["kind"] == MACHINES
        if method == "PUT":
            new = arm_id not in things.by_id
            things.put(path, body)
            if not is_machine:
                return (201 if new else 200), {}, things.shown(arm_id)
            failure = self.failing_operations.pop(0) if new and self.failing_operations else None
            more = self._start(arm_id, lambda: things.ready(arm_id, failure))
            return (201 if new else 200), more, things.shown(arm_id)
        if method == "PATCH":
            things.tag(arm_id, body)
            return 200, (self._start(arm_id, lambda: None) if is_machine else {}), things.shown(arm_id)
        if method == "DELETE":
            if arm_id not in things.by_id:
                return 204, {}, None
            if not is_machine:
                things.delete(arm_id)
                return 200, {}, None
            if self.ignored_terminations > 0:
                self.ignored_terminations -= 1
                return 202, self._start(arm_id, lambda: None), None
            things.going(arm_id)
            return 202, self._start(arm_id, lambda: things.delete(arm_id)), None
        raise Refusal(405, "HttpMethodNotAllowed", f"The request does not support method {method!r}.")

    def _diagnostics(self, machine: str) -> dict[str, Any]:
        """Addresses in a storage account, signed: whoever has one needs no token."""
        profile = self.things.shown(machine)["properties"].get("diagnosticsProfile") or {}
        if not profile.get("bootDiagnostics", {}).get("enabled"):
            raise Refusal(409, "OperationNotAllowed", "Boot diagnostics is not enabled on the VM.")
        log = f"{self.url}/blobs/{machine.rpartition('/')[2]}.serialconsole.log?sig={BLOB_SIGNATURE}"
        return {"consoleScreenshotBlobUri": log.replace(".log", ".bmp"), "serialConsoleLogBlobUri": log}

    def _blob(self, path: str, query: dict[str, str], headers: dict[str, str]) -> Answer:
        """Storage is another service: it wants the signature, and it is an error to show it a token."""
        if query.get("sig") != BLOB_SIGNATURE or "Authorization" in headers:
            return 403, {}, b"<Error><Code>AuthenticationFailed</Code></Error>"
        name = path.rpartition("/")[2].partition(".")[0]
        ends = f"/virtualmachines/{name}"
        text = next((t.get("console") for k, t in self.things.by_id.items() if k.endswith(ends)), None)
        return (404, {}, b"") if text is None else (200, {"Content-Type": "text/plain"}, text.encode())

    def _listed(self, kind: str, query: dict[str, str]) -> dict[str, Any]:
        if "$expand" in query and "$filter" not in query:
            raise Refusal(400, "InvalidParameter", "Expand is only supported with a filter by scale set.")
        if kind == MACHINES and "$skiptoken" not in query and "statusOnly" not in query:
            return self.faults.late(lambda: self._page(kind, query))
        return self._page(kind, query)

    def _page(self, kind: str, query: dict[str, str]) -> dict[str, Any]:
        start = int(query.get("$skiptoken", 0))
        statuses = query.get("statusOnly") == "true"
        found = self.things.of_kind(kind)
        told: dict[str, Any] = {
            "value": [self.things.listed(i, statuses=statuses) for i in found[start : start + self.page]]
        }
        if start + self.page < len(found):
            kept = "&statusOnly=true" if statuses else ""
            told["nextLink"] = (
                f"{self.url}/subscriptions/{self.account}/providers/{kind}"
                f"?api-version={query['api-version']}{kept}&$skiptoken={start + self.page}"
            )
        return told

    def _start(self, subject: str, end: Callable[[], tuple[str, str] | None]) -> dict[str, str]:
        number = str(uuid.uuid4())
        self.operations[number] = Operation(subject, end, time.monotonic() + self.operation_s)
        where = f"/subscriptions/{self.account}/providers/Microsoft.Compute/locations/westeurope/operations/{number}"
        return {"Azure-AsyncOperation": f"{self.url}{where}?api-version=2026-04-01", "Retry-After": "1"}

    def _operation(self, number: str) -> dict[str, Any]:
        if number not in self.operations:
            raise Refusal(404, "NotFound", "The entity was not found.")
        operation = self.operations[number]
        told: dict[str, Any] = {"name": number, "status": operation.status}
        if operation.error is not None:
            told["error"] = {"code": operation.error[0], "message": operation.error[1]}
        return told

    def _end_operations(self, now: float) -> None:
        for operation in self.operations.values():
            if operation.status == "InProgress" and operation.ready_at <= now:
                operation.error = operation.end()
                operation.status = "Failed" if operation.error else "Succeeded"


@contextmanager
def azure_cloud() -> Iterator[AzureCloudFake]:
    """An empty subscription on a free loopback port; over when the block ends."""
    cloud = AzureCloudFake()
    with serving(cloud.told) as cloud.port:
        yield cloud


def _action(method: str, path: str) -> str:
    """`GET subscriptions`, `LIST virtualmachines`, `PUT disks`, `POST start`."""
    if found := _LISTING.match(path):
        return f"LIST {found['kind'].partition('/')[2]}"
    if _LOCATED.match(path):
        return "LIST locations"
    if _NETWORK_USAGES.match(path):
        return f"{method} usages"
    if _GALLERY.match(path):
        return f"{method} images"
    if _PERMISSIONS.match(path):
        return "GET permissions"
    if _OPERATION.match(path):
        return "GET operations"
    if found := _THING.match(path):
        kind = found["part"] or (found["kind"] or "/resourcegroups").partition("/")[2]
        return f"{method} {found['action'] or kind}"
    return f"{method} subscriptions"
