"""Commands become events: find the cluster by its name, read its history, decide, append with the version read.

Decisions are pure functions of the history. A command whose id is in the history already is answered, not repeated.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import singledispatchmethod
from ipaddress import IPv4Network

from controlplane.cluster.commands import (
    AbortRecycle,
    AdoptMoves,
    AdoptTopic,
    CancelRebalance,
    ClusterNotFound,
    Command,
    CommandRefused as CommandRefused,
    ConfirmLoss,
    DeclareCluster,
    DeclareTopics,
    DeleteCluster,
    DeleteTopic,
    EndFault,
    EndGame,
    EvacuateBrokers,
    GameCommand,
    GroupCommand,
    HealingCommand,
    InjectChaos,
    NeedsApproval,
    PauseCluster,
    ReadmitBrokers,
    RebalanceCluster,
    ReplaceNode,
    ReportSync,
    ReportTopicsGone,
    RestartServices,
    ResumeCluster,
    StartGame,
    TakeBackMoves,
    TakeOverSource,
    WaiveWindow,
)
from controlplane.cluster.fold import fold
from controlplane.cluster.observed.agent_reports import ReportSeen
from controlplane.cluster.spec_source import SYNCED, SourceRefusal, fact_of, is_news, refuse_declaration, source_name
from controlplane.cluster.view import ClusterView, empty_view
from controlplane.cluster.views.source import SpecOrigin
from controlplane.commands.admission.spec import Unbootable, admission_problems, nothing_unbootable
from controlplane.commands.deciders.chaos import chaos_asked, chaos_end_asked
from controlplane.commands.deciders.clusters import cluster_deleted, destroys, source_taken_over
from controlplane.commands.deciders.decision import CommandDecision
from controlplane.commands.deciders.games import game_asked
from controlplane.commands.deciders.groups import group_asked
from controlplane.commands.deciders.healing import healing_asked
from controlplane.commands.deciders.history import CommandHistory
from controlplane.commands.deciders.losses import loss_confirmed
from controlplane.commands.deciders.nodes import evacuation_asked, readmission_asked, replacement_asked, restart_asked
from controlplane.commands.deciders.rebalances import rebalance_asked, rebalance_cancelled
from controlplane.commands.deciders.stuck_moves import moves_adopted, moves_taken_back
from controlplane.commands.deciders.topics import (
    topic_adopted,
    topic_deleted,
    topic_problems,
    topics_declared,
    topics_gone,
)
from controlplane.commands.deciders.windows import window_waived
from controlplane.commands.policies.decision import Verdict
from controlplane.commands.policies.gate import PolicyGate
from controlplane.commands.previews.plan import moved_parts, preview
from controlplane.commands.previews.topics import refuse_moved_topics
from controlplane.fleet.cluster_names import holding, take_name
from controlplane.storage.streams import cluster_stream
from events import facts
from events.clock import Clock, utc_now
from events.codec import encode
from events.envelope import Origin
from events.errors import StreamConflict
from events.ids import ClusterUid, derived_id, new_cluster_uid
from events.spec.conversion import to_data
from events.spec.model import KafkaClusterDocument
from events.spec.network_rules import pool_problems
from events.spec.positions import NOWHERE, Positions
from events.spec.problems import Problem, has_errors
from events.store import EventStore
from planner.observed import KafkaSnapshot

TRIES = 5
"""Times a command decides anew when somebody else wrote to the stream meanwhile: converger ticks write often."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a command. `generation` is the one in force afterwards."""

    uid: ClusterUid
    name: str
    generation: int
    changed: bool
    sentence: str
    created: bool = False


