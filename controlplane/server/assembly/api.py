"""What the HTTP API answers from, of a whole server and of a portal apart from its loop: most of it is the same."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from functools import partial
from urllib.parse import urlsplit

from controlplane.api import auth, idempotency_keys, services
from controlplane.api.access.accounts import People
from controlplane.api.access.null_people import null_people
from controlplane.api.audit.store import SqlAuditStore
from controlplane.api.audit.watch import found_by
from controlplane.api.node_certificates import NodeCertificates
from controlplane.api.user_credentials import UserCredentials
from controlplane.background.agent_upgrades.service import Agents
from controlplane.background.anomalies.windows import windows_of
from controlplane.background.broker_queries import KafkaQueryService
from controlplane.background.consumer_groups.resets import GroupOffsetService
from controlplane.background.consumer_groups.service import Groups
from controlplane.background.forges.link import ForgeLink
from controlplane.background.git_sync.service import SourceService
from controlplane.background.log_reader.reading import KafkaJournals
from controlplane.background.notifications.service import Notifiers
from controlplane.background.topic_names.index import TopicIndex
from controlplane.background.topic_placement.history import past_placements_of
from controlplane.background.topic_placement.snapshot import RecordedPlacements
from controlplane.background.topic_placement.store import SqlPlacementStore
from controlplane.cluster.gateways import Gateways
from controlplane.cluster.observed.cloud_drift import kept_audits
from controlplane.cluster.server_identities import ServerIdentities
from controlplane.cluster.view import ClusterView
from controlplane.commands.admission.judge import SpecJudge
from controlplane.commands.chaos_injection import bring_about
from controlplane.commands.handler import CommandHandler
from controlplane.converger.tick.status import LoopService
from controlplane.fleet.failovers.pair_documents import PairParts
from controlplane.fleet.freezes.commands import FreezeService
from controlplane.fleet.images.commands import ImageService
from controlplane.fleet.networks.commands import NetworkService
from controlplane.fleet.networks.server_addresses import servers_at
from controlplane.server.assembly.access import oidc_of
from controlplane.server.assembly.background import Rooms
from controlplane.server.assembly.commands import CommandParts, failovers_of
from controlplane.server.assembly.core import Base, Ground
from controlplane.server.assembly.failovers import look_of
from controlplane.server.assembly.loop import Folded, Loop
from controlplane.server.cloud_readiness import examiner_of
from controlplane.server.clouds import console_page_in, packet_filter_in, places_in
from controlplane.server.database_roles import examined
from controlplane.server.own_authority_findings import own_authority_findings
from controlplane.server.sections.process import AGENTS, LOOP
from controlplane.server.status import planner_state, progress_of, release
from controlplane.server.telemetry_in_force import telemetry_in_force
from controlplane.storage.agent_credentials import CredentialStore, SqlCredentialStore
from controlplane.storage.backup import backup
from controlplane.storage.channels import Channels
from controlplane.storage.home import Home
from controlplane.storage.home_binding import HTTP
from controlplane.storage.known_credentials import KnownCredentials
from events.clock import utc_now
from events.engine import trouble_with
from providers.price_list import read_price_list


def api_of(
    ground: Ground,
    loop: Loop,
    asking: CommandParts,
    rooms: Rooms,
    service: LoopService,
    *,
    listens_on: tuple[str, int],
    channels: Channels,
) -> services.PortalServices:
    """That of a whole server, or of a loop apart from its portals. `service` tells how the loop does."""
    settings, converger, hands = ground.settings, loop.converger, loop.hands
    cluster = cluster_services(
        ground,
        loop,
        asking.commands,
        asking.judge,
        progress=partial(progress_of, hands.runner.progress),
        brake=converger.brake_on,
        wake=hands.bell.ring,
    )
    filters = partial(packet_filter_in, loop.clouds, loop.networks.cidr_at, declared=settings.clouds.server_addresses)
    parts = PairParts(loop.pairs, servers_at(settings.clouds.server_addresses), converger.view)
    return services.PortalServices(
        store=ground.store,
        clock=utc_now,
        cluster=replace(cluster, packet_filter=filters, pair_parts=parts, harm=partial(bring_about, loop.clouds)),
        fleet=fleet_services(
            ground,
            loop,
            converger,
            converger.sentence_on,
            sources=asking.sources.service,
            forges=asking.sources.forges,
            agents=rooms.agents.service,
            notifiers=rooms.anomalies.service,
        ),
        brokers=broker_services(
            ground,
            rooms.groups.gateways,
            rooms.groups.service,
            rooms.topics.index,
            ServerIdentities(ground.cluster_authorities, client_files=ground.settings.kafka.client_properties),
        ),
        access=_access(ground, asking, rooms, listens_on),
        operations=replace(_operations(ground, loop, rooms, service), channels=channels),
    )


def cluster_services(
    base: Base,
    folded: Folded,
    commands: services.Commands,
    judge: SpecJudge,
    *,
    progress: Callable[[ClusterView], str],
    brake: Callable[[ClusterView], str],
    wake: Callable[[str], None],
) -> services.ClusterServices:
    """Without hands on VMs."""
    return services.ClusterServices(
        commands=commands,
        latest=base.latest,
        progress=progress,
        brake=brake,
        window=folded.converger.window_on,
        wake=wake,
        judge=judge,
        console_page=partial(console_page_in, folded.clouds),
    )


def fleet_services(
    base: Base,
    folded: Folded,
    clusters: services.Fleet,
    sentence: Callable[[ClusterView], str],
    *,
    sources: SourceService | None,
    forges: Mapping[str, ForgeLink],
    agents: Agents,
    notifiers: Notifiers,
) -> services.FleetServices:
    """`sentence` is what a cluster waits for, in words."""
    store, views, catch_up = base.store, folded.converger.views, folded.converger.catch_up
    look = look_of(clusters, base.latest)
    return services.FleetServices(
        clusters=clusters,
        networks=NetworkService(store, folded.networks, views, catch_up, partial(kept_audits, base.latest)),
        images=ImageService(store, folded.images, views, sentence, catch_up, utc_now),
        freezes=FreezeService(store, folded.freezes, views, catch_up, utc_now),
        failovers=failovers_of(base, folded, CommandHandler(store).current, look),
        agents=agents,
        sources=sources,
        forges=forges,
        notifiers=notifiers,
        prices=partial(read_price_list, base.settings.home),
        places_offered=partial(places_in, folded.clouds, base.settings),
    )


def broker_services(
    base: Base,
    gateways: Gateways,
    groups: Groups,
    topic_names: TopicIndex | None = None,
    identities: ServerIdentities | None = None,
) -> services.BrokerServices:
    """Brokers are asked through `gateways`, and for logs as `identities` say."""
    settings, kafka = base.settings, gateways.of
    telemetry = telemetry_in_force(settings)
    return services.BrokerServices(
        metrics=telemetry.metrics,
        metrics_cluster=settings.telemetry.metrics_cluster,
        logs=settings.telemetry.logs,
        journals=KafkaJournals(identities),
        groups=groups,
        group_offsets=GroupOffsetService(kafka, gateways.as_node),
        kafka_queries=KafkaQueryService(kafka, utc_now, lake=telemetry.lake),
        windows=windows_of(telemetry.lake, settings.telemetry.slow_window_s),
        topic_names=topic_names,
        placements=RecordedPlacements(SqlPlacementStore(base.engine), base.latest, utc_now),
        past_placements=past_placements_of(telemetry.lake),
    )


def access_services(
    base: Base, hosts: frozenset[str], people: People, credentials: CredentialStore, ca_pem: str
) -> services.AccessServices:
    """Who asks a part that serves no people has its home's token, nobody else."""
    settings, engine, installation = base.settings, base.engine, base.installation
    serves_nobody = settings.process.only in (LOOP, AGENTS)
    return services.AccessServices(
        installation=installation,
        hosts=hosts,
        public_hosts=auth.public_hosts(settings.portal.names, settings.portal.port),
        people=null_people() if serves_nobody else people,
        oidc=None if serves_nobody else oidc_of(settings, engine, installation),
        audit=SqlAuditStore(engine),
        call_keys=idempotency_keys.SqlCallKeys(engine),
        credentials=credentials,
        credential_life=timedelta(seconds=settings.agents.credential_life_s),
        ca_pem=ca_pem,
    )


