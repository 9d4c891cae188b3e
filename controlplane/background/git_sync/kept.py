"""Topics and users in the files of a source: brought into force after the clusters, by the same rules. Nothing here
deletes.

A source with a team declares them in clusters of that team only: whose cluster it is, decides.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from controlplane.background.git_sync import problems as g
from controlplane.background.git_sync.binding import GitBinding
from controlplane.background.git_sync.kinds import KeptKind
from controlplane.background.git_sync.reading import SourceFile
from controlplane.cluster.commands import Command, CommandRefused, DeclareInCluster
from controlplane.cluster.view import ClusterView
from controlplane.commands.admission.in_cluster import by_cluster
from events.ids import derived_id
from events.spec.problems import Problem


@dataclass(frozen=True, slots=True)
class Commit:
    """Where they come from: the source and the commit its files were read at."""

    binding: GitBinding
    source: str
    commit: str


def without_taken(kind: KeptKind, files: Iterable[SourceFile], living: Mapping[str, ClusterView]) -> list[SourceFile]:
    """Refuses the second of two files that declare the same one: first is the one in force, else the first by path."""
    listed = list(files)
    first: dict[tuple[str, str], str] = {}
    for file in sorted(listed, key=lambda f: f.path):
        for cluster, name in kind.keys(file):
            view = living.get(cluster)
            known = kind.known(view).get(name) if view is not None else None
            if (cluster, name) not in first or (known is not None and known.path == file.path):
                first[cluster, name] = file.path
    return [_judged(kind, file, first) for file in listed]


def orders_of(
    kind: KeptKind, file: SourceFile, at: Commit, living: Mapping[str, ClusterView]
) -> list[DeclareInCluster]:
    """What the file says anew, a command for each cluster. Raises CommandRefused."""
    orders = []
    for name, declared in by_cluster(kind.of_file(file)).items():
        view = living.get(name)
        if view is None or view.document is None:
            then = "Correct the name, or declare the cluster first."
            raise CommandRefused("no-cluster", f"there is no cluster `{name}`", then)
        _refuse_rights(kind, at.binding, view, [kind.name(one.document) for one in declared])
        order = kind.order(
            tuple(declared),
            name=name,
            actor=at.source,
            command_id=derived_id(f"git {kind.plural}", at.binding.name, at.commit, file.path, name, str(view.version)),
            source=at.source,
            path=file.path,
            commit=at.commit,
        )
        if kind.news(view, order).fact is not None:
            orders.append(order)
    return orders


def no_file_has(kind: KeptKind, files: Sequence[SourceFile], at: Commit, views: Iterable[ClusterView]) -> list[Command]:
    """Those of this source that are in no file. What a file with errors would say is not known: they are not gone."""
    named = {key for file in files for key in kind.keys(file)}
    broken = {file.path for file in files if not file.ok}
    found = []
    for view in views:
        ours = [one for one in kind.known(view).values() if one.source == at.source and not one.undeclared]
        gone = tuple(sorted(o.name for o in ours if (view.name, o.name) not in named and o.path not in broken))
        command = kind.gone(
            gone,
            name=view.name,
            actor=at.source,
            command_id=derived_id(f"{kind.plural} gone", view.uid, at.commit, str(view.version), *gone),
            source=at.source,
            commit=at.commit,
        )
        if gone and kind.gone_news(view, command).fact is not None:
            found.append(command)
    return found


def kept_problem(kind: KeptKind, refused: CommandRefused, file: SourceFile) -> Problem:
    """What refused those of a file, at the first of them."""
    where = kind.of_file(file)[0].positions
    fix = refused.what_next or f"Look at `kedge {kind.plural}`."
    code = g.OTHER_SOURCE if refused.code == "other-source" else g.REFUSED
    return g.of_document(code, where, g.NAME, str(refused), fix)


def _judged(kind: KeptKind, file: SourceFile, first: Mapping[tuple[str, str], str]) -> SourceFile:
    taken = [
        g.of_document(
            g.TAKEN_NAME,
            one.positions,
            g.NAME,
            f"the {kind.noun} `{key[1]}` of {key[0]} is declared by {first[key]} already",
            "Keep one of the two documents.",
        )
        for one, key in zip(kind.of_file(file), kind.keys(file), strict=True)
        if first[key] != file.path
    ]
    return file.refused(*taken) if taken else file


def _refuse_rights(kind: KeptKind, binding: GitBinding, view: ClusterView, names: Sequence[str]) -> None:
    owner = view.document.metadata.owner if view.document else ""
    if binding.team and owner != binding.team:
        message = f"the cluster `{view.name}` is not of the team `{binding.team}`"
        raise CommandRefused("other-team", message, f"Declare its {kind.plural} where its team does.")
    for verb, is_meant in (("create", False), ("change", True)):
        named = [name for name in names if (name in kind.known(view)) is is_meant]
        if named and verb not in binding.verbs:
            message = f"this binding may not {verb} {kind.plural} (`{named[0]}`)"
            raise CommandRefused("not-granted", message, f"Add `{verb}` to the binding's verbs.")
