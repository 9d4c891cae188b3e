"""How often in a row drains were put off: the fold of what keeps them from being begun at every tick."""

from dataclasses import replace
from datetime import datetime

from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.postponed_drains import PutOffView
from events import facts

_GETS_ON = (
    facts.ClusterDeclared,
    facts.ClusterResumed,
    facts.InstanceJoined,
    facts.NodeDrained,
    facts.EvacuationCompleted,
    facts.ExternalDrained,
    facts.RetireCompleted,
)
"""After these the next drain may well fare better than the last one."""


def counted(after: ClusterView, event: object, at: datetime) -> ClusterView:
    """The view after an event, with how many drains were put off since anything else came of anything."""
    if isinstance(event, facts.DrainAbandoned):
        times = after.put_off.times + 1 if after.put_off is not None else 1
        return replace(after, put_off=PutOffView(times, at, event.reason))
    if after.put_off is not None and isinstance(event, _GETS_ON):
        return replace(after, put_off=None)
    return after
