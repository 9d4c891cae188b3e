"""A relay that is a process of its own, as servers see it: whether one is at work, how far it is, what it says, and
how many more wait.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from controlplane.api.audit.holder import Relays, RelayWord
from controlplane.api.audit.status import AuditTopicState, TopicQueries, TopicStatus, state_of
from controlplane.api.audit.store import AuditStore, newest_of
from events.clock import Clock
from events.errors import EventsError
from providers.finding import Finding

STANDS_AFTER: Final = timedelta(minutes=1)
"""A relay looks every 5 s. One that has not come on for so long, with entries to write, stands."""

_START = "start it, or look why it does not: `kedge server --only relay`"
_WHO = "a server that leaves it to a relay says `apart = true` in [audit_topic]; else see who it is"
_LOG = "its own log says more"


class AuditRelayTrouble(EventsError):
    """The audit does not reach its topic, or nobody knows whether. What now: what the words say; nothing is lost."""


@dataclass(frozen=True, slots=True)
class _TopicLook:
    """One look in words, what to do, and in figures."""

    state: AuditTopicState
    summary: str
    then: str
    newest: int
    last: int | None = None
    waiting: Mapping[str, int] = field(default_factory=dict)

    @property
    def finding(self) -> Finding:
        """That others wait is neither healthy nor unhealthy: anybody may say so of their session, and one relay is
        enough."""
        waiting = ", ".join(f"{count} of role {role}" for role, count in sorted(self.waiting.items()) if count)
        summary = f"{self.summary}; relays that wait: {waiting}" if waiting else self.summary
        return Finding("the audit's topic", self.state is AuditTopicState.REACHED, summary, self.then)


class RelayWatch:
    """`Polled`. Thread-safe. `relays` is who has the turn and who waits, `where` the topic, for people."""

    def __init__(self, relays: Callable[[], Relays], store: AuditStore, where: str, clock: Clock) -> None:
        self._relays, self._store, self._where, self._clock = relays, store, where, clock
        self._lock = threading.Lock()
        self._behind: tuple[int | None, datetime] | None = None
        self._last: int | None = None
        self._queries = TopicQueries("relay", clock)
        self._note = ""

    @property
    def last_status(self) -> TopicStatus | None:
        """The last poll, None before the first."""
        return self._queries.last_status

    def note(self) -> str:
        """The same in words, "" where something was in the way."""
        return self._note

    def poll(self) -> None:
        """See Polled. Raises AuditRelayTrouble, StoreUnavailable."""
        self._note = ""
        try:
            seen = self._look()
        except Exception as error:
            self._queries.note(state_of(error))
            raise
        self._queries.note(seen.state, newest=seen.newest, last=seen.last, waiting=seen.waiting)
        found = seen.finding
        if not found.well:
            raise AuditRelayTrouble(f"{found.told}. Nothing is lost: entries wait in the database. {found.what_next}")
        self._note = found.told

    def finding(self) -> Finding:
        """For `kedge doctor`. Raises StoreUnavailable."""
        return self._look().finding

    def _look(self) -> _TopicLook:
        relays = self._relays()
        newest = newest_of(self._store)  # after the relay's word: that is never ahead of it
        holder, waiting = relays.holder, relays.waiting
        if holder is None:
            summary = f"no relay is at work, and nothing of the audit goes to {self._where}"
            return _TopicLook(AuditTopicState.NO_RELAY, summary, _START, newest, self._last, waiting)
        if not holder.is_relay or holder.word is None:
            summary = f"role {holder.role} has the turn to write to {self._where}, and is not a relay"
            return _TopicLook(AuditTopicState.TURN_TAKEN, summary, _WHO, newest, None, waiting)
        state, summary, then = self._of_relay(holder.role, holder.word, newest)
        return _TopicLook(state, summary, then, newest, self._last, {holder.role: 0, **waiting})

    def _of_relay(self, role: str, word: RelayWord, newest: int) -> tuple[AuditTopicState, str, str]:
        stands_for = self._stands_for(word.position, newest)
        self._last = word.position if word.position is not None else self._last
        entries = f"the relay (role {role}) has written entry {word.position or 0} of {newest} to {self._where}"
        if word.problem:
            return AuditTopicState.REPORTED, f"{entries} and says: {word.problem}", _LOG
        if stands_for >= STANDS_AFTER:
            summary = f"{entries} and has not come on for {stands_for.total_seconds():.0f} s"
            return AuditTopicState.STANDS, summary, _LOG
        return AuditTopicState.REACHED, entries, ""

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
