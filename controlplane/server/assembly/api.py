"""What the HTTP API of a whole server answers from."""

from datetime import timedelta
from functools import partial
from urllib.parse import urlsplit

from controlplane.api.access.accounts import People
from controlplane.api.audit.watch import found_by
from controlplane.api.auth import loopback_hosts, public_hosts
from controlplane.api.idempotency_keys import SqlCallKeys
from controlplane.api.services import (
    AccessServices,
    BrokerServices,
    ClusterServices,
    FleetServices,
    OperationsServices,
    PortalServices,
)
from controlplane.background.broker_queries import KafkaLookDesk
from controlplane.background.consumer_groups.resets import GroupOffsetDesk
from controlplane.background.log_reader.reading import KafkaJournals
from controlplane.background.topic_placement.history import past_placements_of
from controlplane.cluster.observed.cloud_drift import kept_audits
from controlplane.commands.chaos_injection import bring_about
from controlplane.converger.tick.status import LoopDesk
from controlplane.fleet.freezes.commands import FreezeDesk
from controlplane.fleet.images.commands import ImageDesk
from controlplane.fleet.networks.commands import NetworkDesk
from controlplane.server.assembly.access import oidc_of
from controlplane.server.assembly.background import Rooms
from controlplane.server.assembly.commands import Asking
from controlplane.server.assembly.core import Ground
from controlplane.server.assembly.loop import Loop
from controlplane.server.cloud_readiness import examiner_of
from controlplane.server.clouds import console_page_in, packet_filter_in, places_in, unbootable_in
from controlplane.server.database_roles import examined
from controlplane.server.split.setup import LOOP
from controlplane.server.status import planner_state, progress_of, release
from controlplane.storage.agent_credentials import SqlCredentialStore
from controlplane.storage.backup import backup
from controlplane.storage.home import Home
from controlplane.storage.home_binding import HTTP
from events.clock import utc_now
from events.engine import trouble_with
from providers.price_book import read_price_book


def api_of(
    ground: Ground, loop: Loop, asking: Asking, rooms: Rooms, desk: LoopDesk, *, listens_on: tuple[str, int]
) -> PortalServices:
    """`desk` tells how the loop does. Whom a loop apart from its portal serves has its home's token, nobody else."""
    settings, store, converger, hands = ground.settings, ground.store, loop.converger, loop.hands
    is_loop, networks = settings.only == LOOP, loop.networks
    return PortalServices(
        store=store,
        clock=utc_now,
        operations=OperationsServices(
            version=release(),
            leadership=ground.candidate,
            planner_state=partial(planner_state, settings, hands.planning),
            backup=lambda path: backup(store, ground.engine, path),
            states=ground.storage.served if settings.terraform_state == HTTP else None,
            part="loop" if is_loop else "",
            query_limit_s=settings.query_limit_s,
            loop=desk,
            examinations=examiner_of(settings, hands.clouds, converger.views),
            database=lambda: (*examined(ground.engine), *found_by(rooms.audit.watch)),
            database_trouble=lambda: trouble_with(ground.engine) or trouble_with(ground.hasty),
        ),
        access=AccessServices(
            installation=ground.installation,
            hosts=_hosts(ground.home, *listens_on),
            credentials=SqlCredentialStore(ground.engine),
            credential_life=timedelta(seconds=settings.credential_life_s),
            ca_pem=ground.authority.pem if ground.authority else "",
            authority=ground.authority,
            people=People() if is_loop else asking.people,
            audit=asking.audit,
            call_keys=SqlCallKeys(ground.engine),
            oidc=None if is_loop else oidc_of(settings, ground.engine, ground.installation),
            public_hosts=public_hosts(settings.portal_names, settings.portal_port),
            audit_topic=rooms.audit.told,
        ),
        cluster=ClusterServices(
            latest=ground.latest,
            commands=asking.commands,
            progress=partial(progress_of, hands.runner.progress),
            brake=converger.brake_on,
            window=converger.window_on,
            wake=hands.bell.ring,
            unbootable=partial(unbootable_in, hands.clouds),
            cost_tags=settings.cost_tags,
            packet_filter=partial(packet_filter_in, hands.clouds, networks.cidr_at, declared=settings.server_addresses),
            console_page=partial(console_page_in, hands.clouds),
            harm=partial(bring_about, hands.clouds),
            gate=asking.gate,
        ),
        fleet=FleetServices(
            clusters=converger,
            sources=asking.sources.desk,
            networks=NetworkDesk(
                store, networks, converger.views, converger.catch_up, partial(kept_audits, ground.latest)
            ),
            images=ImageDesk(store, loop.images, converger.views, converger.sentence_on, converger.catch_up, utc_now),
            freezes=FreezeDesk(store, loop.freezes, converger.views, converger.catch_up, utc_now),
            agents=rooms.agents.desk,
            notifiers=rooms.anomalies.desk,
            prices=partial(read_price_book, settings.home),
            places_offered=partial(places_in, hands.clouds, settings),
        ),
        brokers=BrokerServices(
            metrics=settings.metrics,
            logs=settings.logs,
            journals=KafkaJournals(),
            groups=rooms.groups.desk,
            group_offsets=GroupOffsetDesk(rooms.groups.gateways.of),
            kafka_looks=KafkaLookDesk(rooms.groups.gateways.of, utc_now, lake=settings.metrics_lake),
            windows=rooms.anomalies.windows,
            topic_names=rooms.topics.index,
            placements=rooms.topics.placements,
            past_placements=past_placements_of(settings.metrics_lake),
        ),
    )


def _hosts(home: Home, host: str, port: int) -> frozenset[str]:
    """What is answered to over plain HTTP: its own address, and the one VMs were told, served by who leads."""
    told = urlsplit(home.agent_url() or "")
    return loopback_hosts(host, port) | ({told.netloc} if told.scheme == "http" else set())
