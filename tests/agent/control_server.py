"""A control plane for tests of the agent: serves the documents it is given and keeps what it was sent."""

import json
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from agent.wire import Document, EnrolRequest, Report, ServiceReport


class ControlServer:
    """HTTP on a loopback address. `is_down` makes every call fail with 503, `retired` holds instances that get 410."""

    def __init__(self, host: str = "127.0.40.1") -> None:
        self.enrolments: list[EnrolRequest] = []
        self.reports: dict[str, list[Report]] = defaultdict(list)
        self.bearers: dict[str, set[str]] = defaultdict(set)
        self.retired: set[str] = set()
        self.is_down = False
        self.changed = threading.Condition()
        self._documents: dict[str, tuple[str, Document]] = {}
        self._http = _HttpServer((host, 0), _handler(self))
        self.url = f"http://{host}:{self._http.server_address[1]}"
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    def serve(self, document: Document) -> None:
        with self.changed:
            instance = f"{document.cluster_uid}/{document.node}.g{document.generation}"
            count = int(self._documents[instance][0]) + 1 if instance in self._documents else 1
            self._documents[instance] = (str(count), document)
            self.changed.notify_all()

    def document(self, instance: str, etag: str, wait_s: float) -> tuple[str, Document] | None:
        """The document when it is not the one of `etag`, waiting for it; None when nothing came."""
        with self.changed:
            self.changed.wait_for(lambda: self._is_new(instance, etag) or self.is_down, wait_s)
            return self._documents[instance] if self._is_new(instance, etag) else None

    def keep(self, instance: str, report: Report) -> None:
        with self.changed:
            self.reports[instance].append(report)
            self.changed.notify_all()

    def wait_for_service(
        self,
        instance: str,
        name: str,
        condition: Callable[[ServiceReport], bool],
        *,
        timeout_s: float = 60.0,
        after: int = 0,
    ) -> ServiceReport:
        """The first service report after the `after`-th report that fulfils the condition."""
        deadline = time.monotonic() + timeout_s
        with self.changed:
            while True:
                for report in self.reports[instance][after:]:
                    for service in report.services:
                        if service.name == name and condition(service):
                            return service
                left_s = deadline - time.monotonic()
                if left_s <= 0 or not self.changed.wait(left_s):
                    seen = [(r.message, *r.services) for r in self.reports[instance][after:][-3:]]
                    raise AssertionError(f"{instance} {name}: not in {timeout_s} s; last reports: {seen}")

    def count(self, instance: str) -> int:
        with self.changed:
            return len(self.reports[instance])

    def _is_new(self, instance: str, etag: str) -> bool:
        return instance in self._documents and self._documents[instance][0] != etag


class _HttpServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        if not isinstance(sys.exception(), BrokenPipeError | ConnectionResetError):  # agents are killed while they poll
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class _Handler(BaseHTTPRequestHandler):
    """`control` is set by `_handler`: one class per server."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    """As the real one: a body does not wait 40 ms for the acknowledgement of its head."""
    control: ControlServer

    def do_GET(self) -> None:
        instance = self._instance()
        query = {key: values[0] for key, values in parse_qs(urlsplit(self.path).query).items()}
        if self._refused(instance):
            return
        assert instance == f"{query['cluster']}/{query['node']}.g{query['generation']}"
        found = self.control.document(instance, query.get("etag", ""), float(query["wait_s"]))
        if self._refused(instance):
            return
        if found is None:
            self._answer(304)
        else:
            self._answer(200, found[1].model_dump_json().encode(), etag=found[0])

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.endswith("/enrol") and not self.control.is_down:
            self.control.enrolments.append(EnrolRequest.model_validate_json(body))
            self._answer(200, b"{}")
        elif not self._refused(self._instance()):
            self.control.keep(self._instance(), Report.model_validate_json(body))
            self._answer(200, b"{}")

    def _instance(self) -> str:
        instance = self.headers.get("X-Kedge-Instance", "")
        self.control.bearers[instance].add(self.headers.get("Authorization", ""))
        return instance

    def _refused(self, instance: str) -> bool:
        if self.control.is_down:
            self._answer(503)
        elif instance in self.control.retired:
            self._answer(410, json.dumps({"detail": "retired"}).encode())
        else:
            return False
        return True

    def _answer(self, status: int, body: bytes = b"", etag: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if etag:
            self.send_header("ETag", f'"{etag}"')
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Silent: failures are read from reports."""


def _handler(server: ControlServer) -> type[BaseHTTPRequestHandler]:
    return type("Handler", (_Handler,), {"control": server})
