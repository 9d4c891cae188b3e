"""What people ask of pairs of clusters: declare one, order a failover, take a declaration back, look which there are.

A pair is registered with its clusters in one stream for all pairs, so that no cluster is of two, and declared in a
stream of its own. A crash in between leaves a pair without a declaration, which holds its clusters: the same
declaration again goes on with it, and a withdrawal lets them go.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from controlplane.cluster.commands import Command, CommandRefused, SpecRefused
from controlplane.cluster.view import ClusterView
from controlplane.commands.admission.failovers import PairSurroundings, check_failover_of
from controlplane.commands.failover_declarations import (
    DeclarePair,
    IsBound,
    ReportPairGone,
    WithdrawPair,
    declared,
    gone,
    withdrawn,
)
from controlplane.commands.failover_orders import (
    AbortFailover,
    CertifyDoorShut,
    Decided,
    OrderFailover,
    PairOutcome,
    aborted,
    certified,
    order_plan,
    ordered,
    refuse_unconfirmed,
)
from controlplane.commands.previews.failovers import refuse_moved_pair
from controlplane.fleet.failovers.orders import FailoverPlan
from controlplane.fleet.failovers.seen import NOTHING_SEEN, PairSeen
from controlplane.fleet.failovers.standby_size import declared_brokers
from controlplane.fleet.failovers.state import PairCache, PairsView, RegisteredPair
from controlplane.fleet.failovers.steps import Next, next_step
from controlplane.fleet.failovers.troubles import NO_TROUBLES, PairTroubles
from controlplane.fleet.stream_command import recorded_once
from controlplane.storage.streams import FAILOVERS, pair_stream
from events import failover_facts as facts
from events.envelope import Origin
from events.ids import derived_id
from events.spec.failover_model import KafkaFailoverDocument
from events.spec.model import KafkaClusterDocument
from events.spec.positions import Positions
from events.spec.problems import Problem
from events.store import EventStore


class PairNotFound(LookupError):
    """No living pair has that name, or it is not the caller's to see. What now: correct the name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no failover {name!r}")
        self.name = name


class Failovers(Protocol):
    """What people ask of pairs; `FailoverService` is one."""

    def pairs(self) -> PairsView: ...

    def get(self, name: str) -> RegisteredPair: ...

    def problems(
        self,
        document: KafkaFailoverDocument,
        beside: Mapping[str, KafkaClusterDocument],
        positions: Positions,
        visible: Callable[[str], ClusterView],
    ) -> list[Problem]: ...

    def check(self, command: DeclarePair, beside: Mapping[str, KafkaClusterDocument]) -> None: ...

    def declare(self, command: DeclarePair) -> PairOutcome: ...

    def withdraw(self, command: WithdrawPair) -> PairOutcome: ...

    def next(self, pair: RegisteredPair) -> Next: ...

    def troubles(self, pair: RegisteredPair) -> PairTroubles: ...

    def plan(self, pair: RegisteredPair, *, planned: bool, accepts_loss: bool) -> FailoverPlan: ...

    def order(self, command: OrderFailover) -> PairOutcome: ...

    def abort(self, command: AbortFailover) -> PairOutcome: ...

    def certify(self, command: CertifyDoorShut) -> PairOutcome: ...


