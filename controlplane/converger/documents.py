"""From the fold to the desired document of every VM: what each agent is told, as a pure function of the view."""

from agent.wire import Document, LogDir, ServiceDocument, Voter
from controlplane.converger.arrivals import CONTROLLER_PORT, start_id
from controlplane.replacement import SERVING, Phase
from controlplane.view import ClusterView, InstanceView
from events import facts


def document_for(view: ClusterView, key: str, *, epoch: int) -> Document | None:
    """The document of one instance, None when the view does not know it, it is retired for good, or all is held."""
    return None if view.held else _document(view, key, epoch)


def document_after_release(view: ClusterView, key: str) -> Document | None:
    """What a held cluster's agent is told once a person resumes: to be compared with what it was told last."""
    return _document(view, key, 0)


def _document(view: ClusterView, key: str, epoch: int) -> Document | None:
    instance = view.instances.get(key)
    if instance is None or view.deleted or instance.phase in _GONE:
        return None
    services: tuple[ServiceDocument, ...] = ()
    if view.founding is not None and not _only_arrives(instance):
        services = (_service(view, instance, view.founding),)
    return Document(
        epoch=epoch,
        cluster_uid=view.uid,
        node=instance.node,
        generation=instance.planned.generation,
        services=services,
    )


def _service(view: ClusterView, instance: InstanceView, founding: facts.QuorumFounded) -> ServiceDocument:
    planned = instance.planned
    running = instance.phase in SERVING and instance.bound and not _is_doomed(view)
    first = {v.directory_id for v in founding.voters}
    founder = planned.service == "controller" and planned.generation == 1 and planned.volumes[0].directory_id in first
    return ServiceDocument(
        name="broker" if instance.is_broker else "controller",
        state="running" if running else "stopped",
        start_id=start_id(instance),
        kafka_version=planned.kafka_version,
        cluster_id=founding.kafka_cluster_id,
        node_id=planned.service_id,
        address=view.address_of(instance),
        port=_broker_port(view) if instance.is_broker else CONTROLLER_PORT,
        rack=planned.rack,
        log_dirs=tuple(
            LogDir(
                name=v.dir,
                volume=v.key,
                directory_id=v.directory_id,
                fresh=_is_fresh(instance),
                size_gib=v.size_gib,
                own=v.kind == "ephemeral",
            )
            for v in planned.volumes
        ),
        voters=tuple(
            Voter(id=v.id, address=v.address, port=v.port, directory_id=v.directory_id)
            for v in (view.voters[i] for i in sorted(view.voters))
        ),
        founder=founder,
        metadata_level=founding.metadata_level,
        settings=dict(instance.settings),
        heap_mib=planned.heap_mib,
        gives_volumes=not running and _hands_over(view, instance),
    )


def _hands_over(view: ClusterView, instance: InstanceView) -> bool:
    """Its disks are being taken from it, or were: its service is proved stopped; a cloud may wait for the unmount."""
    releasing = any(i.kind == "release" and instance.key in i.keys for i in view.intents.values())
    return releasing or instance.phase is Phase.RELEASED


def _is_doomed(view: ClusterView) -> bool:
    """A cluster that is about to be destroyed stops first: no disk is taken from a running service."""
    return bool(view.tombstone) and view.document is not None and view.document.spec.deletion_policy == "destroy"


def _only_arrives(instance: InstanceView) -> bool:
    """No service yet: to say `stopped` here would be kept by the agent for good."""
    return instance.phase is Phase.REQUESTED or (instance.phase is Phase.LAUNCHED and not instance.bound)


def _is_fresh(instance: InstanceView) -> bool:
    """A volume nobody has served from yet. A successor's volume comes from its predecessor and is never fresh, but for
    one it was given because that of its node is lost.
    """
    own = not instance.planned.handover or instance.planned.new_disk
    return own and instance.phase is Phase.LAUNCHED and instance.starts == 1


def _broker_port(view: ClusterView) -> int:
    return view.document.spec.listeners[0].port if view.document else 9092


_GONE = frozenset({Phase.RETIRED})
