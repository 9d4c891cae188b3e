"""How often a cloud may be called: one bucket of tokens per account and region, for our own calls and Terraform's.

A cloud counts all calls of an account together, some for each region apart. Ours take a token each; a Terraform run,
whose calls nobody sees, pays beforehand for about as many as it will make. What a cloud says itself (throttled,
`Retry-After`) counts above any figure of ours: nobody calls until then, and not all at the same moment.
"""

import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from providers.base import Place
from providers.errors import RateLimited

JITTER = 0.25
"""Share of a pause by which it may be longer: whoever was throttled together comes back one after the other."""

USUAL_PAUSE_S = 1.0
"""After a throttle that does not say for how long."""

PATIENCE_S = 7.0
"""So long a call of ours waits for its token: with the call itself no more than the 10 s the converger has."""


@dataclass(frozen=True, slots=True)
class CallRate:
    """A bucket's size and how fast it fills. The figures, with sources, are in the cloud's catalogue."""

    burst: int
    per_s: float
    by_region: bool = False
    """Whether the cloud counts each region of an account for itself."""
    reset_is_full: bool = False
    """`RateLimit-Reset` names when *all* calls are allowed again, not the next one: no reason to wait for it."""


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

    def heard(self, headers: Mapping[str, str], *, throttled: bool) -> None:
        """What an answer's headers say: how many calls the account has left by the cloud's count, which others share,
        and after a throttle when the next one is allowed."""
        told = {name.lower(): value for name, value in headers.items()}
        left = told.get("ratelimit-remaining", "")
        if self.rate is not None and left.isdecimal():
            with self._lock:
                self._fill()
                self._tokens = min(self._tokens, float(left))
        if throttled:
            resets = None if self.rate is None or self.rate.reset_is_full else told.get("ratelimit-reset")
            asked = retry_after_s(told.get("retry-after"))
            self.pause(_until_s(resets) if asked is None else asked)

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
    """The buckets of one cloud: one for an account, or for each of its regions where the cloud counts so."""

    rate: CallRate | None
    clock: Callable[[], float] = time.monotonic
    wait: Callable[[float], object] = time.sleep
    _buckets: dict[tuple[str, str], TokenBucket] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def of(self, place: Place) -> TokenBucket:
        """That of the place's account (and region)."""
        by_region = self.rate is not None and self.rate.by_region
        with self._lock:
            key = (place.account, place.region if by_region else "")
            if key not in self._buckets:
                what = str(place) if by_region else f"{place.cloud}/{place.account}"
                self._buckets[key] = TokenBucket(what, self.rate, self.clock, self.wait)
            return self._buckets[key]


def retry_after_s(header: str | None) -> float | None:
    """Seconds a `Retry-After` header asks for, as a number or up to a date (RFC 9110, 10.2.3); None without one."""
    if not header:
        return None
    try:
        return float(header)
    except ValueError:
        pass
    try:
        date = parsedate_to_datetime(header)
    except ValueError:
        return None
    return max(0.0, ((date if date.tzinfo else date.replace(tzinfo=UTC)) - datetime.now(UTC)).total_seconds())


def _until_s(epoch_s: str | None) -> float | None:
    """Seconds until a `RateLimit-Reset`, which DigitalOcean gives in Unix time; None where it is no number."""
    return max(0.0, float(epoch_s) - time.time()) if epoch_s and epoch_s.isdecimal() else None
