"""Pairs of clusters in the files of a source: judged with their clusters and declared behind them, as by `kedge apply`.

Nothing here withdraws one: that no file has it any more is recorded, and the pair stays. One whose clusters are not
there yet waits, and is tried again by the next look.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from controlplane.background.git_sync import problems as g
from controlplane.background.git_sync.kept import Commit
from controlplane.background.git_sync.reading import DeclaredPair, SourceFile
from controlplane.cluster.commands import CommandRefused, NeedsApproval, SpecRefused
from controlplane.cluster.view import ClusterView
from controlplane.commands.failover_declarations import DeclarePair, ReportPairGone
from controlplane.commands.failover_orders import PairOutcome
from controlplane.fleet.failovers.state import PairsView, RegisteredPair
from events.ids import derived_id
from events.spec.model import KafkaClusterDocument
from events.spec.problems import Path, Problem

_CLUSTERS: Path = ("spec", "clusters")
_WAITS: Final = frozenset({"failover-in-hand"})
"""Why a pair is not declared now, which is over by itself."""


class PairCommands(Protocol):
    """What a source may ask of pairs; `FailoverService` is one."""

    def pairs(self) -> PairsView: ...

    def check(self, command: DeclarePair, beside: Mapping[str, KafkaClusterDocument]) -> None: ...

    def declare(self, command: DeclarePair) -> PairOutcome: ...

    def report_gone(self, command: ReportPairGone) -> PairOutcome: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PairRound:
    """The pairs of one look at a commit. `before_acting` is called before anything is recorded, and raises where this
    server does not lead."""

    at: Commit
    commands: PairCommands
    before_acting: Callable[[], object] = field(repr=False)

    def checked(self, files: Sequence[SourceFile], living: Mapping[str, ClusterView]) -> list[SourceFile]:
        """The files, those refused whose pairs would be: all documents of a file come into force, or none. `living`:
        clusters by name. Raises StoreUnavailable."""
        if not any(file.pairs for file in files):
            return list(files)
        settled = _without_taken(files, self._ours_by_name())
        about_to_be = {d.name: d.document for file in settled if file.ok for d in file.documents}
        return [self._checked(file, living, about_to_be) if file.ok else file for file in settled]

    def brought_into_force(self, files: Sequence[SourceFile], living: Mapping[str, ClusterView]) -> list[SourceFile]:
        """The files as they stand once their clusters were declared, and their pairs are, too, or wait, or were
        refused. Raises StoreUnavailable, and what `before_acting` does."""
        return [self._declared(file, living) if file.ok and file.pairs else file for file in files]

    def report_gone(self, files: Sequence[SourceFile]) -> None:
        """Records of this source's pairs that no file has them. What a file with errors would say is not known: they
        are not gone. Raises as `brought_into_force`."""
        named = {pair.name for file in files for pair in file.pairs}
        broken = {file.path for file in files if not file.ok}
        for pair in self._ours():
            before = pair.view.declaration
            if before is None or before.undeclared or pair.name in named or before.path in broken:
                continue
            self.before_acting()
            self.commands.report_gone(
                ReportPairGone(
                    name=pair.name,
                    actor=self.at.source,
                    command_id=derived_id("git failover gone", pair.uid, self.at.commit, str(pair.view.version)),
                    source=self.at.source,
                    commit=self.at.commit,
                )
            )

    def status(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The pairs of this source that a file declares, and those that none does any more, by name."""
        found: tuple[list[str], list[str]] = ([], [])
        for pair in self._ours():
            before = pair.view.declaration
            found[bool(before is not None and before.undeclared)].append(pair.name)
        return tuple(found[0]), tuple(found[1])

    def _ours(self) -> list[RegisteredPair]:
        living = self.commands.pairs().living
        return [p for p in living if p.view.declaration and p.view.declaration.source == self.at.source]

    def _ours_by_name(self) -> dict[str, str]:
        """By name of a pair of this source, the file it comes from."""
        return {p.name: p.view.declaration.path for p in self._ours() if p.view.declaration is not None}

    def _checked(
        self,
        file: SourceFile,
        living: Mapping[str, ClusterView],
        about_to_be: Mapping[str, KafkaClusterDocument],
    ) -> SourceFile:
        for pair in file.pairs:
            if refused := list(self._not_granted(pair, living, about_to_be)):
                return file.refused(*refused)
            if _absent(pair, {*_declared_names(living), *about_to_be}):
                continue
            try:
                self.commands.check(self._command(file, pair), about_to_be)
            except SpecRefused as error:
                return file.refused(*error.problems)
            except NeedsApproval:
                continue  # it is asked for once its clusters are there
            except CommandRefused as error:
                if error.code not in _WAITS:
                    return file.refused(_problem(error, pair))
        return file

    def _declared(self, file: SourceFile, living: Mapping[str, ClusterView]) -> SourceFile:
        waits: list[Problem] = []
        for pair in file.pairs:
            if absent := _absent(pair, _declared_names(living)):
                waits.append(_waits_for(pair, absent))
                continue
            try:
                self._declare(self._command(file, pair))
            except SpecRefused as error:
                return file.refused(*error.problems)
            except CommandRefused as error:
                if error.code not in _WAITS:
                    return file.refused(_problem(error, pair))
                waits.append(_waits(pair, str(error)))
        return file.refused(*waits)

    def _declare(self, command: DeclarePair) -> None:
        """Raises CommandRefused, also where it is answered and not in force."""
        self.before_acting()
        self.commands.declare(command)
        known = self.commands.pairs().named(command.name)
        if known is None or known.view.declaration is None or known.view.declaration.document != command.document:
            message = f"the pair {command.name} was declared, and something else is in force"
            raise CommandRefused("not-in-force", message, "See `kedge events`; the next poll declares it again.")

    def _command(self, file: SourceFile, pair: DeclaredPair) -> DeclarePair:
        """Its id repeats for the same file of the same commit while the pair stands as it does."""
        pairs, at = self.commands.pairs(), self.at
        known = pairs.named(pair.name)
        stands = f"{known.uid} {known.view.version}" if known is not None else f"none {pairs.version}"
        return DeclarePair(
            name=pair.name,
            actor=at.source,
            command_id=derived_id("git failover", at.binding.name, at.commit, file.path, pair.name, stands),
            document=pair.document,
            source=at.source,
            positions=pair.positions,
            path=file.path,
            commit=at.commit,
        )

    def _not_granted(
        self,
        pair: DeclaredPair,
        living: Mapping[str, ClusterView],
        about_to_be: Mapping[str, KafkaClusterDocument],
    ) -> Iterator[Problem]:
        """What the binding may not do, of the pair and of either cluster as it is and as it is about to be."""
        binding = self.at.binding
        for index, name in enumerate(pair.document.spec.clusters):
            in_force = living[name].document if name in living else None
            for document in (in_force, about_to_be.get(name)):
                if document is not None:
                    yield from self._of_others(pair, index, document)
        known = self.commands.pairs().named(pair.name)
        before = known.view.declaration if known is not None else None
        verb = "create" if before is None else "change"
        if verb not in binding.verbs and (before is None or before.document != pair.document):
            message = f"this binding may not {verb} failovers (`{pair.name}`)"
            fix = f"Add `{verb}` to the binding's verbs, or declare it elsewhere."
            yield g.of_document(g.VERB, pair.positions, g.NAME, message, fix)

    def _of_others(self, pair: DeclaredPair, index: int, cluster: KafkaClusterDocument) -> Iterator[Problem]:
        binding, where = self.at.binding, (*_CLUSTERS, index)
        name, owner = cluster.metadata.name, cluster.metadata.owner
        if binding.team and owner != binding.team:
            message = f"the cluster `{name}` is not of the team `{binding.team}`"
            yield g.of_document(g.OTHER_TEAM, pair.positions, where, message, "Pair it where its team does.")
        accounts = {f"{pool.place.cloud}/{pool.place.account}" for pool in cluster.spec.pools}
        if binding.accounts and (others := sorted(accounts - set(binding.accounts))):
            message = f"`{name}` lies in the account `{others[0]}`, which this binding may not use"
            fix = f"Use {' or '.join(sorted(binding.accounts))}, or add it to the binding's accounts."
            yield g.of_document(g.ACCOUNT, pair.positions, where, message, fix)


