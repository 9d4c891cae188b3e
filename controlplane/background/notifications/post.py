"""From recorded anomalies to notices in the outbox, and from there to notifiers. Each is polled by the leader alone.

Events are the truth: whoever dies between them and the outbox reads on from where the outbox says.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from controlplane.background.anomalies.fold import EMPTY, AnomalyFold, folded
from controlplane.background.notifications.binding import NotifierBinding
from controlplane.background.notifications.delivery import NotDelivered, Notifier
from controlplane.background.notifications.notice import Notice
from controlplane.background.notifications.outbox import Outbox, WaitingNotice
from controlplane.background.notifications.proposals import proposal_notices
from controlplane.background.notifications.silences import IsSilenced, going_out, never, passed_in_silence
from controlplane.background.rounds import Round
from controlplane.cluster.condition_severity import severity_of_anomaly
from controlplane.fleet.proposals.fold import ProposalsView, evolve
from controlplane.runtime.backoff import delay_s
from controlplane.storage.streams import PROPOSALS, anomalies_stream, anomalies_uid_of
from events import codec, envelope, facts, ids
from events.clock import Clock
from events.store import EventStore
from planner.anomalies.judge import Anomaly, is_notified

_log = logging.getLogger(__name__)

PAGE = 1000
IN_A_ROW = 50
"""Notices told in one poll: a notifier with a backlog leaves the thread to others in between."""


class NoticeSpreader:
    """Reads the events behind the last look and puts what is told into the outbox of each notifier."""

    def __init__(
        self,
        bindings: Sequence[NotifierBinding],
        store: EventStore,
        outbox: Outbox,
        rings: Mapping[str, Callable[[], object]],
        owner_of: Callable[[str], str] = lambda _: "",
    ) -> None:
        self._bindings, self._store, self._outbox, self._rings = bindings, store, outbox, rings
        self._owner_of, self._proposals = owner_of, ProposalsView()
        self._folds: dict[ids.ClusterUid, AnomalyFold] = {}
        self._names: dict[ids.ClusterUid, str] = {}
        self._read: dict[str, int] = {}

    def poll(self) -> None:
        """Raises StoreUnavailable; the next poll goes on where this one was. RoundIncomplete where events of a cluster
        cannot be read: what they would have told is left out, and nobody else's."""
        head, this_round = self._store.head(), Round("notices")
        for binding in self._bindings:
            self._read[binding.name] = self._outbox.begin(binding.name, head).position
        position = min(self._read.values(), default=head)
        while position < head:
            page = self._store.read_all(position, limit=PAGE)
            if not page:
                break
            position = page[-1].position
            self._spread(self._notices_in(page, this_round), position)
        this_round.close()

    def _spread(self, notices: Sequence[WaitingNotice], upto: int) -> None:
        for binding in self._bindings:
            if self._read[binding.name] >= upto:
                continue
            mine = [w for w in notices if binding.wants(w.notice)]
            self._outbox.keep(binding.name, upto, mine)
            self._read[binding.name] = upto
            if mine and binding.name in self._rings:
                self._rings[binding.name]()

    def _notices_in(self, page: Sequence[envelope.Recorded], this_round: Round) -> list[WaitingNotice]:
        found = []
        for recorded in page:
            if recorded.stream == PROPOSALS:
                found += [WaitingNotice(recorded.position, n) for n in self._of_proposals(recorded)]
                continue
            uid = anomalies_uid_of(recorded.stream)
            if uid is None:
                continue
            with this_round.apart(self._names.get(uid) or uid):
                notice = self._notice(uid, recorded)
                if notice is not None:
                    found.append(WaitingNotice(recorded.position, notice))
        return found

    def _of_proposals(self, recorded: envelope.Recorded) -> Iterator[Notice]:
        """One where it was made and where it is decided. What cannot be read is told on their page, and to nobody."""
        if self._proposals.version < recorded.version - 1:
            for before in self._store.read_stream(PROPOSALS, self._proposals.version):
                if before.version < recorded.version:
                    self._proposals = evolve(self._proposals, before)
        self._proposals = evolve(self._proposals, recorded)
        number = recorded.data.get("id")
        proposal = self._proposals.by_id.get(str(number))
        if proposal is not None and not self._proposals.unreadable:
            yield from proposal_notices(proposal, recorded, self._owner_of)

    def _notice(self, uid: ids.ClusterUid, recorded: envelope.Recorded) -> Notice | None:
        fold = self._fold_before(uid, recorded)
        event = codec.decode(recorded)
        after = self._folds[uid] = folded(fold, [recorded])
        if isinstance(event, facts.AnomalyFound):
            self._names[uid] = event.cluster
            anomaly, before = after.open_.get(event.anomaly), None
        elif isinstance(event, facts.AnomalyChanged):
            before = fold.open_.get(event.anomaly)
            anomaly = after.open_.get(event.anomaly) or next((a for a in after.past if a.id == event.anomaly), None)
        else:
            return None
        if anomaly is None or not is_notified(anomaly.state, before):
            return None
        name = self._names.get(uid, "")
        at = recorded.recorded_at
        return notice_of(anomaly, name, owner=self._owner_of(name), event=recorded.event_id, at=at)

    def _fold_before(self, uid: ids.ClusterUid, recorded: envelope.Recorded) -> AnomalyFold:
        """The fold as it was right before the event, read once and then carried along."""
        fold = self._folds.get(uid)
        if fold is not None and fold.version == recorded.version - 1:
            return fold
        history = [r for r in self._store.read_stream(anomalies_stream(uid)) if r.version < recorded.version]
        named = (codec.decode(r) for r in history)
        self._names[uid] = next((e.cluster for e in named if isinstance(e, facts.AnomalyFound)), "")
        return folded(EMPTY, history)


