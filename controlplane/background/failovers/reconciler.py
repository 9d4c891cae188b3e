"""Records the next step of each pair as soon as it is due. Whoever acts follows what is recorded: agents their
documents, DNS the pair's name. What the standby is to have is asked for here, as a declaration of its cluster."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from controlplane.background.failovers.look import PairLook
from controlplane.background.rounds import Round
from controlplane.cluster.commands import Command, CommandHead, CommandRefused, SpecRefused
from controlplane.cluster.standby_commands import CopyTopics, GrowStandby
from controlplane.cluster.view import ClusterView
from controlplane.fleet.failovers.paired_topics import copyable_topics, paired_topics
from controlplane.fleet.failovers.standby_size import grown_to
from controlplane.fleet.failovers.state import PairCache, RegisteredPair
from controlplane.fleet.failovers.steps import PairStep, PairWait, next_step
from controlplane.fleet.failovers.troubles import SAID_AGAIN_EVERY_S, PairWaitRow, keep_wait
from controlplane.fleet.failovers.view import PairState, PairView
from controlplane.fleet.failovers.wanted import takeover_brokers
from controlplane.storage.latest_values import LatestStore
from controlplane.storage.streams import pair_stream
from events.clock import Clock
from events.codec import encode
from events.envelope import Origin
from events.errors import StreamConflict
from events.ids import ClusterUid, Epoch, derived_id
from events.store import EventStore

ACTOR = "failovers"
MOST_STEPS = 8
"""Of one pair in one look: what is due without anybody's answer is recorded at once."""

