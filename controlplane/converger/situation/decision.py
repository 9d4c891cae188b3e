"""What a tick decides: events to record, effects to carry out, and one sentence with numbers that says why."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from controlplane.cluster.view import ClusterView, DrainView
from controlplane.cluster.views.rebalances import RebalanceView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.situation.cure_budget import NO_CURES, FleetCures
from controlplane.converger.situation.observation import Observation
from controlplane.fleet.images.offer import NOTHING, ImageOffer
from controlplane.fleet.spec_order import StageWait
from controlplane.kafka.log_dir_requests import Wishes
from controlplane.kafka.throttle import ThrottlePlan
from planner.observed import TopicPartition
from planner.rollout.live_step import LiveStep
from planner.rollout.windows import Freeze
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
class PreferLogDirs:
    """Tell brokers (by id) the directory of each replica they are about to get."""

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


Effect = (
    StartRun
    | TerminateInstance
    | ReadConsole
    | StartPlanning
    | StartBalancing
    | Reassign
    | PreferLogDirs
    | CancelMoves
    | SetThrottle
    | ClearThrottles
    | SetCordons
    | Unregister
    | AddVoter
    | RemoveVoter
    | ReelectController
    | FixClusterId
    | ForgetMigration
    | TakeRestartLock
    | ReleaseRestartLock
    | ElectPreferred
    | RaiseFeature
    | SetSettings
    | ChangeTopics
)


@dataclass(frozen=True, slots=True)
class SurgeAsk:
    """So many surge VMs are wanted, as soon as the account's budget has them."""

    vms: int
    mends: bool
    """A lost VM is replaced: goes before upgrades."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing can be done now. After `patience_s` without progress it is shown as the condition `Blocked`."""

    reason: WaitReason
    next_command: str = ""
    patience_s: float = 20.0
    ask: SurgeAsk | None = None
    """What is waited for, when that is surge VMs."""
    until: datetime | None = None
    """When it is tried again by itself, where that is known."""


@dataclass(frozen=True, slots=True)
class SurgeShare:
    """How many surge VMs a cluster may make now. When none: why, and the names of the clusters that have them."""

    vms: int = sys.maxsize
    reason: str = ""
    holders: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Allowance:
    """What this cluster may begin now: the fleet's brake. `reason` says why it may not roll."""

    may_roll: bool = True
    reason: str = ""
    upgrade: SurgeShare = SurgeShare()
    repair: SurgeShare = SurgeShare()
    cures: FleetCures = NO_CURES
    """Begun in the fleet so far: a cure asks them first."""


LOSS_GRACE_S = 300.0
"""How long a VM may be gone before anything is done about it, unless the settings say otherwise."""


@dataclass(frozen=True, slots=True)
class Situation:
    """All a decision may look at."""

    view: ClusterView
    seen: Observation
    now: datetime
    allowance: Allowance = Allowance()
    loss_grace_s: float = LOSS_GRACE_S
    """The server's; a spec may have its own."""
    freezes: tuple[Freeze, ...] = ()
    """Of the whole fleet, in force or not."""
    image: ImageOffer = NOTHING
    """What the image catalogue means for the cluster."""
    order: StageWait | None = None
    """Who of earlier stages goes before it with what it has in hand."""
    cost_tags: tuple[str, ...] = ()
    """Labels, by key, that the server's settings let through to clouds."""
    repairs_only: bool = False
    """Nothing voluntary may begin now: a step that has both names what is left of it, or None."""
    _answers: dict[Any, Any] | None = field(default=None, init=False, repr=False, compare=False)
    """What `once` keeps. A changed copy begins without."""

    @property
    def join_deadline_s(self) -> float:
        """How long a new VM may take until its service serves."""
        return self.view.document.spec.rollout.join_deadline_s if self.view.document else 600.0

    @property
    def lost_after_s(self) -> float:
        """How long a VM may be gone before anything is done about it."""
        own = self.view.document.spec.healing.lost_after_s if self.view.document else None
        return self.loss_grace_s if own is None else own

    @property
    def excused_topics(self) -> frozenset[str]:
        """Topics the spec allows below their min ISR."""
        return frozenset(self.view.document.spec.rollout.allow_unavailable) if self.view.document else frozenset()

    def seconds_since(self, then: datetime) -> float:
        return (self.now - then).total_seconds()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one step decides. Events are recorded first; effects follow from what is recorded."""

    sentence: str
    events: tuple[object, ...] = ()
    effects: tuple[Effect, ...] = ()
    wait: Wait | None = None

    @property
    def is_idle(self) -> bool:
        """Whether nothing is left to do, nor waited for."""
        return self.wait is None and not self.events and not self.effects


def record(sentence: str, *events: object) -> Verdict:
    """A verdict that records events; the tick decides again on the view after them."""
    return Verdict(sentence, events=events)


def act(sentence: str, *effects: Effect) -> Verdict:
    """A verdict that carries out effects."""
    return Verdict(sentence, effects=effects)


def wait(
    reason: WaitReason,
    sentence: str,
    *effects: Effect,
    next_command: str = "",
    patience_s: float = 20.0,
    until: datetime | None = None,
) -> Verdict:
    """A verdict that waits, perhaps with effects that keep things going."""
    return Verdict(sentence, effects=effects, wait=Wait(reason, next_command, patience_s, until=until))
