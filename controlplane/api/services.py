"""What the HTTP API is made of, handed to it whole: it builds nothing and knows no driver."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Literal, Protocol

from fastapi import Depends, Request

from controlplane.api import cloud_readiness, idempotency_keys, placement_offers, request_ids, server_load
from controlplane.api.access.accounts import People
from controlplane.api.access.rights import Rights
from controlplane.api.audit.status import TopicStatus
from controlplane.api.audit.store import AuditStore
from controlplane.api.node_certificates import NodeCertificates
from controlplane.api.oidc.signin import OidcSignIn
from controlplane.api.user_credentials import UserCredentials
from controlplane.background.agent_upgrades.service import Agents
from controlplane.background.anomalies.windows import Windows
from controlplane.background.broker_queries import KafkaQueries
from controlplane.background.consumer_groups.resets import GroupOffsets
from controlplane.background.consumer_groups.service import Groups
from controlplane.background.forges.link import ForgeLink
from controlplane.background.git_sync.service import SourceService
from controlplane.background.log_reader.reading import Journals
from controlplane.background.notifications.service import Notifiers
from controlplane.background.topic_names.index import TopicIndex
from controlplane.background.topic_placement.history import PastPlacements
from controlplane.background.topic_placement.snapshot import Placements
from controlplane.cluster.commands import Command, DeclareCluster, DeclareInCluster
from controlplane.cluster.observed.moves import MoveProgress
from controlplane.cluster.observed.replica_lag import Replica
from controlplane.cluster.observed.traffic import Traffic
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.commands.admission.judge import SpecJudge
from controlplane.commands.chaos_injection import Harmer, nothing_to_harm
from controlplane.commands.failovers import Failovers
from controlplane.commands.handler import CommandOutcome
from controlplane.converger.tick.report import Said
from controlplane.converger.tick.status import LoopService
from controlplane.fleet.failovers.pair_documents import PairParts
from controlplane.fleet.failovers.state import PairCache
from controlplane.fleet.freezes.commands import Freezes
from controlplane.fleet.images.commands import Images
from controlplane.fleet.networks.commands import Networks
from controlplane.fleet.proposals.fold import ProposalView
from controlplane.storage.agent_credentials import CredentialStore
from controlplane.storage.backup import BackupSummary
from controlplane.storage.certificates.authority import Authority
from controlplane.storage.channels import Channels, NullChannels
from controlplane.storage.home import Installation
from controlplane.storage.known_credentials import KnownCredentials
from controlplane.storage.latest_values import LatestStore
from controlplane.storage.terraform_states.storage import ServedStates
from events.clock import Clock
from events.engine import DatabaseTrouble
from events.ids import ClusterUid, Epoch
from events.spec.model import KafkaClusterDocument
from events.store import EventStore
from planner.observed import KafkaSnapshot
from providers.finding import Finding
from providers.price_list import PriceList
from spark.pipeline.status import PipelineStatus
from spark.plan_jobs import PlanningTotals

ConsolePage = Callable[[ClusterView, InstanceView], str]


def no_console_page(view: ClusterView, instance: InstanceView) -> str:
    """Where no cloud's console is known."""
    return ""


class Fleet(Protocol):
    """All clusters as they are folded here; `Converger` is one. Only `catch_up` talks to the database."""

    def views(self) -> list[ClusterView]: ...

    def view(self, uid: ClusterUid) -> ClusterView | None: ...

    def said(self, uid: ClusterUid) -> Said | None: ...

    def last_snapshot(self, uid: ClusterUid) -> KafkaSnapshot | None: ...

    def last_moves(self, uid: ClusterUid) -> MoveProgress: ...

    def traffic(self, uid: ClusterUid) -> Traffic: ...

    def behind(self, uid: ClusterUid) -> Mapping[Replica, datetime]: ...

    def catch_up(self) -> None: ...

    @property
    def position(self) -> int: ...


class Commands(Protocol):
    """What people ask for; `CommandHandler` is one."""

    def handle(self, command: Command) -> CommandOutcome: ...

    def check(
        self, command: DeclareCluster | DeclareInCluster, *, beside: KafkaClusterDocument | None = None
    ) -> None: ...

    def current(self, name: str) -> ClusterView: ...

    def visible(self, name: str) -> ClusterView:
        """The living cluster of that name as far as who asks may know: an empty view for one they may not read, as for
        a name that is free. Whoever declares needs `current`."""