class SpecRefused(Exception):
    """The document may not come into force. What now: mend the file at the places named."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(str(problems[0]))
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True)
class _Decision:
    """A fact to record, or None; what to tell the person; and a fact that goes before it, in the same append."""

    fact: object | None
    sentence: str
    before: object | None = None


class CommandHandler:
    """Handles commands against a store. Safe to call from many threads and from several servers."""

    def __init__(
        self,
        store: EventStore,
        *,
        last_snapshot: Callable[[ClusterUid], KafkaSnapshot | None] = lambda _: None,
        new_uid: Callable[[], ClusterUid] = new_cluster_uid,
        clients_must_avoid: IPv4Network | None = None,
        gate: PolicyGate | None = None,
        unbootable: Unbootable = nothing_unbootable,
        reports: Callable[[ClusterUid], Mapping[str, ReportSeen]] = lambda _: {},
        clock: Clock = utc_now,
        frozen: Callable[[ClusterView], str] = lambda view: "",
        cost_tags: tuple[str, ...] = (),
    ) -> None:
        """`cost_tags`: labels that are put on clouds. `clients_must_avoid`: the pool networks of Kedge get their
        addresses from. `gate` asks the policies. `reports`: the last ones of a cluster's agents, by instance key.
        `frozen` has words for the freeze a cluster is in, "" where it is in none."""
        self._store = store
        self._last_snapshot = last_snapshot
        self._new_uid, self._clients_must_avoid = new_uid, clients_must_avoid
        self._gate = gate or PolicyGate()
        self._unbootable, self._cost_tags = unbootable, cost_tags
        self._reports, self._clock, self._frozen = reports, clock, frozen

    def handle(self, command: Command) -> Outcome:
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

    def check(self, command: DeclareCluster | DeclareTopics, *, beside: KafkaClusterDocument | None = None) -> None:
        """Raises what `handle` would raise now, and records nothing.

        `beside`: the document that is declared with these topics, and comes into force first.
        """
        held = holding(self._store, command.name)
        history = CommandHistory((), empty_view("")) if held.uid is None else self._history(held.uid)
        if history.has(command):
            return
        view = empty_view("") if history.view.deleted else history.view
        self._decide(command, CommandHistory(history.events, replace(view, document=beside) if beside else view))

    def admission(self, view: ClusterView, document: KafkaClusterDocument, positions: Positions) -> list[Problem]:
        """What speaks against that step from what is in force, warnings too. `plan` and `apply` ask the same."""
        snapshot = self._last_snapshot(view.uid)
        found = admission_problems(
            view,
            document,
            positions=positions,
            snapshot=snapshot,
            unbootable=self._unbootable,
            cost_tags=self._cost_tags,
        )
        if self._clients_must_avoid is not None:
            found = [*found, *pool_problems(document, self._clients_must_avoid, positions)]
        return found

    def _history(self, uid: ClusterUid) -> CommandHistory:
        events = self._store.read_stream(cluster_stream(uid))
        return CommandHistory(events, fold(empty_view(uid), events))

    def _handle(self, command: Command) -> Outcome:
        uid = self._find(command)
        history = self._history(uid)
        view = history.view
        if history.has(command):
            return _answer_of_then(history, command.command_id)
        if view.unreadable:
            raise CommandRefused(
                "history-unreadable", f"the history of {command.name} is unreadable: {view.unreadable}"
            )
        decision = self._decide(command, history)
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

    @singledispatchmethod
    def _decide(self, command: Command, history: CommandHistory) -> _Decision:
        raise TypeError(f"no way to handle {type(command).__name__}")

    @_decide.register
    def _declare(self, command: DeclareCluster, history: CommandHistory) -> _Decision:
        view, snapshot = history.view, self._last_snapshot(history.view.uid)
        _refuse_deleted(view)
        _refuse(refuse_declaration(view, command.origin, is_change=view.document != command.document))
        _refuse_moved(view, command, snapshot)
        if view.document == command.document:
            origin = command.origin
            if origin is not None and _has_moved(view, origin):
                return _Decision(fact_of(origin), f"the file of {command.name} is {origin.path} now")
            return _Decision(None, f"{command.name} is declared like this already (generation {view.generation})")
        found = self.admission(view, command.document, command.positions)
        if has_errors(found):
            raise SpecRefused([problem for problem in found if problem.is_error])
        verdict = self._gate.cluster(view, command.document, command.rolling, command.beside)
        _obey(verdict, command, command.positions)
        generation = view.generation + 1
        declared = facts.ClusterDeclared(
            view.uid, command.name, generation, to_data(command.document), source=command.source
        )
        before = fact_of(command.origin) if command.origin is not None else None
        return _Decision(declared, f"{command.name} is declared, generation {generation}", before)

    @_decide.register
    def _take_over(self, command: TakeOverSource, history: CommandHistory) -> _Decision:
        _refuse_deleted(history.view)
        return _asked(source_taken_over(history.view, command))

    @_decide.register
    def _report_sync(self, command: ReportSync, history: CommandHistory) -> _Decision:
        view = history.view
        if source_name(view) != command.source or not is_news(view, command.condition_reason, command.message):
            return _Decision(None, "nothing new")
        fact = facts.ConditionChanged(SYNCED, command.status, command.condition_reason, command.message)
        return _Decision(fact, command.message)

    @_decide.register
    def _pause(self, command: PauseCluster, history: CommandHistory) -> _Decision:
        view = history.view
        _refuse_deleted(view)
        reason = command.reason or "paused"
        if (view.paused, view.paused_until) == (reason, command.until):
            return _Decision(None, f"{view.name} is paused already: {view.paused}")
        until = f" until {command.until.isoformat(timespec='seconds')}" if command.until else ""
        return _Decision(
            facts.ClusterPaused(reason, command.until),
            f"{view.name} is paused{until}: no new step begins, the one in hand is ended",
        )

    @_decide.register
    def _resume(self, command: ResumeCluster, history: CommandHistory) -> _Decision:
        view = history.view
        _refuse_deleted(view)
        if not history.needs_resume():
            return _Decision(None, f"{view.name} is not paused and nothing of it has failed")
        return _Decision(facts.ClusterResumed(command.reason), f"{view.name} goes on, its failed attempts are forgiven")

    @_decide.register
    def _abort(self, command: AbortRecycle, history: CommandHistory) -> _Decision:
        view = history.view
        _refuse_deleted(view)
        if view.aborting:
            return _Decision(None, f"the roll of {view.name} is aborted already: {view.aborting}")
        if not (view.recycling or view.rolling_restart or view.to_replace or view.is_evacuating() or view.rebalance):
            return _Decision(None, f"{view.name} is not rolling: there is nothing to abort")
        sentence = f"the roll of {view.name} stops after the replacement in hand, and the cluster is paused then"
        return _Decision(facts.RecycleAborted(command.reason or "aborted"), sentence)

    @_decide.register
    def _waive(self, command: WaiveWindow, history: CommandHistory) -> _Decision:
        _refuse_deleted(history.view)
        return _asked(window_waived(history.view, command))

    @_decide.register
    def _confirm_loss(self, command: ConfirmLoss, history: CommandHistory) -> _Decision:
        _refuse_deleted(history.view)
        kafka, uid = self._last_snapshot(history.view.uid), history.view.uid
        return _asked(loss_confirmed(history.view, command, reports=self._reports(uid), kafka=kafka, now=self._clock()))

    @_decide.register
    def _restart(self, command: RestartServices, history: CommandHistory) -> _Decision:
        _refuse_deleted(history.view)
        return _asked(restart_asked(history.view, command))

    @_decide.register
    def _replace(self, command: ReplaceNode, history: CommandHistory) -> _Decision:
        _refuse_deleted(history.view)
        return _asked(replacement_asked(history.view, command, self._last_snapshot(history.view.uid)))

    @_decide.register
    def _evacuate(self, command: EvacuateBrokers, history: CommandHistory) -> _Decision:
        _refuse_deleted(history.view)
        return _asked(evacuation_asked(history.view, command, self._last_snapshot(history.view.uid)))

    @_decide.register
    def _readmit(self, command: ReadmitBrokers, history: CommandHistory) -> _Decision:
        _refuse_deleted(history.view)
        return _asked(readmission_asked(history.view, command))

    @_decide.register
    def _rebalance(self, command: RebalanceCluster, history: CommandHistory) -> _Decision:
        _refuse_deleted(history.view)
        asked = rebalance_asked(history.view, command, self._last_snapshot(history.view.uid))
        _obey(self._gate.rebalance(history.view), command)
        return _asked(asked)

    @_decide.register
    def _cancel_rebalance(self, command: CancelRebalance, history: CommandHistory) -> _Decision:
        return _asked(rebalance_cancelled(history.view, command))

    @_decide.register
    def _declare_topics(self, command: DeclareTopics, history: CommandHistory) -> _Decision:
        view = history.view
        _refuse_deleted(view)
        placed = [(one.document, one.positions) for one in command.topics]
        found = topic_problems(view, view.document, placed, self._last_snapshot(view.uid))
        if has_errors(found):
            raise SpecRefused([problem for problem in found if problem.is_error])
        asked = topics_declared(view, command)
        refuse_moved_topics(view, command)
        if asked.fact is not None and view.document is not None:
            topics = [one.document for one in command.topics]
            verdict = self._gate.topics(view, view.document, topics, self._last_snapshot(view.uid))
            where = {one.document.topic: one.positions for one in command.topics}
            if verdict.refusals:
                raise SpecRefused(
                    [r.problem(where.get(r.subject, command.topics[0].positions)) for r in verdict.refusals]
                )
            _obey(verdict, command)
        return _asked(asked)

    @_decide.register
    def _adopt_topic(self, command: AdoptTopic, history: CommandHistory) -> _Decision:
        _refuse_deleted(history.view)
        return _asked(topic_adopted(history.view, command, self._last_snapshot(history.view.uid)))

    @_decide.register
    def _delete_topic(self, command: DeleteTopic, history: CommandHistory) -> _Decision:
        _refuse_deleted(history.view)
        asked = topic_deleted(history.view, command)
        if asked.fact is not None and not command.retain:
            _obey(self._gate.deletion(history.view, command.topic), command)
        return _asked(asked)

    @_decide.register
    def _report_topics_gone(self, command: ReportTopicsGone, history: CommandHistory) -> _Decision:
        return _asked(topics_gone(history.view, command))

    @_decide.register
    def _take_back_moves(self, command: TakeBackMoves, history: CommandHistory) -> _Decision:
        _refuse_deleted(history.view)
        return _asked(moves_taken_back(history.view, command, self._last_snapshot(history.view.uid)))

    @_decide.register
    def _adopt_moves(self, command: AdoptMoves, history: CommandHistory) -> _Decision:
        _refuse_deleted(history.view)
        return _asked(moves_adopted(history.view, command, self._last_snapshot(history.view.uid)))

    @_decide.register
    def _inject_chaos(self, command: InjectChaos, history: CommandHistory) -> _Decision:
        _refuse_deleted(history.view)
        if not command.force:
            self._refuse_frozen(history.view, "Wait, or say --force.")
        return _asked(chaos_asked(history.view, command, self._last_snapshot(history.view.uid)))

    @_decide.register
    def _end_fault(self, command: EndFault, history: CommandHistory) -> _Decision:
        return _asked(chaos_end_asked(history.view, command))

    @_decide.register
    def _game(self, command: GameCommand, history: CommandHistory) -> _Decision:
        if not isinstance(command, EndGame):
            _refuse_deleted(history.view)
        if isinstance(command, StartGame) and not command.force:
            self._refuse_frozen(history.view, "Wait, or say --force.")
        return _asked(game_asked(history.view, command, self._last_snapshot(history.view.uid)))

    @_decide.register
    def _heal(self, command: HealingCommand, history: CommandHistory) -> _Decision:
        _refuse_deleted(history.view)
        return _asked(healing_asked(history.view, command))

    @_decide.register
    def _groups(self, command: GroupCommand, history: CommandHistory) -> _Decision:
        _refuse_deleted(history.view)
        return _asked(group_asked(history.view, command))

    def _refuse_frozen(self, view: ClusterView, way: str) -> None:
        """What people ask for at once, and would not be welcome now, is refused: it cannot wait as a roll does."""
        words = self._frozen(view)
        if words:
            raise CommandRefused("frozen", f"{view.name} is {words}", way)

    @_decide.register
    def _delete(self, command: DeleteCluster, history: CommandHistory) -> _Decision:
        asked = cluster_deleted(history.view, command)
        if asked.fact is not None and destroys(history.view) and not command.despite_freeze:
            again = f"kedge delete {history.view.name} --despite-freeze"
            self._refuse_frozen(history.view, f"Wait, thaw it, or, if it is to go all the same: {again}")
        if asked.fact is not None:
            _obey(self._gate.deletion(history.view), command)
        return _asked(asked)


def _asked(asked: CommandDecision) -> _Decision:
    return _Decision(asked.fact, asked.sentence)


def _refuse_deleted(view: ClusterView) -> None:
    if view.tombstone:
        message = f"{view.name} is being deleted ({view.tombstone})"
        raise CommandRefused("being-deleted", message, "Wait until it is gone; its name is free then.")


def _obey(
    verdict: Verdict,
    command: DeclareCluster | DeclareTopics | DeleteCluster | DeleteTopic | RebalanceCluster,
    where: Positions = NOWHERE,
) -> None:
    """A refusal stands whoever agreed; what is reserved waits for somebody to agree."""
    if verdict.refusals:
        raise SpecRefused([refusal.problem(where) for refusal in verdict.refusals])
    if verdict.reasons and not command.approval:
        raise NeedsApproval(command.name, [str(reason) for reason in verdict.reasons])


def _refuse(refusal: SourceRefusal | None) -> None:
    if refusal is not None:
        raise CommandRefused(refusal.code, refusal.message, refusal.what_next)


def _has_moved(view: ClusterView, origin: SpecOrigin) -> bool:
    """Whether the same document stands in another file now. Another commit of the same file is no news."""
    return view.source is None or not view.source.origin.is_same_file(origin)


def _refuse_moved(view: ClusterView, command: DeclareCluster, snapshot: KafkaSnapshot | None) -> None:
    if command.plan_digest is None:
        return
    now = preview(view, command.document, snapshot=snapshot, warnings=command.warnings)
    moved = moved_parts(command.plan_digest, now.digest)
    if moved:
        message = f"the plan of {command.name} is not what it was: {' and '.join(moved)} changed since it was made"
        raise CommandRefused("plan-moved", message, "Plan again, and look at what it says now.")


def _outcome(view: ClusterView, changed: bool, sentence: str, *, created: bool = False) -> Outcome:
    return Outcome(view.uid, view.name, view.generation, changed, sentence, created)


def _answer_of_then(history: CommandHistory, command_id: str) -> Outcome:
    """The answer a command got when it was done: from the history as it was right after it."""
    last = max(e.version for e in history.events if e.command_id == command_id)
    before = fold(empty_view(history.view.uid), (e for e in history.events if e.version < last))
    then = fold(before, (e for e in history.events if e.version == last))
    return _outcome(then, True, "done before, by this very command", created=before.generation == 0)


def _origin(command: Command) -> Origin:
    return Origin(actor=command.actor, command_id=command.command_id)
