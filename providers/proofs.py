"""What was proved a short while ago and need not be asked again: whose an account's credentials are."""

import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

LASTS_S = 300.0
"""Credentials may come to be another account's while we run: a profile is pointed elsewhere, a variable set anew."""


@dataclass(slots=True)
class Proofs:
    """When each thing was proved last. Thread-safe. Keys are never shown: they may hold what credentials hold."""

    clock: Callable[[], float] = time.monotonic
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _at: dict[Hashable, float] = field(default_factory=dict, repr=False)

    def hold(self, key: Hashable) -> bool:
        """Whether it was proved so lately that it still counts."""
        with self._lock:
            at = self._at.get(key)
        return at is not None and self.clock() - at < LASTS_S

    def note(self, key: Hashable) -> None:
        """It is proved now."""
        with self._lock:
            self._at[key] = self.clock()
