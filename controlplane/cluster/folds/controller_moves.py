"""The fold of controllers that take over from others: part of the folds of VMs and of rolls
(`controlplane.cluster.views.controller_moves`)."""

from dataclasses import replace
from datetime import datetime

from controlplane.cluster.folds.steps import change, frozen
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.controller_moves import elders, is_waiting, may_start
from controlplane.cluster.views.instances import InstanceView
from events import facts


def begun(view: ClusterView, at: datetime) -> ClusterView:
    """Whoever waited for others to stop takes over their id now. The addresses they had are over with them."""
    there = tuple(view.instances.values())
    for successor in there:
        if is_waiting(successor) and successor.phase is Phase.LAUNCHED and may_start(there, successor):
            view = _forgotten(change(view, successor.key, bound=True, since=at), successor)
    return view


def addressed(view: ClusterView, e: facts.SurgeCompleted) -> ClusterView:
    """A node whose next VM is elsewhere has another address there; who serves it still keeps the one it has."""
    there = tuple(view.instances.values())
    for launched in e.instances:
        successor = view.instances[launched.key]
        if not is_waiting(successor) or successor.node not in e.node_addresses:
            continue
        for elder in elders(there, successor):
            if elder.node == successor.node and not elder.own_address:
                view = change(view, elder.key, own_address=view.seat_address(elder))
    return view


def _forgotten(view: ClusterView, successor: InstanceView) -> ClusterView:
    """Who was not told of the new address does not know that controller any more."""
    unaware = {
        k: replace(i, start=replace(i.start, listed=i.start.listed - {successor.service_id}))
        for k, i in view.instances.items()
        if i.start.listed is not None
        and successor.service_id in i.start.listed
        and successor.key not in i.start.successors
    }
    return replace(view, instances=frozen({**view.instances, **unaware})) if unaware else view
