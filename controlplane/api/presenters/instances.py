"""From VMs as they are folded, and reports of their agents, to what the API says."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType

from controlplane.api.read_models.cluster_words import STALE
from controlplane.api.schemas import instances as instance_api
from controlplane.api.services import PortalServices
from controlplane.cluster.observed.agent_reports import AGENT_REPORT, ReportSeen, reports_by_key
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.commands.deciders.nodes import asked_for
from controlplane.storage.agent_credentials import Credential
from controlplane.storage.certificates.shown import certificate_ends
from controlplane.storage.latest_values import LatestValue
from planner.observed import KafkaSnapshot

CONSOLE_LINES = 12
"""Of a console, beside everything else of its cluster."""


@dataclass(frozen=True, slots=True)
class AgentSeen:
    """What is known of the agent of one VM."""

    report: ReportSeen | None = None
    credential: Credential | None = None
    is_overdue: bool = False
    is_uncertified: bool = False
    """Its agent has shown no certificate, where certificates are asked for."""
    certificate_until: datetime | None = None
    """When the one ends that it showed last."""


def consoles_out(observations: Iterable[LatestValue], now: datetime) -> list[instance_api.ConsoleOut]:
    """Those of the last day, newest first, each with its last lines."""
    young = [console_out(o, lines=CONSOLE_LINES) for o in observations if now - o.observed_at < timedelta(days=1)]
    return sorted(young, key=lambda c: c.at, reverse=True)


def console_out(seen: LatestValue, *, lines: int | None = None) -> instance_api.ConsoleOut:
    """One console, whole or its last lines."""
    value, text = seen.value, str(seen.value["text"])
    shown = text if lines is None else "\n".join(text.splitlines()[-lines:])
    return instance_api.ConsoleOut(
        node=seen.subject.name, key=value["key"], at=seen.observed_at, text=shown, why=value["why"]
    )


def agents_seen(
    observations: Iterable[LatestValue],
    credentials: Iterable[Credential],
    *,
    credential_life: timedelta,
    asks_certificates: bool,
    now: datetime,
    certificates: Mapping[str, datetime] = MappingProxyType({}),
) -> dict[str, AgentSeen]:
    """Agents by instance key: reports out of the latest-value table, and what they prove themselves with.

    `certificates`: when that of an instance ends. A credential is overdue at twice its life: an agent that is switched
    off, or older than rotations are.
    """
    reports = reports_by_key(observations)
    shown = {f"{c.vm.node}.g{c.vm.generation}": c for c in credentials}
    overdue = {key for key, c in shown.items() if c.is_older_than(2 * credential_life, now)}
    bare = {key for key, c in shown.items() if asks_certificates and c.certified_at is None}
    return {
        key: AgentSeen(reports.get(key), shown.get(key), key in overdue, key in bare, certificates.get(key))
        for key in reports.keys() | shown.keys()
    }


def agents_of_cluster(services: PortalServices, view: ClusterView, now: datetime) -> dict[str, AgentSeen]:
    """What is known of its agents, by instance key."""
    return agents_seen(
        services.cluster.latest.of_cluster(view.uid, AGENT_REPORT),
        services.access.credentials.of_cluster(view.uid).values(),
        credential_life=services.access.credential_life,
        asks_certificates=bool(services.access.ca_pem),
        now=now,
        certificates=certificate_ends(services.cluster.latest, view.uid),
    )


def instance_out(
    view: ClusterView, instance: InstanceView, agent: AgentSeen, now: datetime, kafka: KafkaSnapshot | None = None
) -> instance_api.InstanceOut:
    """One VM, with what its agent says of its services, and what Kafka's last metadata says of its broker."""
    planned, seen, credential = instance.planned, agent.report, agent.credential
    service, beside = seen.service(planned.service) if seen else None, _beside(view, instance, seen)
    server = seen.service("zookeeper") if seen and beside else None
    found = [*(service.findings if service else ()), *(server.findings if server else ())]
    return instance_api.InstanceOut.like(
        planned,
        key=instance.key,
        node=instance.node,
        phase=instance.phase,
        since=instance.since,
        address=view.address_of(instance),
        public_address=instance.public.asked,
        cloud_id=instance.cloud_id,
        lost=instance.lost,
        replaces=f"{instance.node}.g{planned.replaces}" if planned.replaces else "",
        reported_state=service.state if service else "",
        reported_message=service.message if service else "",
        report_age_s=max(0.0, (now - seen.received_at).total_seconds()) if seen else None,
        kafka_state=_kafka_state(instance, kafka, now),
        asked=asked_for(view, instance.key),
        credential_since=credential.since if credential else None,
        credential_overdue=agent.is_overdue,
        uncertified=agent.is_uncertified,
        certificate_ends_at=agent.certificate_until,
        outdated_credential_at=credential.outdated_shown_at if credential else None,
        findings=[instance_api.FindingOut(**f.model_dump()) for f in found],
        beside=beside,
    )


def _kafka_state(instance: InstanceView, kafka: KafkaSnapshot | None, now: datetime) -> str:
    """Metadata from before it joined, or that nobody has read again for long, says nothing of it."""
    if not instance.is_broker or kafka is None or now - kafka.at > STALE or kafka.at <= instance.since:
        return ""
    seen = kafka.brokers.get(instance.service_id)
    return "absent" if seen is None else "fenced" if seen.fenced else "serves"


def _beside(view: ClusterView, instance: InstanceView, seen: ReportSeen | None) -> instance_api.BesideOut | None:
    member = instance.planned.member
    if member is None:
        return None
    server = seen.service("zookeeper") if seen else None
    voter = view.quorum.voters.get(member.service_id)
    voting = voter is not None and voter.directory_id == member.directory_id
    return instance_api.BesideOut(
        service_id=member.service_id,
        votes=voting,
        reported_state=server.state if server else "",
        reported_message=server.message if server else "",
    )
