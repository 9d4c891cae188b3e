"""From the table of the audit to its topic: at least once, in order, by the leader alone.

Where it goes on from is what the topic itself holds last, so a server that dies between a record and a note of it
writes nothing twice. Writing is no call of Kedge's, so it makes no entry: the audit never speaks of its own topic.
"""

import logging
import threading
from dataclasses import dataclass

from controlplane.poller import Leadership, Poller
from controlplane.portal.audit.binding import AuditTopicBinding
from controlplane.portal.audit.store import AuditFilter, AuditStore
from controlplane.portal.audit.topic import AuditTopic, AuditTopicForeign, KafkaAuditTopic, Sent

RELAY = "audit topic"
RELAY_EVERY_S = 5.0
PAGE = 500
"""Entries in one poll: another server that comes to lead waits no longer than for these."""

_log = logging.getLogger(__name__)


class AuditRelay:
    """Writes what the topic does not hold yet. `where` is the topic, for people. Use it from one thread."""

    def __init__(self, store: AuditStore, topic: AuditTopic, leadership: Leadership, where: str) -> None:
        self._store, self._topic, self._leadership, self._where = store, topic, leadership, where
        self._sent: int | None = None

    def poll(self) -> None:
        """Raises StoreUnavailable, AuditNotSent, AuditTopicForeign; the next poll asks the topic where it is."""
        sent = self._sent if self._sent is not None else self._held()
        self._sent = None
        for kept in self._store.page(AuditFilter(after=sent), PAGE):
            if not self._leadership.may_act:
                return
            self._topic.send(kept)
            sent = kept.position
        self._sent = sent

    def close(self) -> None:
        """Gives back what the topic holds."""
        self._topic.close()

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
    """The look, and what it writes by. Nothing is started; without `[audit_topic]` there is none."""

    poller: Poller
    relay: AuditRelay | None

    def close(self) -> None:
        """Nothing is written after this."""
        self.poller.stop()
        if self.relay is not None:
            self.relay.close()


def audit_room_of(binding: AuditTopicBinding | None, store: AuditStore, leadership: Leadership) -> AuditRoom:
    """The room of the audit's topic."""
    if binding is None:
        return AuditRoom(Poller({}, {}, leadership=leadership, stop=threading.Event()), None)
    relay = AuditRelay(store, KafkaAuditTopic(binding), leadership, binding.where)
    poller = Poller({RELAY: relay}, {RELAY: RELAY_EVERY_S}, leadership=leadership, stop=threading.Event())
    return AuditRoom(poller, relay)
