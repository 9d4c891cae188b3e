"""A broker that is slowed for real is found slow by what its agent measures, led off, and told to a webhook.

The whole chain, with nothing invented: real agents, Kafka, the metric stream on Spark, the lake, the detector. A broker
is judged by nobody for 15 minutes after its start and against 12 minutes of its own past after that, so this takes 35.
"""

import json
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psutil
import pytest
from pydantic import SecretStr

from controlplane.background.notifications.webhook import SIGNATURE, signature
from planner.anomalies.slow import BrokerWindow, SlowRule
from spark.metrics.latencies import past_windows
from tests.e2e.cluster_spec import CONTROLLERS, ClusterSpec
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.metric_stream import metric_stream
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(3600)]

SECRET = "canary-webhook-key"
SLOWED = "two-b-0"
RULE = SlowRule()
WIDTH_S = 60
CLOSES_AFTER_S = 120 + 2 * WIDTH_S
"""A window is closed that far behind, on a machine with much to do."""
PAST_WITHIN_S = RULE.warm_up.total_seconds() + RULE.least_past * WIDTH_S + CLOSES_AFTER_S + 600


class Listener:
    """Who is told: keeps every notice that is signed as it should be."""

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []
        listener = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                at_s = int(self.headers[SIGNATURE].split(",")[0].removeprefix("t="))
                right = self.headers[SIGNATURE] == signature(SecretStr(SECRET), body, at_s)
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
    listener, work = Listener(), tmp_path / "metrics"
    secret, url = tmp_path / "secret", tmp_path / "url"
    work.mkdir()
    for path, text in ((secret, SECRET), (url, listener.url)):
        path.touch(mode=0o600)
        path.write_text(text)
    notifier = {"name": "oncall", "kind": "webhook", "url_file": str(url), "secret_file": str(secret)}
    settings = {
        "KEDGE_METRICS": "true",
        "KEDGE_METRICS_LAKE": str(work / "lake"),
        "KEDGE_SLOW_WINDOW_S": str(WIDTH_S),
        "KEDGE_ANOMALIES_POLL_S": "2",
        "KEDGE_NOTIFIERS": json.dumps([notifier]),
    }
    spec = ClusterSpec(name="slowed", healing={"grace": {"slow-broker": "0s"}})
    cluster = LivingCluster(tmp_path / "home", spec=spec, settings=settings)
    try:
        cluster.open()
        assert cluster.client.test_notifier("oncall").told
        assert listener.told.pop()["kind"] == "test"
        with (
            traffic(cluster.bootstrap, records_per_s=50),
            metric_stream(",".join(cluster.bootstrap()), work) as lake,
        ):
            _is_found_and_led_off(cluster, lake)
        _is_told(cluster, listener)
        log = (tmp_path / "home" / "server.log").read_text()
        assert SECRET not in log
        assert listener.url not in log
    finally:
        strays = cluster.close()
        listener.close()
    assert strays == []


def _is_found_and_led_off(cluster: LivingCluster, lake: Path) -> None:
    before, instance = cluster.head(), cluster.instance(SLOWED)
    cluster.until(
        lambda: _least_past(cluster, lake) > RULE.least_past,
        "each broker to have a past",
        timeout_s=PAST_WITHIN_S,
        every_s=10,
    )
    assert cluster.client.anomalies(cluster.spec.name).found == 0, "nothing is wrong yet"
    began = datetime.now(UTC)
    with slowed(_kafka(cluster, instance.key)):
        within_s = (RULE.begins + 1) * WIDTH_S + CLOSES_AFTER_S + 120
        try:
            asked = cluster.event("broker.demote_requested", before, within_s=within_s).data
        except AssertionError as error:
            error.add_note("\n".join(_newest(cluster, lake)))
            raise
    print(f"found after {(datetime.now(UTC) - began).total_seconds():.0f} s: {asked['reason']}")
    assert asked["key"] == instance.key
    assert "its own past" in str(asked["reason"])
    cluster.event("broker.demoted", before, within_s=60)
    broker = int(asked["broker"])
    heads = {p.leader for p in cluster.snapshot().partitions}
    assert broker not in heads
    assert len(heads) == 2


def _is_told(cluster: LivingCluster, listener: Listener) -> None:
    found = cluster.client.anomalies(cluster.spec.name)
    slow = [a for a in found.anomalies if a.kind == "slow-broker"]
    assert [(a.subject, a.state, a.told) for a in slow] == [(SLOWED, "healing", True)]
    cluster.until(lambda: [n for n in listener.told if n["kind"] == "slow-broker"], "the webhook", timeout_s=20)
    told = next(n for n in listener.told if n["kind"] == "slow-broker")
    assert (told["cluster"], told["subject"], told["state"]) == (cluster.spec.name, SLOWED, "healing")
    conditions = {c.type: c.message for c in cluster.detail().conditions if c.status}
    assert conditions["LeadershipMoved"].startswith(f"{cluster.instance(SLOWED).key} leads nothing")


def _least_past(cluster: LivingCluster, lake: Path) -> int:
    """Windows of the broker that has the fewest of those that count: after its warm-up, and told by enough messages."""
    if not (lake / "windows").exists():
        return 0
    past = _windows(cluster, lake)
    counted = [w for w in past if w.started and w.start >= w.started + RULE.warm_up]
    counted = [w for w in counted if w.completeness >= RULE.least_completeness]
    return min([w.broker for w in counted].count(broker) for broker in _brokers(cluster))


def _newest(cluster: LivingCluster, lake: Path) -> list[str]:
    """What the newest windows say, for whoever reads why nothing was found."""
    newest = sorted(_windows(cluster, lake), key=lambda w: (w.start, w.broker))[-12:]
    figures = [{n: round(ms, 1) for n, ms in w.figures.items() if n in RULE.floors_ms} for w in newest]
    told = zip(newest, figures, strict=True)
    return [f"{w.start:%H:%M} broker {w.broker}, {w.completeness:.2f} complete: {ms}" for w, ms in told]


def _windows(cluster: LivingCluster, lake: Path) -> Sequence[BrokerWindow]:
    return past_windows(str(lake), WIDTH_S, cluster.uid, _brokers(cluster), now=datetime.now(UTC))


def _brokers(cluster: LivingCluster) -> list[int]:
    return [i.service_id for i in cluster.detail().instances if not i.node.startswith(CONTROLLERS)]


def _kafka(cluster: LivingCluster, key: str) -> int:
    """The pid of the broker's JVM on that VM."""
    java = [pid for pid in cluster.pids(key) if psutil.Process(pid).name() == "java"]
    assert len(java) == 1, java
    return java[0]
