"""What one tick sees of one cluster: the latest inventory, agents' reports, Kafka's metadata and the long acts.

Every part carries its age. A part that could not be read is absent, with the reason: absent is *unknown*, not dead.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from agent.wire import ServiceReport
from controlplane.cluster.kedge_rights import RightsLook
from controlplane.cluster.observed.agent_reports import ReportSeen
from controlplane.cluster.observed.broker_loads import NO_LOADS, LoadsSeen
from controlplane.cluster.observed.cloud_drift import Noted
from controlplane.cluster.observed.consumer_groups import GroupsNoted
from controlplane.cluster.observed.cpu_shares import CpuNoted
from controlplane.cluster.observed.health import WELL, HealthSeen
from controlplane.cluster.observed.hot_brokers import HotNoted
from controlplane.cluster.observed.jobs import JobSeen
from controlplane.cluster.observed.moves import MoveProgress
from controlplane.cluster.observed.networks import NetworkAwaited
from controlplane.cluster.observed.report_pace import STALE_AFTER
from controlplane.cluster.observed.traffic import UNKNOWN, Traffic
from controlplane.cluster.views.running_settings import SettingStage
from controlplane.converger.situation.placement import PlacementSeen
from controlplane.kafka.zookeeper.locks import LockStatus
from controlplane.kafka.zookeeper.registry import RegistrySeen
from controlplane.storage.certificates.own_authority_look import OwnAuthoritySeen
from events.certificate_facts import ReplacedAuthority
from planner.drain.plan import DrainPlan
from planner.observed import KafkaSnapshot, SettingSeen
from planner.rebalancing.plan import RebalancePlan
from planner.rights.seen import RightsSeen
from planner.rights.wanted import QuotaEntity
from planner.rollout.live_step import NO_STEP, LiveStep, SettingDeviation
from providers.base import CloudInstance, CloudVolume, Place
from providers.errors import NotPermitted, ProviderError
from providers.handover import Handover
from providers.notices import MaintenanceNotice


class NoPlaceAnswers(ProviderError):
    """No place of a cluster says what is there: why, by the names of the places."""

    def __init__(self, silent: Mapping[str, ProviderError]) -> None:
        super().__init__("; ".join(f"{place}: {error}" for place, error in sorted(silent.items())))
        self.silent = silent


def refused_in(silent: Mapping[str, ProviderError]) -> dict[str, str]:
    """Those of the places that do not permit us to list what is there, and their words."""
    return {name: str(error) for name, error in silent.items() if isinstance(error, NotPermitted)}


@dataclass(frozen=True, slots=True)
class InventorySeen:
    """The clouds' word on one cluster. `gone` holds keys of instances the cloud itself declared gone, by id."""

    at: datetime
    instances: Mapping[str, CloudInstance] = field(default_factory=dict)
    gone: frozenset[str] = frozenset()
    volumes: Mapping[str, CloudVolume] = field(default_factory=dict)
    node_addresses: Mapping[str, str] = field(default_factory=dict)
    twins: Mapping[str, tuple[CloudInstance, ...]] = field(default_factory=dict)
    """Other VMs that carry the key of an instance: made by a run that was killed, or copied by somebody's hand."""
    notices: Mapping[str, MaintenanceNotice] = field(default_factory=dict)
    """What the cloud announces of an instance, where it does, as of some minutes ago."""
    silent: Mapping[str, ProviderError] = field(default_factory=dict)
    """Places (by name) that did not answer while others did, and why: of what is there nothing is known now."""
    let_in_since: Mapping[str, datetime] = field(default_factory=dict)
    """By place (its name): since when this server has been let in there each time it asked."""
    addresses_by_place: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Addresses of nodes by place (its name), where there are several: a node that moves has one in each."""

    def carrying(self, key: str) -> tuple[CloudInstance, ...]:
        """Every VM with that key: the instance itself, then its twins."""
        own = self.instances.get(key)
        return (*((own,) if own is not None else ()), *self.twins.get(key, ()))

    @property
    def refused(self) -> dict[str, str]:
        """Silent places that do not permit us to list what is there, and their words."""
        return refused_in(self.silent)

    def addresses_in(self, place: Place) -> Mapping[str, str]:
        """The addresses nodes own there."""
        return self.addresses_by_place.get(str(place), self.node_addresses)

    def silence(self, place: Place) -> str:
        """Why nothing is known now of what is there, "" where it has answered."""
        name = str(place)
        return f"{name} does not answer: {self.silent[name]}" if name in self.silent else ""


@dataclass(frozen=True, slots=True)
class SettingsObserved:
    """What the brokers that answered say of the values they should hold (`wanted`, under their live names).

    `step` is what would be sent next; `refusals` what each broker says to it, None for a yes. Both are empty when every
    value is as it should be. `kept`: where a broker has another value than the spec, which adopts it. `stage` and
    `canary`: who was to have the values when they were asked.
    """

    wanted: Mapping[str, str]
    is_drift: bool
    running: Mapping[int, Mapping[str, SettingSeen]] = field(default_factory=dict)
    deviations: tuple[SettingDeviation, ...] = ()
    step: LiveStep = NO_STEP
    refusals: Mapping[int, str | None] = field(default_factory=dict)
    kept: tuple[SettingDeviation, ...] = ()
    stage: SettingStage = SettingStage.ALL
    canary: int | None = None
    pool: str = ""
    """Whose brokers alone are to hold them, "" for all."""

    @property
    def offered(self) -> Mapping[str, str | None]:
        """The values of the step by name, whoever they are for."""
        own = {name: value for values in self.step.own.values() for name, value in values.items()}
        return {**own, **self.step.defaults}


@dataclass(frozen=True, slots=True)
class TopicsObserved:
    """What is set on the topics that were `asked` about (one that is gone is missing in `configs`), and what Kafka
    says to what would be done next: `offered` names the topics of that, `refusals` has its words where it would not.
    """

    asked: frozenset[str]
    configs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    offered: frozenset[str] = frozenset()
    refusals: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UsersObserved:
    """What Kafka has of all users, declared or not. `refused`: what it said no to of the change in hand, by user."""

    rights: RightsSeen
    refused: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClientQuotasSeen:
    """Quotas in Kafka that are of no single user. `refused`: what it said no to of the change in hand, in words."""

    quotas: Mapping[QuotaEntity, Mapping[str, float]]
    refused: str = ""


@dataclass(frozen=True, slots=True)
class ProducerQuotaSeen:
    """The default quota of users' producers, bytes/s on each broker; None where none is set."""

    bytes_per_s: float | None


