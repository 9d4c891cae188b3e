"""How often in a row drains were put off: the fold of what keeps them from being begun at every tick."""

from dataclasses import replace
from datetime import datetime

from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.drains import PostponedView
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
        times = after.moves.postponed.times + 1 if after.moves.postponed is not None else 1
        return replace(after, moves=replace(after.moves, postponed=PostponedView(times, at, event.reason)))
    if after.moves.postponed is not None and isinstance(event, _GETS_ON):
        return replace(after, moves=replace(after.moves, postponed=None))
    return after
