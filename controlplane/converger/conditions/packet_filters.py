"""VMs that filter packets themselves and do not have the rules of their network as it is now: `PacketFilterBehind`.

Clients and ports of a network may change while its VMs stand. Their agents are told and load the new rules; who does
not lets in whom its VM was born to let in, and that is told.
"""

import hashlib
from collections.abc import Callable, Mapping
from datetime import datetime

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.agent_reports import ReportSeen
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.converger.conditions.lasting_troubles import LastingTroubles
from controlplane.converger.situation.situation import Situation
from events import facts

Rules = Callable[[ClusterView, InstanceView], str]
"""The rules a VM should have now, "" of one that does not filter packets itself."""

FILTER_BEHIND = "PacketFilterBehind"

_NAMED = 3


class FilterWatch:
    """Remembers for each cluster since when a VM has other rules than it should."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._behind = LastingTroubles()

    def look(
        self, view: ClusterView, now: datetime, reports: Callable[[], Mapping[str, ReportSeen]]
    ) -> Mapping[str, str] | None:
        """See LastingTroubles. None where no VM filters so, or nothing may be told to agents."""

        def find() -> Mapping[str, str] | None:
            wanted = {i.key: rules for i in view.alive() if (rules := self._rules(view, i))}
            return behind(view, wanted, reports()) if wanted and not view.requests.held else None

        return self._behind.look(view.uid, now, find)


def behind(view: ClusterView, wanted: Mapping[str, str], reports: Mapping[str, ReportSeen]) -> Mapping[str, str]:
    """Who has other rules than `wanted` (by key) by its last report, however old that is, and why. Pure."""
    found: dict[str, str] = {}
    for key, rules in wanted.items():
        instance, seen = view.instances[key], reports.get(key)
        if seen is None or instance.lost or instance.phase is not Phase.JOINED:
            continue
        packet_filter = seen.report.packet_filter
        if packet_filter is None:
            found[key] = f"its agent ({seen.report.agent_version}) loads none, it has the rules of its birth"
        elif packet_filter.loaded != hashlib.sha256(rules.encode()).hexdigest():
            found[key] = packet_filter.problem or "it has not loaded those of now"
    return found


def filters_condition(situation: Situation) -> facts.ConditionChanged | None:
    """The condition; None where nobody has looked."""
    view, found = situation.view, situation.seen.background.filters_behind
    if found is None:
        is_over = FILTER_BEHIND in view.conditions
        return facts.ConditionChanged(FILTER_BEHIND, False, "Free", "") if is_over else None
    if not found:
        return facts.ConditionChanged(FILTER_BEHIND, False, "Free", "")
    keys = sorted(found)
    named = "; ".join(f"{key}: {found[key]}" for key in keys[:_NAMED])
    more = f"; and {len(keys) - _NAMED} more" if len(keys) > _NAMED else ""
    node = view.instances[keys[0]].node
    message = (
        f"the packet filter of {len(keys)} VMs is not that of their network as it is now, so clients or ports that "
        f"were added since may be refused there, and those taken away let in: {named}{more}. An agent that is too old "
        f"is upgraded (`kedge agents`), or the node gets a new VM. Next: kedge replace {view.name} {node}"
    )
    return facts.ConditionChanged(FILTER_BEHIND, True, "OlderRules", message)
