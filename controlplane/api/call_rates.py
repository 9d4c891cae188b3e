"""How many calls a token may make: enough for a program that waits for its answers, too few to stand in others' way."""

import threading
from collections import OrderedDict
from datetime import datetime

BURST, PER_S = 500, 50.0
"""Calls at once, and each second from then on. One that waits for its answer makes some 50 a second."""
_REMEMBERED = 1_000


class CallRates:
    """A bucket a token, full at first; in the memory of one server. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._buckets: OrderedDict[str, tuple[float, datetime]] = OrderedDict()

    def wait_s(self, token: str, now: datetime) -> float:
        """0 where the call may be made, which counts it then; else how long until one may."""
        with self._lock:
            left, at = self._buckets.pop(token, (float(BURST), now))
            left = min(float(BURST), left + max(0.0, (now - at).total_seconds()) * PER_S)
            wait_s = 0.0 if left >= 1.0 else (1.0 - left) / PER_S
            self._buckets[token] = (left - 1.0 if not wait_s else left, now)
            while len(self._buckets) > _REMEMBERED:
                self._buckets.popitem(last=False)
        return wait_s
