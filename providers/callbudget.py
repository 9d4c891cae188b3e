"""How often a cloud may be called: one bucket of tokens per account and region, for our own calls and Terraform's.

A cloud counts all calls of an account and region together. Ours take a token each; a Terraform run, whose calls nobody
sees, pays beforehand for about as many as it will make. What a cloud says itself (throttled, `Retry-After`) counts
above any figure of ours: nobody calls until then, and not all at the same moment.
"""

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from providers.base import Place
from providers.errors import RateLimited

JITTER = 0.25
"""Share of a pause by which it may be longer: whoever was throttled together comes back one after the other."""

USUAL_PAUSE_S = 1.0
"""After a throttle that does not say for how long."""


@dataclass(frozen=True, slots=True)
class CallRate:
    """A bucket's size and how fast it fills. The figures, with sources, are in the cloud's catalogue."""

    burst: int
    per_s: float


@dataclass(slots=True)
class TokenBucket:
    """Thread-safe. Without a rate (nobody has a figure) only pauses count."""

    what: str
    rate: CallRate | None
    clock: Callable[[], float] = time.monotonic
    wait: Callable[[float], object] = time.sleep
    jitter: Callable[[], float] = random.random
    _tokens: float = field(init=False)
    _at: float = field(init=False)
    _paused_until: float = field(init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._tokens = float(self.rate.burst) if self.rate else 0.0
        self._at = self._paused_until = self.clock()

    def take(self, calls: int = 1, *, patience_s: float, stop: threading.Event | None = None) -> None:
        """Waits until so many calls may be made. Raises `RateLimited` at once where that takes longer than patience.

        More calls than the bucket holds are let through when it is full, and it then stands below zero: the next ones
        wait for all of them. Returns early when `stop` is set.
        """
        with self._lock:
            self._fill()
            wait_s = max(self._paused_until - self._at, self._lacks_s(calls))
            if wait_s > patience_s:
                raise RateLimited(f"{self.what}: the next {calls} calls are allowed in {wait_s:.1f} s")
            self._tokens -= calls if self.rate else 0
        if wait_s > 0:
            (stop.wait if stop is not None else self.wait)(wait_s)

    def pause(self, retry_after_s: float | None = None) -> None:
        """The cloud throttled a call: nobody calls for as long as it says, and a little more."""
        asked = USUAL_PAUSE_S if retry_after_s is None else max(0.0, retry_after_s)
        with self._lock:
            self._fill()
            self._tokens = min(self._tokens, 0.0)
            self._paused_until = max(self._paused_until, self._at + asked * (1 + JITTER * self.jitter()))

    def _lacks_s(self, calls: int) -> float:
        if self.rate is None:
            return 0.0
        return max(0.0, (min(calls, self.rate.burst) - self._tokens) / self.rate.per_s)

    def _fill(self) -> None:
        now = self.clock()
        if self.rate is not None:
            self._tokens = min(float(self.rate.burst), self._tokens + (now - self._at) * self.rate.per_s)
        self._at = now


@dataclass(slots=True)
class CallBudget:
    """The buckets of one cloud."""

    rate: CallRate | None
    clock: Callable[[], float] = time.monotonic
    _buckets: dict[tuple[str, str], TokenBucket] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def of(self, place: Place) -> TokenBucket:
        """That of the place's account and region."""
        with self._lock:
            key = (place.account, place.region)
            if key not in self._buckets:
                self._buckets[key] = TokenBucket(str(place), self.rate, self.clock)
            return self._buckets[key]


def retry_after_s(header: str | None) -> float | None:
    """Seconds a `Retry-After` header asks for; None without one, and for one that names a date (RFC 9110, 10.2.3)."""
    try:
        return float(header) if header else None
    except ValueError:
        return None
