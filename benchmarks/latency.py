"""What a producer waits for its acknowledgements: a steady rate of small records, each timed from its call."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from confluent_kafka import Producer

RECORD_BYTES = 16_384


@dataclass(slots=True)
class Latencies:
    """Of each acknowledged record: when it was sent (monotonic seconds) and how long its acknowledgement took."""

    sent_at: list[float] = field(default_factory=list)
    took_s: list[float] = field(default_factory=list)
    failed: int = 0

    def quantile_ms(self, share: float, since: float, until: float) -> float:
        """Of the records sent in that time. Raises ValueError where there is none: it is no 0."""
        those = sorted(t for at, t in list(zip(self.sent_at, self.took_s, strict=False)) if since <= at < until)
        if not those:
            raise ValueError("no record that was sent in that time is acknowledged")
        return 1000 * those[min(len(those) - 1, int(share * len(those)))]


@contextmanager
def produced(bootstrap: Sequence[str], topic: str, *, partitions: int, bytes_per_s: float) -> Iterator[Latencies]:
    """Writes with acks=all to all partitions in turn while the block runs. When it has ended, each record is
    acknowledged or has failed."""
    latencies, over = Latencies(), threading.Event()
    producer = Producer(
        {
            "bootstrap.servers": ",".join(bootstrap),
            "acks": "all",
            "linger.ms": 0,
            "log_level": 0,
            "queue.buffering.max.kbytes": 262_144,
        }
    )

    def send(number: int) -> None:
        at = time.monotonic()

        def acknowledged(error: object, _: object) -> None:
            if error:
                latencies.failed += 1
                return
            latencies.sent_at.append(at)
            latencies.took_s.append(time.monotonic() - at)

        producer.produce(topic, b"x" * RECORD_BYTES, partition=number % partitions, on_delivery=acknowledged)

    def write() -> None:
        number, began = 0, time.monotonic()
        while not over.is_set():
            if number * RECORD_BYTES >= (time.monotonic() - began) * bytes_per_s:
                producer.poll(0.002)
                continue
            try:
                send(number)
                number += 1
            except BufferError:
                producer.poll(0.1)
            producer.poll(0)

    thread = threading.Thread(target=write, name="latencies")
    thread.start()
    try:
        yield latencies
    finally:
        over.set()
        thread.join()
        producer.flush(120)
