"""The machines a VM may be, where its pool has more than one, and who is another than the first of them."""

from collections.abc import Mapping

from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.runtime.once import once


@once
def fallen_back(view: ClusterView) -> Mapping[str, str]:
    """Instance key -> its machine, of those that are another machine than their pool asks for first."""
    found = ((i, machine_choices(view, i)) for i in view.alive())
    return {i.key: i.planned.shape for i, tried in found if tried and i.planned.shape != tried[0]}


def machine_choices(view: ClusterView, instance: InstanceView) -> tuple[str, ...]:
    """The machines an instance may be, first choice first; empty where there is no choice, or the spec moved on."""
    for pool in view.document.spec.pools if view.document else ():
        if pool.name == instance.planned.pool and pool.alternatives:
            found = (pool.machine, *pool.alternatives)
            return found if instance.planned.shape in found else ()
    return ()
