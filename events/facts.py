"""What was asked and what happened: every event type of a cluster's stream, in the past tense.

Three families. *Declarations* come from people. *Intents* end in `Requested` and are recorded before anything is done.
*Outcomes* say what the world answered. Observations are no events: they live in latest-value tables and may be lost.
Every fact that begins a wait carries no deadline of its own: deadlines count from the time the event was recorded.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from events.agent_facts import AgentBuilt as AgentBuilt
from events.agent_facts import AgentPublished as AgentPublished
from events.agent_facts import AgentRolloutResumed as AgentRolloutResumed
from events.agent_facts import AgentUpgraded as AgentUpgraded
from events.agent_facts import AgentUpgradeFailed as AgentUpgradeFailed
from events.agent_facts import AgentUpgradeRequested as AgentUpgradeRequested
from events.agent_facts import AgentWithdrawn as AgentWithdrawn
from events.anomaly_facts import AnomalyChanged as AnomalyChanged
from events.anomaly_facts import AnomalyFound as AnomalyFound
from events.anomaly_facts import BrokerDemoted as BrokerDemoted
from events.anomaly_facts import BrokerPromoted as BrokerPromoted
from events.anomaly_facts import DemoteRequested as DemoteRequested
from events.anomaly_facts import DemotionEnded as DemotionEnded
from events.anomaly_facts import HealingSwitched as HealingSwitched
from events.balance_facts import RebalanceAbandoned as RebalanceAbandoned
from events.balance_facts import RebalanceBatchStarted as RebalanceBatchStarted
from events.balance_facts import RebalanceCancelRequested as RebalanceCancelRequested
from events.balance_facts import RebalanceCompleted as RebalanceCompleted
from events.balance_facts import RebalancePlanFailed as RebalancePlanFailed
from events.balance_facts import RebalancePlanned as RebalancePlanned
from events.balance_facts import RebalancePutOff as RebalancePutOff
from events.balance_facts import RebalanceRequested as RebalanceRequested
from events.chaos_facts import ChaosEnded as ChaosEnded
from events.chaos_facts import ChaosInjected as ChaosInjected
from events.chaos_facts import ChaosManner as ChaosManner
from events.chaos_facts import FaultScored as FaultScored
from events.chaos_facts import GameEnded as GameEnded
from events.chaos_facts import GameStarted as GameStarted
from events.drain_facts import BatchStarted as BatchStarted
from events.drain_facts import DrainAbandoned as DrainAbandoned
from events.drain_facts import DrainPlanFailed as DrainPlanFailed
from events.drain_facts import DrainPlanned as DrainPlanned
from events.drain_facts import DrainRequested as DrainRequested
from events.drain_facts import NodeDrained as NodeDrained
from events.external_facts import ClusterImported as ClusterImported
from events.external_facts import ExternalBrokerFound as ExternalBrokerFound
from events.external_facts import ExternalDrained as ExternalDrained
from events.external_facts import ExternalFound as ExternalFound
from events.external_facts import ExternalLeft as ExternalLeft
from events.external_facts import ExternalQuorumChanged as ExternalQuorumChanged
from events.external_facts import ExternalReturned as ExternalReturned
from events.external_facts import ExternalStopped as ExternalStopped
from events.freeze_facts import FreezeDeclared as FreezeDeclared
from events.freeze_facts import FreezeThawed as FreezeThawed
from events.group_facts import OffsetPut as OffsetPut
from events.group_facts import OffsetsReset as OffsetsReset
from events.group_facts import OffsetsResetRequested as OffsetsResetRequested
from events.healing_facts import HealingRequested as HealingRequested
from events.image_facts import ImageChosen as ImageChosen
from events.image_facts import ImagePublished as ImagePublished
from events.image_facts import ImageWithdrawn as ImageWithdrawn
from events.image_facts import PlannedImage as PlannedImage
from events.image_facts import RegionImage as RegionImage
from events.instance_facts import ClusterAdopted as ClusterAdopted
from events.instance_facts import InstanceAdopted as InstanceAdopted
from events.instance_facts import InstanceJoined as InstanceJoined
from events.instance_facts import InstanceLost as InstanceLost
from events.instance_facts import InstanceReconfigured as InstanceReconfigured
from events.instance_facts import JoinFailed as JoinFailed
from events.instance_facts import LaunchedInstance as LaunchedInstance
from events.instance_facts import MachineSubstituted as MachineSubstituted
from events.instance_facts import PlannedInstance as PlannedInstance
from events.instance_facts import PlannedMember as PlannedMember
from events.instance_facts import PlannedPlace as PlannedPlace
from events.instance_facts import PlannedVolume as PlannedVolume
from events.instance_facts import RunFailed as RunFailed
from events.instance_facts import SpentNode as SpentNode
from events.instance_facts import SurgeCompleted as SurgeCompleted
from events.instance_facts import SurgeRequested as SurgeRequested
from events.loss_facts import LossesConfirmed as LossesConfirmed
from events.loss_facts import LossesDoubted as LossesDoubted
from events.migration_facts import MigrationBegun as MigrationBegun
from events.migration_facts import MigrationEnded as MigrationEnded
from events.migration_facts import MigrationQuorumFounded as MigrationQuorumFounded
from events.migration_facts import MigrationServiceStarted as MigrationServiceStarted
from events.migration_facts import MigrationServiceStopped as MigrationServiceStopped
from events.migration_facts import MigrationTurned as MigrationTurned
from events.move_facts import ControllerElectionRequested as ControllerElectionRequested
from events.move_facts import ElectionCureRequested as ElectionCureRequested
from events.move_facts import MoveCureRequested as MoveCureRequested
from events.move_facts import MovesAdopted as MovesAdopted
from events.move_facts import MovesCancelRequested as MovesCancelRequested
from events.move_facts import MovesSettled as MovesSettled
from events.network_facts import NetworkChanged as NetworkChanged
from events.network_facts import NetworkChangeRequested as NetworkChangeRequested
from events.network_facts import NetworkMade as NetworkMade
from events.network_facts import NetworkRemovalDropped as NetworkRemovalDropped
from events.network_facts import NetworkRemovalRequested as NetworkRemovalRequested
from events.network_facts import NetworkRemoved as NetworkRemoved
from events.network_facts import NetworkRequested as NetworkRequested
from events.network_facts import NetworkRunFailed as NetworkRunFailed
from events.network_facts import NetworkZonesRequested as NetworkZonesRequested
from events.node_facts import EvacuationCompleted as EvacuationCompleted
from events.node_facts import EvacuationEnded as EvacuationEnded
from events.node_facts import EvacuationRequested as EvacuationRequested
from events.node_facts import NodeReplaceRequested as NodeReplaceRequested
from events.node_facts import RollingRestartCompleted as RollingRestartCompleted
from events.node_facts import RollingRestartRequested as RollingRestartRequested
from events.order_facts import OrderRenewed as OrderRenewed
from events.quorum_facts import FoundingVoter as FoundingVoter
from events.quorum_facts import QuorumFounded as QuorumFounded
from events.quorum_facts import VolumeLost as VolumeLost
from events.quorum_facts import VoterAdded as VoterAdded
from events.quorum_facts import VoterAddRequested as VoterAddRequested
from events.quorum_facts import VoterChangeDropped as VoterChangeDropped
from events.quorum_facts import VoterRemoved as VoterRemoved
from events.quorum_facts import VoterRemoveRequested as VoterRemoveRequested
from events.registry import fact
from events.setting_facts import RestartCompleted as RestartCompleted
from events.setting_facts import RestartRequested as RestartRequested
from events.setting_facts import RestartReverted as RestartReverted
from events.setting_facts import RestartRevertRequested as RestartRevertRequested
from events.setting_facts import SettingsCanaryStood as SettingsCanaryStood
from events.setting_facts import SettingsChanged as SettingsChanged
from events.setting_facts import SettingsChangeRequested as SettingsChangeRequested
from events.setting_facts import SettingsRefused as SettingsRefused
from events.setting_facts import SettingsReverted as SettingsReverted
from events.setting_facts import SettingsRevertRequested as SettingsRevertRequested
from events.setting_facts import SettingsTried as SettingsTried
from events.source_facts import SourceAccepted as SourceAccepted
from events.source_facts import SourceApplied as SourceApplied
from events.source_facts import SourceChanged as SourceChanged
from events.source_facts import SourceRewritten as SourceRewritten
from events.tag_facts import TaggingCompleted as TaggingCompleted
from events.tag_facts import TaggingFailed as TaggingFailed
from events.tag_facts import TaggingRequested as TaggingRequested
from events.topic_facts import TopicsDeclared as TopicsDeclared
from events.volume_facts import GrowthCompleted as GrowthCompleted
from events.volume_facts import GrowthRequested as GrowthRequested
from events.window_facts import WindowWaived as WindowWaived
from events.zookeeper_facts import ClusterIdFixed as ClusterIdFixed
from events.zookeeper_facts import EnsembleFounded as EnsembleFounded
from events.zookeeper_facts import FoundingServer as FoundingServer
from events.zookeeper_facts import ProtocolRaised as ProtocolRaised

# --- declarations -----------------------------------------------------------------------------------------------


@fact("cluster.declared", schema=1)
@dataclass(frozen=True, slots=True)
class ClusterDeclared:
    """A spec came into force. `document` is the whole document in its storage version; `generation` counts from 1."""

    uid: str
    name: str
    generation: int
    document: Mapping[str, Any]
    source: str


@fact("cluster.deletion_requested", schema=1)
@dataclass(frozen=True, slots=True)
class ClusterDeletionRequested:
    """The tombstone, with the cluster's name typed out. Nothing else ever leads to a destroy run."""

    name: str
    reason: str


