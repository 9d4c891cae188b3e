"""Records the next step of each pair as soon as it is due. Whoever acts follows what is recorded: agents their
documents, DNS the pair's name. Topics alone are asked for here, as a declaration of the standby."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from controlplane.background.failovers.look import PairLook
from controlplane.background.rounds import Round
from controlplane.cluster.commands import Command, CommandRefused, CopyTopics
from controlplane.fleet.failovers.paired_topics import paired_topics
from controlplane.fleet.failovers.state import PairCache, RegisteredPair
from controlplane.fleet.failovers.steps import PairStep, PairWait, next_step
from controlplane.fleet.failovers.view import PairState
from controlplane.storage.streams import pair_stream
from events.codec import encode
from events.envelope import Origin
from events.errors import StreamConflict
from events.ids import ClusterUid, Epoch, derived_id
from events.store import EventStore

ACTOR = "failovers"
MOST_STEPS = 8
"""Of one pair in one look: what is due without anybody's answer is recorded at once."""

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
    _waits: dict[str, str] = field(default_factory=dict)
    """By pair, what was said last: the log tells what is new."""

    def poll(self) -> None:
        """One round over all pairs. Raises StoreUnavailable, RoundIncomplete."""
        this_round = Round("pairs of clusters")
        living = self.cache.pairs().living
        for pair in living:
            with this_round.apart(pair.name):
                self._carry_on(pair.uid)
        self._waits = {pair.uid: self._waits[pair.uid] for pair in living if pair.uid in self._waits}
        this_round.close()

    def _carry_on(self, uid: str) -> None:
        for _ in range(MOST_STEPS):
            pair = self.cache.pairs().by_uid[uid]
            if not pair.view.name:
                return
            found = next_step(pair.view, self.look.of(pair), self.look.primary_brokers(pair))
            if isinstance(found, PairWait):
                self._waiting(pair, found)
                return
            if not self._record(pair, found):
                return

    def _waiting(self, pair: RegisteredPair, wait: PairWait) -> None:
        if pair.view.state is PairState.PREPARING:
            self._ask_for_topics(pair)
        if self._waits.get(pair.uid) != wait.reason:
            _log.info("the pair %s is %s: %s", pair.name, pair.view.state, wait.reason)
            self._waits[pair.uid] = wait.reason

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

    def _ask_for_topics(self, pair: RegisteredPair) -> None:
        """Those of the primary are to be on the standby, as they are declared there. Asked again while they are not."""
        view, fleet, order = pair.view, self.look.fleet, pair.view.order
        primary, standby = fleet.view(ClusterUid(view.primary)), fleet.view(ClusterUid(view.standby))
        if primary is None or standby is None or view.declaration is None or order is None:
            return
        known = standby.topics.by_name
        wanted = paired_topics(view.declaration.document, primary).values()
        missing = tuple(t for t in wanted if t.name not in known or known[t.name].declared != t)
        if not missing:
            return
        command_id = derived_id("topics of a failover", order.id, str(standby.version))
        try:
            self.ask(CopyTopics(name=standby.name, actor=ACTOR, command_id=command_id, topics=missing, pair=pair.name))
        except CommandRefused as refused:
            _log.warning("the pair %s: topics cannot be declared of %s: %s", pair.name, standby.name, refused)
