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
from controlplane.api.auth import loopback_hosts
from controlplane.api.services import (
    OperationsServices,
    PortalServices,
)
from controlplane.background.agent_upgrades.reconciler import AgentUpgradeReconciler
from controlplane.background.agent_upgrades.service import AgentReleaseService
from controlplane.background.agent_upgrades.signing import AgentSigner
from controlplane.background.consumer_groups.service import GroupService
from controlplane.background.git_sync.service import SourceService
from controlplane.background.notifications.outbox import SqlOutbox
from controlplane.background.notifications.service import NotifierService
from controlplane.cluster.gateways import Gateways, judged
from controlplane.cluster.server_identities import ServerIdentities
from controlplane.converger.tick.fleet_brake import FleetBrake
from controlplane.converger.tick.loop import Converger
from controlplane.fleet.failovers.state import PairCache
from controlplane.fleet.freezes.state import FreezeCache
from controlplane.fleet.images.state import ImageCache
from controlplane.fleet.networks.server_addresses import server_cidrs
from controlplane.runtime.polling import Poller
from controlplane.server.assembly import access, api, commands, core, git_sync, loop
from controlplane.server.assembly.networks import network_reconciler_of
from controlplane.server.clouds import Clouds
from controlplane.server.database_roles import PORTAL, check_role, examined
from controlplane.server.settings import Settings
from controlplane.server.split.commands import PortalAgents, PortalCommands, PortalNotifiers, no_backup
from controlplane.server.split.config_parity import differing, files_alike
from controlplane.server.split.forbidden_access import PortalRefused, check_reach
from controlplane.server.split.message import HEARD_EVERY_S
from controlplane.server.split.moments import SqlCredentialMoments
from controlplane.server.split.null_ports import IDLE, NEVER_LEADS, Always, NullLeadership, inert_ports
from controlplane.server.split.portal_certificates import ReceivedCertificates
from controlplane.server.split.portal_fleet import PortalFleet
from controlplane.server.split.portal_home import installation_of
from controlplane.server.split.snapshot import KafkaReadings
from controlplane.server.split.subscriber import AskedExaminations, LoopSubscriber, ReceivedLoop, ReceivedStatus, rings
from controlplane.server.status import release
from controlplane.storage import home_binding, job_store, latest_values, migrate
from controlplane.storage.home import Home
from events.clock import utc_now
from events.engine import build_engine
from events.sql_store import SqlEventStore
from providers.finding import Finding

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
    candidate: NullLeadership = NEVER_LEADS

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
    migrate.upgrade(settings.database_url)
    engine = build_engine(settings.database_url)
    hasty = build_engine(settings.database_url, durable=False)
    try:
        return _built(settings, engine, hasty, listens_on or (settings.process.host, settings.process.port))
    except Exception:
        engine.dispose()
        hasty.dispose()
        raise


def _built(settings: Settings, engine: Engine, hasty: Engine, listens_on: tuple[str, int]) -> PortalParts:
    check_role(engine, PORTAL)
    homes = home_binding.homes_of(engine)
    if not homes:
        raise PortalRefused("no loop has worked on this database yet. Start it first: `kedge server --only loop`")
    check_reach(settings.home, homes, socket.gethostname())
    home = Home(settings.home)
    installation = installation_of(home, homes[0].home.installation_id)
    brake = FleetBrake(settings.loop.max_rolling, settings.loop.max_surge_per_account)
    base = core.Base(
        settings=settings,
        installation=installation,
        engine=engine,
        store=SqlEventStore(engine),
        latest=latest_values.SqlLatestStore(hasty),
    )
    base.store.verify()
    folded = folded_of(base, brake)
    subscriber = LoopSubscriber(base.latest, utc_now)
    portal_key = installation.server_key.get_secret_value()
    received = ReceivedCertificates(portal_key, base.latest, subscriber, utc_now)
    files = settings.kafka.client_properties
    identities = ServerIdentities(received, client_files=files, member="portal")
    gateways = judged(settings.allow.brokers_allowed, keep=_CONNECTIONS, identities=identities)
    pool = ThreadPoolExecutor(settings.loop.workers, "readings")
    readings = KafkaReadings(folded.converger, gateways.of, base.latest, utc_now, pool=pool)
    fleet = PortalFleet(folded.converger, readings, subscriber, brake)
    fleet.catch_up()
    fleet.subscriber.poll()
    portal = _services(base, folded, gateways, identities, fleet, loopback_hosts(*listens_on))

    def released() -> None:
        pool.shutdown(wait=True, cancel_futures=True)
        gateways.close()
        engine.dispose()
        hasty.dispose()

    poller = Poller({_FLEET: fleet}, {_FLEET: HEARD_EVERY_S}, leadership=Always(), stop=threading.Event())
    return PortalParts(settings, home, portal, poller, released)


