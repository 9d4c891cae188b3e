"""The one place that builds things: settings in, a server's parts out, wired."""

import logging
import os
import secrets
import socket
from datetime import timedelta
from functools import partial
from urllib.parse import urlsplit

from sqlalchemy import Engine

from controlplane.agents.setup import agents_of
from controlplane.anomalies.setup import anomalies_of
from controlplane.borndata import boot_data
from controlplane.candidate import Candidate
from controlplane.certificates.agentdoors import authority_of
from controlplane.chaosacts import bring_about
from controlplane.clouds import Clouds, console_page_in, packet_filter_in, unbootable_in
from controlplane.converger.clouds.consoles import reading_through
from controlplane.converger.clouds.inventory import ListedInventory
from controlplane.converger.fleet import FleetBrake
from controlplane.converger.health.curebudget import FleetCures
from controlplane.converger.loop import Converger
from controlplane.converger.ports import Ports
from controlplane.converger.runner import ThreadRunner
from controlplane.converger.windows import frozen_words
from controlplane.credentials import SqlCredentialStore
from controlplane.database.backup import backup
from controlplane.database.jobs import SqlJobStore
from controlplane.database.latest import SqlLatestStore
from controlplane.database.migrate import upgrade
from controlplane.database.plans import SqlPlanStore
from controlplane.database.roles import check_role, examined
from controlplane.dns.setup import names_of
from controlplane.doors import Address
from controlplane.drift.record import kept_audits
from controlplane.drift.setup import drift_of, run_audit
from controlplane.examinations import examiner_of
from controlplane.freezes.desk import FreezeDesk
from controlplane.freezes.keeper import FreezeKeeper
from controlplane.games.referee import House
from controlplane.games.setup import games_of, may_harm_still
from controlplane.gateways import judged
from controlplane.gitsync.setup import sources_of
from controlplane.groups.resets import GroupOffsetDesk
from controlplane.groups.setup import groups_of
from controlplane.handlers import CommandHandler
from controlplane.home import Home
from controlplane.homeclaim import HTTP, HomeRefused, agree_on_agent_url, claim_home, homes_of
from controlplane.images.desk import ImageDesk
from controlplane.images.keeper import ImageKeeper
from controlplane.journal.reading import KafkaJournals
from controlplane.kafkalooks import KafkaLookDesk
from controlplane.lakerates import with_lake_rates
from controlplane.leaderlock import LeaderLock
from controlplane.leadership import SqlLeaseStore
from controlplane.loopdesk import ServerLoop
from controlplane.loopwatch import LoopWatch
from controlplane.networks.desk import NetworkDesk
from controlplane.networks.setup import keeper_of, run_network
from controlplane.pastplacement import past_placements_of
from controlplane.planning import PlanningService, PlanningSettings, balanced
from controlplane.policies.gate import PolicyGate
from controlplane.policies.shelf import PolicyShelf
from controlplane.portal.access.people import People
from controlplane.portal.access.setup import oidc_of, people_of
from controlplane.portal.approvals import approves_still
from controlplane.portal.audit.commands import AuditedCommands
from controlplane.portal.audit.store import SqlAuditStore
from controlplane.portal.auth import loopback_hosts, public_hosts
from controlplane.portal.callkeys import SqlCallKeys
from controlplane.portal.services import PortalServices
from controlplane.proposals.book import ProposalBook
from controlplane.proposals.gitproposals import GitProposals
from controlplane.redaction import redacted
from controlplane.reports import reports_of
from controlplane.scheduler import Bell, Scheduler
from controlplane.serverparts import Services
from controlplane.serverwords import planner_state, progress_of, release
from controlplane.settings import LONGEST_CALL_S, Settings
from controlplane.split.setup import LOOP, teller_of
from controlplane.states.setup import (
    SharedClouds,
    first_state,
    keys_print,
    refuse_beside_local,
    settle,
    still_in_force,
    storage_of,
)
from controlplane.states.storage import Leading
from controlplane.terraformruns import module_root, run_terraform
from controlplane.topicroom import topics_of
from events.clock import utc_now
from events.engine import build_engine
from events.ids import Epoch
from events.sqlstore import SqlEventStore
from planner.drain.infeasible import Infeasible
from planner.drain.plan import DrainPlan
from planner.drain.request import DrainRequest
from providers.handover import handover_of
from providers.lateness import unlisted_s
from providers.mounted import holds_mounted
from providers.pricebook import read_price_book
from spark.supervisor import WorkerSettings

