"""VMs that are not in their cluster's overlay as they should be, or do not reach another one: `OverlayNotReady`.

Kedge does nothing about it: agents try again by themselves, and with no path to another node nothing is moved. Who is
not in the overlay serves all the same, at its private address.
"""

from collections.abc import Callable, Mapping
from datetime import datetime

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.agent_reports import ReportSeen
from controlplane.cluster.overlay import EPOCH
from controlplane.cluster.overlay_keys import reported_keys
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.converger.conditions.lasting_troubles import LastingTroubles
from controlplane.converger.situation.situation import Situation
from events import facts
from events.quantities import named

OVERLAY_NOT_READY = "OverlayNotReady"

_NAMED = 3


class OverlayWatch:
    """Remembers for each cluster since when a VM is not in its overlay as it should be."""

    def __init__(self) -> None:
        self._troubles = LastingTroubles()

    def look(
        self, view: ClusterView, now: datetime, reports: Callable[[], Mapping[str, ReportSeen]]
    ) -> Mapping[str, str] | None:
        """See LastingTroubles. None where the cluster has no overlay, or nothing may be told to agents."""

        def find() -> Mapping[str, str] | None:
            if view.document is None or view.document.spec.network.overlay is None or view.requests.held:
                return None
            return overlay_troubles(view, reports(), now)

        return self._troubles.look(view.uid, now, find)


def overlay_troubles(view: ClusterView, reports: Mapping[str, ReportSeen], now: datetime) -> Mapping[str, str]:
    """Who is not in it as it should be, by young reports, and why. Of who is not heard nothing is known. Pure."""
    refused = reported_keys(view, reports, EPOCH, now).refused
    there = {i.key for i in view.alive() if i.phase is Phase.JOINED and not i.lost}
    found: dict[str, str] = {}
    for key in sorted(there):
        seen = reports.get(key)
        if seen is not None and seen.is_young(now):
            why = refused.get(key, "") or _trouble(view.instances[key], seen, there)
            found |= {key: why} if why else {}
    return found


def _trouble(instance: InstanceView, seen: ReportSeen, there: set[str]) -> str:
    told = seen.report.overlay
    if told is None:
        return f"its agent ({seen.report.agent_version}) keeps none"
    if told.unable or told.problem:
        return told.unable or told.problem
    if not told.kept:
        return "its tunnels are not set up yet"
    peers = [f"{peer.node}.g{peer.generation}" for peer in told.peers if not peer.up]
    unreached = [key for key in peers if key in there and key != instance.key]
    return f"no path to {named(unreached)}" if unreached else ""


def overlay_condition(situation: Situation) -> facts.ConditionChanged | None:
    """The condition; None where nobody has looked."""
    view, found = situation.view, situation.seen.background.overlay_troubles
    if not found:
        is_over = found is not None or OVERLAY_NOT_READY in view.conditions
        return facts.ConditionChanged(OVERLAY_NOT_READY, False, "Ready", "") if is_over else None
    keys = sorted(found)
    told = "; ".join(f"{key}: {found[key]}" for key in keys[:_NAMED])
    more = f"; and {len(keys) - _NAMED} more" if len(keys) > _NAMED else ""
    message = (
        f"{len(keys)} VMs are not in the overlay as they should be: {told}{more}. Agents try again by themselves; a "
        f"key that is refused needs another VM. Next: kedge describe {view.name}"
    )
    return facts.ConditionChanged(OVERLAY_NOT_READY, True, "NotReady", message)
