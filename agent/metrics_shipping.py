"""Every interval: one reading of the broker, one message to Kafka. Never in the broker's way.

Reading is one request with a timeout; sending is librdkafka's own thread. At most `in_flight` messages are handed to
it, the rest waits in the bounded spool: a Kafka that does not answer costs the VM some megabytes, nothing else.
A missed interval is not read twice as fast later: it is missing, and the windows say so (completeness).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from agent import metrics, metrics_interval, metrics_reading, metrics_spool, sending


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
        subject: metrics_interval.MetricsSubject,
        read: Callable[[float], metrics_reading.Reading],
        carrier: sending.Carrier,
        clock: ShippingClock,
        settings: ShippingSettings,
        spool: sending.WaitingParcels | None = None,
    ) -> None:
        """`spool` is where messages wait; in memory where none is given."""
        self._subject = subject
        self._read = read
        self._clock = clock
        self._settings = settings
        waiting = metrics_spool.Spool(most_bytes=settings.spool_bytes) if spool is None else spool
        self._sending = sending.Sending(waiting, carrier, in_flight=settings.in_flight, what="metrics")
        self._before: metrics_reading.Reading | None = None
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
        except metrics.JolokiaSilent as error:
            self._sending.note(f"the broker's metrics port is silent, the interval is missing: {error}")
            return
        interval_ms = self._settings.interval_s * 1000
        message = metrics_interval.message_of(
            self._subject, self._before, reading, interval_start_ms=ended * interval_ms, interval_ms=interval_ms
        )
        self._before = reading
        self._sending.put(metrics_spool.Parcel(message.key, message.encode()))