def _access(ground: Ground, asking: CommandParts, rooms: Rooms, listens_on: tuple[str, int]) -> services.AccessServices:
    credentials = KnownCredentials(SqlCredentialStore(ground.engine))
    ca_pem = ground.authority.pem if ground.authority else ""
    access = access_services(ground, _hosts(ground.home, *listens_on), asking.people, credentials, ca_pem)
    node_certificates = NodeCertificates(ground.store, ground.cluster_authorities, utc_now)
    return replace(
        access,
        known_agents=credentials,
        authority=ground.authority,
        node_certificates=node_certificates,
        user_credentials=UserCredentials(ground.user_passwords, ground.cluster_authorities, utc_now),
        audit_topic=rooms.audit.last_status,
    )


def _operations(ground: Ground, loop: Loop, rooms: Rooms, service: LoopService) -> services.OperationsServices:
    settings, hands = ground.settings, loop.hands
    return services.OperationsServices(
        version=release(),
        leadership=ground.candidate,
        backup=lambda path: backup(ground.store, ground.engine, path),
        states=ground.storage.served if settings.terraform.state == HTTP else None,
        examinations=examiner_of(settings, loop.clouds, loop.converger.views),
        database=lambda: (*examined(ground.engine), *found_by(rooms.audit.watch)),
        files=lambda: tuple(own_authority_findings(ground.cluster_authorities.own, now=utc_now())),
        database_trouble=lambda: trouble_with(ground.engine) or trouble_with(ground.hasty),
        query_limit_s=settings.database.query_limit_s,
        loop=service,
        pipeline=rooms.pipeline.supervisor.status,
        plans=hands.planning.totals,
        part="loop" if settings.process.only == LOOP else "",
        planner_state=partial(planner_state, settings, hands.planning),
    )


def _hosts(home: Home, host: str, port: int) -> frozenset[str]:
    """What is answered to over plain HTTP: its own address, and the one VMs were told, served by who leads."""
    address = urlsplit(home.agent_url() or "")
    return auth.loopback_hosts(host, port) | ({address.netloc} if address.scheme == "http" else set())
