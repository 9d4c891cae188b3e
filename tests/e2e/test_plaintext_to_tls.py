"""A living cluster goes from plaintext between its nodes to TLS: three controllers and three brokers, restarted in
place step by step, under clients of both kinds, with the server killed half-way."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from confluent_kafka import Consumer, Producer

from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic
from tests.kafka_topics import create_topic
from tests.waiting import until

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(2400)]

SPEC = ClusterSpec(name="sealing", controllers=3, join_deadline_s=180)
SEALED = replace(SPEC, tls=True)
STEPS = ["C1", "B1", "C2", "B2", "B3", "C3"]
STEP_WITHIN_S = 400.0


def _tls_client(cluster: LivingCluster) -> dict[str, object]:
    told = cluster.client.endpoints(cluster.spec.name)
    hosts = [address.rpartition(":")[0] for address in told.bootstrap]
    return {
        "bootstrap.servers": ",".join(f"{host}:9094" for host in hosts),
        "security.protocol": "ssl",
        "ssl.ca.pem": told.ca,
        "log_level": 0,
    }


class _TlsWriter:
    """An idempotent producer at the TLS listener, until it is told to stop."""

    def __init__(self, client: dict[str, object], topic: str) -> None:
        self._producer = Producer({**client, "acks": "all", "enable.idempotence": True})
        self._topic, self._over = topic, threading.Event()
        self.acknowledged: list[int] = []
        self.failed: list[str] = []
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    def _write(self) -> None:
        number = 0
        while not self._over.wait(0.02):
            self._producer.produce(self._topic, str(number).encode(), on_delivery=self._delivered)
            self._producer.poll(0)
            number += 1
        self._producer.flush(60)

    def _delivered(self, error: object, message: object) -> None:
        if error is not None:
            self.failed.append(str(error))
        else:
            self.acknowledged.append(int(message.value()))  # type: ignore[attr-defined]

    def stop(self) -> None:
        self._over.set()
        self._thread.join(90)
        assert not self._thread.is_alive()


@contextmanager
def _tls_traffic(cluster: LivingCluster, topic: str) -> Iterator[_TlsWriter]:
    writer = _TlsWriter(_tls_client(cluster), topic)
    try:
        until(lambda: bool(writer.acknowledged), "the first record over TLS", timeout_s=60)
        yield writer
    finally:
        writer.stop()
    assert not writer.failed
    read = _all_read(cluster, topic, len(writer.acknowledged))
    assert sorted(read) == sorted(writer.acknowledged), "every record is there, and once"


def _all_read(cluster: LivingCluster, topic: str, expected: int) -> list[int]:
    consumer = Consumer({**_tls_client(cluster), "group.id": f"{topic}-tls", "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    read: list[int] = []

    def all_there() -> bool:
        for message in consumer.consume(500, 1.0):
            if message.error() is None:
                read.append(int(message.value() or b""))
        return len(read) >= expected

    until(all_there, "every record to be read over TLS", timeout_s=120, every_s=0.0)
    consumer.close()
    return read


def _steps(cluster: LivingCluster, after: int, kind: str) -> list[tuple[str, int]]:
    found = (e for e in cluster.events(after) if e.type == f"security.step_{kind}")
    return [(e.data["step"], e.data["position"]) for e in found]


def _completed(cluster: LivingCluster, after: int, step: str) -> None:
    cluster.event("security.step_completed", after, within_s=STEP_WITHIN_S, where=f'"step": "{step}"')


def _properties(cluster: LivingCluster, key: str) -> dict[str, str]:
    (found,) = cluster.vm(key).glob("agent/services/*/server.properties")
    return dict(line.split("=", 1) for line in found.read_text().splitlines() if "=" in line)


def test_a_living_cluster_becomes_tls_between_its_nodes(living_cluster: LivingCluster) -> None:
    cluster, before = living_cluster, living_cluster.head()
    vms = {i.key for i in cluster.detail().instances}
    create_topic(cluster.bootstrap(), "sealed", partitions=6, rf=3, min_isr=2)
    with traffic(cluster.bootstrap):
        cluster.declare(SEALED)
        _completed(cluster, before, "B1")
        with _tls_traffic(cluster, "sealed"):
            cluster.event("security.step_requested", before, within_s=STEP_WITHIN_S, where='"step": "C2"')
            cluster.restart_server()
            for step in STEPS[2:]:
                _completed(cluster, before, step)
            settled(cluster, within_s=300)
    assert _steps(cluster, before, "completed") == [(step, n) for n, step in enumerate(STEPS, start=1)]
    assert {i.key for i in cluster.detail().instances} == vms, "no VM was made"
    assert not [e for e in cluster.events(before) if e.type == "restart.revert_requested"]
    for instance in cluster.detail().instances:
        told = _properties(cluster, instance.key)
        names = {"broker": "CONTROLPLANE,REPLICATION,PLAINTEXT,TLS", "controller": "CONTROLPLANE"}[instance.service]
        mapped = [entry.partition(":")[0] for entry in told["listener.security.protocol.map"].split(",")]
        assert ",".join(mapped) == names
        assert told["controller.listener.names"] == "CONTROLPLANE"
        assert "9093" not in told["controller.quorum.bootstrap.servers"]
        assert told["authorizer.class.name"].endswith("StandardAuthorizer")
