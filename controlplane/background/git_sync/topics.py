"""Topics in the files of a source: brought into force after the clusters, by the same rules. Nothing here deletes.

A source with a team declares topics in clusters of that team only: whose cluster it is, decides.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from controlplane.background.git_sync import problems as g
from controlplane.background.git_sync.binding import GitBinding
from controlplane.background.git_sync.reading import SourceFile
from controlplane.cluster.commands import CommandRefused, DeclareTopics, ReportTopicsGone, TopicDeclared
from controlplane.cluster.view import ClusterView
from controlplane.commands.admission.topics import by_cluster
from controlplane.commands.deciders.topics import topic_news, topics_gone
from events.ids import derived_id
from events.spec.problems import Problem


@dataclass(frozen=True, slots=True)
class Commit:
    """Where topics come from: the source and the commit its files were read at."""

    binding: GitBinding
    source: str
    commit: str


def without_taken_topics(files: Iterable[SourceFile], living: Mapping[str, ClusterView]) -> list[SourceFile]:
    """Refuses the second of two files that declare one topic: first is the one in force, else the first by path."""
    listed = list(files)
    first: dict[tuple[str, str], str] = {}
    for file in sorted(listed, key=lambda f: f.path):
        for cluster, topic in _keys(file):
            view = living.get(cluster)
            known = view.topics.by_name.get(topic) if view is not None else None
            if (cluster, topic) not in first or (known is not None and known.path == file.path):
                first[cluster, topic] = file.path
    return [_judged(file, first) for file in listed]


def topic_orders(file: SourceFile, at: Commit, living: Mapping[str, ClusterView]) -> list[DeclareTopics]:
    """What the file says anew, a command for each cluster. Raises CommandRefused."""
    orders = []
    for name, topics in by_cluster(file.topics).items():
        view = living.get(name)
        if view is None or view.document is None:
            then = "Correct the name, or declare the cluster first."
            raise CommandRefused("no-cluster", f"there is no cluster `{name}`", then)
        _refuse_rights(at.binding, view, topics)
        order = DeclareTopics(
            name=name,
            actor=at.source,
            command_id=derived_id("git topics", at.binding.name, at.commit, file.path, name, str(view.version)),
            topics=tuple(topics),
            source=at.source,
            path=file.path,
            commit=at.commit,
        )
        if topic_news(view, order).fact is not None:
            orders.append(order)
    return orders


def topics_no_file_has(files: Sequence[SourceFile], at: Commit, views: Iterable[ClusterView]) -> list[ReportTopicsGone]:
    """Topics of this source that are in no file. What a file with errors would say is not known: they are not gone."""
    named = {key for file in files for key in _keys(file)}
    broken = {file.path for file in files if not file.ok}
    found = []
    for view in views:
        ours = [t for t in view.topics.by_name.values() if t.source == at.source and not t.undeclared]
        gone = tuple(sorted(t.name for t in ours if (view.name, t.name) not in named and t.path not in broken))
        command = ReportTopicsGone(
            name=view.name,
            actor=at.source,
            command_id=derived_id("topics gone", view.uid, at.commit, str(view.version), *gone),
            topics=gone,
            source=at.source,
            commit=at.commit,
        )
        if gone and topics_gone(view, command).fact is not None:
            found.append(command)
    return found


def topic_problem(refused: CommandRefused, file: SourceFile) -> Problem:
    """What refused the topics of a file, at the first of them."""
    where = file.topics[0].positions
    fix = refused.what_next or "Look at `kedge topics CLUSTER`."
    kind = g.OTHER_SOURCE if refused.code == "other-source" else g.REFUSED
    return g.of_document(kind, where, g.NAME, str(refused), fix)


def _keys(file: SourceFile) -> list[tuple[str, str]]:
    return [(t.document.spec.cluster, t.document.topic) for t in file.topics]


def _judged(file: SourceFile, first: Mapping[tuple[str, str], str]) -> SourceFile:
    taken = [
        g.of_document(
            g.TAKEN_NAME,
            one.positions,
            g.NAME,
            f"the topic `{one.document.topic}` of {one.document.spec.cluster} is declared by {first[key]} already",
            "Keep one of the two documents.",
        )
        for one, key in zip(file.topics, _keys(file), strict=True)
        if first[key] != file.path
    ]
    return file.refused(*taken) if taken else file


def _refuse_rights(binding: GitBinding, view: ClusterView, topics: Sequence[TopicDeclared]) -> None:
    owner = view.document.metadata.owner if view.document else ""
    if binding.team and owner != binding.team:
        message = f"the cluster `{view.name}` is not of the team `{binding.team}`"
        raise CommandRefused("other-team", message, "Declare its topics where its team does.")
    for verb, is_meant in (("create", False), ("change", True)):
        named = [t.document.topic for t in topics if (t.document.topic in view.topics.by_name) is is_meant]
        if named and verb not in binding.verbs:
            message = f"this binding may not {verb} topics (`{named[0]}`)"
            raise CommandRefused("not-granted", message, f"Add `{verb}` to the binding's verbs.")
