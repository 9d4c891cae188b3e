"""One deadline per call: the parts of a call share what is left of it, so no call outlives the lease that
covers it."""

import time
from collections.abc import Callable
from dataclasses import dataclass

CALL_LIMIT_S = 10.0
"""No call to Kafka lasts longer (leases are at least three times as long)."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """A point in monotonic time."""

    at: float
    clock: Callable[[], float]

    @classmethod
    def after(cls, seconds: float, clock: Callable[[], float] = time.monotonic) -> "Deadline":
        return cls(clock() + seconds, clock)

    @property
    def left_s(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self.at - self.clock())

    @property
    def is_over(self) -> bool:
        return self.left_s <= 0.0

    def capped(self, seconds: float) -> float:
        """Seconds a part of the call may take: `seconds`, or what is left when that is less."""
        return min(seconds, self.left_s)