class NoticeSender:
    """Tells what waits for one notifier, in order; after a failure it is tried again, less and less often."""

    def __init__(
        self,
        binding: NotifierBinding,
        notifier: Notifier,
        outbox: Outbox,
        clock: Clock,
        silences: Callable[[], IsSilenced] = lambda: never,
    ) -> None:
        self._name, self._gathers = binding.name, timedelta(seconds=binding.gathers_s)
        self._notifier, self._outbox, self._clock, self._silences = notifier, outbox, clock, silences

    def poll(self) -> None:
        """Raises StoreUnavailable."""
        silenced = self._silences()
        waiting = self._waiting(silenced)
        for _ in range(IN_A_ROW):
            due = going_out(waiting, self._clock(), self._gathers, silenced)
            if not due:
                return
            try:
                self._notifier.tell([one.notice for one in due])
            except NotDelivered as error:
                self._postpone(due[0], str(error))
                return
            gone = {one.position for one in due}
            self._outbox.delivered(self._name, sorted(gone), self._clock())
            waiting = [one for one in waiting if one.position not in gone]

    def _waiting(self, silenced: IsSilenced) -> Sequence[WaitingNotice]:
        """What may have to be heard, read once for a poll: what comes meanwhile waits for the next one."""
        waiting = self._outbox.waiting(self._name, self._clock())
        passed = passed_in_silence(waiting, silenced)
        if passed:
            self._outbox.drop(self._name, passed)
        return [one for one in waiting if one.position not in passed]

    def _postpone(self, waiting: WaitingNotice, error: str) -> None:
        now = self._clock()
        pause_s = delay_s(waiting.attempts + 1)
        _log.warning("notifier %s: %s; again in %.0f s", self._name, error, pause_s)
        again_at = now + timedelta(seconds=pause_s)
        self._outbox.failed(self._name, waiting.position, error, now=now, again_at=again_at)


def notice_of(anomaly: Anomaly, cluster: str, *, owner: str, event: str, at: datetime) -> Notice:
    """Of an anomaly as it stands. `event` and `at`: id and time of the event behind it."""
    return Notice(
        id=event,
        cluster=cluster,
        anomaly=anomaly.id,
        kind=anomaly.kind.value,
        subject=anomaly.subject,
        state=anomaly.state.value,
        reason=anomaly.reason,
        words=anomaly.words,
        found_at=anomaly.found_at,
        at=at,
        severity=severity_of_anomaly(anomaly.kind, anomaly.subject),
        owner=owner,
    )


def a_test_notice(name: str, now: datetime) -> Notice:
    """What `kedge notifiers test` sends: nothing is wrong."""
    return Notice(
        id=f"test-{int(now.timestamp())}",
        cluster="(none)",
        anomaly="test",
        kind="test",
        subject=name,
        state="waiting",
        reason="somebody tests this notifier",
        words="nothing is wrong",
        found_at=now,
        at=now,
    )
