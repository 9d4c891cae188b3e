"""The trail of one process; the SQL store passes the same contract."""

import threading
from collections.abc import Sequence

from controlplane.api.audit.entry import FIRST, Entry, Kept, kept
from controlplane.api.audit.store import AuditFilter, chained


class MemoryAuditStore:
    """The trail of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: list[Kept] = []

    def append(self, entry: Entry) -> Kept:
        """See AuditStore."""
        with self._lock:
            last = self._kept[-1].sha256 if self._kept else FIRST
            self._kept.append(kept(entry, len(self._kept) + 1, last))
            return self._kept[-1]

    def page(self, wanted: AuditFilter, limit: int) -> Sequence[Kept]:
        """See AuditStore."""
        with self._lock:
            kept_ones = reversed(self._kept) if wanted.after is None else iter(self._kept)
            return [one for one in kept_ones if _is_wanted(one, wanted)][:limit]

    def verify(self) -> int:
        """See AuditStore."""
        with self._lock:
            return chained(self._kept, FIRST, 0)


def _is_wanted(found: Kept, wanted: AuditFilter) -> bool:
    entry = found.entry
    words = " ".join((entry.call, entry.verb, entry.object, entry.note, entry.client, entry.via)).lower()
    return (
        wanted.text.lower() in words
        and wanted.who.lower() in entry.who.lower()
        and wanted.outcome in ("", entry.outcome)
        and (wanted.since is None or entry.at >= wanted.since)
        and (wanted.until is None or entry.at < wanted.until)
        and wanted.request in ("", entry.request)
        and (not wanted.before or found.position < wanted.before)
        and (wanted.after is None or found.position > wanted.after)
    )
