"""What was asked and what happened: every event type of a cluster's stream, in the past tense.

Three families. *Declarations* come from people. *Intents* end in `Requested` and are recorded before anything is done.
*Outcomes* say what the world answered. Observations are no events: they live in latest-value tables and may be lost.
Every fact that begins a wait carries no deadline of its own: deadlines count from the time the event was recorded.

What a subject has in `events/NOUN_facts.py` is named from here, too: whoever handles events says `facts.NodeDrained`.
"""

# ruff: noqa: F403

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from events.agent_facts import *
from events.anomaly_facts import *
from events.balance_facts import *
from events.brake_facts import *
from events.certificate_facts import *
from events.chaos_facts import *
from events.drain_facts import *
from events.external_facts import *
from events.freeze_facts import *
from events.group_facts import *
from events.healing_facts import *
from events.image_facts import *
from events.instance_facts import *
from events.instance_facts import LaunchedInstance as LaunchedInstance
from events.loss_facts import *
from events.migration_facts import *
from events.move_facts import *
from events.network_facts import *
from events.node_facts import *
from events.order_facts import *
from events.overlay_facts import *
from events.quorum_facts import *
from events.quota_facts import *
from events.registry import fact
from events.security_facts import *
from events.setting_facts import *
from events.source_facts import *
from events.tag_facts import *
from events.topic_facts import *
from events.user_facts import *
from events.volume_facts import *
from events.window_facts import *
from events.zookeeper_facts import *

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


@fact("quorum.stop_requested", schema=1)
@dataclass(frozen=True, slots=True)
class QuorumStopRequested:
    """The controllers and ZooKeeper servers of a cluster that is to be destroyed are to stop: its brokers, which shut
    down in order with their help alone, have stopped or have had their time."""

    reason: str


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
