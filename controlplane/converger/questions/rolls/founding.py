"""Before the quorum is founded nothing of the cluster's data exists: a founder that does not come up is made anew.

    its deadline -> instance.join_failed -> retired with its empty disk and its address, by the cloud's word -> another
    VM of the next generation, with a disk of its own -> every founder is there -> the quorum is founded

The others wait for it meanwhile, and are not late: no agent is told of a service before. Pure.
"""

from controlplane.cluster.external_brokers import is_shared
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView


def is_unfounded(view: ClusterView) -> bool:
    """Whether the cluster is declared and its quorum, KRaft's or ZooKeeper's, is still to be founded."""
    return view.quorum.founding is None and view.document is not None and not is_shared(view)


def is_founding_member(view: ClusterView, instance: InstanceView) -> bool:
    """Whether it is to be one of the first members of the quorum, which is not founded yet."""
    return is_unfounded(view) and instance.planned.service == view.quorum_service


def founding_members(view: ClusterView) -> tuple[InstanceView, ...]:
    """Those that run and have the address of their node, by id."""
    there = (i for i in view.controllers() if i.phase is Phase.LAUNCHED and view.seat_address(i))
    return tuple(sorted(there, key=lambda i: i.service_id))


def founding_members_wanted(view: ClusterView) -> int:
    """How many found the quorum, by the spec."""
    return view.document.spec.quorum_size if view.document else 0


def lacks_founding_members(view: ClusterView) -> bool:
    """Whether a founder is still to be made, or made anew: nobody can join before."""
    if not is_unfounded(view):
        return False
    coming = {i.node for i in view.controllers() if i.phase in (Phase.REQUESTED, Phase.LAUNCHED)}
    return len(coming) < founding_members_wanted(view)
