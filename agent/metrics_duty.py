"""Keeps one thread of shipping for the broker that is up and measured, none for any other."""

import threading
from dataclasses import dataclass
from typing import Protocol

from agent.wire import MetricsTopic, ServiceDocument

_AGAIN_S = 300.0
"""A thread that died by itself is started anew after this."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A broker that is up, and where its figures go."""

    broker: ServiceDocument
    cluster_uid: str
    node: str
    topic: MetricsTopic

    @property
    def bootstrap(self) -> str:
        return self.topic.bootstrap or f"{self.broker.address}:{self.broker.port}"


class Clock(Protocol):
    def monotonic_s(self) -> float: ...


class Start(Protocol):
    """`agent.metrics_start.start_shipping` is one."""

    def __call__(self, measured: Measured, *, leaving: threading.Event) -> threading.Thread: ...


class MetricsDuty:
    """`follow` after every pass of the converger; it never waits."""

    def __init__(self, start: Start, clock: Clock) -> None:
        self._start = start
        self._clock = clock
        self._measured: Measured | None = None
        self._leaving = threading.Event()
        self._thread: threading.Thread | None = None
        self._begun_s = 0.0

    def follow(self, measured: Measured | None) -> None:
        """Ships for `measured` from now on, for nobody if it is None. The thread of another one is told to leave."""
        if measured != self._measured or self._is_overdue():
            self._leaving.set()
            self._measured, self._leaving, self._thread = measured, threading.Event(), None
            if measured is not None:
                self._begun_s = self._clock.monotonic_s()
                self._thread = self._start(measured, leaving=self._leaving)

    def _is_overdue(self) -> bool:
        died = self._thread is not None and not self._thread.is_alive()
        return died and self._clock.monotonic_s() - self._begun_s >= _AGAIN_S
