"""The folded state of one cluster, as values. Made by `controlplane.cluster.fold.evolve`, changed by nothing else."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any

from controlplane.cluster.lifecycle import ALIVE, Phase
from controlplane.cluster.views.agents import AgentOrderView
from controlplane.cluster.views.chaos import ChaosView as ChaosView
from controlplane.cluster.views.confirmed_losses import LossesView
from controlplane.cluster.views.controller_moves import relieved_by
from controlplane.cluster.views.cost_tags import CostTagsView
from controlplane.cluster.views.evacuations import EvacuationView as EvacuationView
from controlplane.cluster.views.external import ExternalView
from controlplane.cluster.views.game_days import GameView as GameView
from controlplane.cluster.views.images import ImageView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.intents import IntentView
from controlplane.cluster.views.members import kept_for_vote, members_of
from controlplane.cluster.views.migration import with_both_quorums
from controlplane.cluster.views.plans import PlanningView, PlanView, ProgressView
from controlplane.cluster.views.postponed_drains import PutOffView
from controlplane.cluster.views.quorum import QuorumView
from controlplane.cluster.views.rebalances import BatchSpent, LastRebalance, RebalanceView
from controlplane.cluster.views.requests import RequestsView
from controlplane.cluster.views.running_settings import (
    SettingsView,
)
from controlplane.cluster.views.source import SpecSource
from controlplane.cluster.views.spec_order import SpecOrderView
from controlplane.cluster.views.stuck_moves import MovesView as MovesView
from controlplane.cluster.views.topics import TopicsView
from controlplane.runtime.once import once
from events import facts
from events.ids import ClusterUid
from events.spec.domains import Address, advertised, domain_of
from events.spec.model import KafkaClusterDocument
from planner.healing import PastCure
from providers.given_machines import GivenMachine

FIRST_CONTROLLER_ID = 100
FIRST_BROKER_ID = 1000


@dataclass(frozen=True, slots=True)
class DrainView:
    """The drain in hand, if any."""

    id: str
    keys: tuple[str, ...]
    outgoing: tuple[int, ...]
    successors: Mapping[int, int]
    targets: tuple[int, ...]
    round: int
    requested_at: datetime
    planning: PlanningView = field(default_factory=PlanningView)
    plan: PlanView = field(default_factory=PlanView)
    progress: ProgressView = field(default_factory=ProgressView)
    stays: bool = False
    """An evacuation: the brokers are emptied and stay."""


@dataclass(frozen=True, slots=True)
class ConditionView:
    """A condition as it was last recorded."""

    status: bool
    reason: str
    message: str
    since: datetime


@dataclass(frozen=True, slots=True)
class ClusterView:
    """Everything the events say of one cluster."""

    uid: ClusterUid
    name: str = ""
    version: int = 0
    """Stream version folded so far."""
    generation: int = 0
    document: KafkaClusterDocument | None = None
    declared_at: datetime | None = None
    machines: tuple[GivenMachine, ...] = ()
    """Machine types its specs ever gave figures of, as they were last given: a VM outlives its spec's words."""
    source: SpecSource | None = None
    """Who may change the spec, None where nobody but the API ever declared it."""
    instances: Mapping[str, InstanceView] = field(default_factory=lambda: MappingProxyType({}))
    next_broker_id: int = FIRST_BROKER_ID
    quorum: QuorumView = field(default_factory=QuorumView)
    node_addresses: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    intents: Mapping[str, IntentView] = field(default_factory=lambda: MappingProxyType({}))
    drain: DrainView | None = None
    drains: int = 0
    put_off: PutOffView | None = None
    """Drains that were put off since anything else came of anything, None where none was."""
    recycling: int = 0
    """Generation being worked towards, 0 when none."""
    converged: int = 0
    """Last generation reached."""
    replaced_at: datetime | None = None
    join_failures: int = 0
    finalising: tuple[str, int] | None = None
    finalised: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    requests: RequestsView = field(default_factory=RequestsView)
    spent: Mapping[str, facts.SpentNode] = field(default_factory=lambda: MappingProxyType({}))
    """By node, what was used up before the history that is known."""
    deleted: bool = False
    settings: SettingsView = field(default_factory=SettingsView)
    rebalance: RebalanceView | None = None
    rebalances: int = 0
    """Rebalances asked for, ever."""
    rebalance_spent: tuple[BatchSpent, ...] = ()
    """Batches begun in the 24 hours before the last one, oldest first."""
    last_rebalance: LastRebalance | None = None
    newcomers: tuple[str, ...] = ()
    """Keys of brokers that joined beside the others since the last roll was over; they replace nobody."""
    volume_sizes: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """GiB of the volumes that were asked to grow, by key: their planned size is that of their making."""
    cost_tags: Mapping[str, CostTagsView] = field(default_factory=lambda: MappingProxyType({}))
    """Of VMs that were given others than they were made with, by instance key: see `tags_on`."""
    taggings: int = 0
    """Tag runs asked for, ever."""
    cures: tuple[PastCure, ...] = ()
    """What was done about findings of agents, oldest first."""
    moves: MovesView = field(default_factory=MovesView)
    losses: LossesView = field(default_factory=LossesView)
    topics: TopicsView = field(default_factory=TopicsView)
    image: ImageView | None = None
    spec_order: SpecOrderView | None = None
    """What the order of the fleet asks about its spec, None before the first one was reached."""
    agent_orders: Mapping[str, AgentOrderView] = field(default_factory=lambda: MappingProxyType({}))
    """By instance key, of VMs whose agents were ever told to become others."""
    external: ExternalView | None = None
    """What others run of it, once Kafka has shown that it is there; None where all of it is Kedge's."""
    conditions: Mapping[str, ConditionView] = field(default_factory=lambda: MappingProxyType({}))
    progressed_at: datetime | None = None
    """Time of the last event that is not a mere condition."""
    unreadable: str = ""
    """Why the history cannot be read, empty when it can."""
    _answers: dict[Any, Any] | None = field(default=None, init=False, repr=False, compare=False)
    """What `once` keeps. A changed copy begins without."""

    @property
    def in_zookeeper_mode(self) -> bool:
        """Whether its metadata is in a ZooKeeper ensemble, and its voters are that ensemble's servers: until a
        migration has ended, whatever the spec says by then."""
        if self.quorum.founding is not None:
            return bool(self.quorum.protocol)
        return self.document is not None and self.document.spec.kafka.mode == "zookeeper"

    @property
    def quorum_service(self) -> str:
        """The service of who votes."""
        return "zookeeper" if self.in_zookeeper_mode else "controller"

    @once
    def working_spec(self) -> KafkaClusterDocument | None:
        """The spec whose nodes are wanted: the declared one, but for a cluster between ZooKeeper and KRaft, which needs
        the nodes of both quorums until it has arrived."""
        document, ensemble = self.document, self.quorum.ensemble_spec
        if document is None or ensemble is None or not self.in_zookeeper_mode:
            return document
        if self.quorum.migration is None and document.spec.kafka.mode == "zookeeper":
            return document
        return with_both_quorums(document, ensemble, self.quorum.migration)

    @once
    def alive(self) -> tuple[InstanceView, ...]:
        """Instances whose VM may exist, by key."""
        return tuple(i for i in self.instances.values() if i.phase in ALIVE)

    def of_node(self, node: str) -> tuple[InstanceView, ...]:
        """Instances of a node that may exist, oldest generation first."""
        return self.nodes().get(node, ())

    @once
    def nodes(self) -> Mapping[str, tuple[InstanceView, ...]]:
        """The nodes that have an instance which may exist, each with those, oldest generation first."""
        return _by_node(self.alive())

    def hands_over(self, instance: InstanceView) -> bool:
        """Whether its volumes and its id pass to a successor: controllers that stay, brokers of strategy `reattach`."""
        if instance.departure.drained or instance.key in self.relieved():
            return False
        if not instance.is_broker or instance.planned.handover or instance.phase is Phase.RELEASED:
            return True  # what was let go waits for an heir, though the one it was let go for died and is gone
        heirs = (i for i in self.of_node(instance.node) if i.planned.generation > instance.planned.generation)
        return any(i.planned.handover and i.service_id == instance.service_id for i in heirs)

    def in_phase(self, *phases: Phase) -> tuple[InstanceView, ...]:
        return tuple(i for i in self.instances.values() if i.phase in phases)

    @once
    def brokers(self) -> tuple[InstanceView, ...]:
        return tuple(i for i in self.alive() if i.is_broker)

    def receivers(self) -> tuple[InstanceView, ...]:
        """Brokers that replicas may be moved to."""
        there = (i for i in self.brokers() if i.phase is Phase.JOINED and not i.lost)
        return tuple(i for i in there if i.key not in self.requests.evacuations)

    def is_evacuating(self) -> bool:
        """Whether a broker that is to be empty is not known to be yet."""
        return any(e.empty_at is None for e in self.requests.evacuations.values())

    @once
    def controllers(self) -> tuple[InstanceView, ...]:
        """Those of the quorum that holds the metadata; see `beside_quorum`."""
        service = self.quorum_service
        own = tuple(i for i in self.alive() if i.planned.service == service)
        return (*own, *members_of(self.alive())) if service == "zookeeper" else own

    @once
    def beside_quorum(self) -> tuple[InstanceView, ...]:
        """Controllers that are to take over from ZooKeeper, and who a migration has left without work."""
        service = self.quorum_service
        return tuple(i for i in self.alive() if i.planned.service not in ("broker", service))

    @once
    def relieved(self) -> Mapping[str, InstanceView]:
        """Controllers whose id and vote pass to another one, but neither their disk nor their address: by key, who
        relieves them."""
        return relieved_by(self.instances.values())

    def is_broken(self, instance: InstanceView) -> str:
        """How it is known that what a voter kept there is gone, "" where nobody said so."""
        if not self.quorum.lost_volumes:
            return ""
        return next((words for one in kept_for_vote(instance) if (words := self.quorum.lost_volumes.get(one, ""))), "")

    @property
    def broker_port(self) -> int:
        """TCP port of the brokers' listener, by the document in force: that of brokers that are still to be made."""
        return self.document.spec.listeners[0].port if self.document else 9092

    def port_of(self, broker: InstanceView) -> int:
        """Where this broker serves clients. While another port of the spec is rolled in, the old ones keep theirs."""
        return broker.port or self.broker_port

    def seat_address(self, instance: InstanceView) -> str:
        """The address that stays with its node, "" while it is not known, and for nodes that own none."""
        if instance.planned.vm_address:
            return instance.address
        return instance.own_address or self.node_addresses.get(instance.node, "")

    def address_of(self, instance: InstanceView) -> str:
        """Where the instance's service listens, and others find it: its node's own address if the node has one."""
        domains, home = _domains(self)
        # Of a pool that is gone: it was within the same domain as the others, or it had never been accepted.
        domain = domains.get(instance.planned.pool, home)
        return advertised((Address(text, domain) for text in (self.seat_address(instance), instance.address)), home)


@once
def _domains(view: ClusterView) -> tuple[Mapping[str, str], str]:
    """Network domain of each pool, and the cluster's."""
    spec = view.working_spec()
    pools = spec.spec.pools if spec else ()
    home = next((domain_of(p.place) for p in pools if p.is_quorum or view.external is not None), "")
    return {p.name: domain_of(p.place) for p in pools}, home


def _by_node(instances: Iterable[InstanceView]) -> Mapping[str, tuple[InstanceView, ...]]:
    found: dict[str, list[InstanceView]] = {}
    for instance in sorted(instances, key=lambda i: i.planned.generation):
        found.setdefault(instance.node, []).append(instance)
    return MappingProxyType({node: tuple(there) for node, there in found.items()})


def empty_view(uid: str) -> ClusterView:
    """The view before the first event."""
    return ClusterView(uid=ClusterUid(uid))
