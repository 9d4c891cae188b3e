"""Effects of a decision: what a tick carries out once the events of the decision are recorded."""

from collections.abc import Mapping
from dataclasses import dataclass

from controlplane.cluster.views.drains import DrainView
from controlplane.cluster.views.rebalances import RebalanceView
from controlplane.converger.situation.passwords import PasswordToSet
from controlplane.kafka.log_dir_requests import Wishes
from controlplane.kafka.throttle import ThrottlePlan
from controlplane.kafka.zookeeper.content import EnsembleContent
from planner.observed import TopicPartition
from planner.rights.step import QuotaChange, RightsStep
from planner.rights.wanted import QuotaEntity
from planner.rollout.live_step import LiveStep
from planner.topics.step import TopicStep


@dataclass(frozen=True, slots=True)
class StartRun:
    """Start the Terraform run of an open intent, as job `job`."""

    intent: str
    job: str


@dataclass(frozen=True, slots=True)
class TerminateInstance:
    """The cloud's own terminate, for a VM a retire run left behind."""

    key: str
    cloud_id: str


@dataclass(frozen=True, slots=True)
class ReadConsole:
    """Keep what the VM of an instance wrote to its console."""

    key: str


@dataclass(frozen=True, slots=True)
class StartPlanning:
    """Have a drain planned, in hand or foreseen, as job `job`."""

    drain: DrainView
    job: str


@dataclass(frozen=True, slots=True)
class StartBalancing:
    """Have the rebalance in hand planned, as job `job`."""

    rebalance: RebalanceView
    job: str


@dataclass(frozen=True, slots=True)
class Reassign:
    """Hand these moves to Kafka: partition -> target replica list."""

    targets: Mapping[TopicPartition, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class SetLogDirsThrottle:
    """How fast replicas move between the log directories of brokers (by id), bytes/s; None takes the value back."""

    rates: Mapping[int, int | None]


@dataclass(frozen=True, slots=True)
class PreferLogDirs:
    """Tell brokers (by id) the directory of each replica they are about to get, or are to move to it."""

    wishes: Wishes


@dataclass(frozen=True, slots=True)
class CancelMoves:
    """Take back running moves; Kafka returns to the original replicas."""

    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class SetThrottle:
    """Make the replication throttles exactly these."""

    plan: ThrottlePlan


@dataclass(frozen=True, slots=True)
class ClearThrottles:
    """Remove every replication throttle: nobody moves data on our behalf."""


@dataclass(frozen=True, slots=True)
class SetProducerQuota:
    """Make the default quota of users' producers so many bytes/s on each broker; None takes it away."""

    bytes_per_s: float | None


@dataclass(frozen=True, slots=True)
class SetCordons:
    """Cordon brokers, by id, so that no new replica is placed on them, and lift the cordons of others."""

    cordoned: tuple[int, ...]
    lifted: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Unregister:
    """Drop a stopped, empty broker's registration."""

    broker: int


@dataclass(frozen=True, slots=True)
class AddVoter:
    """Give a caught-up controller a vote in the quorum."""

    controller: int
    directory_id: str
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class RemoveVoter:
    """Take the vote of this controller and directory."""

    controller: int
    directory_id: str


@dataclass(frozen=True, slots=True)
class ReelectController:
    """ZooKeeper mode: have a controller elected in place of this broker, where it is still the one of this epoch."""

    broker: int
    epoch: int


@dataclass(frozen=True, slots=True)
class FixClusterId:
    """Write the cluster's id to its ZooKeeper ensemble, before the first broker would make one up."""

    cluster_id: str


@dataclass(frozen=True, slots=True)
class ForgetMigration:
    """Delete the claim to lead, and how far it had come, that a quorum has left in ZooKeeper."""


@dataclass(frozen=True, slots=True)
class PutEnsembleContent:
    """Put right what a ZooKeeper ensemble keeps itself between plaintext and TLS."""

    wanted: EnsembleContent


@dataclass(frozen=True, slots=True)
class TakeRestartLock:
    """Take the restart lock of the cluster's ZooKeeper, now or not at all; `why` is what others are told."""

    why: str


@dataclass(frozen=True, slots=True)
class ReleaseRestartLock:
    """Give it back."""


@dataclass(frozen=True, slots=True)
class ElectPreferred:
    """Give leadership back to the first replica of these partitions."""

    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class RaiseFeature:
    """Raise one feature level, validate-only first."""

    feature: str
    level: int


@dataclass(frozen=True, slots=True)
class SetSettings:
    """Set these live values; every broker has said that it would take them."""

    step: LiveStep


@dataclass(frozen=True, slots=True)
class ChangeTopics:
    """Make, extend, configure and delete topics; Kafka has said that it would."""

    step: TopicStep


@dataclass(frozen=True, slots=True)
class ChangeUsers:
    """Give users their rights, quotas and passwords, and take away what they are not to have. `passwords`: of those
    who get one, by name."""

    change: str
    step: RightsStep
    passwords: Mapping[str, PasswordToSet]


@dataclass(frozen=True, slots=True)
class PutKedgeRights:
    """Make Kedge's own ACLs as they are to be."""


@dataclass(frozen=True, slots=True)
class ChangeClientQuotas:
    """Set these quotas, of no single user, and take away what is None."""

    change: str
    changes: Mapping[QuotaEntity, QuotaChange]


Effect = (
    StartRun
    | TerminateInstance
    | ReadConsole
    | StartPlanning
    | StartBalancing
    | Reassign
    | PreferLogDirs
    | SetLogDirsThrottle
    | CancelMoves
    | SetThrottle
    | ClearThrottles
    | SetProducerQuota
    | SetCordons
    | Unregister
    | AddVoter
    | RemoveVoter
    | ReelectController
    | FixClusterId
    | ForgetMigration
    | PutEnsembleContent
    | TakeRestartLock
    | ReleaseRestartLock
    | ElectPreferred
    | RaiseFeature
    | SetSettings
    | ChangeTopics
    | ChangeUsers
    | PutKedgeRights
    | ChangeClientQuotas
)
