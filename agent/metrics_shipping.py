"""Every interval: one reading of the broker, one message to Kafka. Never in the broker's way.

Reading is one request with a timeout; sending is librdkafka's own thread. At most `in_flight` messages are handed to
it, the rest waits in the bounded spool: a Kafka that does not answer costs the VM some megabytes, nothing else.
A missed interval is not read twice as fast later: it is missing, and the windows say so (completeness).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from agent.metrics import JolokiaSilent
from agent.metrics_interval import MetricsSubject, message_of
from agent.metrics_reading import Reading
from agent.metrics_spool import Parcel, Spool
from agent.sending import Carrier, Sending, WaitingParcels


class ShippingClock(Protocol):
    """Seconds of the epoch for what is said, monotonic seconds for what is measured."""

    def epoch_s(self) -> float: ...
    def monotonic_s(self) -> float: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ShippingSettings:
    """`interval_s` divides a minute. `spool_bytes` bounds what waits, `in_flight` what the carrier holds."""

    interval_s: int = 60
    spool_bytes: int = 64 * 2**20
    in_flight: int = 4


class Shipping:
    """One broker's figures on their way to Kafka. `tick` does what is due and returns the seconds until the next.

    Call `tick` from one thread; `agent.sending.ship` does.
    """

    def __init__(
        self,
        subject: MetricsSubject,
        read: Callable[[float], Reading],
        carrier: Carrier,
        clock: ShippingClock,
        settings: ShippingSettings,
        spool: WaitingParcels | None = None,
    ) -> None:
        """`spool` is where messages wait; in memory where none is given."""
        self._subject = subject
        self._read = read
        self._clock = clock
        self._settings = settings
        waiting = Spool(most_bytes=settings.spool_bytes) if spool is None else spool
        self._sending = Sending(waiting, carrier, in_flight=settings.in_flight, what="metrics")
        self._before: Reading | None = None
        self._interval = self._interval_now()

    @property
    def dropped(self) -> int:
        """Messages lost because the spool was full."""
        return self._sending.dropped

    @property
    def waiting(self) -> int:
        """Messages read and not yet acknowledged by Kafka."""
        return self._sending.waiting

    def tick(self) -> float:
        """Reads when an interval has ended; the reading at its end describes it. Hands the carrier what it may hold."""
        now = self._interval_now()
        if now > self._interval:
            self._interval = now
            self._look(ended=now - 1)
        self._sending.step()
        ends_s = (self._interval + 1) * self._settings.interval_s
        return max(0.05, ends_s - self._clock.epoch_s())

    def _interval_now(self) -> int:
        return int(self._clock.epoch_s()) // self._settings.interval_s

    def _look(self, *, ended: int) -> None:
        try:
            reading = self._read(self._clock.monotonic_s())
        except JolokiaSilent as error:
            self._sending.note(f"the broker's metrics port is silent, the interval is missing: {error}")
            return
        interval_ms = self._settings.interval_s * 1000
        message = message_of(
            self._subject, self._before, reading, interval_start_ms=ended * interval_ms, interval_ms=interval_ms
        )
        self._before = reading
        self._sending.put(Parcel(message.key, message.encode()))
