"""Pauses that double up to a cap, with jitter so that a fleet does not come back in step."""

import random
from collections.abc import Callable

_LEAST_SHARE = 0.1
"""Of the doubled pause: full jitter alone would let some knock at once, again and again."""


def doubled_s(first_s: float, cap_s: float, attempt: int) -> float:
    """Pause after the `attempt`-th failure in a row (1 is the first), without jitter."""
    return min(cap_s, first_s * 2.0 ** min(attempt - 1, 30))


class Backoff:
    """One conversation's pauses."""

    def __init__(self, first_s: float, cap_s: float, *, jitter: Callable[[], float] = random.random) -> None:
        self._first_s = first_s
        self._cap_s = cap_s
        self._jitter = jitter
        self._attempt = 0

    def next_s(self, *, after_s: float = 0.0) -> float:
        """Counts a failure; between a tenth and all of the doubled pause.

        `after_s` is what the other end asked for: no sooner than that, and up to half as long again. A server that
        sends many away at once would otherwise have them all back at once.
        """
        self._attempt += 1
        doubled = doubled_s(self._first_s, self._cap_s, self._attempt)
        pause_s = doubled * (_LEAST_SHARE + (1.0 - _LEAST_SHARE) * self._jitter())
        return max(pause_s, after_s * (1.0 + 0.5 * self._jitter())) if after_s > 0 else pause_s

    def reset(self) -> None:
        self._attempt = 0
