"""What moves bring to a real broker is told apart from what clients write: a disk that takes copies is not filling."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.health.reading import read_vitals
from agent.metrics import Jolokia
from controlplane.kafka.admin import AdminGateway
from controlplane.kafka.dialer import DirectDialer
from planner.observed import TopicPartition
from tests.jolokia_port import answers, java_agent
from tests.kafka_processes import JARS, KafkaProcesses
from tests.kafka_topics import create_topic
from tests.waiting import until

pytestmark = pytest.mark.kafka
VERSION, NETWORK, HOST, PORT = "4.1.1", "127.0.70", "127.0.70.1", 8778
MB = 10**6


@pytest.fixture
def kafka(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[KafkaProcesses]:
    """Broker 1001 tells its metrics at `HOST`:`PORT`."""
    processes = KafkaProcesses(tmp_path, network=NETWORK, version=VERSION, min_isr=1, replication=1)
    try:
        processes.found({1000: "a"})
        monkeypatch.setenv("JAVA_TOOL_OPTIONS", java_agent(JARS / VERSION / "libs", host=HOST, port=PORT))
        processes.add_broker(1001, "b")
        processes.start(1001)
        yield processes
    finally:
        processes.close()


def test_bytes_that_a_move_brings_are_counted_and_what_clients_write_is_not(kafka: KafkaProcesses) -> None:
    jolokia = Jolokia(f"http://{HOST}:{PORT}", timeout_s=10.0)
    dialer = DirectDialer()
    gateway = AdminGateway(dialer, "copied", lambda: kafka.bootstrap)
    moved = TopicPartition("orders", 0)

    def copied() -> int | None:
        return read_vitals(jolokia, at_s=0.0, pid=1, log_dirs=(), proc=Path("/proc")).copied_total

    try:
        until(lambda: answers(jolokia), "the metrics port to answer")
        until(lambda: len(gateway.snapshot().live_brokers()) == 2, "two live brokers")
        create_topic(kafka.bootstrap, "orders", partitions=1, rf=1, bytes_per_partition=8 * MB)
        create_topic(kafka.bootstrap, "written", partitions=2, rf=2, bytes_per_partition=2 * MB)
        assert copied() == 0, "its own clients' records, and those it follows, are no copies"
        if gateway.snapshot().by_name[moved].replicas == (1001,):
            _moved_to(gateway, moved, 1000)
        before = copied()
        assert before is not None
        _moved_to(gateway, moved, 1001)
        now = copied()
        assert now is not None
        assert now - before == pytest.approx(8 * MB, rel=0.1)
    finally:
        dialer.close()


def _moved_to(gateway: AdminGateway, name: TopicPartition, broker: int) -> None:
    assert gateway.reassign({name: (broker,)}) == {}

    def is_there() -> bool:
        seen = gateway.snapshot().by_name[name]
        return seen.replicas == (broker,) and not seen.is_moving

    until(is_there, f"{name} on {broker}")