@dataclass(frozen=True, slots=True)
class FailoverService:
    """Safe to call from many threads and from several servers. `current` is a living cluster by name as of now, `views`
    are all clusters, `catch_up` folds what was recorded, by whomever; `seen` is what is known of a pair beside it,
    `in_its_way` what people are told of it; `is_bound` whether files of a source are looked at."""

    store: EventStore
    cache: PairCache
    current: Callable[[str], ClusterView]
    views: Callable[[], Sequence[ClusterView]]
    catch_up: Callable[[], None]
    seen: Callable[[RegisteredPair], PairSeen] = lambda pair: NOTHING_SEEN
    in_its_way: Callable[[RegisteredPair], PairTroubles] = lambda pair: NO_TROUBLES
    is_bound: IsBound = lambda source: True

    def pairs(self) -> PairsView:
        """As of now, withdrawn ones among them. Raises StoreUnavailable."""
        self.catch_up()
        return self.cache.pairs()

    def get(self, name: str) -> RegisteredPair:
        """The living one of that name. Raises PairNotFound, StoreUnavailable."""
        found = self.pairs().named(name)
        if found is None:
            raise PairNotFound(name)
        return found

    def problems(
        self,
        document: KafkaFailoverDocument,
        beside: Mapping[str, KafkaClusterDocument],
        positions: Positions,
        visible: Callable[[str], ClusterView],
    ) -> list[Problem]:
        """What speaks against a pair as its clusters stand. `beside`: clusters of the same file; `visible`: a living
        cluster by name, as far as who asks may know. Raises StoreUnavailable."""
        return replace(self, current=visible)._problems(document, self.pairs(), beside, positions)

    def check(self, command: DeclarePair, beside: Mapping[str, KafkaClusterDocument]) -> None:
        """Raises what `declare` would raise now, were the clusters of `beside` in force, and records nothing."""
        pairs = self.pairs()
        self._refuse(command, pairs, beside)
        known = pairs.named(command.name)
        if known is not None:
            declared(known, command, known.clusters, self.is_bound)

    def declare(self, command: DeclarePair) -> PairOutcome:
        """Brings it into force. Idempotent by `command_id`.

        Raises SpecRefused, CommandRefused, StoreUnavailable, and StreamConflict when others never stood still.
        """
        uid = self._registered(command)

        def decide(pairs: PairsView) -> Decided:
            known = pairs.by_uid[uid]
            if known.view.is_withdrawn:
                again = "Apply it again: that is another pair then."
                raise CommandRefused("pair-withdrawn", f"the pair {command.name} was withdrawn meanwhile", again)
            self._refuse(command, pairs, {})
            return declared(known, command, self._uids(command.document), self.is_bound)

        return self._record(uid, decide, command)

    def withdraw(self, command: WithdrawPair) -> PairOutcome:
        """From here on each cluster is its own. Idempotent. Raises PairNotFound, CommandRefused while the pair acts
        a file declares it, or the name typed is another, StoreUnavailable."""
        uid = self._of_command(command) or self.get(command.name).uid
        refuse_unconfirmed(command.name, command.confirm)

        return self._record(uid, lambda pairs: withdrawn(pairs.by_uid[uid], command, self.is_bound), command)

    def report_gone(self, command: ReportPairGone) -> PairOutcome:
        """Records that no file of its source declares it any more; it stays. Idempotent. Raises PairNotFound,
        StoreUnavailable."""
        uid = self.get(command.name).uid
        return self._record(uid, lambda pairs: gone(pairs.by_uid[uid], command), command)

    def next(self, pair: RegisteredPair) -> Next:
        """What is due of it, or what it waits for, as far as this server sees it."""
        return next_step(pair.view, self.seen(pair), self._primary_brokers(pair))

    def troubles(self, pair: RegisteredPair) -> PairTroubles:
        """What stands in its way, for people. Raises StoreUnavailable."""
        return self.in_its_way(pair)

    def plan(self, pair: RegisteredPair, *, planned: bool, accepts_loss: bool) -> FailoverPlan:
        """What a failover would do, what it may lose, and why it does not begin. Raises CommandRefused where the pair's
        declaration was begun and not ended."""
        seen, brokers = self.seen(pair), self._primary_brokers(pair)
        return order_plan(pair, seen, brokers, self._names(), planned=planned, accepts_loss=accepts_loss)

    def order(self, command: OrderFailover) -> PairOutcome:
        """The standby is to take over; whoever carries that out goes on from here. Idempotent by `command_id`.

        Raises PairNotFound, StoreUnavailable, and CommandRefused for whatever the plan is refused for, a plan that is
        not what was shown, and another name typed.
        """

        def decide(pair: RegisteredPair) -> Decided:
            plan = self.plan(pair, planned=command.planned, accepts_loss=command.accepts_loss)
            return ordered(pair, command, plan, self._names())

        refuse_unconfirmed(command.name, command.confirm)
        return self._ordered(command, decide)

    def abort(self, command: AbortFailover) -> PairOutcome:
        """All is to be as before the order in hand. Idempotent. Raises PairNotFound, StoreUnavailable, and
        CommandRefused where none is in hand, or its point of no return is behind it."""
        return self._ordered(command, lambda pair: aborted(pair, command, self._names()))

    def certify(self, command: CertifyDoorShut) -> PairOutcome:
        """A person's word that the door of the primary is shut. Idempotent by `command_id`. Raises PairNotFound,
        StoreUnavailable, and CommandRefused where no order in hand is closing it, or without name or reason."""
        refuse_unconfirmed(command.name, command.confirm)
        return self._ordered(
            command, lambda pair: certified(pair, command, self._names(), self.in_its_way(pair).heard_open)
        )

    def _ordered(self, command: Command, decide: Callable[[RegisteredPair], Decided]) -> PairOutcome:
        """Of the living pair of that name, or of the one that this very command was about."""
        uid = self._of_command(command) or self.get(command.name).uid

        def living(pairs: PairsView) -> Decided:
            if pairs.by_uid[uid].view.is_withdrawn:
                raise PairNotFound(command.name)
            return decide(pairs.by_uid[uid])

        return self._record(uid, living, command)

    def _names(self) -> dict[str, str]:
        return {view.uid: view.name for view in self.views()}

    def _primary_brokers(self, pair: RegisteredPair) -> int | None:
        """How many its primary is to have; None where no document of it says so."""
        primary = next((view for view in self.views() if view.uid == pair.view.primary), None)
        return declared_brokers(primary)

    def _registered(self, command: DeclarePair) -> str:
        """The uid of the living pair of that name; a new one has its clusters from here on."""

        def decide(pairs: PairsView) -> tuple[object | None, str]:
            self._refuse(command, pairs, {})
            known = pairs.named(command.name)
            if known is not None:
                return None, known.uid
            uid = derived_id("failover", command.name, str(pairs.version))
            return facts.PairRegistered(uid, command.name, self._uids(command.document)), uid

        return recorded_once(
            self.store,
            FAILOVERS,
            look=self.pairs,
            decide=decide,
            event_id=derived_id("failover registration", command.command_id),
            origin=Origin(command.actor, command_id=command.command_id),
            known=lambda done: str(done.data["uid"]),
        )

    def _record(self, uid: str, decide: Callable[[PairsView], Decided], command: Command) -> PairOutcome:
        seen = PairsView()

        def look() -> RegisteredPair:
            nonlocal seen
            seen = self.pairs()
            return seen.by_uid[uid]

        return recorded_once(
            self.store,
            pair_stream(uid),
            look=lambda: look().view,
            decide=lambda _: decide(seen),
            event_id=derived_id("failover command", uid, command.command_id),
            origin=Origin(command.actor, command_id=command.command_id),
            known=lambda done: PairOutcome(command.name, True, _AGAIN, str(done.data.get("order", ""))),
            recorded=lambda _: self.catch_up(),
        )

    def _uids(self, document: KafkaFailoverDocument) -> tuple[str, ...]:
        return tuple(self.current(name).uid for name in document.spec.clusters)

    def _of_command(self, command: Command) -> str | None:
        """The pair whose stream has that very command."""
        same = (pair for pair in self.pairs().by_uid.values() if pair.name == command.name)
        return next((pair.uid for pair in same if self._has(pair.uid, command.command_id)), None)

    def _has(self, uid: str, command_id: str) -> bool:
        return any(event.command_id == command_id for event in self.store.read_stream(pair_stream(uid)))

    def _refuse(self, command: DeclarePair, pairs: PairsView, beside: Mapping[str, KafkaClusterDocument]) -> None:
        """Raises SpecRefused, and CommandRefused where nobody can tell which clusters are paired."""
        if pairs.unreadable:
            raise CommandRefused("history-unreadable", f"the pairs are unreadable: {pairs.unreadable}")
        found = self._problems(command.document, pairs, beside, command.positions)
        if errors := [problem for problem in found if problem.is_error]:
            raise SpecRefused(errors)
        if command.plan_digest is not None:
            refuse_moved_pair(pairs.named(command.name), command.document, command.plan_digest)

    def _problems(
        self,
        document: KafkaFailoverDocument,
        pairs: PairsView,
        beside: Mapping[str, KafkaClusterDocument],
        positions: Positions,
    ) -> list[Problem]:
        """One that is in force was accepted, and is not refused again: only what it is warned of is told."""
        around = self._around(document, pairs, beside)
        found = check_failover_of(document, around, positions=positions)
        return [problem for problem in found if not (problem.is_error and around.has_in_force(document))]

    def _around(
        self, document: KafkaFailoverDocument, pairs: PairsView, beside: Mapping[str, KafkaClusterDocument]
    ) -> PairSurroundings:
        living = {name: self.current(name) for name in document.spec.clusters}
        documents = [view.document for view in self.views() if view.document is not None and not view.deleted]
        names = {d.spec.bootstrap.dns: d.metadata.name for d in documents if d.spec.bootstrap.dns}
        return PairSurroundings(living, beside, pairs, names)


_AGAIN = "done before, by this very command"
