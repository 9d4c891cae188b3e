"""The overlay of this VM, put together from the real things."""

from collections.abc import Callable
from functools import partial

from agent.layout import AgentLayout
from agent.overlay.ability import inability
from agent.overlay.member import OverlayMember
from agent.overlay.reconciler import OverlayClock, OverlayReconciler, OverlayWork
from agent.settings import AgentSettings
from agent.tools import run_tool
from agent.wire_overlay import OverlayDocument, OverlayReport

FollowedOverlay = Callable[[OverlayDocument | None], OverlayReport | None]

_NOT_ITS_OWN = (
    "the network of a VM of the `local` cloud is this machine's: tunnels, routes and guard would be everybody's here"
)


def followed_overlay(
    settings: AgentSettings, layout: AgentLayout, clock: OverlayClock, *, woken: Callable[[], None]
) -> FollowedOverlay:
    """None is told of it before a document names one. On `local` nothing is made, and a document with an overlay is
    answered with the reason."""
    if settings.disks == "given":
        return lambda document: None if document is None else OverlayReport(unable=_NOT_ITS_OWN)
    folder = layout.state / "overlay"
    folder.mkdir(mode=0o700, exist_ok=True)
    member = OverlayMember(folder, run_tool, clock.monotonic_s)
    return OverlayReconciler(OverlayWork(member, partial(inability, run_tool), clock.monotonic_s), clock, woken).follow
