"""Which quorum each service is told of when it starts: the ensemble, the controllers, or, while the cluster migrates,
both. Pure."""

from dataclasses import dataclass

from controlplane.cluster.bootstrap_controllers import list_for
from controlplane.cluster.folds.volumes import is_unused
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.kafka.zookeeper.migration import Knows
from events.facts import FoundingVoter


@dataclass(frozen=True, slots=True)
class QuorumStatus:
    """What a service's document says of them. `founder`: it formats its disk as one of the first quorum, at
    `metadata_level`; `stays_stopped`: the migration has it stopped, or has no work for it any more."""

    ensemble: tuple[FoundingVoter, ...] = ()
    voters: tuple[FoundingVoter, ...] = ()
    founder: bool = False
    metadata_level: str = ""
    protocol: str = ""
    stays_stopped: bool = False


def awaits_first_step(view: ClusterView, instance: InstanceView) -> bool:
    """Whether it is a controller of a migration that no step was about yet: an agent that is told `stopped` would never
    run that start again."""
    migration = view.quorum.migration
    if migration is None or instance.planned.service != "controller":
        return False
    return instance.service_id not in migration.knows


def quorum_status(view: ClusterView, instance: InstanceView) -> QuorumStatus:
    """For a cluster that was founded."""
    service = instance.planned.service
    if service == "broker":
        return _of_broker(view, instance)
    if service != view.quorum_service:
        return _beside(view, instance)
    first = view.quorum.founding.voters if view.quorum.founding else ()
    is_listed = _directory(instance) in {v.directory_id for v in first}
    founder = is_listed and (_is_first(instance) or _is_unused(view, instance))
    voters = list_for(view, instance)
    if service == "zookeeper":
        return QuorumStatus(ensemble=first if founder else voters, founder=founder)
    return QuorumStatus(voters=voters, founder=founder, metadata_level=_level(view))


def knows(view: ClusterView, instance: InstanceView) -> Knows:
    """What a broker, or a controller of a migration, was told last."""
    if view.quorum.migration is not None:
        return view.quorum.migration.last_sent(instance.planned.service, instance.service_id)
    if not view.in_zookeeper_mode:
        return Knows.QUORUM
    return Knows.ENSEMBLE if instance.is_broker else Knows.STOPPED


def has_stop_order(view: ClusterView, instance: InstanceView) -> bool:
    """Whether a migration has it stopped: that it does not run is no trouble then."""
    between = view.quorum.migration is not None or instance.planned.service not in ("broker", view.quorum_service)
    return between and instance.planned.service != "zookeeper" and knows(view, instance) is Knows.STOPPED


def _of_broker(view: ClusterView, instance: InstanceView) -> QuorumStatus:
    sent, mine = knows(view, instance), list_for(view, instance)
    stopped = sent is Knows.STOPPED
    if not view.in_zookeeper_mode:
        return QuorumStatus(voters=mine, metadata_level=_level(view))
    migration = view.quorum.migration
    coming = migration.voters if migration else ()
    founding = migration.founding if migration and sent is Knows.QUORUM else None
    has_ensemble = stopped or sent.has_ensemble
    return QuorumStatus(
        ensemble=mine if has_ensemble else (),
        voters=coming if stopped or sent.has_quorum else (),
        metadata_level=founding.metadata_level if founding else "",
        protocol=(instance.start.protocol or view.quorum.protocol) if has_ensemble else "",
        stays_stopped=stopped,
    )


def _beside(view: ClusterView, instance: InstanceView) -> QuorumStatus:
    """A controller that is to take over, or who a migration has left without work; a server goes on until it is told
    to stop, like any other that is not wanted."""
    if instance.planned.service == "zookeeper":
        return QuorumStatus(ensemble=view.quorum.left_voters, founder=_is_first(instance))
    migration = view.quorum.migration
    if migration is None or migration.founding is None:
        return QuorumStatus(voters=view.quorum.left_voters, stays_stopped=True)
    sent = migration.last_sent("controller", instance.service_id)
    servers = tuple(view.quorum.voters[i] for i in sorted(view.quorum.voters))
    return QuorumStatus(
        ensemble=() if sent is Knows.QUORUM else servers,
        voters=migration.voters,
        founder=_formats(view, instance) and _directory(instance) in {v.directory_id for v in migration.voters},
        metadata_level=migration.founding.metadata_level,
        stays_stopped=sent is Knows.STOPPED,
    )


def _level(view: ClusterView) -> str:
    return view.quorum.founding.metadata_level if view.quorum.founding else ""


def _is_first(instance: InstanceView) -> bool:
    """Whether nobody of its node served before it: its first VM, or one made anew because that never came up. Of a VM
    that was found by its tags only the generation is known."""
    return instance.planned.generation == 1 or not (instance.planned.handover or instance.adopted)


def _formats(view: ClusterView, instance: InstanceView) -> bool:
    return instance.planned.new_disk or not instance.planned.handover or _is_unused(view, instance)


def _is_unused(view: ClusterView, instance: InstanceView) -> bool:
    """Whether it takes over a disk on which nobody of its node ever served: with it, it is what those were to be."""
    return instance.planned.handover and is_unused(view, instance, instance.planned.volumes[0])


def _directory(instance: InstanceView) -> str:
    return instance.planned.volumes[0].directory_id
