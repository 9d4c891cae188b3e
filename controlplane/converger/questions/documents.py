"""From the fold to the desired document of every VM: what each agent is told, as a pure function of the view."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from agent.wire import (
    ENSEMBLE_STEP_WIRE_VERSION,
    MIGRATION_WIRE_VERSION,
    OVERLAY_WIRE_VERSION,
    TLS_WIRE_VERSION,
    WIRE_VERSION,
    AgentBuild,
    AgentOrder,
    Document,
    EnsembleMember,
    LogDir,
    OverlayDocument,
    ServiceDocument,
    ServiceName,
    ServiceTls,
    TlsListener,
    TokenIssuer,
    Voter,
)
from controlplane.cluster.folds.growth import size_of
from controlplane.cluster.folds.volumes import is_unused
from controlplane.cluster.lifecycle import SERVING, Phase
from controlplane.cluster.overlay import OverlayNetwork, overlay_part
from controlplane.cluster.quorum_config import awaits_first_step, quorum_status
from controlplane.cluster.super_users import client_security_of, super_users_of
from controlplane.cluster.tls_steps import tls_step_of
from controlplane.cluster.view import TLS_BROKER_PORT, TLS_CONTROLLER_PORT, ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.members import member_of
from controlplane.converger.questions.quorum.quorum_ports import CONTROLLER_PORT, controller_port, ensemble_port
from controlplane.converger.questions.services.heartbeats import heartbeats_for
from controlplane.converger.questions.services.service_reports import start_id
from controlplane.kafka.zookeeper.members import PLAIN_PORT
from controlplane.storage.certificates.principals import principals_of
from events import facts
from events.spec.oauth_rules import pem_lines
from events.spec.security import Authentication, Listener
from planner.rollout.security_steps import OVER, PLAIN

REPORT_WITHIN_S = 120.0
"""What a new agent has to report in, or the one before returns."""


def document_for(view: ClusterView, key: str, *, epoch: int) -> Document | None:
    """The document of one instance, None when the view does not know it, it is retired for good, or all is held."""
    return None if view.requests.held else _document(view, key, epoch)


def document_after_release(view: ClusterView, key: str) -> Document | None:
    """What a held cluster's agent is told once a person resumes: to be compared with what it was told last."""
    return _document(view, key, 0)


def is_doomed(view: ClusterView) -> bool:
    """A cluster that is about to be destroyed stops first: no disk is taken from a running service."""
    return (
        bool(view.requests.tombstone) and view.document is not None and view.document.spec.deletion_policy == "destroy"
    )


def _stops_with_all(view: ClusterView, instance: InstanceView) -> bool:
    """Brokers first: one whose controllers or ZooKeeper servers are gone waits for them with its shutdown."""
    return is_doomed(view) and (instance.is_broker or view.requests.quorum_stop_at is not None)


def _document(view: ClusterView, key: str, epoch: int) -> Document | None:
    instance = view.instances.get(key)
    if instance is None or view.deleted or instance.phase in _GONE:
        return None
    services: tuple[ServiceDocument, ...] = ()
    waits = _only_arrives(instance) or awaits_first_step(view, instance)
    if view.quorum.founding is not None and not waits:
        told = () if _waits_for_id(view, instance) else (_service(view, instance, view.quorum.founding),)
        services = (*told, *_beside(view, instance, view.quorum.founding))
    overlay = _overlay(view, instance)
    wire = _wire(services, secured=view.nodes_speak_tls)
    return Document(
        wire=wire if overlay is None else max(wire, OVERLAY_WIRE_VERSION),
        epoch=epoch,
        cluster_uid=view.uid,
        node=instance.node,
        generation=instance.planned.generation,
        services=services,
        heartbeats=heartbeats_for(view, instance) if services else None,
        agent=_agent(view, key),
        overlay=overlay,
    )


def _overlay(view: ClusterView, instance: InstanceView) -> OverlayDocument | None:
    """None where its cluster is to have none: what an agent has made nevertheless stays as it is."""
    said = view.document.spec.network.overlay if view.document is not None else None
    return overlay_part(view, instance, OverlayNetwork(port=said.port)) if said is not None else None


