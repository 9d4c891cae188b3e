"""Whose tick runs on a thread: none twice at a time, and nobody who rang meanwhile is forgotten."""

import threading


class Turns:
    """Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[str] = set()
        self._asked: set[str] = set()

    def is_running(self, uid: str, *, asked: bool) -> bool:
        """Whether it is its turn now. `asked`: somebody wants a tick, and `end` will say so."""
        with self._lock:
            if uid in self._running and asked:
                self._asked.add(uid)
            return uid in self._running

    def begin(self, uid: str) -> None:
        """Its turn is from here to `end`."""
        with self._lock:
            self._running.add(uid)

    def end(self, uid: str) -> bool:
        """True when a tick was asked for meanwhile: what rang may have changed after this one had looked."""
        with self._lock:
            self._running.discard(uid)
            asked = uid in self._asked
            self._asked.discard(uid)
            return asked
