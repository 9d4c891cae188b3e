"""From the table of the audit to its topic: at least once, in order, by the leader alone, or by a relay apart.

Where it goes on from is what the topic itself holds last, so a server that dies between a record and a note of it
writes nothing twice. Writing is no call of Kedge's, so it makes no entry: the audit never speaks of its own topic.
"""

import logging
import threading
from dataclasses import dataclass
from functools import partial

from sqlalchemy import Engine

from controlplane.api.audit.binding import AuditTopicBinding
from controlplane.api.audit.holder import relays_of
from controlplane.api.audit.lock import NoOtherWriter, Turn
from controlplane.api.audit.status import AuditTopicState, TopicQueries, TopicStatus, state_of
from controlplane.api.audit.store import AuditFilter, AuditStore, newest_of
from controlplane.api.audit.topic import AuditTopic, AuditTopicForeign, KafkaAuditTopic, Sent
from controlplane.api.audit.watch import RelayWatch
from controlplane.runtime.polling import Leadership, Polled, Poller
from events.clock import Clock
from events.errors import StoreUnavailable

RELAY = "audit topic"
RELAY_EVERY_S = 5.0
PAGE = 500
"""Entries in one poll: another server that comes to lead waits no longer than for these."""

_log = logging.getLogger(__name__)


class AuditRelay:
    """Writes what the topic does not hold yet. `where` is the topic, for people. Use it from one thread."""

    def __init__(
        self, store: AuditStore, topic: AuditTopic, leadership: Leadership, where: str, *, turn: Turn | None = None
    ) -> None:
        self._store, self._topic, self._leadership, self._where = store, topic, leadership, where
        self._turn: Turn = turn or NoOtherWriter()
        self._number: int | None = None
        self._sent: int | None = None
        self._reached: int | None = None

    @property
    def sent(self) -> int | None:
        """The last entry the topic has; None where it has to be asked."""
        return self._sent

    @property
    def reached(self) -> int | None:
        """The last entry the topic is known to have, also where it has to be asked; None where it is not known."""
        return self._reached

    def poll(self) -> None:
        """Raises StoreUnavailable, AuditTurnTaken, AuditNotSent, AuditTopicForeign; the next poll asks the topic where
        it is.
        """
        number = self._turn.take()
        try:
            self._write(self._known(number))
        finally:
            self._turn.pass_on()

    def _known(self, number: int) -> int | None:
        """The last entry the topic has, None where that is to be asked: where others may have written since, and there
        was something to write.
        """
        sent, is_same = self._sent, number == self._number
        self._number, self._sent = number, None
        if sent is None or is_same or not self._store.page(AuditFilter(after=sent), 1):
            return sent
        return None

    def _write(self, sent: int | None) -> None:
        sent = sent if sent is not None else self._held()
        for kept in self._store.page(AuditFilter(after=sent), PAGE):
            if not self._leadership.may_act or not self._turn.is_ours():
                return
            self._topic.send(kept)
            sent = self._reached = kept.position
        self._sent = sent

    def close(self) -> None:
        """Gives back what the topic holds, and the turn."""
        self._topic.close()
        self._turn.close()

    def _held(self) -> int:
        last = self._topic.last()
        if last is not None:
            self._require_ours(last)
            _log.info("the audit goes on at %s after entry %d", self._where, last.position)
        self._reached = last.position if last is not None else 0
        return self._reached

    def _require_ours(self, last: Sent) -> None:
        """The hash of an entry covers all before it: where it is the same, so is the whole trail up to there."""
        found = self._store.page(AuditFilter(after=last.position - 1), 1)
        if not found or (found[0].position, found[0].sha256) != (last.position, last.sha256):
            self._reached = None
            raise AuditTopicForeign(
                f"entry {last.position}, the last one of {self._where}, is not the one of this audit: that topic is of "
                "another installation, or somebody changed the audit, or it was restored from a backup that is older. "
                "Compare the two; then name a new topic in [audit_topic]. Nothing is written to this one"
            )


class WritingLook:
    """`Polled` of a server that writes the topic itself: what its relay does, of which it is kept how that went."""

    def __init__(self, relay: AuditRelay, store: AuditStore, clock: Clock) -> None:
        self._relay, self._store = relay, store
        self._queries = TopicQueries("server", clock)

    @property
    def last_status(self) -> TopicStatus | None:
        """The last look, None before the first."""
        return self._queries.last_status

    def poll(self) -> None:
        """See Polled. Raises what AuditRelay.poll does."""
        try:
            self._relay.poll()
        except Exception as error:
            self._keep(state_of(error))
            raise
        # One that ended before its time lost the turn, with its session.
        self._keep(AuditTopicState.REACHED if self._relay.sent is not None else AuditTopicState.NO_DATABASE)

    def _keep(self, state: AuditTopicState) -> None:
        """What the topic has is not known where another one writes to it."""
        last = None if state is AuditTopicState.TURN_TAKEN else self._relay.reached
        self._queries.note(state, newest=self._newest(state), last=last)

    def _newest(self, state: AuditTopicState) -> int | None:
        if state is AuditTopicState.NO_DATABASE:
            return None
        try:
            return newest_of(self._store)
        except StoreUnavailable:
            return None


@dataclass(frozen=True, slots=True)
class AuditRoom:
    """The look, and what it writes by: nothing where a relay apart does, whose `watch` is the look then. Nothing is
    started; without `[audit_topic]` there is neither.
    """

    poller: Poller
    leadership: Leadership
    relay: AuditRelay | None
    look: RelayWatch | WritingLook | None
    watch: RelayWatch | None = None

    def last_status(self) -> TopicStatus | None:
        """The last look, for metrics; None where this server does not lead, and so does not look."""
        return self.look.last_status if self.look is not None and self.leadership.may_act else None

    def close(self) -> None:
        """Nothing is written after this."""
        self.poller.stop()
        if self.relay is not None:
            self.relay.close()


def audit_room_of(
    binding: AuditTopicBinding | None,
    store: AuditStore,
    leadership: Leadership,
    *,
    turn: Turn,
    watch: RelayWatch | None,
    clock: Clock,
) -> AuditRoom:
    """The room of the audit's topic. `watch` is there where that is left to a relay."""
    relay = None
    if binding is not None and watch is None:
        relay = AuditRelay(store, KafkaAuditTopic(binding), leadership, binding.where, turn=turn)
    look: RelayWatch | WritingLook | None = watch if relay is None else WritingLook(relay, store, clock)
    polled: dict[str, Polled] = {} if look is None else {RELAY: look}
    poller = Poller(
        polled,
        dict.fromkeys(polled, RELAY_EVERY_S),
        leadership=leadership,
        stop=threading.Event(),
        notes={} if watch is None else {RELAY: watch.note},
    )
    return AuditRoom(poller, leadership, relay, look, watch)


def watch_of(binding: AuditTopicBinding | None, store: AuditStore, engine: Engine, clock: Clock) -> RelayWatch | None:
    """The watch over a relay apart; None where there is to be none."""
    if binding is None or not binding.apart:
        return None
    return RelayWatch(partial(relays_of, engine), store, binding.where, clock)
