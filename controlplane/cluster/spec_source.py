"""Each cluster's spec has one source, a git binding or the API. The fold of it, and what the other may not do.

Pause, resume, abort and drain are no changes of the spec: they stay open to everybody.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType

from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.source import API, SpecOrigin, SpecSource
from events import facts

_GIT = "git:"

SYNCED = "Synced"
"""Type of the condition a git source keeps on its clusters; one that was never recorded is true."""
NOT_DECLARED = "NotDeclared"
SPEC_REFUSED = "SpecRefused"
HISTORY_REWRITTEN = "HistoryRewritten"


@dataclass(frozen=True, slots=True)
class SourceRefusal:
    """Why a change from elsewhere is refused: a stable word, the reason, what to do."""

    code: str
    message: str
    what_next: str


def git_source(binding: str) -> str:
    """The source of a binding's clusters, as events and people name it."""
    return f"{_GIT}{binding}"


def binding_of(source: str) -> str:
    """The binding behind a source, "" for `api`."""
    return source.removeprefix(_GIT) if source.startswith(_GIT) else ""


def source_name(view: ClusterView) -> str:
    """`git:BINDING` or `api`."""
    return view.declaration.source.name if view.declaration.source is not None else API


def changed(view: ClusterView, e: facts.SourceChanged, at: datetime) -> ClusterView:
    """The fold. What the source before said of the cluster is no longer about it."""
    origin = SpecOrigin(e.source, e.repository, e.branch, e.path, e.commit, e.author, e.signed_by)
    stays = source_name(view) == e.source
    taken = view.declaration.source.taken if stays and view.declaration.source is not None else view.version + 1
    conditions = view.conditions
    if not stays:
        conditions = MappingProxyType({t: c for t, c in conditions.items() if t != SYNCED})
    return replace(
        view, declaration=replace(view.declaration, source=SpecSource(origin, at, taken)), conditions=conditions
    )


def is_news(view: ClusterView, reason: str, message: str) -> bool:
    """Whether a report of the source changes the condition. The first commit without the file stays the one named."""
    known = view.conditions.get(SYNCED)
    if known is None:
        return reason != SYNCED
    said_anew = reason in (SPEC_REFUSED, HISTORY_REWRITTEN) and known.message != message
    return known.reason != reason or said_anew


def fact_of(origin: SpecOrigin, *, reason: str = "") -> facts.SourceChanged:
    """The fact that a spec comes from there now."""
    return facts.SourceChanged(
        origin.source,
        origin.repository,
        origin.branch,
        origin.path,
        origin.commit,
        origin.author,
        reason,
        origin.signed_by,
    )


def refuse_declaration(view: ClusterView, origin: SpecOrigin | None, *, is_change: bool) -> SourceRefusal | None:
    """A spec comes from one place. The API may repeat what is in force; a file that is not in charge is told so."""
    comes_from = origin.source if origin is not None else API
    in_charge = source_name(view)
    if view.generation == 0 or comes_from == in_charge or (origin is None and not is_change):
        return None
    hand_over = f"kedge take-over {view.name} --to {comes_from}"
    if view.declaration.source is not None and view.declaration.source.is_git:
        message = f"the spec of {view.name} comes from {view.declaration.source.address}"
        return SourceRefusal("other-source", message, f"Change that file. To change its source: {hand_over}")
    message = f"the spec of {view.name} was declared through the API (`kedge apply`), not by {comes_from}"
    return SourceRefusal("other-source", message, hand_over)


def refuse_deletion(view: ClusterView) -> SourceRefusal | None:
    """A file that still declares the cluster would declare it anew: first the file goes, then a person deletes."""
    if view.declaration.source is None or not view.declaration.source.is_git:
        return None
    synced = view.conditions.get(SYNCED)
    if synced is not None and synced.reason == NOT_DECLARED:
        return None
    message = f"{view.name} is still declared by {view.declaration.source.address}"
    then = f"Remove the file and wait for the next poll, or: kedge take-over {view.name} --to {API}"
    return SourceRefusal("still-declared", message, then)
