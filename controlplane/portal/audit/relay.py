"""From the table of the audit to its topic: at least once, in order, by the leader alone, or by a relay apart.

Where it goes on from is what the topic itself holds last, so a server that dies between a record and a note of it
writes nothing twice. Writing is no call of Kedge's, so it makes no entry: the audit never speaks of its own topic.
"""

import logging
import threading
from dataclasses import dataclass
from functools import partial

from sqlalchemy import Engine

from controlplane.poller import Leadership, Polled, Poller
from controlplane.portal.audit.binding import AuditTopicBinding
from controlplane.portal.audit.holder import relays_of
from controlplane.portal.audit.store import AuditFilter, AuditStore
from controlplane.portal.audit.topic import AuditTopic, AuditTopicForeign, KafkaAuditTopic, Sent
from controlplane.portal.audit.turn import NobodyElse, Turn
from controlplane.portal.audit.watch import RelayWatch
from events.clock import Clock

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
        self._turn: Turn = turn or NobodyElse()
        self._number: int | None = None
        self._sent: int | None = None

    @property
    def sent(self) -> int | None:
        """The last entry the topic has; None where it has to be asked."""
        return self._sent

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
            sent = kept.position
        self._sent = sent

    def close(self) -> None:
        """Gives back what the topic holds, and the turn."""
        self._topic.close()
        self._turn.close()

    def _held(self) -> int:
        last = self._topic.last()
        if last is None:
            return 0
        self._require_ours(last)
        _log.info("the audit goes on at %s after entry %d", self._where, last.position)
        return last.position

    def _require_ours(self, last: Sent) -> None:
        """The hash of an entry covers all before it: where it is the same, so is the whole trail up to there."""
        found = self._store.page(AuditFilter(after=last.position - 1), 1)
        if not found or (found[0].position, found[0].sha256) != (last.position, last.sha256):
            raise AuditTopicForeign(
                f"entry {last.position}, the last one of {self._where}, is not the one of this audit: that topic is of "
                "another installation, or somebody changed the audit, or it was restored from a backup that is older. "
                "Compare the two; then name a new topic in [audit_topic]. Nothing is written to this one"
            )


@dataclass(frozen=True, slots=True)
class AuditRoom:
    """The look, and what it writes by: nothing where a relay apart does, whose `watch` is the look then. Nothing is
    started; without `[audit_topic]` there is neither.
    """

    poller: Poller
    relay: AuditRelay | None
    watch: RelayWatch | None = None

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
) -> AuditRoom:
    """The room of the audit's topic. `watch` is there where that is left to a relay."""
    relay = None
    if binding is not None and watch is None:
        relay = AuditRelay(store, KafkaAuditTopic(binding), leadership, binding.where, turn=turn)
    look: Polled | None = watch or relay
    polled = {} if look is None else {RELAY: look}
    poller = Poller(
        polled,
        dict.fromkeys(polled, RELAY_EVERY_S),
        leadership=leadership,
        stop=threading.Event(),
        notes={} if watch is None else {RELAY: watch.note},
    )
    return AuditRoom(poller, relay, watch)


def watch_of(binding: AuditTopicBinding | None, store: AuditStore, engine: Engine, clock: Clock) -> RelayWatch | None:
    """The watch over a relay apart; None where there is to be none."""
    if binding is None or not binding.apart:
        return None
    return RelayWatch(partial(relays_of, engine), store, binding.where, clock)
