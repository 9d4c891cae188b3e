"""A relay that is a process of its own, as servers see it: whether one is at work, how far it is, what it says."""

import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from controlplane.portal.audit.holder import Holder
from controlplane.portal.audit.store import AuditFilter, AuditStore
from events.clock import Clock
from events.errors import EventsError
from providers.doctor import Finding

STANDS_AFTER: Final = timedelta(minutes=1)
"""A relay looks every 5 s. One that has not come on for so long, with entries to write, stands."""

_START = "start it, or look why it does not: `kedge server --only relay`"
_LOG = "its own log says more"


class AuditRelayTrouble(EventsError):
    """The audit does not reach its topic, or nobody knows whether. What now: what the words say; nothing is lost."""


class RelayWatch:
    """`Polled`. Thread-safe. `holder` is who has the turn, `where` the topic, for people."""

    def __init__(self, holder: Callable[[], Holder | None], store: AuditStore, where: str, clock: Clock) -> None:
        self._holder, self._store, self._where, self._clock = holder, store, where, clock
        self._lock = threading.Lock()
        self._behind: tuple[int | None, datetime] | None = None

    def poll(self) -> None:
        """See Polled. Raises AuditRelayTrouble, StoreUnavailable."""
        found = self.finding()
        if not found.well:
            raise AuditRelayTrouble(f"{found.told}. Nothing is lost: entries wait in the database. {found.what_next}")

    def finding(self) -> Finding:
        """For `kedge doctor`. Raises StoreUnavailable."""
        well, told, then = self._look()
        return Finding("the audit's topic", well, told, then)

    def _look(self) -> tuple[bool, str, str]:
        holder = self._holder()
        if holder is None:
            return False, f"no relay is at work, and nothing of the audit goes to {self._where}", _START
        if not holder.is_relay or holder.word is None:
            told = f"role {holder.role} has the turn to write to {self._where}, and is no relay"
            return (
                False,
                told,
                "a server that leaves it to a relay says `apart = true` in [audit_topic]; else see who it is",
            )
        newest = self._store.page(AuditFilter(), 1)
        head, at = newest[0].position if newest else 0, holder.word.position
        stands_for = self._stands_for(at, head)
        entries = f"the relay (role {holder.role}) has written entry {at or 0} of {head} to {self._where}"
        if holder.word.problem:
            return False, f"{entries} and says: {holder.word.problem}", _LOG
        if stands_for >= STANDS_AFTER:
            return False, f"{entries} and has not come on for {stands_for.total_seconds():.0f} s", _LOG
        return True, entries, ""

    def _stands_for(self, at: int | None, head: int) -> timedelta:
        """How long it has been seen at the same entry, with others to write."""
        now = self._clock()
        with self._lock:
            if (at or 0) >= head:
                self._behind = None
            elif self._behind is None or self._behind[0] != at:
                self._behind = (at, now)
            return now - self._behind[1] if self._behind is not None else timedelta()


def found_by(watch: RelayWatch | None) -> tuple[Finding, ...]:
    """For `kedge doctor`: nothing where no relay apart is to be there. Raises StoreUnavailable."""
    return (watch.finding(),) if watch is not None else ()