class HeldLeadership(Protocol):
    """Whether this server leads; `Candidate` is one. Neither asks the database."""

    def held_epoch(self) -> Epoch | None: ...

    @property
    def may_act(self) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """A change somebody asks for: `change` is `apply` with its file, `delete`, `delete-topic` with its topic, or
    `rebalance` with its order as JSON.
    """

    change: str
    clusters: tuple[str, ...]
    digest: str
    reasons: tuple[str, ...]
    topic: str = ""
    text: str = ""
    file: str = ""
    message: str = ""


class Proposals(Protocol):
    """Changes that wait for a second person, as one caller may use them; `ProposalService` is one."""

    def all(self) -> list[ProposalView]: ...

    def get(self, number: str) -> ProposalView: ...

    def may_approve(self, proposal: ProposalView) -> bool: ...

    def is_author(self, proposal: ProposalView) -> bool: ...

    def propose(self, change: Proposed, *, actor: str, key: str) -> ProposalView: ...

    def approve(self, number: str, note: str) -> ProposalView: ...

    def reject(self, number: str, note: str) -> ProposalView: ...

    def scoped(self, rights: Rights) -> "Proposals": ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterServices:
    """What one cluster is asked, told and judged by. `wake` rings for a tick of it.

    `progress` says what the long act in hand of a cluster is at, "" when this server carries out none.
    `brake` is what the fleet's brake says to a roll of it.
    """

    commands: Commands
    latest: LatestStore
    progress: Callable[[ClusterView], str]
    brake: Callable[[ClusterView], str]
    window: Callable[[ClusterView], str] = lambda _: ""
    """Whether anything voluntary may begin on a cluster now, in words; "" where nothing ever waits."""
    without_others: Callable[[], Callable[[str], str]] = lambda: str
    """What takes the names of clusters the caller may not read out of a text; of whoever may read all, nothing."""
    wake: Callable[[str], None]
    judge: SpecJudge = field(default_factory=SpecJudge)
    """What specs are held against, and the policies in force; the handler of commands asks it as well."""
    packet_filter: Callable[[ClusterView, InstanceView], str] = lambda view, instance: ""
    """The rules of a VM that filters packets itself, "" of any other."""
    pair_parts: PairParts = field(default_factory=lambda: PairParts(PairCache(), lambda address: (), lambda uid: None))
    """What brokers' VMs of clusters of pairs are told: whether clients get in there, and of copying."""
    console_page: ConsolePage = no_console_page
    """The page of a VM in its cloud's console, "" where it has none."""
    harm: Harmer = nothing_to_harm
    """Brings about a fault that a person asked for and that is recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetServices:
    """All clusters, and what they share."""

    clusters: Fleet
    networks: Networks
    """The networks Kedge makes."""
    images: Images
    """The image catalogue."""
    freezes: Freezes
    """The freezes, and who may declare and end them."""
    failovers: Failovers
    """Pairs of clusters of which one takes over from the other."""
    agents: Agents
    """What agents VMs are to run."""
    sources: SourceService | None
    """The git sources, None where git sync is no part of this server."""
    forges: Mapping[str, ForgeLink]
    """The forges of those that name one, by the binding's name."""
    notifiers: Notifiers
    """Where anomalies are told to."""
    prices: Callable[[], PriceList]
    """What clouds sell, as it is now. Raises `PlaceUnknown` when the home's `catalog.yaml` makes no sense."""
    places_offered: Callable[[], placement_offers.PlacesOffered]
    """Where clusters can be made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerServices:
    """What brokers are asked when a person asks, and what they and their VMs have told of themselves."""

    metrics: bool = False
    """Brokers are told to send metrics."""
    metrics_cluster: str = ""
    """The name of the cluster whose topic all of them send to, "" where each sends to its own cluster's."""
    logs: bool = False
    """VMs are told to send lines of their logs."""
    journals: Journals
    """Those lines, read when a person asks."""
    groups: Groups
    """Consumer groups, asked of the brokers when a person asks."""
    group_offsets: GroupOffsets
    """Their offsets, read and put elsewhere when a person asks."""
    kafka_queries: KafkaQueries
    """Settings and logs, asked of the brokers when a person asks."""
    windows: Windows
    """Latencies of brokers as the metric lake has them."""
    topic_names: TopicIndex | None = None
    """The names of all topics, for the search; the app makes one where none is given."""
    placements: Placements
    """Where topics are by what was recorded: for clusters whose Kafka this server has not read itself."""
    past_placements: PastPlacements
    """Where partitions were, as the metric lake has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessServices:
    """Who comes in, by what, and what is kept of it: people, programs, and agents with their certificates.

    `hosts` are the `Host` values that are answered to. Agents are asked to rotate a credential older than
    `credential_life`. `ca_pem` is the certificate of the CA that agents reach this server by, "" when it serves none
    over TLS; `authority` signs what they show to it.
    """

    installation: Installation
    hosts: frozenset[str]
    public_hosts: frozenset[str] = frozenset()
    """The `Host` values that are answered to over TLS, off this machine; empty where it is not served there."""
    people: People
    """Users, their roles and sessions."""
    oidc: OidcSignIn | None = None
    """The provider people may sign in by, None where there is none."""
    audit: AuditStore
    """Who did what, and who was refused."""
    audit_topic: Callable[[], TopicStatus | None] = lambda: None
    """How the audit's topic stood at the last look; None where there is none, and of a server that does not lead."""
    call_keys: idempotency_keys.CallKeys
    """Keys that callers gave their writes."""
    request_id: Callable[[], str] = request_ids.new_request_id
    """Makes the id of a request."""
    proposals: Proposals | None = None
    """Changes that wait for a second person; the app sets it."""
    credentials: CredentialStore
    known_agents: KnownCredentials | None = None
    """The same, where some are in memory: agents it knows are answered without a thread. None: each request asks."""
    credential_life: timedelta = timedelta(days=7)
    ca_pem: str = ""
    authority: Authority | None = None
    node_certificates: NodeCertificates | None = None
    """Signs what nodes of clusters show one another; None where no agent is served."""
    user_credentials: UserCredentials | None = None
    """Gives away passwords of users, and signs their certificates; None where their keys are not at hand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationsServices:
    """This server itself: whether it leads, how its loop, its database and its clouds do.

    `states` are Terraform's where this server serves them, None where they are files.
    """

    version: str
    leadership: HeldLeadership
    backup: Callable[[Path], BackupSummary]
    states: ServedStates | None = None
    examinations: cloud_readiness.Examinations
    """Whether the clouds are ready, as this server reaches them."""
    database: Callable[[], Sequence[Finding]] = lambda: ()
    """Whether its role in the database may do what it should, and no more."""
    files: Callable[[], Sequence[Finding]] = lambda: ()
    """Whether files of this machine that settings name can be used: CAs of the user's own."""
    database_trouble: Callable[[], DatabaseTrouble | None] = lambda: None
    """Why the last write of this process was not kept; None where it was."""
    query_limit_s: float = 10.0
    """The longest the database may take for what a caller waits for."""
    load: server_load.ServerLoad = field(default_factory=server_load.ServerLoad)
    """What this process has in hand, and what it sends away."""
    loop: LoopService
    """How the loop of this server does."""
    pipeline: Callable[[], PipelineStatus | None] = lambda: None
    """How metrics are read into the lake; None where nobody says."""
    plans: Callable[[], PlanningTotals | None] = lambda: None
    """What was planned on Spark and what was not; None where nobody says, or no Spark is used."""
    loop_notice: Callable[[], str] = lambda: ""
    """Where the loop is another process and is not heard: that, in words; "" else."""
    part: Literal["", "loop", "portal", "agents"] = ""
    """Which part of a server this is, "" for a whole one. At a loop nobody but its operator is served."""
    why_not_ready: Callable[[], str] = lambda: ""
    """Why calls are better sent to another process now, "" where they are not."""
    channels: Channels = field(default_factory=NullChannels)
    """Hints to and from other processes."""
    planner_state: Callable[[], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PortalServices:
    """Everything behind the API, grouped by what a route is about."""

    store: EventStore
    clock: Clock
    cluster: ClusterServices
    fleet: FleetServices
    brokers: BrokerServices
    access: AccessServices
    operations: OperationsServices


def services_of(request: Request) -> PortalServices:
    """The services as far as the rights of the caller go. The gate has found those; without them nothing is served."""
    services: PortalServices = request.state.services
    return services


async def _services(request: Request) -> PortalServices:
    """No coroutine for its own sake: FastAPI would hop to a thread for it, at each request."""
    return services_of(request)


Services = Annotated[PortalServices, Depends(_services)]
