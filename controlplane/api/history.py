"""A cluster's events page by page.

Callers go by global position, streams by version: what was given out last is remembered.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from controlplane.storage.streams import cluster_stream
from events.envelope import Recorded
from events.ids import ClusterUid
from events.store import EventStore

_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class Page:
    """Events in order, the global head, and the stream's version as far as it was read."""

    events: Sequence[Recorded]
    head: int
    version: int


class History:
    """Remembers at which version of its stream a position stands, for the pages given out last. Only saves work."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._versions: OrderedDict[tuple[ClusterUid, int], int] = OrderedDict()

    def version_at(self, uid: ClusterUid, position: int) -> int:
        """The version up to which every event stands at or below that position, 0 when it is not remembered."""
        with self._lock:
            return self._versions.get((uid, position), 0)

    def remember(self, uid: ClusterUid, position: int, version: int) -> None:
        """The event of that version stands at that position, or it is the last one below it."""
        with self._lock:
            self._versions[uid, position] = version
            self._versions.move_to_end((uid, position))
            while len(self._versions) > _REMEMBERED:
                self._versions.popitem(last=False)


def page_of(store: EventStore, history: History, uid: ClusterUid, *, after: int, limit: int, tail: int = 0) -> Page:
    """At most `limit` events after a global position, or the newest `tail` of them. Raises StoreUnavailable."""
    # The head first: an event recorded meanwhile then stands above it, and whoever asks after the head finds it.
    head = store.head()
    known = history.version_at(uid, after)
    read = store.read_stream(cluster_stream(uid), known)
    version = read[-1].version if read else known
    fresh = [e for e in read if e.position > after]
    page = fresh[-tail:] if tail else fresh[:limit]
    if page:
        history.remember(uid, page[-1].position, page[-1].version)
    elif after <= head:
        history.remember(uid, after, version)
    return Page(page, head, version)