def _agent(view: ClusterView, key: str) -> AgentOrder | None:
    """The agent it is to run. An order that failed is told no more: the agent stays as it is until there is another."""
    order = view.vms.agent_orders.get(key)
    if order is None or order.failed_at is not None:
        return None
    asked = order.asked
    return AgentOrder(
        id=asked.order,
        version=asked.version,
        key=asked.public_key,
        builds=tuple(
            AgentBuild(platform=b.platform, url=b.url, sha256=b.sha256, size_bytes=b.size_bytes, signature=b.signature)
            for b in asked.builds
        ),
        report_within_s=REPORT_WITHIN_S,
    )


def _service(view: ClusterView, instance: InstanceView, founding: facts.QuorumFounded) -> ServiceDocument:
    planned = instance.planned
    quorum, step = quorum_status(view, instance), tls_step_of(view, instance)
    # A server goes on beside a broker that did not join: it stops once it has no vote.
    serving = instance.phase in SERVING or (instance.hosted and instance.phase is Phase.FAILED)
    running = serving and instance.bound and not _stops_with_all(view, instance) and not quorum.stays_stopped
    return ServiceDocument(
        name=_NAMES[planned.service],
        state="running" if running else "stopped",
        start_id=start_id(instance),
        kafka_version=planned.kafka_version,
        cluster_id=founding.kafka_cluster_id,
        node_id=planned.service_id,
        address=view.address_of(instance),
        port=_port(view, instance, step),
        rack=planned.rack,
        log_dirs=tuple(
            LogDir(
                name=v.dir,
                volume=v.key,
                directory_id=v.directory_id,
                fresh=_is_fresh(view, instance, v),
                size_gib=size_of(view, v),
                own=v.kind == "ephemeral",
            )
            for v in planned.volumes
        ),
        voters=tuple(
            Voter(id=v.id, address=v.address, port=_port_of_voter(view, v, step), directory_id=v.directory_id)
            for v in quorum.voters
        ),
        founder=quorum.founder,
        metadata_level=quorum.metadata_level,
        first_producer_id=founding.first_producer_id if planned.service == "controller" else None,
        settings=dict(instance.settings),
        heap_mib=instance.jvm.heap_mib,
        jvm=instance.sized_jvm,
        jvm_options=instance.jvm.options,
        log_levels=_log_levels(view, planned.pool),
        ensemble=tuple(
            EnsembleMember(id=v.id, address=v.address, port=_port_of_member(view, planned.service, v, step))
            for v in quorum.ensemble
        ),
        protocol_version=quorum.protocol,
        tls=_tls(view, instance, step),
        gives_volumes=not running and _hands_over(view, instance),
    )


def _wire(services: Sequence[ServiceDocument], *, secured: bool) -> int:
    """The lowest that says all of it: an agent of before knows no later one, and starts nothing."""
    spoken = (_spoken(one, one.tls) for one in services if one.tls is not None)
    return max(spoken, default=TLS_WIRE_VERSION if secured else WIRE_VERSION)


def _spoken(service: ServiceDocument, tls: ServiceTls) -> int:
    if service.is_migrating:
        return MIGRATION_WIRE_VERSION
    return ENSEMBLE_STEP_WIRE_VERSION if service.ensemble and tls.step is not None else tls.wire


def _port(view: ClusterView, instance: InstanceView, step: str) -> int:
    """Where nodes reach it, by TLS from its first step on."""
    service = instance.planned.service
    if service == "zookeeper":
        return ensemble_port(step)
    if service == "broker":
        return TLS_BROKER_PORT if step != PLAIN else view.plain_port_of(instance)
    return TLS_CONTROLLER_PORT if step != PLAIN else CONTROLLER_PORT


def _port_of_voter(view: ClusterView, voter: facts.FoundingVoter, step: str) -> int:
    """A voter is known by the port of its first start; on the way to TLS all have another one, too."""
    return voter.port if view.settings.security is None else controller_port(step)


def _port_of_member(view: ClusterView, service: str, member: facts.FoundingVoter, step: str) -> int:
    """Where that service finds it. To a server it is what the first membership says, as long as that says one."""
    if view.settings.security is None:
        return member.port
    return PLAIN_PORT if service == "zookeeper" and step == "Z1" else ensemble_port(step)