@dataclass(frozen=True, slots=True)
class PlansRead:
    """Plans of work in hand. A SHA-256 is of the plan that was looked for; None: it is missing or corrupt."""

    drain: DrainPlan | None = None
    drain_sha256: str = ""
    rebalance: RebalancePlan | None = None
    rebalance_sha256: str = ""


@dataclass(frozen=True, slots=True)
class CloudsSeen:
    """What the cluster's clouds say of themselves."""

    handover: Handover | None = Handover.REBIND
    """What the cluster's cloud can do with a node's address and disks; None while that cannot be told."""
    handovers: Mapping[str, Handover | None] = field(default_factory=dict)
    """The same by name of the cloud, where the cluster is on several."""
    unlisted_s: Mapping[str, float] = field(default_factory=dict)
    """By name of a cloud, where something is being made: how long that may be missing in listings."""
    holds_mounted: frozenset[str] = frozenset()
    """Clouds that take no disk from a running VM that has it mounted; told where an intent is open."""

    def handover_on(self, cloud: str) -> Handover | None:
        """What that cloud can do with a node's address and disks; None while that cannot be told."""
        return self.handovers.get(cloud, self.handover)


@dataclass(frozen=True, slots=True)
class ZooKeeperSeen:
    """Of a cluster with a ZooKeeper, each asked for only while something waits for it."""

    registered_id: str | None = None
    """Until it is fixed: the cluster id the ensemble holds, "" for none; None: not known."""
    registry: RegistrySeen | None = None
    """While the cluster migrates to KRaft: who leads by ZooKeeper's word, and what the migration has kept there."""
    content_is_right: bool | None = None
    """At the end of a step between plaintext and TLS: whether the ensemble keeps what it is to; None: not known."""
    restart_lock: LockStatus = "lost"
    """Whether this server holds the lock restarts are made under."""
    protocols: Mapping[int, str] | None = None
    """While a broker is of a later release than the spec: the protocol version each broker that answered runs with, by
    its id. None: not asked for, or nobody could be asked."""