@fact("cluster.paused", schema=1)
@dataclass(frozen=True, slots=True)
class ClusterPaused:
    """No new step begins; what runs goes on to its next safe point."""

    reason: str
    until: datetime | None


@fact("cluster.resumed", schema=1)
@dataclass(frozen=True, slots=True)
class ClusterResumed:
    """A person lets the cluster go on: lifts a pause and forgives failed attempts."""

    reason: str


@fact("cluster.aborted", schema=1)
@dataclass(frozen=True, slots=True)
class RecycleAborted:
    """Stop after the replacement in hand: reverted before its drain, finished after; then paused in a mixed state."""

    reason: str


# --- a roll -----------------------------------------------------------------------------------------------------


@fact("recycle.started", schema=1)
@dataclass(frozen=True, slots=True)
class RecycleStarted:
    """Work towards a generation begins: which nodes are to be made, replaced and removed, and why."""

    generation: int
    create: tuple[str, ...]
    replace: tuple[str, ...]
    remove: tuple[str, ...]
    reason: str


@fact("recycle.completed", schema=1)
@dataclass(frozen=True, slots=True)
class RecycleCompleted:
    """The cluster is what its spec says. The next tick has nothing to do."""

    generation: int


@fact("instance.fence_requested", schema=1)
@dataclass(frozen=True, slots=True)
class FenceRequested:
    """The service on these instances is to be stopped for good."""

    keys: tuple[str, ...]
    reason: str


