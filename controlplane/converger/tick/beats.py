"""The last beats of this server's loop, for people: when, how long, what came of it. Nothing depends on them."""

import threading
import time
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from controlplane.converger.tick.report import TickReport
from events.clock import Clock, utc_now

KEPT = 60
"""Beats that are remembered."""


@dataclass(frozen=True, slots=True)
class Beat:
    """One beat. `rung` counts the clusters it was rung for, None for all; clusters on threads of their own go on after.

    `led`: this server ticked; else it read along. `problem` says why nothing came of it.
    """

    at: datetime
    seconds: float
    rung: int | None
    led: bool
    report: TickReport
    problem: str = ""


@dataclass(slots=True)
class Beating:
    """The beat under way, which says what it did."""

    led: bool = False
    report: TickReport = field(default_factory=TickReport)

    def ticked(self, report: object) -> None:
        """What the tick answered."""
        self.led = True
        if isinstance(report, TickReport):
            self.report = report


class LoopWatch:
    """Thread-safe. `count` is of all beats since this server began."""

    def __init__(self, clock: Clock = utc_now) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._beats: deque[Beat] = deque(maxlen=KEPT)
        self._count = 0

    @contextmanager
    def beat(self, only: Collection[str] | None) -> Iterator[Beating]:
        """Times what is done inside it. What is raised there is noted and goes on."""
        at, began_s, beating, problem = self._clock(), time.monotonic(), Beating(), ""
        try:
            yield beating
        except Exception as error:
            problem = str(error) or type(error).__name__
            raise
        finally:
            rung = None if only is None else len(only)
            done = Beat(at, time.monotonic() - began_s, rung, beating.led, beating.report, problem)
            with self._lock:
                self._beats.append(done)
                self._count += 1

    def last(self) -> Sequence[Beat]:
        """The newest first."""
        with self._lock:
            return tuple(reversed(self._beats))

    @property
    def count(self) -> int:
        with self._lock:
            return self._count
