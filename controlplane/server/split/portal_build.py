"""Builds a portal out of settings: what reads and records, and nothing that leads, runs Terraform or holds a key of
the loop. Beside `controlplane.server.bootstrap`, which builds a whole server, the only place that builds things.
"""

import socket
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from pydantic import SecretBytes
from sqlalchemy import Engine

from controlplane.api.audit.relay import watch_of
from controlplane.api.audit.store import SqlAuditStore
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
from controlplane.background.agent_upgrades.reconciler import AgentKeeper
from controlplane.background.agent_upgrades.service import AgentDesk
from controlplane.background.agent_upgrades.signing import AgentSigner
from controlplane.background.anomalies.windows import LakeWindows, NoWindows
from controlplane.background.broker_queries import KafkaLookDesk
from controlplane.background.consumer_groups.resets import GroupOffsetDesk
from controlplane.background.consumer_groups.service import GroupDesk
from controlplane.background.git_sync.service import SourceDesk
from controlplane.background.log_reader.reading import KafkaJournals
from controlplane.background.notifications.outbox import SqlOutbox
from controlplane.background.notifications.service import NotifierDesk
from controlplane.background.topic_names.index import TopicIndex
from controlplane.background.topic_placement.history import past_placements_of
from controlplane.background.topic_placement.snapshot import RecordedPlacements
from controlplane.background.topic_placement.store import SqlPlacementStore
from controlplane.cluster.gateways import judged
from controlplane.cluster.observed.agent_reports import reports_of
from controlplane.cluster.observed.cloud_drift import kept_audits
from controlplane.commands.admission.judge import SpecJudge
from controlplane.commands.handler import CommandHandler
from controlplane.commands.policies.gate import PolicyGate
from controlplane.commands.policies.store import PolicyShelf
from controlplane.converger.questions.windows import frozen_words
from controlplane.converger.tick.fleet_brake import FleetBrake
from controlplane.converger.tick.loop import Converger
from controlplane.fleet.freezes.commands import FreezeDesk
from controlplane.fleet.freezes.state import FreezeKeeper
from controlplane.fleet.images.commands import ImageDesk
from controlplane.fleet.images.state import ImageKeeper
from controlplane.fleet.networks.commands import NetworkDesk
from controlplane.fleet.networks.server_addresses import server_cidrs
from controlplane.runtime.polling import Poller
from controlplane.server.assembly.access import oidc_of, people_of
from controlplane.server.assembly.git_sync import links_of
from controlplane.server.assembly.networks import keeper_of
from controlplane.server.clouds import Clouds, console_page_in, places_in, unbootable_in
from controlplane.server.database_roles import PORTAL, check_role, examined
from controlplane.server.settings import Settings
from controlplane.server.split.commands import PortalAgents, PortalCommands, PortalNotifiers, no_backup
from controlplane.server.split.config_parity import differing, files_alike
from controlplane.server.split.forbidden_access import PortalRefused, check_reach
from controlplane.server.split.message import HEARD_EVERY_S
from controlplane.server.split.moments import SqlCredentialMoments
from controlplane.server.split.null_ports import IDLE, NOBODY_LEADS, Always, NobodyLeads, inert_ports
from controlplane.server.split.portal_fleet import PortalFleet
from controlplane.server.split.portal_home import installation_of
from controlplane.server.split.snapshot import KafkaSight
from controlplane.server.split.subscriber import AskedExaminations, HeardBoard, HeardLoop, LoopHearing, rings
from controlplane.server.status import release
from controlplane.storage.home import Home
from controlplane.storage.home_binding import homes_of
from controlplane.storage.job_store import SqlJobStore
from controlplane.storage.latest_values import SqlLatestStore
from controlplane.storage.migrate import upgrade
from events.clock import utc_now
from events.engine import build_engine
from events.sql_store import SqlEventStore
from providers.doctor import Finding
from providers.price_book import read_price_book

_CONNECTIONS = 16
_FLEET = "fleet"


