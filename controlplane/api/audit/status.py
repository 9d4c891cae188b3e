"""How the topic of the audit stands, by the last look of the server that leads: a scrape is told that, and asks
nobody anew.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal

from controlplane.api.audit.lock import AuditTurnTaken
from controlplane.api.audit.topic import AuditNotSent, AuditTopicForeign
from events.clock import Clock
from events.errors import StoreUnavailable

Writer = Literal["server", "relay"]


class AuditTopicState(StrEnum):
    """What is in the way of the audit, in words of ours alone: what a session says of itself is none of them."""

    REACHED = "reached"
    """Nothing."""
    NOT_SENT = "not_sent"
    """The topic did not take an entry, or did not say what it has."""
    FOREIGN = "foreign_topic"
    """What the topic holds is another audit."""
    TURN_TAKEN = "turn_taken"
    """Somebody else has the turn to write."""
    NO_RELAY = "no_relay"
    """No relay is at work, and one is to be."""
    REPORTED = "relay_reports"
    """The relay says that something is."""
    STANDS = "relay_stands"
    """The relay says nothing, and does not come on."""
    NO_DATABASE = "no_database"
    """The database did not answer."""
    FAILED = "failed"
    """The look itself: the server's log has the error."""


@dataclass(frozen=True, slots=True)
class TopicStatus:
    """One look, ended at `at`, by the server that writes or at the relay that does. `reached_at` is the last one that
    found nothing in the way. Positions of the `newest` entry there is and of the `last` one the topic is known to have,
    and how many relays are `waiting` by role, are None where that look did not find out.
    """

    by: Writer
    at: datetime
    state: AuditTopicState
    reached_at: datetime | None = None
    newest: int | None = None
    last: int | None = None
    waiting: Mapping[str, int] | None = None


class TopicQueries:
    """Keeps the last look. One thread notes, any may read."""

    def __init__(self, by: Writer, clock: Clock) -> None:
        self._by, self._clock = by, clock
        self._last_status: TopicStatus | None = None

    @property
    def last_status(self) -> TopicStatus | None:
        """None before the first look."""
        return self._last_status

    def note(
        self,
        state: AuditTopicState,
        *,
        newest: int | None = None,
        last: int | None = None,
        waiting: Mapping[str, int] | None = None,
    ) -> None:
        """A look that has ended."""
        now, before = self._clock(), self._last_status
        reached_at = now if state is AuditTopicState.REACHED else before.reached_at if before is not None else None
        self._last_status = TopicStatus(self._by, now, state, reached_at, newest, last, waiting)


def state_of(error: Exception) -> AuditTopicState:
    """What a look that ended so found."""
    match error:
        case AuditNotSent():
            return AuditTopicState.NOT_SENT
        case AuditTopicForeign():
            return AuditTopicState.FOREIGN
        case AuditTurnTaken():
            return AuditTopicState.TURN_TAKEN
        case StoreUnavailable():
            return AuditTopicState.NO_DATABASE
    return AuditTopicState.FAILED
