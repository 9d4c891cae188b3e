"""Messages that wait for Kafka, in memory and bounded: the oldest give way, and how many did is told.

For what can be read again, as lines of a log. What cannot waits in `agent.disk_spool`, which outlives the agent.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Parcel:
    """One encoded message and its record key."""

    key: bytes
    payload: bytes


class Spool:
    """Oldest first. Not for several threads."""

    def __init__(self, *, most_bytes: int) -> None:
        self._parcels: deque[Parcel] = deque()
        self._most_bytes = most_bytes
        self._bytes = 0
        self.dropped = 0
        """Parcels that gave way since the start."""

    def __len__(self) -> int:
        return len(self._parcels)

    def __iter__(self) -> Iterator[Parcel]:
        return iter(self._parcels)

    def put(self, parcel: Parcel) -> None:
        """At the end. The oldest are dropped until all fit; one that alone is too large is dropped itself."""
        self._parcels.append(parcel)
        self._bytes += len(parcel.payload)
        self._shrink()

    def put_back(self, parcel: Parcel) -> None:
        """At the front: it was taken before those that wait, and was not delivered."""
        self._parcels.appendleft(parcel)
        self._bytes += len(parcel.payload)
        self._shrink()

    def take(self) -> Parcel:
        """The oldest. Raises IndexError when there is none."""
        parcel = self._parcels.popleft()
        self._bytes -= len(parcel.payload)
        return parcel

    def done(self, parcel: Parcel) -> None:
        """What was taken is forgotten already."""

    def _shrink(self) -> None:
        while self._bytes > self._most_bytes:
            self.take()
            self.dropped += 1
