"""Pauses that double up to a cap, with jitter so that a fleet does not come back in step."""

import random
from collections.abc import Callable


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

    def next_s(self) -> float:
        """Counts a failure; between half and all of the doubled pause."""
        self._attempt += 1
        return doubled_s(self._first_s, self._cap_s, self._attempt) * (0.5 + 0.5 * self._jitter())

    def reset(self) -> None:
        self._attempt = 0
