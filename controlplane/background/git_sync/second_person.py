"""What of a file approval is needed to: its digest, its text, and the commands with the approval in them. Pure."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

import yaml

from controlplane.background.git_sync import problems as g
from controlplane.background.git_sync.kinds import KeptKind
from controlplane.background.git_sync.reading import SourceFile
from controlplane.cluster.commands import DeclareCluster, DeclareInCluster
from controlplane.cluster.view import ClusterView, empty_view
from controlplane.cluster.views.source import SpecOrigin
from controlplane.commands.previews.plan import preview
from controlplane.fleet.proposals.fold import ProposalState, ProposalView
from controlplane.fleet.proposals.from_git import GitChange
from events.spec.conversion import to_data
from events.spec.model import KafkaClusterDocument
from events.spec.problems import Problem


def change_of_clusters(
    file: SourceFile, commands: Sequence[DeclareCluster], origin: SpecOrigin, living: Mapping[str, ClusterView]
) -> GitChange:
    """The clusters of a file. Metadata of Kafka is no part of the digest: a poll and an approval must not race it."""
    plans = [preview(living.get(c.name) or empty_view(""), c.document, snapshot=None).digest for c in commands]
    return _change(file, origin, [c.name for c in commands], plans)


def change_of_kept(
    kind: KeptKind,
    file: SourceFile,
    orders: Sequence[DeclareInCluster],
    origin: SpecOrigin,
    living: Mapping[str, ClusterView],
) -> GitChange:
    """The topics, or the users, of a file, by what would become of each."""
    lines: list[str] = []
    for order in orders:
        view = living[order.name]
        if view.document is not None:
            lines += kind.lines(view, view.document, [one.document for one in kind.declared_by(order)])
    return _change(file, origin, [order.name for order in orders], [kind.plural, *lines])


def rolls(view: ClusterView | None, document: KafkaClusterDocument) -> bool:
    """Whether the document would roll a living cluster."""
    return view is not None and preview(view, document, snapshot=None).rolls


def refused_until_agreed(file: SourceFile, proposal: ProposalView, reasons: Sequence[str]) -> SourceFile:
    """The file with what it waits for, at its first document."""
    is_rejected = proposal.state is ProposalState.REJECTED
    decided = f"rejected by {proposal.decided_by}{': ' * bool(proposal.note)}{proposal.note}"
    message = f"proposal {proposal.id} was {decided}" if is_rejected else f"{_WAITS}: {'; '.join(reasons)}"
    fix = "Change the file." if is_rejected else f"kedge proposal show {proposal.id}"
    where = file.documents[0].positions if file.documents else file.beside[0].positions
    return file.refused(g.of_document(g.SECOND_PERSON, where, g.NAME, message, fix))


_WAITS = "approval is needed"


def waits_for_somebody(problem: Problem) -> bool:
    """Whether the file is sound and waits for a yes; a no was not said either."""
    return problem.code == g.SECOND_PERSON.code and problem.message.startswith(_WAITS)


def _change(file: SourceFile, origin: SpecOrigin, clusters: Sequence[str], parts: Sequence[str]) -> GitChange:
    documents = [declared.document for declared in file.documents]
    text = yaml.safe_dump_all(
        [to_data(d) for d in documents] + [one.document.model_dump(mode="json", by_alias=True) for one in file.beside],
        sort_keys=False,
        allow_unicode=True,
    )
    return GitChange(
        source=origin.source,
        path=origin.path,
        commit=origin.commit,
        author=origin.author,
        clusters=tuple(dict.fromkeys(clusters)),
        text=text,
        digest=hashlib.sha256("\n".join([*parts, text]).encode()).hexdigest()[:20],
    )


def with_approval(commands: Sequence[DeclareCluster], number: str) -> list[DeclareCluster]:
    """The same, let through."""
    return [replace(command, approval=number) for command in commands]