def folded_of(base: core.Base, brake: FleetBrake) -> loop.Folded:
    """All clusters, for who ticks none of them."""
    settings, installation_id = base.settings, base.installation.id
    clouds = Clouds(settings, installation_id, networks=lambda place: networks.settings_of(place))
    ports = inert_ports(base.store, job_store.SqlJobStore(base.engine), base.latest, installation_id, utc_now)
    # The loop dials: where from is known here only where it is declared.
    servers = server_cidrs(settings.clouds.server_addresses, "") if settings.clouds.server_addresses else None
    networks = network_reconciler_of(ports, clouds, IDLE, settings.networks.address_pool, servers)
    images, freezes = ImageCache(), FreezeCache(tuple(binding.freeze for binding in settings.freezes))
    pairs = PairCache()
    converger = Converger(ports, brake, networks=networks, images=images, freezes=freezes, pairs=pairs)
    return loop.Folded(
        clouds=clouds, converger=converger, networks=networks, images=images, freezes=freezes, pairs=pairs
    )


def _services(
    base: core.Base,
    folded: loop.Folded,
    gateways: Gateways,
    identities: ServerIdentities,
    fleet: PortalFleet,
    hosts: frozenset[str],
) -> PortalServices:
    settings, engine, subscriber = base.settings, base.engine, fleet.subscriber
    judge = commands.judge_of(base, folded, fleet)
    handler = commands.handler_of(base, folded, judge, fleet.last_snapshot)
    told_ca = subscriber.last_message.ca_pem if subscriber.last_message is not None else ""
    statuses = ReceivedStatus(settings.git, subscriber)
    sources = SourceService(statuses, base.store, rings(subscriber), reaches_leader=True)
    return PortalServices(
        store=base.store,
        clock=utc_now,
        cluster=api.cluster_services(
            base,
            folded,
            PortalCommands(handler, subscriber, partial(files_alike, settings)),
            judge,
            progress=subscriber.progress,
            brake=fleet.brake_on,
            wake=_no_wake,
        ),
        fleet=api.fleet_services(
            base,
            folded,
            fleet,
            fleet.sentence_on,
            sources=sources,
            forges=git_sync.links_of(settings, statuses, utc_now),
            agents=portal_agents(base, folded),
            notifiers=PortalNotifiers(NotifierService(settings.notifiers, {}, SqlOutbox(engine), utc_now)),
        ),
        brokers=api.broker_services(
            base, gateways, GroupService(base.latest, gateways.of, utc_now), identities=identities
        ),
        access=api.access_services(
            base, hosts, access.people_of(settings, engine), SqlCredentialMoments(engine), told_ca
        ),
        operations=_operations(base, subscriber),
    )


def portal_agents(base: core.Base, folded: loop.Folded) -> PortalAgents:
    """What is known of agents' releases, for who publishes none."""
    reconciler = AgentUpgradeReconciler(
        base.store,
        base.latest,
        folded.converger,
        NEVER_LEADS.held_epoch,
        utc_now,
        soak=timedelta(seconds=base.settings.agents.soak_s),
        at_once=base.settings.loop.max_rolling,
        freezes=folded.freezes,
    )
    return PortalAgents(AgentReleaseService(reconciler, AgentSigner(SecretBytes(b""))))


def _operations(base: core.Base, subscriber: LoopSubscriber) -> OperationsServices:
    settings, engine, files = base.settings, base.engine, partial(files_alike, base.settings)
    watch = watch_of(settings.audit_topic, SqlAuditStore(engine), engine, utc_now)
    return OperationsServices(
        version=release(),
        leadership=NEVER_LEADS,
        backup=no_backup,
        examinations=AskedExaminations(subscriber, base.latest, utc_now),
        database=lambda: (*examined(engine, PORTAL), _loop_finding(subscriber, files), *found_by(watch)),
        query_limit_s=settings.database.query_limit_s,
        loop=ReceivedLoop(subscriber, base.store, job_store.SqlJobStore(engine)),
        loop_notice=subscriber.notice,
        part="portal",
        planner_state=subscriber.planner,
        plans=lambda: subscriber.last_message.plans if subscriber.last_message is not None else None,
        pipeline=lambda: subscriber.last_message.pipeline if subscriber.last_message is not None else None,
    )


def _no_wake(uid: str) -> None:
    """The loop reads the log at every beat: nothing has to be rung for."""


def _loop_finding(subscriber: LoopSubscriber, files: Callable[[], dict[str, str]]) -> Finding:
    """For `kedge doctor`: whether the loop is heard, and judges by the same files."""
    notice, last_message = subscriber.notice(), subscriber.last_message
    if notice or last_message is None:
        return Finding("the loop", False, notice, "start it, or look why it cannot reach the database")
    others: Sequence[str] = differing(files(), last_message.files)
    if others:
        sentence = f"this portal's home and the loop's do not say the same in {', '.join(others)}: changes are refused"
        return Finding("the loop", False, sentence, "copy them from one home to the other")
    return Finding("the loop", True, f"{last_message.server} leads with epoch {last_message.epoch} and is heard")
