"""What is known of what a volume holds: whether any service was ever started on it. Pure.

    made for this VM                                             nobody's: it may be formatted here
    of an earlier VM, and its agent says, stopped for good,
    that its service was never started there                     nobody's still, whichever VM has it
    of an earlier VM, otherwise                                  it holds data: it is never formatted

That a volume was attached says nothing of what is on it. A service that was started may have voted, or may have
acknowledged a record, whether anybody saw it join or not.
"""

from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from events import facts


def was_started(view: ClusterView, e: facts.NodeFenced) -> bool | None:
    """What the end of an instance says of its service.

    Before releases that told it, and of agents that do not: it counts as never started where nobody of the cluster ever
    joined, so that there is nothing to lose, and its agent proved the stop, or there is no other voter whose promises
    it could have forgotten.
    """
    if e.started is not None:
        return e.started
    none_joined = not any(i.served_at is not None for i in view.instances.values())
    known = not view.roll.converged and view.external is None and not any(i.adopted for i in view.instances.values())
    alone = view.quorum.founding is not None and len(view.quorum.founding.voters) == 1
    return False if none_joined and known and (e.proof == "agent" or alone) else None


def is_unused(view: ClusterView, instance: InstanceView, volume: facts.PlannedVolume) -> bool:
    """Whether no service was ever started on this volume before it came to this instance: it was made for it, or all
    who had it before are known not to have used it."""
    planned = instance.planned
    earlier = (i for i in view.instances.values() if i.planned.generation < planned.generation)
    # Who was never bound was planned with it, and never had it.
    had_it = (i for i in earlier if (i.bound or i.departure.fenced_at is not None) and volume.key in _volumes_of(i))
    before = [i.departure.started for i in had_it if i.node == instance.node]
    if before:
        return all(started is False for started in before)
    return not planned.handover or planned.new_disk or volume.dir in planned.new_dirs


def _volumes_of(instance: InstanceView) -> tuple[str, ...]:
    return tuple(v.key for v in instance.planned.volumes)
