"""Parcels on their way to Kafka: what waits is bounded, and so is what librdkafka holds.

Nothing here waits longer than it is told to.
"""

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, Protocol

from agent.metrics_spool import Parcel

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Undelivered:
    """Why Kafka does not have a parcel. `is_final`: it would never take it (too large), trying again helps nobody."""

    reason: str
    is_final: bool = False


class Carrier(Protocol):
    """Where parcels go. `send` returns at once; `delivered` is called later, from `poll`, with None for success."""

    def send(self, parcel: Parcel, delivered: Callable[[Undelivered | None], None]) -> bool:
        """False when it can take no more now."""

    def poll(self, within_s: float) -> None: ...

    def close(self) -> None: ...


class WaitingParcels(Protocol):
    """Parcels that wait: `agent.metrics_spool.Spool` in memory, `agent.disk_spool.DiskSpool` on disk."""

    dropped: int

    def __len__(self) -> int: ...
    def put(self, parcel: Parcel) -> None: ...
    def put_back(self, parcel: Parcel) -> None: ...
    def take(self) -> Parcel:
        """The oldest. Raises IndexError when there is none."""

    def done(self, parcel: Parcel) -> None:
        """It was taken, and nobody needs it any more."""


class Sending:
    """`step` hands over what may go. `what` are the parcels in words. Use it from one thread."""

    def __init__(self, spool: WaitingParcels, carrier: Carrier, *, in_flight: int, what: str) -> None:
        self._spool = spool
        self._carrier = carrier
        self._in_flight = in_flight
        self._what = what
        self._flying = 0
        self._trouble = ""

    @property
    def dropped(self) -> int:
        """Parcels that were lost: the spool was full, or Kafka would never take them."""
        return self._spool.dropped

    @property
    def waiting(self) -> int:
        """Parcels that Kafka has not acknowledged yet."""
        return len(self._spool) + self._flying

    def put(self, parcel: Parcel) -> None:
        self._spool.put(parcel)

    def step(self, within_s: float = 0.0) -> None:
        """Hears what became of those under way, waiting up to that long for it, and sends the next."""
        self._carrier.poll(within_s)
        while len(self._spool) and self._flying < self._in_flight:
            parcel = self._spool.take()
            if not self._carrier.send(parcel, partial(self._delivered, parcel)):
                self._spool.put_back(parcel)
                return
            self._flying += 1

    def note(self, trouble: str) -> None:
        """Logs a trouble when it begins and when it is over, not every time."""
        if bool(trouble) != bool(self._trouble):
            _log.warning("%s", trouble or f"{self._what} go out again")
        self._trouble = trouble

    def _delivered(self, parcel: Parcel, failure: Undelivered | None) -> None:
        self._flying -= 1
        if failure is None or failure.is_final:
            self._spool.done(parcel)
        if failure is None:
            self.note("")
            return
        if failure.is_final:
            self._spool.dropped += 1
        else:
            self._spool.put_back(parcel)
        self.note(f"Kafka lacks {self._what}, {len(self._spool)} wait, {self.dropped} were dropped: {failure.reason}")


class KafkaCarrier:
    """librdkafka's producer. It retries by itself for `timeout_s`; what is sent again after that may be a duplicate."""

    def __init__(
        self,
        bootstrap: str,
        topic: str,
        *,
        timeout_s: float = 30.0,
        client: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """`client`: librdkafka's properties of TLS, none in plaintext."""
        from confluent_kafka import KafkaError, Producer

        self._final = {KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE, KafkaError.INVALID_RECORD}
        self._topic = topic
        self._producer: Any = Producer(
            {
                **client,
                "bootstrap.servers": bootstrap,
                "compression.type": "lz4",
                "enable.idempotence": True,
                "max.in.flight.requests.per.connection": 1,  # what is refused is not lost: docs/producers.md
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


class Ticking(Protocol):
    """What is shipped: `agent.metrics_shipping.Shipping`, or `agent.journal.shipping.JournalShipping`."""

    def tick(self) -> float:
        """Does what is due; the seconds until the next time."""


def ship(shipping: Ticking, carrier: Carrier, *, leaving: threading.Event) -> None:
    """Runs `shipping` until `leaving` is set."""
    while not leaving.is_set():
        leaving.wait(min(shipping.tick(), 1.0))
    carrier.close()
