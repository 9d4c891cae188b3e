"""Lines of logs through a split: a real server, real agents, a network for each VM, the lines read as people read them.

A log of a VM is written to all the time, also while the VM is cut off from everybody. Afterwards every line is there
once and in order, and nothing of them was kept anywhere but in the log itself.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from controlplane.api.schemas import chaos as chaos_api
from controlplane.api.schemas.logs import LogLineOut
from controlplane.background.log_reader.topic import LOGS_TOPIC
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.marks import A_NETWORK_FOR_EACH_VM

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(470), A_NETWORK_FOR_EACH_VM]

SPEC = ClusterSpec(name="told", heal_after_s=120)
SERVER_SETTINGS = {"KEDGE_CLOUDS__VM_NETWORK": "namespaces", "KEDGE_TELEMETRY__LOGS": "true"}

PER_S = 40
"""Below what is told of one log in a minute (6,000 lines)."""
LASTS_S = 40
SPOOL_BYTES = 256 * 1024
"""What an agent keeps beside the log: its place in each file."""


class BusyLog:
    """The log of a broker that somebody else writes to beside it, a numbered line at a time."""

    def __init__(self, log: Path) -> None:
        self._log, self.written = log, 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)

    @contextmanager
    def busy(self) -> Iterator[None]:
        self._thread.start()
        try:
            yield
        finally:
            self._over.set()
            self._thread.join(10)

    def _write(self) -> None:
        while not self._over.wait(1 / PER_S):
            at = datetime.now(UTC).isoformat(sep=" ", timespec="milliseconds").split("+")[0].replace(".", ",")
            with self._log.open("a") as log:
                log.write(f"[{at}] INFO counted line {self.written} of the split (kafka.Test)\n")
            self.written += 1


def test_lines_written_in_a_split_are_there_afterwards_once_and_in_order(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    cluster.until(
        lambda: [p for p in cluster.snapshot().partitions if p.name.topic == LOGS_TOPIC], "logs", timeout_s=90
    )
    (led,) = {p.leader for p in cluster.snapshot().partitions if p.name.topic == LOGS_TOPIC}
    away = next(i for i in cluster.detail().instances if i.service == "broker" and i.service_id != led)
    root = cluster.vm(away.key)
    path = root / "logs" / "broker.log"
    assert path.is_file(), "the agent's root is the VM's directory"
    log = BusyLog(path)
    with log.busy():
        _until_told(cluster, away.node, 100)
        head = cluster.head()
        order = {"fault": "split", "vms": [away.key], "for_s": LASTS_S, "reason": "e2e"}
        cluster.client.inject_chaos(cluster.spec.name, chaos_api.ChaosIn.model_validate(order))
        began, spooled = time.monotonic(), 0
        time.sleep(5)  # what was under way has come
        first = len(_told(cluster, away.node))
        while time.monotonic() - began < LASTS_S - 5:
            spooled = max(spooled, _size(root / "agent" / "spools"))
            time.sleep(1)
        during, written = len(_told(cluster, away.node)), log.written
        cluster.event("chaos.ended", head)
        assert during == first, "nothing comes through a split"
        assert written - during > PER_S * (LASTS_S - 15) / 2, "the log went on meanwhile"
        _until_told(cluster, away.node, written)
    every = _until_told(cluster, away.node, log.written)
    print(f"{log.written} lines, {written - during} of them in the split, {spooled} bytes kept beside the log")
    assert every == list(range(log.written))
    assert spooled < SPOOL_BYTES
    assert not {e.type for e in cluster.events(head)} & {"instance.lost", "surge.requested", "restart.requested"}
    settled(cluster)


def _told(cluster: LivingCluster, node: str) -> list[int]:
    """The numbers of the lines of that VM, in the order people read them."""
    lines: list[LogLineOut] = []
    asked = {"node": node, "service": "broker", "limit": "5000"}
    page = cluster.client.logs(cluster.spec.name, asked)
    lines += page.lines
    while not page.is_end:
        page = cluster.client.logs(cluster.spec.name, {**asked, "after": page.next})
        lines += page.lines
    assert not [line for line in lines if line.left_out], "nothing is left out"
    told = [line.text for line in lines if "counted line" in line.text]
    return [int(text.split("counted line ")[1].split()[0]) for text in told]


def _until_told(cluster: LivingCluster, node: str, count: int) -> list[int]:
    def look() -> list[int] | None:
        told = _told(cluster, node)
        return told if len(told) >= count else None

    return cluster.until(look, f"{count} lines of {node}", timeout_s=90, every_s=1.0)


def _size(directory: Path) -> int:
    """Bytes of the files below it, as far as they are still there."""
    total = 0
    for path in directory.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except FileNotFoundError:
            continue  # replaced meanwhile
    return total
