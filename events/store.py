"""The port every event store implements: memory, SQLite, PostgreSQL. One contract suite runs over all of them."""

from collections.abc import Iterator, Sequence
from typing import Protocol

from events.envelope import NewEvent, Origin, Recorded


class EventStore(Protocol):
    """Append-only streams with one global order.

    Guarantees (tests/contract/test_event_store.py):
    - `append` is atomic and checks `expected_version` (0 = the stream must be new); a clash raises `StreamConflict`.
    - It is idempotent: the same event ids again, or the same `origin.command_id` again on that stream, return the
      events recorded the first time and write nothing, whatever `expected_version` says.
    - Global positions have no gap and never appear late: a reader that has seen position p misses nothing below it.
    """

    def append(
        self, stream: str, events: Sequence[NewEvent], *, expected_version: int, origin: Origin
    ) -> list[Recorded]:
        """Records all events or none. Raises StreamConflict, StoreUnavailable."""

    def read_stream(self, stream: str, after_version: int = 0) -> list[Recorded]:
        """Events of one stream in order, after the given version."""

    def read_all(self, after_position: int = 0, limit: int = 1000) -> list[Recorded]:
        """Events of all streams in global order, after the given position, at most `limit`."""

    def iterate_all(self, after_position: int = 0) -> Iterator[Recorded]:
        """All events in global order up to the head at the time of the call, read in pages."""

    def head(self) -> int:
        """Highest global position, 0 when empty."""