@dataclass(frozen=True, slots=True)
class BackgroundSeen:
    """What services beside the tick saw last, and what is asked of agents now and then; it may be old."""

    hot: HotNoted | None = None
    """What metrics advise about a hot broker."""
    cpu: CpuNoted | None = None
    """What brokers use of their processors, by metrics."""
    groups: GroupsNoted | None = None
    """Consumer groups, in short, where they were asked for."""
    drift: Noted = field(default_factory=dict)
    """The audits of the cluster's places, from memory: empty where none was made yet."""
    certificates: Mapping[str, ServiceReport] = field(default_factory=dict)
    """What services last said of their certificates, by instance key; at rest some minutes old."""
    own_authorities: Mapping[ReplacedAuthority, OwnAuthoritySeen] = field(default_factory=dict)
    """The files of CAs that are the user's own, by kind, at the last look of a minute; empty where none is."""
    filters_behind: Mapping[str, str] | None = None
    """VMs, by key, whose packet filter has been another than their network's for a while, and why; None where no VM of
    the cluster filters packets itself."""
    overlay_troubles: Mapping[str, str] | None = None
    """VMs, by key, that have not been in the overlay as they should be for a while, and why; None where the cluster is
    to have none."""


@dataclass(frozen=True, slots=True)
class AccessSeen:
    """What brokers let Kedge itself, and whom no user names, do."""

    kedge_rights: RightsLook | None = None
    """Kedge's own ACLs, by the last look of a minute; None where it works without, or nobody could be asked."""
    client_quotas: ClientQuotasSeen | None = None
    """Asked for where the spec declares some, or did, as users are."""
    producer_quota: ProducerQuotaSeen | None = None
    """Asked for where a disk may be nearly full, and while Kedge has lowered it."""


@dataclass(frozen=True, slots=True)
class Observation:
    """Everything one tick sees of one cluster. `missing` says, in words, why a part is absent."""

    inventory: InventorySeen | None = None
    reports: Mapping[str, ReportSeen] = field(default_factory=dict)
    kafka: KafkaSnapshot | None = None
    jobs: Mapping[str, JobSeen] = field(default_factory=dict)
    plans: PlansRead = PlansRead()
    traffic: Traffic = UNKNOWN
    loads: LoadsSeen = NO_LOADS
    """What clients of the brokers feel; told while work is in hand."""
    clouds: CloudsSeen = CloudsSeen()
    settings: SettingsObserved | None = None
    """Asked for only where something is to be set, and at rest as often as the metadata is read."""
    topics: TopicsObserved | None = None
    """Asked for where some are in hand or waited for, and of all as often as the metadata is read at rest."""
    users: UsersObserved | None = None
    """Asked for where some are in hand or waited for, and as often as the metadata is read at rest."""
    access: AccessSeen = AccessSeen()
    placement: PlacementSeen | None = None
    """What is not where it should be; None while something is in hand, unless replicas seem to be lost."""
    zookeeper: ZooKeeperSeen = ZooKeeperSeen()
    missing: Mapping[str, str] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    """Places (by name) that do not permit us to list what is there, in the cloud's words."""
    moves: MoveProgress = field(default_factory=MoveProgress)
    """How each running move has come on so far, and what was asked for in vain."""
    background: BackgroundSeen = BackgroundSeen()
    networks: tuple[NetworkAwaited, ...] = ()
    """Networks of Kedge's that VMs still wait for."""
    health: HealthSeen = WELL
    """Since when partitions and brokers are not as they should be, by the looks at Kafka so far."""

    def fresh_kafka(self, now: datetime) -> KafkaSnapshot | None:
        """Kafka's metadata, if it is young enough to destroy on."""
        if self.kafka is None or now - self.kafka.at > STALE_AFTER:
            return None
        return self.kafka

    @property
    def why_no_kafka(self) -> str:
        """Why `fresh_kafka` has nothing, in words."""
        return self.missing.get("kafka", "Kafka's metadata is older than 30 s")

    def fresh_inventory(self, now: datetime) -> InventorySeen | None:
        """The inventory, if it is young enough to destroy on."""
        if self.inventory is None or now - self.inventory.at > STALE_AFTER:
            return None
        return self.inventory
