"""From any real cluster to an applied plan: exported over Kafka's protocol, planned, and moved as its JSON says.

One controller, brokers 1000 and 1001 in one rack, no part of Kedge but its command line.
"""

import json
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest
from typer.testing import CliRunner, Result

from controlplane.cli import exits
from controlplane.cli.main import app
from controlplane.kafka.admin import AdminGateway
from controlplane.kafka.dialer import DirectDialer
from controlplane.kafka.errors import KafkaUnavailable
from planner.observed import TopicPartition
from tests.kafka.kedge_process import begun
from tests.kafka_processes import SOON_FENCED, KafkaProcesses
from tests.kafka_topics import create_topic
from tests.waiting import until

T = TypeVar("T")

pytestmark = pytest.mark.kafka
MB = 10**6
BROKERS = {1000: "az-1", 1001: "az-1"}
SILENT_ADDRESS = "127.0.72.99:9092"


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaProcesses]:
    kafka = KafkaProcesses(
        tmp_path_factory.mktemp("kafka-state"), network="127.0.72", min_isr=1, replication=1, properties=SOON_FENCED
    )
    try:
        kafka.found(BROKERS)
        until(lambda: _live(kafka) == set(BROKERS), "two live brokers")
        create_topic(kafka.bootstrap, "orders", partitions=6, rf=1, bytes_per_partition=2 * MB)
        yield kafka
    finally:
        kafka.close()


@pytest.fixture(scope="module", autouse=True)
def asked_in_vain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[subprocess.Popen[str]]:
    """It asks again for six seconds: begun while the brokers start."""
    asked = ("state", "export", "--bootstrap", SILENT_ADDRESS, "--bandwidth", "50MB/s")
    with begun(tmp_path_factory.mktemp("asked-nobody"), *asked) as process:
        yield process


def test_a_foreign_cluster_is_exported_planned_moved_as_its_json_says_and_then_empty(
    processes: KafkaProcesses, tmp_path: Path
) -> None:
    state, move = tmp_path / "state.json", tmp_path / "move.json"
    export = ("state", "export", "--bootstrap", processes.bootstrap[0], "--bandwidth", "50MB/s", "--output", str(state))
    assert kedge(*export).exit_code == exits.OK
    exported = json.loads(state.read_text())
    assert {b["id"]: b["rack"] for b in exported["brokers"]} == BROKERS
    assert all(b["disk_bytes"] > 0 and b["ingress_bytes_per_s"] == 50e6 for b in exported["brokers"])
    orders = [p for p in exported["partitions"] if p["topic"] == "orders"]
    assert len(orders) == 6
    assert all(p["size_bytes"] >= 2 * MB and len(p["isr"]) == 1 for p in orders)
    assert any("--bandwidth" in line for line in exported["assumptions"])

    drain = ("--state", str(state), "--brokers", "1000", "--disk-limit", "1")
    planned = kedge("drain", "plan", *drain, "--kafka-json", str(move), "-o", "json")
    assert planned.exit_code == exits.OK, planned.stderr
    answer = json.loads(planned.stdout)
    assert answer["certificate"]["bytes"]["ratio"] == 1.0
    assert any("--bandwidth" in line for line in answer["assumptions"])

    for part in _parts(tmp_path):
        wanted = {TopicPartition(p["topic"], p["partition"]): tuple(p["replicas"]) for p in _moves(part)}
        assert asked(processes, partial(AdminGateway.reassign, targets=wanted)) == {}
        until(partial(_are_done, processes, wanted), f"the moves of {part.name} to end")
    again = tmp_path / "again.json"
    assert kedge(*export[:-1], str(again)).exit_code == exits.OK
    assert all(1000 not in p["replicas"] for p in json.loads(again.read_text())["partitions"])
    rest = kedge("drain", "plan", "--state", str(again), "--brokers", "1000", "-o", "json")
    assert json.loads(rest.stdout)["certificate"]["bytes"] == {"value": 0.0, "bound": 0.0, "ratio": 1.0}


def _are_done(processes: KafkaProcesses, wanted: dict[TopicPartition, tuple[int, ...]]) -> bool:
    """The controller no longer lists a move a moment before a broker's metadata leaves the old replica out."""
    seen = asked(processes, lambda kafka: kafka.snapshot().partitions)
    return wanted.items() <= {p.name: p.replicas for p in seen if not p.is_moving}.items()


def test_bandwidth_nobody_gave_and_an_address_nobody_answers_are_told(
    processes: KafkaProcesses, asked_in_vain: subprocess.Popen[str]
) -> None:
    ran = kedge("state", "export", "--bootstrap", processes.bootstrap[0])
    assert (ran.exit_code, ran.stdout) == (exits.FAILED, "")
    assert "nobody knows ingress_bytes_per_s of brokers 1000, 1001" in ran.stderr
    _, said = asked_in_vain.communicate(timeout=60)
    assert (asked_in_vain.returncode, f"none of {SILENT_ADDRESS} answered" in said) == (exits.FAILED, True)


def test_a_dead_broker_is_dead_in_the_state_and_needs_no_figures(processes: KafkaProcesses) -> None:
    processes.kill(1001)
    until(lambda: _live(processes) == {1000}, "the dead broker to be fenced", timeout_s=40)
    survivor = processes.nodes[1000].address
    ran = kedge("state", "export", "--bootstrap", survivor, "--bandwidth", "50MB/s")
    assert ran.exit_code == exits.OK, ran.stderr
    brokers: dict[int, dict[str, Any]] = {b["id"]: b for b in json.loads(ran.stdout)["brokers"]}
    assert {b["id"]: b["state"] for b in brokers.values()} == {1000: "active", 1001: "dead"}
    assert "disk_bytes" not in brokers[1001]


def kedge(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), prog_name="kedge")


def asked(processes: KafkaProcesses, question: Callable[[AdminGateway], T]) -> T:
    dialer = DirectDialer()
    try:
        return question(AdminGateway(dialer, "live-state", lambda: processes.bootstrap))
    finally:
        dialer.close()


def _moves(part: Path) -> list[dict[str, Any]]:
    content = json.loads(part.read_text())
    assert set(content) == {"version", "partitions"}
    moves: list[dict[str, Any]] = content["partitions"]
    return moves


def _parts(folder: Path) -> list[Path]:
    return sorted(p for p in folder.glob("move*.json") if "rollback" not in p.name)


def _live(processes: KafkaProcesses) -> frozenset[int]:
    try:
        return asked(processes, lambda kafka: kafka.snapshot().live_brokers())
    except KafkaUnavailable:
        return frozenset()