@dataclass(frozen=True, slots=True)
class PortalParts:
    """A portal's parts. `candidate` leads nothing, ever."""

    settings: Settings
    home: Home
    portal: PortalServices
    poller: Poller
    release: Callable[[], None]
    candidate: NobodyLeads = NOBODY_LEADS

    def end_runs(self) -> None:
        """There are none."""

    def close(self) -> None:
        """No look begins after this, and none is under way; what is held is given back."""
        self.poller.stop()
        self.release()


def build_portal(
    settings: Settings, *, listens_on: tuple[str, int] | None = None, states_on: tuple[str, int] | None = None
) -> PortalParts:
    """Builds a portal on the database that a loop works on; starts nothing but thread pools.

    Raises MigrationError, RoleRefused, PortalRefused, StoreUnavailable, PositionGap, OSError.
    """
    upgrade(settings.database)
    engine = build_engine(settings.database)
    hasty = build_engine(settings.database, durable=False)
    try:
        return _built(settings, engine, hasty, listens_on or (settings.host, settings.port))
    except Exception:
        engine.dispose()
        hasty.dispose()
        raise


def _built(settings: Settings, engine: Engine, hasty: Engine, listens_on: tuple[str, int]) -> PortalParts:
    check_role(engine, PORTAL)
    homes = homes_of(engine)
    if not homes:
        raise PortalRefused("no loop has worked on this database yet. Start it first: `kedge server --only loop`")
    check_reach(settings.home, homes, socket.gethostname())
    home = Home(settings.home)
    installation = installation_of(home, homes[0].home.installation_id)
    store, latest, jobs = SqlEventStore(engine), SqlLatestStore(hasty), SqlJobStore(engine)
    store.verify()
    clouds = Clouds(settings, installation.id)
    ports = inert_ports(store, jobs, latest, installation.id, utc_now)
    # The loop dials: where from is known here only where it is declared.
    servers = server_cidrs(settings.server_addresses, "") if settings.server_addresses else None
    networks = keeper_of(ports, clouds, IDLE, settings.networks.address_pool, servers)
    images, freezes = ImageKeeper(), FreezeKeeper(tuple(binding.freeze for binding in settings.freezes))
    brake = FleetBrake(settings.max_rolling, settings.max_surge_per_account)
    folded = Converger(ports, brake, networks=networks, images=images, freezes=freezes)
    gateways, pool = judged(settings.brokers_allowed, keep=_CONNECTIONS), ThreadPoolExecutor(settings.workers, "sight")
    hearing = LoopHearing(latest, utc_now)
    fleet = PortalFleet(folded, KafkaSight(folded, gateways.of, latest, utc_now, pool=pool), hearing, brake)
    fleet.folded.catch_up()
    hearing.poll()
    gate = PolicyGate(PolicyShelf(settings.home / "policies", partial(read_price_book, settings.home)), fleet)
    gate.policies.current()  # a broken file is told in the log at the start, not at the first change
    files, lake, audit = partial(files_alike, settings), settings.metrics_lake, SqlAuditStore(engine)
    watch = watch_of(settings.audit_topic, audit, engine, utc_now)
    handler = CommandHandler(
        store,
        last_snapshot=fleet.last_snapshot,
        judge=SpecJudge(
            gate=gate,
            unbootable=partial(unbootable_in, clouds),
            cost_tags=settings.cost_tags,
            clients_must_avoid=settings.networks.pool,
        ),
        reports=partial(reports_of, latest),
        frozen=lambda view: frozen_words(view, freezes.left(utc_now()), utc_now()),
    )
    agents = AgentKeeper(
        store,
        latest,
        folded,
        NOBODY_LEADS.held_epoch,
        utc_now,
        soak=timedelta(seconds=settings.agents_soak_s),
        at_once=settings.max_rolling,
        freezes=freezes,
    )
    portal = PortalServices(
        store=store,
        clock=utc_now,
        operations=OperationsServices(
            version=release(),
            leadership=NOBODY_LEADS,
            planner_state=hearing.planner,
            backup=no_backup,
            query_limit_s=settings.query_limit_s,
            loop=HeardLoop(hearing, store, jobs),
            examinations=AskedExaminations(hearing, latest, utc_now),
            database=lambda: (*examined(engine, PORTAL), _loop_finding(hearing, files), *found_by(watch)),
            part="portal",
            loop_notice=hearing.notice,
        ),
        access=AccessServices(
            installation=installation,
            hosts=loopback_hosts(*listens_on),
            credentials=SqlCredentialMoments(engine),
            credential_life=timedelta(seconds=settings.credential_life_s),
            ca_pem=hearing.word.ca_pem if hearing.word is not None else "",
            people=people_of(settings, engine),
            audit=audit,
            call_keys=SqlCallKeys(engine),
            oidc=oidc_of(settings, engine, installation),
            public_hosts=public_hosts(settings.portal_names, settings.portal_port),
        ),
        cluster=ClusterServices(
            latest=latest,
            commands=PortalCommands(handler, hearing, files),
            progress=hearing.progress,
            brake=fleet.brake_on,
            window=folded.window_on,
            wake=_nobody_wakes,
            unbootable=partial(unbootable_in, clouds),
            cost_tags=settings.cost_tags,
            console_page=partial(console_page_in, clouds),
            gate=gate,
        ),
        fleet=FleetServices(
            clusters=fleet,
            sources=SourceDesk(
                HeardBoard(settings.git, hearing),
                store,
                rings(hearing),
                links_of(settings, HeardBoard(settings.git, hearing), utc_now),
                reaches_leader=True,
            ),
            networks=NetworkDesk(store, networks, folded.views, folded.catch_up, partial(kept_audits, latest)),
            images=ImageDesk(store, images, folded.views, fleet.sentence_on, folded.catch_up, utc_now),
            freezes=FreezeDesk(store, freezes, folded.views, folded.catch_up, utc_now),
            agents=PortalAgents(AgentDesk(agents, AgentSigner(SecretBytes(b"")))),
            notifiers=PortalNotifiers(NotifierDesk(settings.notifiers, {}, SqlOutbox(engine), utc_now)),
            prices=partial(read_price_book, settings.home),
            places_offered=partial(places_in, clouds, settings),
        ),
        brokers=BrokerServices(
            metrics=settings.metrics,
            logs=settings.logs,
            journals=KafkaJournals(),
            groups=GroupDesk(latest, gateways.of, utc_now),
            group_offsets=GroupOffsetDesk(gateways.of),
            kafka_looks=KafkaLookDesk(gateways.of, utc_now, lake=lake),
            windows=LakeWindows(lake, settings.slow_window_s) if lake else NoWindows(),
            topic_names=TopicIndex(fleet, latest, utc_now),
            placements=RecordedPlacements(SqlPlacementStore(engine), latest, utc_now),
            past_placements=past_placements_of(lake),
        ),
    )

    def released() -> None:
        pool.shutdown(wait=True, cancel_futures=True)
        gateways.close()
        engine.dispose()
        hasty.dispose()

    poller = Poller({_FLEET: fleet}, {_FLEET: HEARD_EVERY_S}, leadership=Always(), stop=threading.Event())
    return PortalParts(settings, home, portal, poller, released)


def _nobody_wakes(uid: str) -> None:
    """The loop reads the log at every beat: nothing has to be rung for."""


def _loop_finding(hearing: LoopHearing, files: Callable[[], dict[str, str]]) -> Finding:
    """For `kedge doctor`: whether the loop is heard, and judges by the same files."""
    notice, word = hearing.notice(), hearing.word
    if notice or word is None:
        return Finding("the loop", False, notice, "start it, or look why it cannot reach the database")
    others: Sequence[str] = differing(files(), word.files)
    if others:
        told = f"this portal's home and the loop's do not say the same in {', '.join(others)}: changes are refused"
        return Finding("the loop", False, told, "copy them from one home to the other")
    return Finding("the loop", True, f"{word.server} leads with epoch {word.epoch} and is heard")
