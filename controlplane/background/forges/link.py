"""A binding's forge as the server holds it: the calls, and who keeps its statuses."""

from collections.abc import Callable
from dataclasses import dataclass

from controlplane.background.forges.forge import Forge
from controlplane.background.forges.github import GitHub
from controlplane.background.forges.gitlab import GitLab
from controlplane.background.forges.statuses import StatusReconciler
from controlplane.background.git_sync.binding import GitBinding
from controlplane.background.git_sync.forge_binding import GITHUB, ForgeBinding
from controlplane.background.git_sync.status import SourceStatus
from controlplane.runtime.egress import Egress
from events.clock import Clock


@dataclass(frozen=True, slots=True)
class ForgeLink:
    """One binding's forge."""

    binding: ForgeBinding
    forge: Forge
    reconciler: StatusReconciler


def link_of(
    binding: GitBinding,
    forge: ForgeBinding,
    status: Callable[[], SourceStatus | None],
    *,
    portal: str,
    clock: Clock,
    egress: Egress,
) -> ForgeLink:
    """The forge of a binding; nothing is asked of it yet."""
    made = forge_of(binding, forge, clock=clock, egress=egress)
    return ForgeLink(forge, made, StatusReconciler(made, status, portal=portal, clock=clock))


def forge_of(binding: GitBinding, forge: ForgeBinding, *, clock: Clock, egress: Egress) -> Forge:
    """The calls to it."""
    address = forge.require_address(binding.repository)
    if forge.kind == GITHUB:
        return GitHub(forge, address, clock=clock, egress=egress)
    return GitLab(forge, address, binding.branch, clock=clock, egress=egress)
