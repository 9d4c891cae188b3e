"""Clients at the TLS listener of a cluster that is on its way there: an idempotent producer, and one look at all
records in the end."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import Consumer, Producer

from tests.e2e.living_cluster import LivingCluster
from tests.waiting import until


def _tls_client(cluster: LivingCluster) -> dict[str, object]:
    told = cluster.client.endpoints(cluster.spec.name)
    hosts = [address.rpartition(":")[0] for address in told.bootstrap]
    return {
        "bootstrap.servers": ",".join(f"{host}:9094" for host in hosts),
        "security.protocol": "ssl",
        "ssl.ca.pem": told.ca,
        "log_level": 0,
    }


class TlsWriter:
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
def tls_traffic(cluster: LivingCluster, topic: str) -> Iterator[TlsWriter]:
    writer = TlsWriter(_tls_client(cluster), topic)
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
