"""Builds what answers agents and nothing else out of settings: it has the keys of the installation, reads along what is
recorded, and neither leads, runs Terraform nor serves people. Beside `controlplane.server.bootstrap`, which builds a
whole server, and `portal_build`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from urllib.parse import urlsplit

from sqlalchemy import Engine

from controlplane.api.access.null_people import null_people
from controlplane.api.auth import loopback_hosts
from controlplane.api.node_certificates import NodeCertificates
from controlplane.api.services import AccessServices, OperationsServices, PortalServices
from controlplane.background.consumer_groups.service import GroupService
from controlplane.background.notifications.outbox import SqlOutbox
from controlplane.background.notifications.service import NotifierService
from controlplane.cluster.gateways import Gateways, judged
from controlplane.converger.tick.fleet_brake import FleetBrake
from controlplane.converger.tick.status import LoopStatus
from controlplane.fleet.failovers.pair_documents import PairParts
from controlplane.fleet.networks.server_addresses import servers_at
from controlplane.server.assembly import api, commands, core, loop
from controlplane.server.assembly.terraform_states import keys_print
from controlplane.server.cloud_readiness import examiner_of
from controlplane.server.clouds import packet_filter_in
from controlplane.server.database_roles import check_role, examined
from controlplane.server.sections.database import LONGEST_CALL_S
from controlplane.server.settings import Settings
from controlplane.server.split.commands import PortalNotifiers, no_backup
from controlplane.server.split.followed_leader import FollowedLeader, LogFollower
from controlplane.server.split.portal_build import folded_of, portal_agents
from controlplane.server.status import release
from controlplane.server.tls_agents import AgentTls, authority_of
from controlplane.storage import home_binding, latest_values, migrate
from controlplane.storage.agent_credentials import SqlCredentialStore
from controlplane.storage.certificates.authority import Authority
from controlplane.storage.certificates.cluster_authorities import SqlClusterAuthorities
from controlplane.storage.certificates.own_authorities import OwnAuthorities
from controlplane.storage.channels import REPORTED, Channels, channels_of
from controlplane.storage.home import Home, Installation
from controlplane.storage.known_credentials import KnownCredentials
from controlplane.storage.lease import SqlLeaseStore
from controlplane.storage.terraform_states.encryption import KeySeal
from events.clock import utc_now
from events.engine import build_engine, trouble_with
from events.sql_store import RECORDED, SqlEventStore

KEYS = ("installation-id", "server-key", "ca.pem", "ca-key.pem")
"""Of a server's home, without which nothing can be said to agents."""


class AgentsPartRefused(Exception):
    """Agents would not be answered as the server answers them. What now: give up; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class AgentsParts:
    """Parts of a process that answers agents. `candidate` follows who leads."""

    settings: Settings
    home: Home
    portal: PortalServices
    candidate: FollowedLeader
    follower: LogFollower
    channels: Channels
    tls: AgentTls
    release: Callable[[], None]

    def start(self) -> None:
        """Reads along from here on."""
        self.channels.start()
        self.follower.start()

    def close(self) -> None:
        """Reads no more; what is held is given back."""
        self.channels.stop()
        self.follower.stop()
        self.release()


def build_agents(settings: Settings, *, listens_on: tuple[str, int]) -> AgentsParts:
    """Builds it on the database that a server works on, caught up; starts no thread.

    Raises MigrationError, RoleRefused, AgentsPartRefused, AuthorityRefused, StoreUnavailable, PositionGap, OSError.
    """
    migrate.upgrade(settings.database_url)
    engine = build_engine(settings.database_url)
    # Reports may be lost, and there are many of them: they do not wait for the disk.
    hasty = build_engine(settings.database_url, durable=False)
    try:
        return _built(settings, engine, hasty, listens_on)
    except Exception:
        engine.dispose()
        hasty.dispose()
        raise


def _built(settings: Settings, engine: Engine, hasty: Engine, listens_on: tuple[str, int]) -> AgentsParts:
    check_role(engine)
    home, homes = Home(settings.home), home_binding.homes_of(engine)
    installation, authority = _keys_of(settings, home, homes)
    base = core.Base(
        settings=settings,
        installation=installation,
        engine=engine,
        store=SqlEventStore(engine),
        latest=latest_values.SqlLatestStore(hasty),
    )
    base.store.verify()
    brake = FleetBrake()
    folded, gateways = folded_of(base, brake), judged(settings.allow.brokers_allowed)
    leader = FollowedLeader(SqlLeaseStore(engine, longest_call_s=LONGEST_CALL_S), base.latest)
    follower = LogFollower(folded.converger, leader)
    follower.follow()
    channels = channels_of(settings.database_url)
    channels.subscribe(RECORDED, follower.ring)
    access = _access(base, authority, loopback_hosts(*listens_on))
    operations = _operations(base, folded, leader, channels, hasty)
    portal = _services(base, folded, gateways, brake, access, operations)

    def released() -> None:
        gateways.close()
        engine.dispose()
        hasty.dispose()

    return AgentsParts(settings, home, portal, leader, follower, channels, _tls(settings, authority, homes), released)


def _keys_of(
    settings: Settings, home: Home, homes: Sequence[home_binding.HomeRecord]
) -> tuple[Installation, Authority]:
    """Those of the servers on this database, and no others: nothing is minted. Raises AgentsPartRefused."""
    if not homes:
        raise AgentsPartRefused("no server has worked on this database yet. Start it first: `kedge server`")
    first = homes[0]
    missing = [name for name in KEYS if not (home.path / name).exists()]
    if missing:
        raise AgentsPartRefused(
            f"{home.path} has no {', '.join(missing)}. Copy {', '.join(KEYS)}, agent-url and agent-ca from the "
            f"server's home ({first.home.where}), readable by this process's user alone. If the server has no ca.pem, "
            "it serves agents without TLS: set agents.apart and agents.name there, and start it again"
        )
    installation, authority = home.installation(), authority_of(settings, home)
    if authority is None:  # agents.host is set: the settings see to it
        raise AgentsPartRefused("there is no CA of agents")
    mine = keys_print(installation.server_key.get_secret_value(), authority.sha256)
    if installation.id != first.home.installation_id or mine not in {one.keys_print for one in homes}:
        raise AgentsPartRefused(
            f"{home.path} has other keys than the server's home ({first.home.where}): agents would be told nothing "
            f"they believe. Copy {', '.join(KEYS)}, agent-url and agent-ca from there, and start again"
        )
    return installation, authority


def _tls(settings: Settings, authority: Authority, homes: Sequence[home_binding.HomeRecord]) -> AgentTls:
    """For the name of this process's settings, and those that VMs were told."""
    told = [urlsplit(one.agent_url) for one in homes]
    names = [settings.agents.called, *(url.hostname for url in told if url.scheme == "https" and url.hostname)]
    return AgentTls(authority, dict.fromkeys(names))


