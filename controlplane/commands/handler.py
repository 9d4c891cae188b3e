"""Commands become events: find the cluster by its name, read its history, decide, append with the version read.

The decisions are in `deciders`, a function for each command. A command whose id is in the history already is answered,
not repeated.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from controlplane.cluster.commands import (
    ClusterNotFound,
    Command,
    CommandRefused,
    DeclareCluster,
    DeclareInCluster,
)
from controlplane.cluster.fold import fold
from controlplane.cluster.observed.agent_reports import ReportSeen
from controlplane.cluster.view import ClusterView, empty_view
from controlplane.commands.admission.judge import SpecJudge
from controlplane.commands.deciders.decision import CommandDecision
from controlplane.commands.deciders.history import CommandHistory
from controlplane.commands.deciders.lookups import Lookups
from controlplane.commands.deciders.table import decided
from controlplane.fleet.cluster_names import holding, take_name
from controlplane.storage.streams import cluster_stream
from events.clock import Clock, utc_now
from events.codec import encode
from events.envelope import Origin, Recorded
from events.errors import StreamConflict
from events.ids import ClusterUid, derived_id, new_cluster_uid
from events.spec.model import KafkaClusterDocument
from events.store import EventStore
from planner.observed import KafkaSnapshot

TRIES = 5
"""Times a command decides anew when somebody else wrote to the stream meanwhile: converger ticks write often."""


@dataclass(frozen=True, slots=True)
class CommandOutcome:
    """What came of a command. `generation` is the one in force afterwards."""

    uid: ClusterUid
    name: str
    generation: int
    changed: bool
    sentence: str
    created: bool = False


class CommandHandler:
    """Handles commands against a store. Safe to call from many threads and from several servers."""

    def __init__(
        self,
        store: EventStore,
        *,
        last_snapshot: Callable[[ClusterUid], KafkaSnapshot | None] = lambda _: None,
        new_uid: Callable[[], ClusterUid] = new_cluster_uid,
        judge: SpecJudge | None = None,
        reports: Callable[[ClusterUid], Mapping[str, ReportSeen]] = lambda _: {},
        clock: Clock = utc_now,
        frozen: Callable[[ClusterView], str] = lambda view: "",
        paired: Callable[[ClusterView], str] = lambda view: "",
    ) -> None:
        """`judge`: of specs; without one no policy and no network is held against them. `reports`: the last ones of a
        cluster's agents, by instance key. `frozen` has words for the freeze a cluster is in, "" where it is in none;
        `paired` the name of the failover a cluster is of, likewise."""
        self._store, self._new_uid = store, new_uid
        self._last_snapshot, self._judge = last_snapshot, judge or SpecJudge()
        self._reports, self._clock, self._frozen = reports, clock, frozen
        self._paired = paired

    def handle(self, command: Command) -> CommandOutcome:
        """Does it, or says that nothing had to be done.

        Raises ClusterNotFound, CommandRefused, SpecRefused, StoreUnavailable, and StreamConflict when the stream never
        stood still: try again.
        """
        for left in reversed(range(TRIES)):
            try:
                return self._handle(command)
            except StreamConflict:
                if not left:
                    raise
        raise AssertionError("unreachable")

    def current(self, name: str) -> ClusterView:
        """The living cluster of that name as its stream says right now; an empty view when the name is free."""
        held = holding(self._store, name)
        view = self._history(held.uid).view if held.uid is not None else None
        return empty_view("") if view is None or view.deleted else view

    def visible(self, name: str) -> ClusterView:
        """The same: here nothing is kept from anybody."""
        return self.current(name)

    def check(self, command: DeclareCluster | DeclareInCluster, *, beside: KafkaClusterDocument | None = None) -> None:
        """Raises what `handle` would raise now, and records nothing.

        `beside`: the document that is declared with these topics, and comes into force first.
        """
        held = holding(self._store, command.name)
        history = CommandHistory((), empty_view("")) if held.uid is None else self._history(held.uid)
        if history.has(command):
            return
        view = empty_view("") if history.view.deleted else history.view
        self._decide(command, replace(view, document=beside) if beside else view, history.events)

    def _history(self, uid: ClusterUid) -> CommandHistory:
        events = self._store.read_stream(cluster_stream(uid))
        return CommandHistory(events, fold(empty_view(uid), events))

    def _handle(self, command: Command) -> CommandOutcome:
        uid = self._find(command)
        history = self._history(uid)
        view = history.view
        if history.has(command):
            return _answer_of_then(history, command.command_id)
        if view.history.unreadable:
            raise CommandRefused(
                "history-unreadable", f"the history of {command.name} is unreadable: {view.history.unreadable}"
            )
        decision = self._decide(command, view, history.events)
        if decision.fact is None:
            return _outcome(view, False, decision.sentence)
        events = [encode(decision.fact, derived_id("command", view.uid, command.command_id))]
        if decision.before is not None:
            events.insert(0, encode(decision.before, derived_id("command", view.uid, command.command_id, "before")))
        recorded = self._store.append(
            cluster_stream(uid), events, expected_version=view.version, origin=_origin(command)
        )
        return _outcome(fold(view, recorded), True, decision.sentence, created=view.generation == 0)

    def _find(self, command: Command) -> ClusterUid:
        """The living cluster of that name. A declaration takes a free name for a new one."""
        held = holding(self._store, command.name)
        if held.uid is not None:
            history = self._history(held.uid)
            declared = bool(history.events) or isinstance(command, DeclareCluster)
            if declared and (not history.view.deleted or history.of_command(command.command_id)):
                return held.uid
        if not isinstance(command, DeclareCluster):
            raise ClusterNotFound(command.name)
        return take_name(self._store, held, self._new_uid(), _origin(command))

    def _decide(self, command: Command, view: ClusterView, events: Sequence[Recorded]) -> CommandDecision:
        known = Lookups(
            kafka=self._last_snapshot(view.uid),
            events=events,
            reports=partial(self._reports, view.uid),
            frozen=self._frozen,
            paired=self._paired,
            judge=self._judge,
            now=self._clock,
        )
        return decided(view, command, known)


def _outcome(view: ClusterView, changed: bool, sentence: str, *, created: bool = False) -> CommandOutcome:
    return CommandOutcome(view.uid, view.name, view.generation, changed, sentence, created)


def _answer_of_then(history: CommandHistory, command_id: str) -> CommandOutcome:
    """The answer a command got when it was done: from the history as it was right after it."""
    last = max(e.version for e in history.events if e.command_id == command_id)
    before = fold(empty_view(history.view.uid), (e for e in history.events if e.version < last))
    then = fold(before, (e for e in history.events if e.version == last))
    return _outcome(then, True, "done before, by this very command", created=before.generation == 0)


def _origin(command: Command) -> Origin:
    return Origin(actor=command.actor, command_id=command.command_id)