_log = logging.getLogger(__name__)


def build(
    settings: Settings,
    *,
    listens_on: tuple[str, int] | None = None,
    states_on: tuple[str, int] | None = None,
    take_over_home: bool = False,
    move_states: bool = False,
) -> Services:
    """Builds a server on its home and its database, migrated; starts nothing but thread pools. `listens_on` is the
    address its socket is bound to, `states_on` that of Terraform's states. Raises MigrationError, RoleRefused,
    HomeRefused, AuthorityRefused, StoreUnavailable, PositionGap, OSError.
    """
    home = Home(settings.home)
    installation = home.installation()
    authority = authority_of(settings, home)
    upgrade(settings.database)
    engine = build_engine(settings.database)
    check_role(engine)
    identity = home.identity()
    leases = SqlLeaseStore(engine, longest_call_s=LONGEST_CALL_S)
    candidate = Candidate(
        leases,
        owner=f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}",
        term_s=settings.lease_term_s,
        lock=LeaderLock(home.leader_lock),
    )
    storage = storage_of(
        engine,
        chosen=settings.terraform_state,
        server_key=installation.server_key,
        keep=settings.terraform_state_versions,
        root=settings.home / "terraform",
        url=Address(*(states_on or listens_on or (settings.host, settings.port))).url,
        leading=Leading(candidate.owner, candidate.epoch, lambda epoch: candidate.held_epoch() == epoch),
        lease_term_s=settings.lease_term_s,
    )
    try:
        claimed = claim_home(
            engine,
            identity,
            take_over=take_over_home,
            state=first_state(storage),
            keys_print=keys_print(installation.server_key.get_secret_value(), authority.sha256 if authority else ""),
        )
        settle(engine, storage, recorded=claimed.state, move=move_states, leases=leases, term_s=settings.lease_term_s)
    except HomeRefused:
        engine.dispose()
        raise
    # Reports may be lost, and there are many of them: they do not wait for the disk.
    hasty = build_engine(settings.database, durable=False)
    store, latest = SqlEventStore(engine), SqlLatestStore(hasty)
    store.verify()
    jobs, plans = SqlJobStore(engine), SqlPlanStore(engine)
    bell = Bell()
    clouds = SharedClouds(
        Clouds(settings, installation.id, networks=lambda place: networks.settings_of(place)),
        partial(_homes, engine, settings),
    )
    planning = PlanningService(
        PlanningSettings(
            worker=WorkerSettings(
                master=settings.spark_master,
                scratch=settings.home / "spark",
                log=settings.home / "spark.log",
                redact=redacted,
            ),
            use_spark=settings.uses_spark,
            require_spark=settings.require_spark,
        )
    )
    files = module_root(settings), clouds, storage.states, partial(still_in_force, engine, storage)
    runner = ThreadRunner(
        jobs,
        plans,
        owner=candidate.owner,
        run_terraform=partial(run_terraform, settings, clouds, storage, partial(still_in_force, engine, storage)),
        run_network=partial(run_network, *files),
        run_audit=partial(run_audit, *files),
        solve=partial(_solve, planning, settings.metrics_lake),
        balance=partial(balanced, planning),
        wake=partial(bell.ring, at_once=True),
        leads=lambda epoch: candidate.held_epoch() == epoch,
        terraform_threads=settings.terraform_threads,
    )
    gateways = judged(settings.brokers_allowed, server_key=installation.server_key)
    inventory = ListedInventory(clouds, utc_now)
    ports = Ports(
        store=store,
        jobs=jobs,
        plans=plans,
        latest=latest,
        inventory=inventory,
        runner=runner,
        kafka=gateways.of,
        registered_id=gateways.registered_id,
        fix_cluster_id=gateways.fix_cluster_id,
        registry=gateways.registry,
        forget_migration=gateways.forget_migration,
        restart_lock=gateways,
        boot_data=partial(boot_data, home, installation),
        installation_id=installation.id,
        clock=utc_now,
        epoch=candidate.epoch,
        handover=lambda cloud: handover_of(clouds(cloud)),
        unlisted_s=lambda cloud: unlisted_s(clouds(cloud)),
        holds_mounted=lambda cloud: holds_mounted(clouds(cloud)),
        networks=lambda view: networks.waits_for(view),
        packet_filter=lambda view, vm: packet_filter_in(clouds, networks.cidr_at, view, vm),
        drift=lambda view: drift.keeper.noted(view),
        console=reading_through(clouds),
    )
    networks = keeper_of(ports, clouds, runner, settings.networks.address_pool)
    images = ImageKeeper()
    freezes = FreezeKeeper(tuple(binding.freeze for binding in settings.freezes))
    converger = Converger(
        ports,
        FleetBrake(settings.max_rolling, settings.max_surge_per_account, FleetCures(settings.max_cures_per_day)),
        workers=settings.workers,
        rest_s=settings.rest_s,
        loss_grace_s=settings.loss_grace_s,
        wake=bell.ring,
        networks=networks,
        images=images,
        freezes=freezes,
    )
    gate = PolicyGate(PolicyShelf(settings.home / "policies", partial(read_price_book, settings.home)), converger)
    gate.policies.current()  # a broken file is told in the log at the start, not at the first change
    commands = CommandHandler(
        store,
        last_snapshot=converger.last_snapshot,
        clients_must_avoid=settings.networks.pool,
        gate=gate,
        unbootable=partial(unbootable_in, clouds),
        reports=partial(reports_of, latest),
        frozen=lambda view: frozen_words(view, freezes.left(utc_now()), utc_now()),
    )
    audit = SqlAuditStore(engine)
    people = people_of(settings, engine)
    sources = sources_of(
        settings,
        store=store,
        commands=AuditedCommands(commands, audit, store.head, utc_now),
        fleet=converger,
        leadership=candidate,
        wake=bell.ring,
        clock=utc_now,
        proposals=GitProposals(
            ProposalBook(store, utc_now), partial(approves_still, people, commands.current, utc_now), utc_now
        ),
    )
    names = names_of(
        settings,
        fleet=converger,
        latest=latest,
        installation_id=installation.id,
        leadership=candidate,
        clock=utc_now,
    )
    groups = groups_of(settings, fleet=converger, latest=latest, leadership=candidate, clock=utc_now)
    topics = topics_of(
        engine, fleet=converger, latest=latest, leadership=candidate, epoch=candidate.held_epoch, clock=utc_now
    )
    drift = drift_of(settings, ports, runner, fleet=converger, networks=networks.at_rest, leadership=candidate)
    anomalies = anomalies_of(
        settings,
        engine=engine,
        fleet=converger,
        store=store,
        latest=latest,
        commands=commands,
        leadership=candidate,
        epoch=candidate.epoch,
        clock=utc_now,
        kafka=groups.gateways.of,
    )
    agents = agents_of(
        settings,
        store=store,
        latest=latest,
        fleet=converger,
        freezes=freezes,
        server_key=installation.server_key,
        leadership=candidate,
        epoch=candidate.held_epoch,
        clock=utc_now,
    )
    games = games_of(
        House(
            fleet=converger,
            commands=commands,
            latest=latest,
            harm=partial(bring_about, clouds),
            epoch=candidate.held_epoch,
            may_still=partial(may_harm_still, people, utc_now),
            wake=bell.ring,
            clock=utc_now,
        ),
        candidate,
    )
    watch = LoopWatch()
    loop = ServerLoop(
        server=candidate.owner,
        interval_s=settings.tick_interval_s,
        store=store,
        jobs=jobs,
        ticked=converger,
        watch=watch,
        tagged=inventory.by_tag,
        timers={
            "git source": sources.poller,
            "DNS names": names,
            "consumer groups": groups.poller,
            "topics": topics.poller,
            "cloud audit": drift.poller,
            "anomalies": anomalies.poller,
            "agents": agents.poller,
            "game days": games.poller,
        },
        progress=runner.progress,
    )
    portal = PortalServices(
        version=release(),
        installation=installation,
        hosts=_hosts(home, *(listens_on or (settings.host, settings.port))),
        store=store,
        latest=latest,
        credentials=SqlCredentialStore(engine),
        fleet=converger,
        leadership=candidate,
        commands=commands,
        planner_state=partial(planner_state, settings, planning),
        progress=partial(progress_of, runner.progress),
        brake=converger.brake_on,
        window=converger.window_on,
        wake=bell.ring,
        backup=lambda path: backup(store, engine, path),
        clock=utc_now,
        metrics=settings.metrics,
        logs=settings.logs,
        journals=KafkaJournals(),
        states=storage.served if settings.terraform_state == HTTP else None,
        credential_life=timedelta(seconds=settings.credential_life_s),
        ca_pem=authority.pem if authority else "",
        authority=authority,
        sources=sources.desk,
        networks=NetworkDesk(store, networks, converger.views, converger.catch_up, partial(kept_audits, latest)),
        images=ImageDesk(store, images, converger.views, converger.sentence_on, converger.catch_up, utc_now),
        freezes=FreezeDesk(store, freezes, converger.views, converger.catch_up, utc_now),
        agents=agents.desk,
        people=people if settings.only != LOOP else People(),  # whom a loop serves has its home's token
        audit=audit,
        call_keys=SqlCallKeys(engine),
        groups=groups.desk,
        group_offsets=GroupOffsetDesk(groups.gateways.of),
        kafka_looks=KafkaLookDesk(groups.gateways.of, utc_now, lake=settings.metrics_lake),
        notifiers=anomalies.desk,
        windows=anomalies.windows,
        topic_names=topics.index,
        placements=topics.placements,
        past_placements=past_placements_of(settings.metrics_lake),
        oidc=oidc_of(settings, engine, installation) if settings.only != LOOP else None,
        part=settings.only,
        public_hosts=public_hosts(settings.portal_names, settings.portal_port),
        query_limit_s=settings.query_limit_s,
        prices=partial(read_price_book, settings.home),
        unbootable=partial(unbootable_in, clouds),
        packet_filter=partial(packet_filter_in, clouds, networks.cidr_at),
        console_page=partial(console_page_in, clouds),
        harm=partial(bring_about, clouds),
        gate=gate,
        loop=loop,
        examinations=examiner_of(settings, clouds, converger.views),
        database=partial(examined, engine),
    )

    teller = teller_of(settings, portal, loop, latest, sources)

    def on_lead(epoch: Epoch) -> None:
        runner.reclaim(epoch)
        sources.ring_all()

    scheduler = Scheduler(converger, candidate, bell, interval_s=settings.tick_interval_s, on_lead=on_lead, watch=watch)

    def dispose() -> None:
        engine.dispose()
        hasty.dispose()

    if claimed.joined:
        converger.catch_up()
        try:
            refuse_beside_local(engine, identity.home_id, converger.views())
        except HomeRefused:
            dispose()
            raise

    return Services(
        settings,
        home,
        portal,
        converger,
        scheduler,
        candidate,
        runner,
        planning,
        gateways,
        authority,
        partial(agree_on_agent_url, engine, identity.home_id),
        dispose,
        sources,
        names,
        groups,
        topics,
        drift,
        anomalies,
        agents,
        games,
        teller,
    )


def _hosts(home: Home, host: str, port: int) -> frozenset[str]:
    """What is answered to over plain HTTP: its own address, and the one VMs were told, served by who leads."""
    told = urlsplit(home.agent_url() or "")
    return loopback_hosts(host, port) | ({told.netloc} if told.scheme == "http" else set())


def _homes(engine: Engine, settings: Settings) -> int:
    """How many homes share the database: one, where no other could have joined."""
    return len(homes_of(engine)) if settings.terraform_state == HTTP else 1


def _solve(planning: PlanningService, lake: str, request: DrainRequest) -> DrainPlan | Infeasible:
    result = planning.plan(with_lake_rates(request, lake, now=utc_now()) if lake else request)
    if result.note:
        _log.warning("drain %s was planned in-process: %s", request.drain_id, result.note)
    return result.answer