def _declared_names(living: Mapping[str, ClusterView]) -> set[str]:
    return {name for name, view in living.items() if view.document is not None}


def _absent(pair: DeclaredPair, there: Iterable[str]) -> list[str]:
    return sorted(set(pair.document.spec.clusters) - set(there))


def _waits_for(pair: DeclaredPair, absent: Sequence[str]) -> Problem:
    return _waits(pair, f"there is no cluster {' and none '.join(f'`{name}`' for name in absent)} yet")


def _waits(pair: DeclaredPair, why: str) -> Problem:
    message, fix = f"the pair `{pair.name}` waits: {why}", "Nothing, once that is over; or correct the file."
    return g.of_document(g.PAIR_WAITS, pair.positions, _CLUSTERS, message, fix)


def _problem(refused: CommandRefused, pair: DeclaredPair) -> Problem:
    kind = g.OTHER_SOURCE if refused.code == "other-source" else g.REFUSED
    fix = refused.what_next or f"Look at `kedge failovers show {pair.name}`."
    return g.of_document(kind, pair.positions, g.NAME, str(refused), fix)


def _without_taken(files: Sequence[SourceFile], in_force: Mapping[str, str]) -> list[SourceFile]:
    """Refuses the second of two files that declare one pair: first is the one in force, else the first by path."""
    first: dict[str, str] = {}
    for file in sorted(files, key=lambda f: f.path):
        for pair in file.pairs:
            if pair.name not in first or in_force.get(pair.name) == file.path:
                first[pair.name] = file.path
    return [_judged(file, first) for file in files]


def _judged(file: SourceFile, first: Mapping[str, str]) -> SourceFile:
    taken = [
        g.of_document(
            g.TAKEN_NAME,
            pair.positions,
            g.NAME,
            f"the failover `{pair.name}` is declared by {first[pair.name]} already",
            "Keep one of the two documents.",
        )
        for pair in file.pairs
        if first[pair.name] != file.path
    ]
    return file.refused(*taken) if taken else file
