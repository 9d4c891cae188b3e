"""From sources to what the API says of them, and of each cluster's own."""

from collections.abc import Callable
from dataclasses import asdict

from controlplane.api.presenters.specs import problem_out
from controlplane.api.schemas import sources as source_api, specs as spec_api
from controlplane.api.schemas.sources import ForgeOut
from controlplane.api.services import PortalServices
from controlplane.background.forges.link import ForgeLink
from controlplane.background.git_sync.status import NOT_POLLED, OUT_OF_SYNC, REFUSED, SYNCED, UNKNOWN, SourceStatus
from controlplane.cluster.spec_source import SPEC_REFUSED, SYNCED as CONDITION, git_source
from controlplane.cluster.view import ClusterView


def source_out(status: SourceStatus, link: ForgeLink | None = None) -> source_api.SourceOut:
    """One source, with its forge where it has one."""
    binding = status.binding
    return source_api.SourceOut.like(
        binding,
        source=git_source(binding.name),
        sync=status.state,
        reason=status.reason,
        message=status.message,
        next=status.next_step,
        since=status.since,
        last_poll=status.polled_at,
        last_reached=status.reached_at,
        commit=status.applied,
        tip=status.tip,
        author=status.author,
        signed_by=status.signature.by,
        claimed_because=status.signature.why_not,
        clusters=list(status.clusters),
        missing=list(status.missing),
        failovers=list(status.failovers),
        failovers_missing=list(status.failovers_missing),
        problems=[problem_out(problem) for problem in status.problems],
        forge=None if link is None else ForgeOut(**asdict(link.reconciler.status())),
    )


def spec_source_out(view: ClusterView, status_of: Callable[[str], SourceStatus | None]) -> spec_api.SpecSourceOut:
    """Where a cluster's spec comes from, and whether its file is what is in force.

    The condition in the history is the word that counts; a source that cannot be reached makes it stale.
    """
    if view.declaration.source is None or not view.declaration.source.is_git:
        return spec_api.SpecSourceOut(since=view.declaration.source.since if view.declaration.source else None)
    origin, status = view.declaration.source.origin, status_of(view.declaration.source.name)
    condition = view.conditions.get(CONDITION)
    sync, reason, message, since = SYNCED, SYNCED, "", view.declaration.source.since
    if condition is not None:
        sync, reason, message, since = _word(condition.reason), condition.reason, condition.message, condition.since
    elif not origin.path:
        sync, reason, message = UNKNOWN, NOT_POLLED, "its file was not looked for yet"
    if status is None:
        sync, reason, message = OUT_OF_SYNC, "NoBinding", f"no binding {origin.source} is set on this server"
    elif not status.is_reached:
        sync, reason, message = OUT_OF_SYNC, status.reason, status.message
        since = status.since or since
    return spec_api.SpecSourceOut.like(origin, sync=sync, reason=reason, message=message, since=since)


def source_of_cluster(services: PortalServices, view: ClusterView) -> spec_api.SpecSourceOut:
    """The same, by the sources of this server."""
    service = services.fleet.sources
    return spec_source_out(view, service.polled.of_source if service is not None else lambda _: None)


def _word(reason: str) -> str:
    if reason == CONDITION:
        return SYNCED
    return REFUSED if reason == SPEC_REFUSED else OUT_OF_SYNC
