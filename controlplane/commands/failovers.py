"""What people ask of pairs of clusters: declare one, take a declaration back, look which there are.

A pair is registered with its clusters in one stream for all pairs, so that no cluster is of two, and declared in a
stream of its own. A crash in between leaves a pair without a declaration, which holds its clusters: the same
declaration again goes on with it, and a withdrawal lets them go.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from controlplane.cluster.commands import Command, CommandRefused, SpecRefused
from controlplane.cluster.view import ClusterView
from controlplane.commands.admission.failovers import PairSurroundings, check_failover_of
from controlplane.commands.previews.failovers import refuse_moved_pair
from controlplane.fleet.failovers.state import PairCache, PairsView, RegisteredPair
from controlplane.fleet.stream_command import recorded_once
from controlplane.storage.streams import FAILOVERS, pair_stream
from events import failover_facts as facts
from events.envelope import Origin
from events.ids import derived_id
from events.spec.failover_model import KafkaFailoverDocument
from events.spec.model import KafkaClusterDocument
from events.spec.positions import NOWHERE, Positions
from events.spec.problems import Problem
from events.store import EventStore


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclarePair(Command):
    """Bring this document into force; `name` is the document's own. `source` is `api` or `git:BINDING`."""

    document: KafkaFailoverDocument
    source: str
    positions: Positions = field(default=NOWHERE, compare=False)
    plan_digest: str | None = None
    """With it only if that is still what it would do, as its preview says."""
    path: str = ""
    commit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WithdrawPair(Command):
    """Take a pair's declaration back; `confirm` is its name again."""

    confirm: str
    reason: str


@dataclass(frozen=True, slots=True)
class PairOutcome:
    """What came of it."""

    name: str
    changed: bool
    sentence: str


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


@dataclass(frozen=True, slots=True)
class FailoverService:
    """Safe to call from many threads and from several servers. `current` is a living cluster by name as of now, `views`
    are all clusters, `catch_up` folds what was recorded, by whomever."""

    store: EventStore
    cache: PairCache
    current: Callable[[str], ClusterView]
    views: Callable[[], Sequence[ClusterView]]
    catch_up: Callable[[], None]

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
            _changed(known, command, known.clusters)

    def declare(self, command: DeclarePair) -> PairOutcome:
        """Brings it into force. Idempotent by `command_id`.

        Raises SpecRefused, CommandRefused, StoreUnavailable, and StreamConflict when others never stood still.
        """
        uid = self._registered(command)

        def decide(pairs: PairsView) -> tuple[object | None, PairOutcome]:
            known = pairs.by_uid[uid]
            if known.view.is_withdrawn:
                again = "Apply it again: that is another pair then."
                raise CommandRefused("pair-withdrawn", f"the pair {command.name} was withdrawn meanwhile", again)
            self._refuse(command, pairs, {})
            return _changed(known, command, self._uids(command.document))

        return self._record(uid, decide, command)

    def withdraw(self, command: WithdrawPair) -> PairOutcome:
        """From here on each cluster is its own. Idempotent. Raises PairNotFound, CommandRefused while the pair acts
        or where the name typed is another, StoreUnavailable."""
        uid = self._of_command(command) or self.get(command.name).uid
        if command.confirm != command.name:
            message = f"`{command.confirm}` is not `{command.name}`: nothing was changed"
            raise CommandRefused("not-confirmed", message, "Type the pair's name again.")

        def decide(pairs: PairsView) -> tuple[object | None, PairOutcome]:
            view = pairs.by_uid[uid].view
            if view.is_withdrawn:
                return None, PairOutcome(command.name, False, f"the pair {command.name} was withdrawn already")
            _refuse_acting(command.name, pairs.by_uid[uid])
            sentence = f"{command.name} is no pair any more: each of its clusters is its own, and stays as it is"
            return facts.PairWithdrawn(command.reason), PairOutcome(command.name, True, sentence)

        return self._record(uid, decide, command)

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

    def _record(
        self, uid: str, decide: Callable[[PairsView], tuple[object | None, PairOutcome]], command: Command
    ) -> PairOutcome:
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
            known=lambda _: PairOutcome(command.name, True, "done before, by this very command"),
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


def _changed(
    known: RegisteredPair, command: DeclarePair, clusters: tuple[str, ...]
) -> tuple[object | None, PairOutcome]:
    """What the document is to a pair that is registered; `clusters` are its own, by uid. Raises CommandRefused."""
    view, document, name = known.view, command.document, command.name
    if view.unreadable:
        raise CommandRefused("history-unreadable", f"the history of the pair {name} is unreadable: {view.unreadable}")
    data = document.model_dump(mode="json", by_alias=True)
    if not view.name:
        primary, standby = clusters
        first, second = document.spec.clusters
        sentence = f"{name}: {first} is the primary, {second} its {document.spec.mode} standby"
        fact: object = facts.FailoverDeclared(
            name, primary, standby, document.spec.mode, data, command.source, command.path, command.commit
        )
        return fact, PairOutcome(name, True, sentence)
    before = view.declaration
    if before is not None and before.document == document and before.source == command.source:
        return None, PairOutcome(name, False, f"{name} is declared so already")
    if before is not None and before.source != command.source and before.source.startswith("git:"):
        message = f"the pair {name} is declared by {before.source} {before.path}: nothing was changed"
        raise CommandRefused("other-source", message, "Change it there.")
    if view.order is not None:
        message = f"the failover {view.order.id} of {name} is in hand, by its document of before: nothing was changed"
        raise CommandRefused("failover-in-hand", message, "Apply it again once that is over.")
    changed = facts.PairSpecChanged(data, command.source, command.path, command.commit)
    return changed, PairOutcome(name, True, f"{name} is declared anew")


def _refuse_acting(name: str, known: RegisteredPair) -> None:
    view = known.view
    if view.unreadable:
        raise CommandRefused("history-unreadable", f"the history of the pair {name} is unreadable: {view.unreadable}")
    if view.order is not None:
        message = f"the failover {view.order.id} of {name} is in hand: nothing was changed"
        raise CommandRefused("failover-in-hand", message, "Withdraw it once that is over.")
    if view.flow is not None:
        message = f"records are copied to the standby of {name}: nothing was changed"
        raise CommandRefused("failover-copies", message, "Withdraw it once its replicator has ended.")