@fact("instance.fenced", schema=1)
@dataclass(frozen=True, slots=True)
class NodeFenced:
    """The process is proved gone: `proof` is `agent`, `inventory` or `silence`.

    `started`: whether a process of the service was ever started on this VM, by its agent's last word. False is a proof
    that nothing was kept on a volume that came here new. None: nobody could tell, or it was not recorded yet.
    """

    key: str
    proof: str
    started: bool | None = None


@fact("instance.fence_reverted", schema=1)
@dataclass(frozen=True, slots=True)
class FenceReverted:
    """Metadata newer than the stop names the broker after all: it is started again and drained again."""

    key: str
    reason: str


@fact("broker.unregistered", schema=1)
@dataclass(frozen=True, slots=True)
class BrokerUnregistered:
    """The stopped broker's id has left the cluster's registrations."""

    key: str
    service_id: int


@fact("release.requested", schema=1)
@dataclass(frozen=True, slots=True)
class ReleaseRequested:
    """The attachments and the address of a stopped controller are to be taken off its instance.

    `with_vm`: its cloud lets go of them only with the VM, so that is deleted, too.
    """

    intent: str
    key: str
    with_vm: bool = False


@fact("release.completed", schema=1)
@dataclass(frozen=True, slots=True)
class ReleaseCompleted:
    intent: str


@fact("bind.requested", schema=1)
@dataclass(frozen=True, slots=True)
class BindRequested:
    """A node's volumes and address are to be given to this instance."""

    intent: str
    key: str


@fact("bind.completed", schema=1)
@dataclass(frozen=True, slots=True)
class BindCompleted:
    """`instances` has the VM where the bind made it."""

    intent: str
    instances: tuple[LaunchedInstance, ...] = ()


@fact("retire.requested", schema=1)
@dataclass(frozen=True, slots=True)
class RetireRequested:
    """Exactly these instances, and the volumes that go with them, are to be deleted."""

    intent: str
    keys: tuple[str, ...]
    volumes: tuple[str, ...]
    reason: str


@fact("retire.completed", schema=1)
@dataclass(frozen=True, slots=True)
class RetireCompleted:
    """The inventory shows the instances gone."""

    intent: str


@fact("replacement.completed", schema=1)
@dataclass(frozen=True, slots=True)
class ReplacementCompleted:
    """One node's instance has been swapped. `old` -> `new` are instance keys."""

    node: str
    old: str
    new: str


@fact("finalisation.requested", schema=1)
@dataclass(frozen=True, slots=True)
class FinalisationRequested:
    """A feature level is to be raised. From here on the old version is out of reach."""

    feature: str
    level: int
    reason: str


@fact("feature.finalised", schema=1)
@dataclass(frozen=True, slots=True)
class FeatureFinalised:
    feature: str
    level: int


# --- the end, and the state of mind -----------------------------------------------------------------------------


@fact("destroy.requested", schema=1)
@dataclass(frozen=True, slots=True)
class DestroyRequested:
    """The destroy run of a tombstoned cluster whose deletion policy says so.

    `vms` are the keys of the instances in one place, where the cluster lives in several; empty for all there are.
    """

    intent: str
    vms: tuple[str, ...] = ()


@fact("destroy.completed", schema=1)
@dataclass(frozen=True, slots=True)
class DestroyCompleted:
    """Nothing of the cluster is left in the place of that run; it has others."""

    intent: str


@fact("cluster.deleted", schema=1)
@dataclass(frozen=True, slots=True)
class ClusterDeleted:
    """Nothing of the cluster is left, or its resources were retained as its policy says."""

    retained: bool


@fact("condition.changed", schema=1)
@dataclass(frozen=True, slots=True)
class ConditionChanged:
    """A condition's type or reason changed. A new number in `message` alone is no event."""

    type: str
    status: bool
    reason: str
    message: str


# --- names ------------------------------------------------------------------------------------------------------


@fact("name.taken", schema=1)
@dataclass(frozen=True, slots=True)
class NameTaken:
    """A cluster's uid holds this name from here on. In the stream of the name, not of the cluster."""

    name: str
    uid: str