def _tls(view: ClusterView, instance: InstanceView, step: str) -> ServiceTls | None:
    """As it was told with its last start: one that falls comes back where clients know it. What was declared since is
    another start, once it is its turn."""
    security = client_security_of(view, instance) if step != PLAIN else None
    if security is None:
        return None
    tls = ServiceTls(
        super_users=super_users_of(view, instance, security),
        listeners=tuple(map(_listener, security.listeners)),
        mapping_rules=principals_of(view.uid).mapping_rules if security.names != "subject" else "",
    )
    return tls if step == OVER else _at_step(tls, instance.planned.service, step)


def _at_step(tls: ServiceTls, service: str, step: str) -> ServiceTls:
    """Nodes that have not made the step yet come as nobody: they may do everything until all have made it."""
    users = (*(user for user in tls.super_users if user != "User:ANONYMOUS"), "User:ANONYMOUS")
    port = {"controller": CONTROLLER_PORT, "zookeeper": PLAIN_PORT}.get(service, 0)
    return ServiceTls.model_validate({**tls.model_dump(), "super_users": users, "step": step, "plain_port": port})


def _listener(one: Listener) -> TlsListener:
    asked_again = one.authentication.type in ("scram-sha-512", "oauth")
    return TlsListener(
        name=one.name,
        port=one.port,
        security=one.security,
        authentication=one.authentication.type,
        reauthenticate_s=one.authentication.reauthenticate if asked_again else None,
        tokens=_tokens(one.authentication),
    )


def _tokens(asked: Authentication) -> TokenIssuer | None:
    """None where no token is asked for; one is always to say whose it is, and for whom (`oauth_rules`)."""
    if asked.type != "oauth":
        return None
    return TokenIssuer(
        issuer=asked.issuer or "",
        audience=asked.audience or "",
        jwks=asked.jwks or "",
        principal_claim=asked.principal_claim,
        ca=pem_lines(asked.ca) if asked.ca else "",
        clock_skew_s=asked.clock_skew,
    )


def _log_levels(view: ClusterView, pool: str) -> dict[str, str]:
    """Of the spec in force; who is of no pool of it leaves."""
    pools = view.document.spec.pools if view.document is not None else ()
    return next((dict(p.log_levels) for p in pools if p.name == pool), {})


def _beside(view: ClusterView, instance: InstanceView, founding: facts.QuorumFounded) -> tuple[ServiceDocument, ...]:
    """The ZooKeeper server on a broker's VM: told to stop once it has left the ensemble, or the broker is."""
    if instance.planned.member is None:
        return ()
    member = member_of(replace(instance, member=replace(instance.member, gone=False)))
    if member is None:
        return ()
    service = _service(view, member, founding)
    return (service.model_copy(update={"state": "stopped"}) if instance.member.gone else service,)


def _hands_over(view: ClusterView, instance: InstanceView) -> bool:
    """Its disks may be taken from it soon: it stops for good here. Its agent unmounts them once that is down, as a
    cloud may wait for it; a service that is to run again after all has them mounted again."""
    return instance.phase in _GIVING or is_doomed(view)


def _only_arrives(instance: InstanceView) -> bool:
    """No service yet: to say `stopped` here would be kept by the agent for good."""
    return instance.phase is Phase.REQUESTED or (instance.phase is Phase.LAUNCHED and not instance.bound)


def _waits_for_id(view: ClusterView, instance: InstanceView) -> bool:
    """In ZooKeeper mode a broker that starts before the ensemble holds the cluster's id makes one up."""
    return instance.is_broker and view.in_zookeeper_mode and not view.quorum.cluster_id_fixed


def _is_fresh(view: ClusterView, instance: InstanceView, volume: facts.PlannedVolume) -> bool:
    """A volume nobody has served from yet: one that is its own, or that comes from a predecessor whose service was
    never started. Where the service of this very VM was started once, its agent knows, and formats nothing.
    """
    first = instance.start.count - instance.start.reconfigured == 1
    return instance.phase is Phase.LAUNCHED and first and is_unused(view, instance, volume)


_GONE = frozenset({Phase.RETIRED})
_GIVING = frozenset({Phase.FENCING, Phase.FENCED, Phase.RELEASED, Phase.RETIRING})
_NAMES: Mapping[str, ServiceName] = {"broker": "broker", "controller": "controller", "zookeeper": "zookeeper"}
