"""ZooKeeper's server on a broker's VM as an instance of its own; over instances alone. See
`controlplane.cluster.cohosted_zookeeper`."""

from collections.abc import Iterable
from dataclasses import replace

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.views.instances import InstanceView

_SERVES = frozenset({Phase.DRAINING, Phase.LINGERING})


def member_of(instance: InstanceView) -> InstanceView | None:
    """The server on a broker's VM as an instance of its own, for as long as it is a member or may become one."""
    member = instance.planned.member
    if member is None or instance.member.gone:
        return None
    volume = replace(instance.planned.volumes[0], directory_id=member.directory_id)
    planned = replace(
        instance.planned,
        service="zookeeper",
        service_id=member.service_id,
        volumes=(volume,),
        heap_mib=member.heap_mib,
        jvm_options=(),
        settings={},
        config=None,
        vm_address=True,
        member=None,
    )
    return replace(
        instance,
        planned=planned,
        # Whether its broker is being emptied is nothing to it.
        phase=Phase.JOINED if instance.phase in _SERVES else instance.phase,
        departure=replace(instance.departure, drained=False),
        hosted=True,
        start=replace(
            instance.start,
            count=instance.member.starts,
            reconfigured=0,
            settings=None,
            jvm=instance.member.jvm,
        ),
    )


def service_on(instance: InstanceView, service: str) -> InstanceView | None:
    """That service of its VM as an instance of its own, "" for what the VM was made for; None once it has left."""
    if service in ("", instance.planned.service):
        return instance
    member = member_of(instance)
    return member if member is not None and member.planned.service == service else None


def with_service_start(instance: InstanceView, service: InstanceView) -> InstanceView:
    """The VM once this service of it is told another start, or another heap."""
    if not service.hosted:
        return service
    return replace(instance, member=replace(instance.member, starts=service.start.count, jvm=service.start.jvm))


def services_on(instance: InstanceView) -> tuple[InstanceView, ...]:
    """All that runs on its VM, each as an instance of its own: itself, and the server beside it."""
    member = member_of(instance)
    return (instance,) if member is None else (instance, member)


def kept_for_vote(instance: InstanceView) -> tuple[str, ...]:
    """What a voter needs of its VM, as `ClusterView.lost_volumes` names it: its volumes, or the directory of the server
    on a broker's VM, also once that has left."""
    planned = instance.planned
    if instance.hosted:
        return (planned.volumes[0].directory_id,)
    return (planned.member.directory_id,) if planned.member is not None else tuple(v.key for v in planned.volumes)


def members_of(instances: Iterable[InstanceView]) -> tuple[InstanceView, ...]:
    return tuple(found for i in instances if (found := member_of(i)) is not None)
