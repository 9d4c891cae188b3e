"""Real traffic through a cluster while it is changed under it: an idempotent acks=all producer and a group
consumer.

Every record is named and noted with its acknowledgement, so `audit()` can say afterwards whether one was lost or stored
twice.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer

from controlplane.kafka.audit import AcknowledgedRecords, Audit, RecordName, read_names, record
from controlplane.kafka.errors import KafkaUnavailable

_TICK_S = 0.05
_DELIVERY_S = 300
"""How long librdkafka keeps trying before a record counts as failed; longer than any step of a roll."""


class Workload:
    """Traffic on one topic from `start()` to `stop()`; other topics can be filled once and are audited
    too."""

    def __init__(
        self,
        bootstrap: Callable[[], Sequence[str]],
        topic: str,
        *,
        records_per_s: int = 500,
        record_bytes: int = 1000,
        group: str = "kedge-workload",
        client: Mapping[str, str] = MappingProxyType({}),
        reader: Mapping[str, str] | None = None,
    ) -> None:
        """`bootstrap` (`host:port` each) is asked whenever a client is made. The topic has to exist. `client`:
        librdkafka's properties of TLS and of who writes, none in plaintext; `reader`: of who consumes and audits, where
        that is somebody else."""
        self._bootstrap, self._client = bootstrap, client
        self._reader = client if reader is None else reader
        self._topic, self._group = topic, group
        self._records_per_s, self._record_bytes = records_per_s, record_bytes
        self._records = AcknowledgedRecords()
        self._topics = {topic}
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self._consumed = 0
        self._error = ""

    @property
    def acknowledged(self) -> int:
        """Records acknowledged so far, fills included."""
        return self._records.acknowledged

    @property
    def consumed(self) -> int:
        """Records the group consumer has got so far."""
        return self._consumed

    @property
    def error(self) -> str:
        """Why a thread gave up; empty while all is well."""
        return self._error

    def start(self) -> None:
        """Start the producer and the consumer."""
        for name, run in (("producer", self._produce), ("consumer", self._consume)):
            thread = threading.Thread(target=self._guarded, args=(run,), name=f"workload-{name}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self, *, timeout_s: float = 60.0) -> None:
        """End the traffic. Records in flight are waited for."""
        self._stop.set()
        for thread in self._threads:
            thread.join(timeout_s)
        stuck = [t.name for t in self._threads if t.is_alive()]
        if stuck:
            raise KafkaUnavailable(
                what="stopping the workload", where=self._servers(), why=f"{', '.join(stuck)} did not end in time"
            )

    def fill(self, topic: str, total_bytes: int, *, record_bytes: int = 10_000, timeout_s: float = 120.0) -> int:
        """Write about `total_bytes` evenly to a topic and wait until all is acknowledged. Returns the records
        written.

        Raises KafkaUnavailable when some are not acknowledged in time.
        """
        self._topics.add(topic)
        producer, number = self._producer(linger_ms=20), self._records.new_producer()
        records = -(-total_bytes // record_bytes)
        for _ in range(records):
            self._send(producer, topic, number, record_bytes)
        producer.flush(timeout_s)
        missing = records - self._records.acknowledged_of(number)
        if missing:
            why = f"{missing} of {records} records are not acknowledged after {timeout_s:.0f} s"
            raise KafkaUnavailable(what=f"filling {topic}", where=self._servers(), why=why)
        return records

    def audit(self, *, timeout_s: float = 180.0) -> Audit:
        """Read all topics that were written, from the beginning, and compare. Call it after `stop()`."""
        topics = sorted(self._topics)
        return self._records.audit(read_names(self._servers(), topics, timeout_s=timeout_s, client=self._reader))

    def _produce(self) -> None:
        producer, number = self._producer(linger_ms=5), self._records.new_producer()
        began, sent = time.monotonic(), 0
        while not self._stop.wait(_TICK_S):
            due = int((time.monotonic() - began) * self._records_per_s)
            # after a stall the rate is kept, not caught up: a burst would measure itself
            if due - sent > self._records_per_s:
                began, sent, due = time.monotonic(), 0, 0
            for _ in range(due - sent):
                self._send(producer, self._topic, number, self._record_bytes)
            sent = max(sent, due)
            producer.poll(0)
        producer.flush(45)

    def _consume(self) -> None:
        consumer = Consumer(
            {
                **self._reader,
                "bootstrap.servers": self._servers(),
                "group.id": self._group,
                "auto.offset.reset": "earliest",
                "log_level": 0,
            }
        )
        try:
            subscribed: set[str] = set()
            while not self._stop.is_set():
                if subscribed != self._topics:
                    subscribed = set(self._topics)
                    consumer.subscribe(sorted(subscribed))
                got = consumer.consume(1000, timeout=0.2)
                self._consumed += sum(1 for m in got if m.error() is None)
        finally:
            consumer.close()

    def _send(self, producer: Producer, topic: str, number: int, size_bytes: int) -> None:
        name: RecordName = (number, self._records.next_sequence(number))

        def delivered(error: KafkaError | None, message: Any) -> None:
            if error is None:
                self._records.acknowledge(name, (topic, message.partition(), message.offset()))
            else:
                self._records.fail()

        while True:
            try:
                producer.produce(topic, record(name, size_bytes), on_delivery=delivered)
                return
            except BufferError:
                producer.poll(0.1)

    def _producer(self, *, linger_ms: int) -> Producer:
        return Producer(
            {
                **self._client,
                "bootstrap.servers": self._servers(),
                "enable.idempotence": True,
                "acks": "all",
                # a second one in flight lets librdkafka report what no log holds, or store twice: docs/producers.md
                "max.in.flight.requests.per.connection": 1,
                "linger.ms": linger_ms,
                "delivery.timeout.ms": _DELIVERY_S * 1000,
                # spread single records instead of filling one partition at a time
                "sticky.partitioning.linger.ms": 0,
                "queue.buffering.max.kbytes": 32_768,
                "log_level": 0,
            }
        )

    def _guarded(self, run: Callable[[], None]) -> None:
        try:
            run()
        except KafkaException as e:
            self._error = f"{threading.current_thread().name} gave up: {e}"

    def _servers(self) -> str:
        return ",".join(self._bootstrap())