def _access(base: core.Base, authority: Authority, hosts: frozenset[str]) -> AccessServices:
    credentials = KnownCredentials(SqlCredentialStore(base.engine))
    seal = KeySeal(base.installation.server_key.get_secret_value())
    authorities = SqlClusterAuthorities(base.engine, seal, own=OwnAuthorities(base.settings.kafka.own_cas))
    return replace(
        api.access_services(base, hosts, null_people(), credentials, authority.pem),
        known_agents=credentials,
        authority=authority,
        node_certificates=NodeCertificates(base.store, authorities, utc_now),
    )


def _operations(
    base: core.Base, folded: loop.Folded, leader: FollowedLeader, channels: Channels, hasty: Engine
) -> OperationsServices:
    return OperationsServices(
        version=release(),
        leadership=leader,
        backup=no_backup,
        examinations=examiner_of(base.settings, folded.clouds, folded.converger.views),
        database=lambda: examined(base.engine),
        database_trouble=lambda: trouble_with(base.engine) or trouble_with(hasty),
        query_limit_s=base.settings.database.query_limit_s,
        loop=_NoLoop(),
        part="agents",
        why_not_ready=leader.why_not,
        channels=channels,
        planner_state=lambda: "unknown",
    )


def _services(
    base: core.Base,
    folded: loop.Folded,
    gateways: Gateways,
    brake: FleetBrake,
    access: AccessServices,
    operations: OperationsServices,
) -> PortalServices:
    """Routes of people are not there: what those would ask is as a portal has it."""
    settings, converger = base.settings, folded.converger
    judge = commands.judge_of(base, folded, converger)
    cluster = api.cluster_services(
        base,
        folded,
        commands.handler_of(base, folded, judge, converger.last_snapshot),
        judge,
        progress=lambda _: "",
        brake=brake.words,
        wake=partial(operations.channels.publish, REPORTED),
    )
    filters = partial(
        packet_filter_in, folded.clouds, folded.networks.cidr_at, declared=settings.clouds.server_addresses
    )
    # The loop dials: where from is known here only where it is declared.
    parts = PairParts(folded.pairs, servers_at(settings.clouds.server_addresses, is_here=False), converger.view)
    return PortalServices(
        store=base.store,
        clock=utc_now,
        cluster=replace(cluster, packet_filter=filters, pair_parts=parts),
        fleet=api.fleet_services(
            base,
            folded,
            converger,
            converger.sentence_on,
            sources=None,
            forges={},
            agents=portal_agents(base, folded),
            notifiers=PortalNotifiers(NotifierService((), {}, SqlOutbox(base.engine), utc_now)),
        ),
        brokers=api.broker_services(base, gateways, GroupService(base.latest, gateways.of, utc_now)),
        access=access,
        operations=operations,
    )


class _NoLoop:
    """`LoopService` where there is no loop."""

    def status(self) -> LoopStatus:
        return LoopStatus()
