"""The metadata services of AWS, Google and Azure on a loopback port, as far as they tell that a VM is taken back."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class FakeMetadata:
    """What it says. `tokens` are those of IMDSv2 that it takes; `away`: it answers 503 to everything."""

    url: str = ""
    spot: dict[str, str] | None = None
    rebalance: dict[str, str] | None = None
    preempted: str = "FALSE"
    events: list[dict[str, Any]] = field(default_factory=list)
    name: str = "vm-1"
    away: bool = False
    tokens: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)

    def answer(self, method: str, path: str, headers: dict[str, str]) -> tuple[int, str]:
        self.asked.append(f"{method} {path}")
        if self.away:
            return 503, "later"
        if path == "/latest/api/token" and method == "PUT" and "x-aws-ec2-metadata-token-ttl-seconds" in headers:
            token = f"token-{len(self.asked)}"
            self.tokens.add(token)
            return 200, token
        if path.startswith("/latest/meta-data/"):
            return self._aws(path) if headers.get("x-aws-ec2-metadata-token") in self.tokens else (401, "")
        if path == "/computeMetadata/v1/instance/preempted":
            return (200, self.preempted) if headers.get("metadata-flavor") == "Google" else (403, "")
        if path.startswith("/metadata/") and headers.get("metadata") != "true":
            return 400, "no Metadata header"
        if path.startswith("/metadata/instance/compute/name?"):
            return 200, self.name
        if path == "/metadata/scheduledevents?api-version=2020-07-01":
            return 200, json.dumps({"DocumentIncarnation": 1, "Events": self.events})
        return 404, ""

    def _aws(self, path: str) -> tuple[int, str]:
        told = {
            "/latest/meta-data/spot/instance-action": self.spot,
            "/latest/meta-data/events/recommendations/rebalance": self.rebalance,
        }.get(path)
        return (404, "") if told is None else (200, json.dumps(told))


@contextmanager
def metadata_server() -> Iterator[FakeMetadata]:
    """One that listens, until the block ends."""
    fake = FakeMetadata()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._reply()

        def do_PUT(self) -> None:
            self._reply()

        def _reply(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, text = fake.answer(self.command, self.path, headers)
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing on the terminal."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    fake.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield fake
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
