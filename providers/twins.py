"""Several VMs under one key: a run was killed after the cloud had made its VM, and made another one. One is kept.

Twins carry the same tags and the same boot data, whose enrolment token works once: at most one of them ever serves. So
which one is kept costs at most a failed join, never data; what is not kept is reported and goes with its node.
"""

from collections.abc import Iterable

from providers.base import CloudInstance, InstanceState


def kept_twin(twins: Iterable[CloudInstance], known_id: str = "") -> CloudInstance:
    """The one to go on with: the one that is known (to a state, to history), else who holds something, else lowest id.

    What a VM is doing is no reason: it changes from one look to the next, and all who look must choose the same.
    """
    return min(twins, key=lambda i: (i.id != known_id, -len(i.volumes) - len(i.addresses), i.id))


def existing(instances: Iterable[CloudInstance]) -> dict[str, tuple[CloudInstance, ...]]:
    """The VMs of one cluster that the cloud did not declare gone, by key. A stopped one stands: it holds things."""
    found: dict[str, list[CloudInstance]] = {}
    for instance in instances:
        if instance.state is not InstanceState.GONE:
            found.setdefault(instance.key, []).append(instance)
    return {key: tuple(sorted(there, key=lambda i: i.id)) for key, there in found.items()}
