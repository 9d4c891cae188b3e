"""One look at one source: what its branch declares comes into force, or it is said why not.

Level-triggered: each look compares all files with what is in force; what was missed is made good by the next one.
Nothing here ever deletes, pauses or drains: a file that is gone is reported, its cluster stays.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from controlplane.background.git_sync import problems as g
from controlplane.background.git_sync.binding import GitBinding
from controlplane.background.git_sync.faults import SourceFault, Stopped
from controlplane.background.git_sync.fold import SourceFold, read_source_fold, record
from controlplane.background.git_sync.kept import Commit, kept_problem, no_file_has, orders_of, without_taken
from controlplane.background.git_sync.kinds import KINDS, KeptKind
from controlplane.background.git_sync.outcome import outcome_of
from controlplane.background.git_sync.pairs import PairCommands, PairRound
from controlplane.background.git_sync.reading import (
    CommitReader,
    DeclaredDocument,
    SourceFile,
    judge_rights,
    settle,
    with_settled,
)
from controlplane.background.git_sync.repository import Repository, Tip
from controlplane.background.git_sync.second_person import (
    change_of_clusters,
    change_of_kept,
    refused_until_agreed,
    rolls,
    with_approval,
)
from controlplane.background.git_sync.status import (
    LOOK_FAILED,
    OUT_OF_SYNC,
    SourceStatus,
    SourceStatuses,
)
from controlplane.cluster.commands import (
    Command,
    CommandRefused,
    DeclareCluster,
    DeclareInCluster,
    NeedsApproval,
    ReportSync,
    SpecRefused,
)
from controlplane.cluster.spec_source import (
    HISTORY_REWRITTEN,
    NOT_DECLARED,
    SPEC_REFUSED,
    SYNCED,
    git_source,
    is_news,
    source_name,
)
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.source import SpecOrigin
from controlplane.commands.handler import CommandOutcome
from controlplane.fleet.ports import FreshFleet
from controlplane.fleet.proposals.from_git import GitProposals
from events import facts
from events.clock import Clock
from events.errors import EventsError, StreamConflict
from events.ids import derived_id
from events.spec.problems import Problem, shorten
from events.store import EventStore

_log = logging.getLogger(__name__)


class SourceCommands(Protocol):
    """What a source may ask for; `CommandHandler` is one."""

    def handle(self, command: Command) -> CommandOutcome: ...

    def check(self, command: DeclareCluster) -> None: ...

    def current(self, name: str) -> ClusterView: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncParts:
    """What every source works with. `may_act` is asked before each command: only the leader brings specs into force.

    `proposals` None: what a policy leaves to a second person is refused.
    """

    store: EventStore
    commands: SourceCommands
    fleet: FreshFleet
    pairs: PairCommands
    wake: Callable[[str], None]
    may_act: Callable[[], bool]
    statuses: SourceStatuses
    clock: Clock
    proposals: GitProposals | None = None


class SourceSync:
    """One binding. `poll` is one look; it is called by one thread at a time."""

    def __init__(self, binding: GitBinding, repository: Repository, parts: SyncParts) -> None:
        self._binding = binding
        self._source = git_source(binding.name)
        self._repository = repository
        self._parts = parts
        self._reader = CommitReader()
        self._fold = SourceFold(binding.name)
        self._read: tuple[str, tuple[SourceFile, ...]] | None = None
        self._rolling = 0

    def poll(self) -> None:
        """Looks once. Raises StoreUnavailable; what the repository does is never raised but put into the statuses. What
        nobody foresaw is put there, too, and raised."""
        try:
            self._look()
        except Stopped:
            _log.debug("source %s: left for later", self._source)
        except StreamConflict:
            _log.info("source %s: others write beside it, the next poll goes on", self._source)
        except SourceFault as fault:
            _log.warning("source %s: %s: %s", self._source, fault.reason, fault.message)
            self._put(OUT_OF_SYNC, fault.reason, fault.message, fault.next_step, is_reached=False)
        except EventsError:
            raise
        except Exception as error:
            # Else the source would stand there as it was found last, synced perhaps.
            message = f"the look failed: {shorten(f'{type(error).__name__}: {error}', 200)}"
            self._put(OUT_OF_SYNC, LOOK_FAILED, message, "The server's log says where. It is tried again.")
            raise

    def _look(self) -> None:
        self._fold = read_source_fold(self._parts.store, self._fold)
        tip = self._repository.tip(self._fold.commit)
        self._refuse_if_not_leading()
        if not tip.descends and self._fold.accepted != tip.commit:
            self._ask_a_person(tip)
            return
        files = self._files(tip.commit)
        self._parts.fleet.catch_up()
        living = self._living()
        pairs = self._pairs(tip)
        judged = pairs.checked(self._judged(files, living), living)
        self._rolling = sum(rolls(living.get(d.name), d.document) for file in judged if file.ok for d in file.documents)
        # Later stages look at what earlier ones have in hand: those are recorded first.
        applied = list(judged)
        for n in sorted(range(len(judged)), key=lambda n: judged[n].stage):
            applied[n] = self._brought_into_force(judged[n], tip, living)
        self._parts.fleet.catch_up()
        for kind in KINDS:
            applied = self._kept(kind, applied, tip)
        applied = pairs.brought_into_force(applied, self._living())
        pairs.report_gone(applied)
        reports = self._conditions(applied, tip)
        missing = sorted(name for name, (reason, _) in reports.items() if reason == NOT_DECLARED)
        self._tell_clusters(reports)
        self._remember(applied, missing, tip)
        self._put_outcome(applied, missing, pairs, tip)

    def _living(self) -> dict[str, ClusterView]:
        return {v.name: v for v in self._parts.fleet.views() if v.name and not v.deleted}

    def _pairs(self, tip: Tip) -> PairRound:
        at = Commit(self._binding, self._source, tip.commit)
        return PairRound(at=at, commands=self._parts.pairs, before_acting=self._refuse_if_not_leading)

    # --- reading ------------------------------------------------------------------------------------------------

    def _files(self, commit: str) -> tuple[SourceFile, ...]:
        if self._read is None or self._read[0] != commit:
            entries = self._repository.entries(commit)
            self._read = commit, self._reader.read(entries, self._repository.contents)
        return self._read[1]

    def _judged(self, files: Iterable[SourceFile], living: Mapping[str, ClusterView]) -> list[SourceFile]:
        paths = {
            n: v.declaration.source.origin.path
            for n, v in living.items()
            if v.declaration.source and v.declaration.source.name == self._source
        }
        verbs, in_force = self._binding.verbs, {name: view.document for name, view in living.items()}
        return [
            judge_rights(
                file,
                team=self._binding.team,
                accounts=self._binding.accounts,
                may_create="create" in verbs,
                may_change="change" in verbs,
                in_force=in_force,
            )
            for file in (with_settled(one, in_force) for one in settle(files, paths))
        ]

    # --- bringing into force ------------------------------------------------------------------------------------

    def _brought_into_force(self, file: SourceFile, tip: Tip, living: Mapping[str, ClusterView]) -> SourceFile:
        """The file as it stands afterwards: with what refused it, if anything did. All of its documents, or none."""
        if not file.ok:
            return file
        commands = [self._command(file, declared, tip, living.get(declared.name)) for declared in file.documents]
        if all(_is_in_force(command, living.get(command.name)) for command in commands):
            return file
        self._refuse_if_not_leading()
        agreed = self._agreed_to(file, tip, commands, living)
        if isinstance(agreed, SourceFile):
            return agreed
        pairs = zip(file.documents, with_approval(commands, agreed), strict=True)
        early_first = sorted(pairs, key=lambda pair: pair[0].stage)
        for do in (self._parts.commands.check, self._declare):
            for declared, command in early_first:
                try:
                    do(command)
                except SpecRefused as refused:
                    return file.refused(*refused.problems)
                except CommandRefused as refused:
                    return file.refused(_problem(refused, declared))
        if agreed and self._parts.proposals is not None:
            self._parts.proposals.done(agreed, self._source)
        return file

    def _agreed_to(
        self, file: SourceFile, tip: Tip, commands: Sequence[DeclareCluster], living: Mapping[str, ClusterView]
    ) -> SourceFile | str:
        """By which proposal the file may pass, "" where it needs none; the file with what it waits for otherwise."""
        reasons: list[str] = []
        for command in commands:
            try:
                self._parts.commands.check(command)
            except NeedsApproval as reserved:
                reasons += [f"{command.name}: {reason}" for reason in reserved.reasons]
            except (SpecRefused, CommandRefused):
                return ""  # told where it is done
        proposals = self._parts.proposals
        if not reasons or proposals is None:
            return ""
        change = change_of_clusters(file, commands, self._origin(file, tip), living)
        number = proposals.approval(change)
        return number or refused_until_agreed(file, proposals.propose(change, reasons), reasons)

    def _kept(self, kind: KeptKind, files: Sequence[SourceFile], tip: Tip) -> list[SourceFile]:
        """The files as they stand once their topics, or their users, are in force, too, or were refused."""
        living = self._living()
        at = Commit(self._binding, self._source, tip.commit)
        settled = without_taken(kind, files, living)
        applied = [
            self._with_kept(kind, file, tip, at, living) if file.ok and kind.of_file(file) else file for file in settled
        ]
        for gone in no_file_has(kind, applied, at, living.values()):
            self._refuse_if_not_leading()
            self._parts.commands.handle(gone)
        if any(kind.of_file(file) for file in files):
            self._parts.fleet.catch_up()
        return applied

    def _with_kept(
        self, kind: KeptKind, file: SourceFile, tip: Tip, at: Commit, living: Mapping[str, ClusterView]
    ) -> SourceFile:
        orders: list[DeclareInCluster] = []
        try:
            orders = orders_of(kind, file, at, living)
            self._declare_kept(kind, orders)
        except SpecRefused as refused:
            return file.refused(*refused.problems)
        except NeedsApproval as reserved:
            return self._kept_agreed_to(kind, file, tip, orders, reserved, living)
        except CommandRefused as refused:
            return file.refused(kept_problem(kind, refused, file))
        return file

    def _declare_kept(self, kind: KeptKind, orders: Sequence[DeclareInCluster]) -> None:
        for order in orders:
            self._refuse_if_not_leading()
            outcome = self._parts.commands.handle(order)
            if kind.news(self._parts.commands.current(order.name), order).fact is not None:
                raise _not_in_force(f"{kind.plural} of {order.name}")
            if outcome.changed:
                self._parts.wake(outcome.uid)

    def _kept_agreed_to(
        self,
        kind: KeptKind,
        file: SourceFile,
        tip: Tip,
        orders: Sequence[DeclareInCluster],
        reserved: NeedsApproval,
        living: Mapping[str, ClusterView],
    ) -> SourceFile:
        """Those that a policy reserves: let through where somebody agreed to them, else proposed."""
        proposals = self._parts.proposals
        if proposals is None:
            return file.refused(kept_problem(kind, reserved, file))
        change = change_of_kept(kind, file, orders, self._origin(file, tip), living)
        number = proposals.approval(change)
        if not number:
            return refused_until_agreed(file, proposals.propose(change, reserved.reasons), reserved.reasons)
        try:
            self._declare_kept(kind, [replace(order, approval=number) for order in orders])
        except SpecRefused as refused:
            return file.refused(*refused.problems)
        except CommandRefused as refused:
            return file.refused(kept_problem(kind, refused, file))
        proposals.done(number, self._source)
        return file

    def _origin(self, file: SourceFile, tip: Tip) -> SpecOrigin:
        binding = self._binding
        return SpecOrigin(
            self._source, binding.repository, binding.branch, file.path, tip.commit, tip.author, tip.signature.by
        )

    def _declare(self, command: DeclareCluster) -> None:
        """Raises CommandRefused, also where it is answered and not in force: nothing is called synced by an answer."""
        outcome = self._parts.commands.handle(command)
        if self._parts.commands.current(command.name).document != command.document:
            raise _not_in_force(command.name)
        if outcome.changed:
            self._parts.wake(outcome.uid)

    def _command(
        self, file: SourceFile, declared: DeclaredDocument, tip: Tip, view: ClusterView | None
    ) -> DeclareCluster:
        """Its id repeats for the same file of the same commit, until the cluster changes hands or another generation is
        in force: a commit that comes back after others is declared again."""
        taken = view.declaration.source.taken if view is not None and view.declaration.source is not None else 0
        generation = view.generation if view is not None else 0
        binding = self._binding
        return DeclareCluster(
            name=declared.name,
            actor=self._source,
            command_id=derived_id(
                "git", binding.name, tip.commit, file.path, declared.name, str(taken), str(generation)
            ),
            document=declared.document,
            source=f"{self._source} {tip.commit[:12]} {file.path}",
            positions=declared.positions,
            origin=self._origin(file, tip),
            rolling=self._rolling,
            beside=tuple(one.document for one in file.documents),
        )

    # --- telling ------------------------------------------------------------------------------------------------

    def _conditions(self, files: Sequence[SourceFile], tip: Tip) -> dict[str, tuple[str, str]]:
        """For each cluster of this source: the reason of its condition, and the message."""
        at = tip.commit[:7]
        sound = {name for file in files if file.ok for name in file.names}
        broken = {name: file for file in files if not file.ok for name in file.names}
        by_path = {file.path: file for file in files if not file.ok}
        found = {}
        for view in self._ours():
            path = view.declaration.source.origin.path if view.declaration.source is not None else ""
            bad = broken.get(view.name) or by_path.get(path)
            if view.name in sound:
                found[view.name] = SYNCED, f"as {at} declares it"
            elif bad is not None:
                first = next(p for p in bad.problems if p.is_error)
                found[view.name] = SPEC_REFUSED, f"{first.where}: {first.code}: {first.message}. {_LAST_GOOD}"
            else:
                found[view.name] = (
                    NOT_DECLARED,
                    (
                        f"no file declares it any more as of {at}; it was {path or 'never found'}. {_LAST_GOOD} "
                        f"Next: put the file back, or kedge delete {view.name}"
                    ),
                )
        return found

    def _ours(self) -> list[ClusterView]:
        return [v for v in self._parts.fleet.views() if not v.deleted and v.name and source_name(v) == self._source]

    def _tell_clusters(self, reports: Mapping[str, tuple[str, str]]) -> None:
        views = {view.name: view for view in self._ours()}
        any_noted = False
        for name, (reason, message) in reports.items():
            view = views[name]
            if view.requests.tombstone or not is_news(view, reason, message):
                continue
            self._refuse_if_not_leading()
            command = ReportSync(
                name=name,
                actor=self._source,
                command_id=derived_id("synced", view.uid, reason, str(view.version)),
                source=self._source,
                status=reason == SYNCED,
                condition_reason=reason,
                message=message,
            )
            any_noted |= self._parts.commands.handle(command).changed
        if any_noted:
            self._parts.fleet.catch_up()

    def _ask_a_person(self, tip: Tip) -> None:
        """The branch was rewritten: what is in force stays, until a person says that this commit is meant."""
        before = self._fold.commit or ""
        message = f"{tip.commit[:7]} does not descend from {before[:7]}, which was applied last"
        then = f"kedge sources accept {self._binding.name} --commit {tip.commit}"
        if self._fold.rewritten != tip.commit:
            rewritten = facts.SourceRewritten(before, tip.commit, message)
            self._fold = record(self._parts.store, self._fold, rewritten, actor=self._source)
        self._parts.fleet.catch_up()
        sentence = f"{message}. {_LAST_GOOD} Next: {then}"
        self._tell_clusters({view.name: (HISTORY_REWRITTEN, sentence) for view in self._ours()})
        self._put(
            OUT_OF_SYNC, HISTORY_REWRITTEN, message, then, tip=tip.commit, author=tip.author, signature=tip.signature
        )

    def _remember(self, files: Sequence[SourceFile], missing: Sequence[str], tip: Tip) -> None:
        if self._fold.commit == tip.commit and not self._fold.rewritten:
            return
        binding = self._binding
        applied = facts.SourceApplied(
            binding.repository,
            binding.branch,
            binding.path,
            tip.commit,
            tip.author,
            clusters=tuple(sorted(name for file in files if file.ok for name in file.names)),
            refused=tuple(file.path for file in files if not file.ok),
            missing=tuple(missing),
            signed_by=tip.signature.by,
        )
        self._refuse_if_not_leading()
        self._fold = record(self._parts.store, self._fold, applied, actor=self._source)

    def _put_outcome(self, files: Sequence[SourceFile], missing: Sequence[str], pairs: PairRound, tip: Tip) -> None:
        failovers, gone = pairs.status()
        problems = tuple(problem for file in files for problem in file.problems)
        clusters = tuple(sorted(name for file in files if file.ok for name in file.names))
        state, reason, message, then = outcome_of(self._binding, files, [*missing, *(f"failover {n}" for n in gone)])
        self._put(
            state,
            reason,
            message,
            then,
            tip=tip.commit,
            author=tip.author,
            signature=tip.signature,
            clusters=clusters,
            missing=tuple(missing),
            failovers=failovers,
            failovers_missing=gone,
            problems=problems,
        )

    def _put(
        self, state: str, reason: str, message: str, next_step: str, *, is_reached: bool = True, **seen: object
    ) -> None:
        now, statuses = self._parts.clock(), self._parts.statuses
        before = statuses.of(self._binding.name) or SourceStatus(self._binding)
        status = replace(
            before,
            state=state,
            reason=reason,
            message=message,
            next_step=next_step,
            is_reached=is_reached,
            applied=self._fold.commit or "",
            reached_at=now if is_reached else before.reached_at,
            **seen,  # type: ignore[arg-type]  # fields of SourceStatus, all named above
        )
        statuses.put(status, now=now)

    def _refuse_if_not_leading(self) -> None:
        if not self._parts.may_act():
            raise Stopped


_LAST_GOOD = "The last good spec stays in force."


def _is_in_force(command: DeclareCluster, view: ClusterView | None) -> bool:
    """Nothing is to be recorded: the same document out of the same file, whatever the commit."""
    if view is None or view.declaration.source is None or command.origin is None or view.document != command.document:
        return False
    return view.declaration.source.origin.is_same_file(command.origin)


def _not_in_force(what: str) -> CommandRefused:
    message = f"the spec of {what} was declared, and something else is in force"
    return CommandRefused("not-in-force", message, "See `kedge events`; the next poll declares it again.")


def _problem(refused: CommandRefused, declared: DeclaredDocument) -> Problem:
    kind = g.OTHER_SOURCE if refused.code == "other-source" else g.REFUSED
    fix = refused.what_next or f"Look at `kedge describe {declared.name}`."
    return g.of_document(kind, declared.positions, g.NAME, str(refused), fix)
