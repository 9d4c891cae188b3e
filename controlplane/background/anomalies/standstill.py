"""Whether what Kedge has in hand really goes on. What stands still explains no alarm: it only once began. Pure."""

from datetime import datetime, timedelta

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.wait_reasons import Mark, WaitReason

STILL = timedelta(minutes=30)
"""Nothing recorded for so long, and nothing on its way: by then caches are warm and leaders are where they stay."""


def stands_still(view: ClusterView, now: datetime) -> str:
    """What the work in hand waits for, and for how long; "" while it goes on, or nothing is in hand."""
    if view.history.progressed_at is None or now - view.history.progressed_at < STILL or _is_on_its_way(view):
        return ""
    reasons = (
        view.conditions.get(name) for name in ("Paused", "TickFailing", "Blocked", "WaitsForWindow", "WaitsForStage")
    )
    why = next((c.message.partition(". Next: ")[0] for c in reasons if c is not None and c.status), "")
    minutes = (now - view.history.progressed_at).total_seconds() / 60
    return f"nothing has gone on for {minutes:.0f} min{f': {why}' if why else ''}"


def _is_on_its_way(view: ClusterView) -> bool:
    """Whether a drain copies, or a VM comes, goes or is filled, and nothing is told to stand in the way."""
    blocked, hung = view.conditions.get("Blocked"), view.conditions.get("ReassignmentHung")
    if hung is not None and hung.status:
        return False
    if blocked is not None and blocked.status:
        reason = WaitReason.of(blocked.reason)
        if reason is None or not reason.has(Mark.COPIES):
            return False
    return view.moves.drain is not None or any(i.phase is not Phase.JOINED for i in view.alive())
