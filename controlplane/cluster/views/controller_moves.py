"""Controllers that take over from others: same id, same vote, another disk and another address. Pure, over instances
alone.

A controller that changes its place leaves its disk and its address behind. Its id stays: Kafka keeps the registration
of an id for ever, and one that nobody renews vetoes every later upgrade. So two VMs have the id for a while, and only
one of them ever runs: the newcomer is *unbound*, and told nothing, until the others are proved stopped.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from controlplane.cluster.lifecycle import ALIVE, Phase
from controlplane.cluster.views.instances import InstanceView

_OUT = frozenset({Phase.FAILED, Phase.RETIRING, Phase.RETIRED})
_STOPPED = frozenset({Phase.FENCED, Phase.RELEASED, Phase.RETIRING})


def controller_moves_of(instances: Iterable[InstanceView]) -> Mapping[str, InstanceView]:
    """Key -> who takes over from it, for those whose VM may exist; `instances` are in the order of their intents."""
    there = tuple(instances)
    successors = [i for i in there if i.planned.relieves and i.phase not in _OUT]
    if not successors:
        return _NO_MOVES
    return MappingProxyType({elder.key: successor for successor in successors for elder in elders(there, successor)})


def elders(instances: Sequence[InstanceView], successor: InstanceView) -> tuple[InstanceView, ...]:
    """Who had the id before this one, and whose VM may exist still."""
    before = instances[: next(n for n, i in enumerate(instances) if i.key == successor.key)]
    return tuple(i for i in before if i.service_id == successor.service_id and i.phase in ALIVE and not i.is_broker)


def may_start(instances: Sequence[InstanceView], successor: InstanceView) -> bool:
    """Whether all who had the id are proved stopped, or never ran."""
    return all(i.phase in _STOPPED or is_waiting(i) for i in elders(instances, successor))


def is_waiting(instance: InstanceView) -> bool:
    """Whether it is to take over from somebody, and was never told to run."""
    return bool(instance.planned.relieves) and not instance.bound and instance.departure.fenced_at is None


def has_ties(instance: InstanceView) -> bool:
    """Whether its volumes and its address are on its VM: those of one that takes over from another are from its birth
    on."""
    return instance.bound or is_waiting(instance)


_NO_MOVES: Mapping[str, InstanceView] = MappingProxyType({})
