"""Every interval: one reading of the broker, one message to Kafka. Never in the broker's way.

Reading is one request with a timeout; sending is librdkafka's own thread. At most `in_flight` messages are handed to
it, the rest waits in the bounded spool: a Kafka that does not answer costs the VM a fixed few megabytes, nothing else.
A missed interval is not read twice as fast later: it is missing, and the windows say so (completeness).
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from agent.metrics import JolokiaSilent
from agent.metrics_interval import Subject, message_of
from agent.metrics_reading import Reading
from agent.metrics_spool import Parcel, Spool

_log = logging.getLogger(__name__)


class Clock(Protocol):
    """Seconds of the epoch for what is said, monotonic seconds for what is measured."""

    def epoch_s(self) -> float: ...
    def monotonic_s(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Undelivered:
    """Why Kafka does not have a parcel. `is_final`: it would never take it (too large), trying again helps nobody."""

    reason: str
    is_final: bool = False


class Carrier(Protocol):
    """Where parcels go. `send` returns at once; `delivered` is called later, from `poll`, with None for success."""

    def send(self, parcel: Parcel, delivered: Callable[[Undelivered | None], None]) -> bool:
        """False when it can take no more now."""
        ...

    def poll(self, within_s: float) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ShippingSettings:
    """`interval_s` divides a minute. `spool_bytes` bounds what waits, `in_flight` what the carrier holds."""

    interval_s: int = 60
    spool_bytes: int = 16 * 2**20
    in_flight: int = 4


class Shipping:
    """One broker's figures on their way to Kafka. `tick` does what is due and returns the seconds until the next.

    Call `tick` from one thread; `ship` does.
    """

    def __init__(
        self,
        subject: Subject,
        read: Callable[[float], Reading],
        carrier: Carrier,
        clock: Clock,
        settings: ShippingSettings,
    ) -> None:
        self._subject = subject
        self._read = read
        self._carrier = carrier
        self._clock = clock
        self._settings = settings
        self._spool = Spool(most_bytes=settings.spool_bytes)
        self._before: Reading | None = None
        self._interval = self._interval_now()
        self._flying = 0
        self._trouble = ""

    @property
    def dropped(self) -> int:
        """Messages lost because the spool was full."""
        return self._spool.dropped

    @property
    def waiting(self) -> int:
        """Messages read and not yet acknowledged by Kafka."""
        return len(self._spool) + self._flying

    def tick(self) -> float:
        """Reads when an interval has ended; the reading at its end describes it. Hands the carrier what it may hold."""
        now = self._interval_now()
        if now > self._interval:
            self._interval = now
            self._look(ended=now - 1)
        self._send()
        ends_s = (self._interval + 1) * self._settings.interval_s
        return max(0.05, ends_s - self._clock.epoch_s())

    def _interval_now(self) -> int:
        return int(self._clock.epoch_s()) // self._settings.interval_s

    def _look(self, *, ended: int) -> None:
        try:
            reading = self._read(self._clock.monotonic_s())
        except JolokiaSilent as error:
            self._note(f"the broker's metrics port is silent, the interval is missing: {error}")
            return
        interval_ms = self._settings.interval_s * 1000
        message = message_of(
            self._subject, self._before, reading, interval_start_ms=ended * interval_ms, interval_ms=interval_ms
        )
        self._before = reading
        self._spool.put(Parcel(message.key, message.encode()))

    def _send(self) -> None:
        self._carrier.poll(0)
        while len(self._spool) and self._flying < self._settings.in_flight:
            parcel = self._spool.take()
            if not self._carrier.send(parcel, partial(self._delivered, parcel)):
                self._spool.put_back(parcel)
                return
            self._flying += 1

    def _delivered(self, parcel: Parcel, failure: Undelivered | None) -> None:
        self._flying -= 1
        if failure is None:
            self._note("")
            return
        if failure.is_final:
            self._spool.dropped += 1
        else:
            self._spool.put_back(parcel)
        self._note(f"Kafka lacks a message, {len(self._spool)} wait, {self.dropped} were dropped: {failure.reason}")

    def _note(self, trouble: str) -> None:
        """Logs a trouble when it begins and when it is over, not every interval."""
        if bool(trouble) != bool(self._trouble):
            _log.warning("%s", trouble or "metrics go out again")
        self._trouble = trouble


class KafkaCarrier:
    """librdkafka's producer. It retries by itself for `timeout_s`; what is sent again after that may be a duplicate."""

    def __init__(self, bootstrap: str, topic: str, *, timeout_s: float = 30.0) -> None:
        from confluent_kafka import KafkaError, Producer

        self._final = {KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE, KafkaError.INVALID_RECORD}
        self._topic = topic
        self._producer: Any = Producer(
            {
                "bootstrap.servers": bootstrap,
                "compression.type": "lz4",
                "enable.idempotence": True,
                "message.max.bytes": 64 * 2**20,  # the topic's limit is the one that counts, after compression
                "message.timeout.ms": int(timeout_s * 1000),
                "linger.ms": 0,
                "log_level": 0,
            }
        )

    def send(self, parcel: Parcel, delivered: Callable[[Undelivered | None], None]) -> bool:
        def report(error: Any, _message: object) -> None:
            delivered(Undelivered(str(error), error.code() in self._final) if error is not None else None)

        try:
            self._producer.produce(self._topic, parcel.payload, key=parcel.key, on_delivery=report)
        except BufferError:
            return False
        return True

    def poll(self, within_s: float) -> None:
        self._producer.poll(within_s)

    def close(self) -> None:
        """Waits up to two seconds for what is under way; the rest is lost with the process."""
        self._producer.flush(2)


def ship(shipping: Shipping, carrier: Carrier, *, leaving: threading.Event) -> None:
    """Runs `shipping` until `leaving` is set."""
    while not leaving.is_set():
        leaving.wait(min(shipping.tick(), 1.0))
    carrier.close()