AT_REST_EVERY = timedelta(seconds=5)
ASKED_AGAIN_AFTER = timedelta(seconds=10)
_NEVER = datetime.min.replace(tzinfo=UTC)
_NEEDS_STANDBY = (PairState.SEEDING, PairState.PREPARING, PairState.REVERSING)

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class PairReconciler:
    """`Polled` by the leader. `epoch`: that which this server leads in, None while it does not; `ask` carries a command
    out; `wake` has a cluster looked at soon."""

    store: EventStore
    cache: PairCache
    look: PairLook
    epoch: Callable[[], Epoch | None]
    catch_up: Callable[[], None]
    ask: Callable[[Command], object]
    wake: Callable[[str], object]
    look_again: Callable[[ClusterUid], object]
    latest: LatestStore
    clock: Clock
    _waits: dict[str, tuple[PairWaitRow, datetime]] = field(default_factory=dict)
    """By pair, what was written down last, and when: the log tells what is new."""
    _looked: dict[str, datetime] = field(default_factory=dict)
    _refused: dict[str, tuple[int, datetime, str]] = field(default_factory=dict)
    """By pair, at which version of its standby something was refused, when, and why."""

    def poll(self) -> None:
        """One round over all pairs. Raises StoreUnavailable, RoundIncomplete."""
        this_round = Round("pairs of clusters")
        living = self.cache.pairs().living
        now = self.clock()
        for pair in living:
            if _is_at_rest(pair.view) and now - self._looked.get(pair.uid, _NEVER) < AT_REST_EVERY:
                continue
            self._looked[pair.uid] = now
            with this_round.apart(pair.name):
                self._carry_on(pair.uid)
        self._waits = {pair.uid: self._waits[pair.uid] for pair in living if pair.uid in self._waits}
        self._looked = {pair.uid: self._looked[pair.uid] for pair in living if pair.uid in self._looked}
        self._refused = {pair.uid: self._refused[pair.uid] for pair in living if pair.uid in self._refused}
        this_round.close()

    def _carry_on(self, uid: str) -> None:
        for _ in range(MOST_STEPS):
            pair = self.cache.pairs().by_uid[uid]
            if not pair.view.name:
                return
            seen = self.look.of(pair)
            found = next_step(pair.view, seen, self.look.primary_brokers(pair))
            if isinstance(found, PairWait):
                if seen.standby is None and pair.view.state in _NEEDS_STANDBY:
                    self.look_again(ClusterUid(pair.view.standby))  # at rest its brokers are asked once a minute
                self._waiting(pair, found)
                return
            if not self._record(pair, found):
                return

    def _waiting(self, pair: RegisteredPair, wait: PairWait) -> None:
        trouble = self._prepare(pair) if _is_prepared_for(pair.view) else ""
        row, now = PairWaitRow(wait.reason, pair.view.version, trouble), self.clock()
        before, at = self._waits.get(pair.uid, (None, now))
        is_news = before is None or (before.reason, before.trouble) != (row.reason, row.trouble)
        if is_news:
            said = f"{wait.reason}; {trouble}" if trouble else wait.reason
            _log.info("the pair %s is %s: %s", pair.name, pair.view.state, said)
        # Who shows a trouble takes an old one for none: it may be over, and this server gone.
        if row != before or (trouble and now - at >= timedelta(seconds=SAID_AGAIN_EVERY_S)):
            keep_wait(self.latest, pair.uid, row, source=ACTOR, now=now)
            self._waits[pair.uid] = (row, now)

    def _record(self, pair: RegisteredPair, step: PairStep) -> bool:
        """Whether it was recorded: a person may have been first, and the next look sees what they asked for."""
        epoch = self.epoch()
        if epoch is None:
            return False
        stream, version = pair_stream(pair.uid), pair.view.version
        event = encode(step.fact, derived_id("failover step", pair.uid, str(version), type(step.fact).__name__))
        try:
            self.store.append(stream, [event], expected_version=version, origin=Origin(ACTOR, epoch=epoch))
        except StreamConflict as conflict:
            _log.info("the pair %s: %s", pair.name, conflict)
            return False
        self.catch_up()
        _log.info("the pair %s: %s", pair.name, type(step.fact).__name__)
        for cluster in pair.clusters:
            self.wake(cluster)
        return self.cache.pairs().by_uid[pair.uid].view.version > version

    def _prepare(self, pair: RegisteredPair) -> str:
        """Has the standby grow, and then get the topics of the primary, spread over all its brokers. Asked again while
        it is not so; why it is refused, "" where it is not."""
        view, fleet = pair.view, self.look.fleet
        primary, standby = fleet.view(ClusterUid(view.primary)), fleet.view(ClusterUid(view.standby))
        if primary is None or standby is None or standby.document is None or view.declaration is None:
            return ""
        wanted = takeover_brokers(view, self.look.primary_brokers(pair)) or 0
        if grown_to(standby.document, wanted) != standby.document:
            return self._ask(pair, standby, GrowStandby(**self._head(pair, standby), brokers=wanted, pair=pair.name))
        seen = fleet.last_snapshot(standby.uid)
        if seen is None or len(seen.live_brokers()) < wanted:
            return ""
        missing = copyable_topics(paired_topics(view.declaration.document, primary), standby)
        if not missing:
            return ""
        return self._ask(pair, standby, CopyTopics(**self._head(pair, standby), topics=missing, pair=pair.name))

    def _head(self, pair: RegisteredPair, standby: ClusterView) -> CommandHead:
        order = pair.view.order.id if pair.view.order is not None else ""
        command_id = derived_id("failover prepares", order, str(standby.version))
        return {"name": standby.name, "actor": ACTOR, "command_id": command_id}

    def _ask(self, pair: RegisteredPair, standby: ClusterView, command: Command) -> str:
        """Not again for a while where it was refused of the standby as it is."""
        now = self.clock()
        version, at, why = self._refused.get(pair.uid, (-1, _NEVER, ""))
        if version == standby.version and now - at < ASKED_AGAIN_AFTER:
            return why
        try:
            self.ask(command)
        except CommandRefused as refused:
            why = f"{standby.name} cannot be made ready: {refused}"
        except SpecRefused as refused:
            why = f"{standby.name} cannot be made ready: {'; '.join(p.message for p in refused.problems)}"
        except StreamConflict as conflict:
            why = f"{standby.name} cannot be made ready yet: {conflict}"
        else:
            self._refused.pop(pair.uid, None)
            return ""
        self._refused[pair.uid] = (standby.version, now, why)
        return why


def _is_prepared_for(view: PairView) -> bool:
    """A cold standby as it takes over; a warm one has its topics before its records, and those of later soon."""
    at = (PairState.SEEDING, PairState.STANDBY, PairState.REVERSING) if view.is_warm and not view.may_diverge else ()
    return view.state in (PairState.PREPARING, *at) and not view.stands_still


def _is_at_rest(view: PairView) -> bool:
    """Nothing of it is waited for."""
    return view.state is PairState.STANDBY and view.order is None
