"""A broker that is slowed for real is found slow by what its agent measures, led off, and told to a webhook.

The messages are those of real agents. Their windows are closed by the stream's own kernel and written to a real Delta
table, without a Spark session beside three brokers; the time before is a healthy minute of the same brokers, repeated.
"""

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psutil
import pytest

from controlplane.notices.notifier import SIGNATURE, signature
from planner.anomalies.slow import SlowRule
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.lake import LakeWriter
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(470)]

SECRET = "canary-webhook-key"
SLOWED = "two-b-0"


class Listener:
    """Who is told: keeps every notice that is signed as it should be."""

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []
        listener = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                at_s = int(self.headers[SIGNATURE].split(",")[0].removeprefix("t="))
                right = self.headers[SIGNATURE] == signature(SECRET, body, at_s)
                if right:
                    listener.told.append(json.loads(body))
                self.send_response(204 if right else 403)
                self.end_headers()

            def log_message(self, *words: object) -> None:
                """Nothing: the test says what matters."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def slowed(pid: int) -> Iterator[None]:
    """The process runs a twelfth of the time, in slices so short that requests are cut in the middle: as on a machine
    whose processor others take away. Long stops would only delay what comes in, which the broker does not see."""
    over = threading.Event()

    def pulse() -> None:
        while not over.is_set():
            os.kill(pid, signal.SIGSTOP)
            time.sleep(0.055)
            os.kill(pid, signal.SIGCONT)
            time.sleep(0.005)

    thread = threading.Thread(target=pulse, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        os.kill(pid, signal.SIGCONT)


def test_a_slowed_broker_is_found_led_off_and_told(tmp_path: Path) -> None:
    listener, lake = Listener(), tmp_path / "lake"
    secret, url = tmp_path / "secret", tmp_path / "url"
    for path, text in ((secret, SECRET), (url, listener.url)):
        path.touch(mode=0o600)
        path.write_text(text)
    notifier = {"name": "oncall", "kind": "webhook", "url_file": str(url), "secret_file": str(secret)}
    settings = {
        "KEDGE_METRICS": "true",
        "KEDGE_METRICS_LAKE": str(lake),
        "KEDGE_SLOW_WINDOW_S": "60",
        "KEDGE_ANOMALIES_POLL_S": "2",
        "KEDGE_NOTIFIERS": json.dumps([notifier]),
    }
    spec = ClusterSpec(name="slowed", healing={"grace": {"slow-broker": "0s"}})
    cluster = LivingCluster(tmp_path / "home", spec=spec, settings=settings)
    try:
        cluster.open()
        _is_found_led_off_and_told(cluster, listener, lake)
        log = (tmp_path / "home" / "server.log").read_text()
        assert SECRET not in log
        assert listener.url not in log
    finally:
        strays = cluster.close()
        listener.close()
    assert strays == []


def _is_found_led_off_and_told(cluster: LivingCluster, listener: Listener, lake: Path) -> None:
    before = cluster.head()
    assert cluster.client.test_notifier("oncall").told
    assert listener.told.pop()["kind"] == "test"
    instance = cluster.instance(SLOWED)
    with traffic(cluster.bootstrap):
        writer = LakeWriter(lake, cluster.bootstrap())
        _until_read(cluster, writer, lambda: len(writer.minutes) == 3, "a healthy minute of each broker", 150)
        writer.remember()
        assert cluster.client.anomalies(cluster.spec.name).found == 0, "nothing is wrong yet"
        began = datetime.now(UTC)
        with slowed(_kafka(cluster, instance.key)):
            look = lambda: any(e.type == "broker.demote_requested" for e in cluster.events(before))  # noqa: E731
            _until_read(cluster, writer, look, "the slow broker to be found", 60 * (SlowRule().begins + 2))
        asked = cluster.event("broker.demote_requested", before).data
        print(f"found after {(datetime.now(UTC) - began).total_seconds():.0f} s: {asked['reason']}")
        assert asked["key"] == instance.key
        assert "its own past" in str(asked["reason"])
        cluster.event("broker.demoted", before, within_s=60)
        broker = int(asked["broker"])
        heads = {p.leader for p in cluster.snapshot().partitions}
        assert broker not in heads
        assert len(heads) == 2
        writer.close()
    found = cluster.client.anomalies(cluster.spec.name)
    slow = [a for a in found.anomalies if a.kind == "slow-broker"]
    assert [(a.subject, a.state, a.told) for a in slow] == [(SLOWED, "healing", True)]
    cluster.until(lambda: [n for n in listener.told if n["kind"] == "slow-broker"], "the webhook", timeout_s=20)
    told = next(n for n in listener.told if n["kind"] == "slow-broker")
    assert (told["cluster"], told["subject"], told["state"]) == (cluster.spec.name, SLOWED, "healing")
    conditions = {c.type: c.message for c in cluster.detail().conditions if c.status}
    assert conditions["LeadershipMoved"].startswith(f"{instance.key} leads nothing")


def _kafka(cluster: LivingCluster, key: str) -> int:
    """The pid of the broker's JVM on that VM."""
    java = [pid for pid in cluster.pids(key) if psutil.Process(pid).name() == "java"]
    assert len(java) == 1, java
    return java[0]


def _until_read(cluster: LivingCluster, writer: LakeWriter, look: Any, what: str, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while not look():
        writer.read()
        if time.monotonic() > deadline:
            figures = {
                b: [{n: round(float(f.mean[0]), 1) for n, f in w.figures.items() if n.endswith("_ms")} for w in minutes]
                for b, minutes in writer.minutes.items()
            }
            raise AssertionError(f"not within {timeout_s:.0f} s: {what}\n{figures}\n{cluster.server.tail(60)}")
