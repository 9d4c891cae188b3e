"""What is asked of somebody else when a person wants to see it: kept for a moment, since pages reload by themselves."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Generic, TypeVar

from controlplane.runtime.call_errors import CallFault
from events.clock import Clock

FRESH: Final = timedelta(seconds=10)
"""Who asks again within this time gets the answer there is, or the failure."""
_MOST_KEPT: Final = 256

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(slots=True)
class _Kept(Generic[V]):
    """The last answer and when it was asked for, and the last failure if that is younger."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    answered: tuple[datetime, V] | None = None
    failed: tuple[datetime, CallFault] | None = None


class ShortCache(Generic[K, V]):
    """Answers by key, those last asked for. Thread-safe: one asks for a key at a time, others wait for its answer."""

    def __init__(self, clock: Clock, *, fresh: timedelta = FRESH, most: int = _MOST_KEPT) -> None:
        self._clock, self._fresh, self._most = clock, fresh, most
        self._guard = threading.Lock()
        self._kept: OrderedDict[K, _Kept[V]] = OrderedDict()

    def look(self, key: K, ask: Callable[[V | None], V]) -> V:
        """The answer there is, or a new one; `ask` gets the one before, None at first. Raises what `ask` raises, and a
        CallFault of it again to whoever asks within `FRESH`: they are not each made to wait for one of their own."""
        kept = self._of(key)
        with kept.lock:
            now = self._clock()
            if kept.failed is not None and now - kept.failed[0] < self._fresh:
                raise kept.failed[1].with_traceback(None)
            if kept.answered is not None and now - kept.answered[0] < self._fresh:
                return kept.answered[1]
            try:
                answer = ask(kept.answered[1] if kept.answered else None)
            except CallFault as fault:
                kept.failed = self._clock(), fault
                raise
            kept.answered, kept.failed = (now, answer), None
            return answer

    def _of(self, key: K) -> _Kept[V]:
        with self._guard:
            kept = self._kept.setdefault(key, _Kept())
            self._kept.move_to_end(key)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
            return kept
