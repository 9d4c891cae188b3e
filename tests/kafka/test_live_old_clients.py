"""A real Kafka 3.9.1 broker counts requests that Kafka 4 does not speak any more; the agent reads who sends them."""

import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.metrics import Jolokia
from agent.old_clients import old_clients
from agent.wire import OldClientReport
from tests.jolokia_port import answers, java_agent
from tests.kafka_processes import JARS
from tests.waiting import until
from tests.zookeeper_processes import ZooKeeperProcesses

VERSION, NETWORK = "3.9.1", "127.0.58"
LIST_OFFSETS = 2


@pytest.fixture
def broker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, int]]:
    kafka = ZooKeeperProcesses(tmp_path, network=NETWORK, version=VERSION)
    try:
        kafka.found([1])
        monkeypatch.setenv("JAVA_TOOL_OPTIONS", java_agent(JARS / VERSION / "libs", host=f"{NETWORK}.1", port=8778))
        node = kafka.add_broker(1000)
        kafka.start_broker(1000)
        yield node.host, node.port
    finally:
        kafka.close()


def ask_for_offsets(address: tuple[str, int], *, version: int) -> None:
    """A request for the offsets of no topic, in that version, and its answer (ListOffsetsRequest.json)."""
    client = b"relic"
    body = struct.pack(">ii", -1, 0)  # replica, topics
    head = struct.pack(">hhih", LIST_OFFSETS, version, 7, len(client)) + client
    with socket.create_connection(address, 5.0) as talk:
        talk.sendall(struct.pack(">i", len(head) + len(body)) + head + body)
        (size,) = struct.unpack(">i", talk.recv(4))
        assert struct.unpack(">i", talk.recv(size)[:4]) == (7,)


@pytest.mark.soak
def test_a_request_in_a_version_kafka_4_refuses_is_told_with_its_client(broker: tuple[str, int]) -> None:
    jolokia = Jolokia(f"http://{NETWORK}.1:8778", timeout_s=10.0)

    until(lambda: answers(jolokia), "the metrics port to answer")
    assert old_clients(jolokia) == ()
    ask_for_offsets(broker, version=1)
    assert old_clients(jolokia) == (), "version 1 is spoken by Kafka 4, too"
    for _ in range(3):
        ask_for_offsets(broker, version=0)
    until(lambda: old_clients(jolokia), "the broker to count it")
    assert old_clients(jolokia) == (
        OldClientReport(request="ListOffsets", version=0, software="unknown", software_version="unknown", requests=3),
    )
