"""The connections to the server. All are replaced at once when they are to show another certificate."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx


@dataclass(eq=False)
class ConnectionPool:
    """Connections that show the same certificate, and how many calls are under way on them."""

    http: httpx.Client
    calls: int = 0


class Connections:
    """A call under way ends on the connections it began on: those are closed after the last one."""

    def __init__(self, opened: Callable[[], httpx.Client]) -> None:
        self._opened = opened
        self._lock = threading.Lock()
        self._pool = ConnectionPool(opened())

    @contextmanager
    def call(self) -> Iterator[ConnectionPool]:
        """For one call."""
        with self._lock:
            pool = self._pool
            pool.calls += 1
        try:
            yield pool
        finally:
            with self._lock:
                pool.calls -= 1
            self._close_unless_used(pool)

    def renew(self) -> None:
        """Later calls go over new connections."""
        with self._lock:
            before, self._pool = self._pool, ConnectionPool(self._opened())
        self._close_unless_used(before)

    def is_current(self, pool: ConnectionPool) -> bool:
        """Whether later calls go the same way."""
        return pool is self._pool

    def close(self) -> None:
        """Ends all; calls under way fail."""
        self._pool.http.close()

    def _close_unless_used(self, pool: ConnectionPool) -> None:
        with self._lock:
            is_over = pool.calls == 0 and pool is not self._pool
        if is_over:
            pool.http.close()
