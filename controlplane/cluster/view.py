"""The folded state of one cluster, as values. Made by `controlplane.cluster.fold.evolve`, changed by nothing else."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any

from controlplane.cluster.lifecycle import ALIVE, Phase
from controlplane.cluster.views.chaos import ChaosView as ChaosView
from controlplane.cluster.views.controller_moves import controller_moves_of
from controlplane.cluster.views.declaration import DeclarationView
from controlplane.cluster.views.evacuations import EvacuationView as EvacuationView
from controlplane.cluster.views.external import ExternalView
from controlplane.cluster.views.game_days import GameView as GameView
from controlplane.cluster.views.history import HistoryView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.intents import IntentView
from controlplane.cluster.views.members import kept_for_vote, members_of
from controlplane.cluster.views.migration import with_both_quorums
from controlplane.cluster.views.moves import MovesView
from controlplane.cluster.views.quorum import QuorumView
from controlplane.cluster.views.requests import RequestsView
from controlplane.cluster.views.roll import RollView
from controlplane.cluster.views.running_settings import SettingsView
from controlplane.cluster.views.security import SecurityView, at_rest
from controlplane.cluster.views.topics import TopicsView
from controlplane.cluster.views.users import UsersView
from controlplane.cluster.views.vms import VmsView
from controlplane.runtime.once import once
from events.ids import ClusterUid
from events.spec.domains import Address, advertised, domain_of
from events.spec.model import KafkaClusterDocument
from events.spec.storage_rules import with_grown_disks
from planner.rollout.security_steps import FIRST, LAST

CONTROLLER_PORT = 9093
"""Where controllers that speak plaintext are reached."""

TLS_BROKER_PORT, TLS_CONTROLLER_PORT = 9091, 9090
"""Where brokers that speak TLS are reached by one another, by agents and by Kedge, and controllers by nodes; clients
have listeners of their own."""


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
    declaration: DeclarationView = field(default_factory=DeclarationView)
    instances: Mapping[str, InstanceView] = field(default_factory=lambda: MappingProxyType({}))
    vms: VmsView = field(default_factory=VmsView)
    quorum: QuorumView = field(default_factory=QuorumView)
    intents: Mapping[str, IntentView] = field(default_factory=lambda: MappingProxyType({}))
    moves: MovesView = field(default_factory=MovesView)
    roll: RollView = field(default_factory=RollView)
    requests: RequestsView = field(default_factory=RequestsView)
    settings: SettingsView = field(default_factory=SettingsView)
    topics: TopicsView = field(default_factory=TopicsView)
    users: UsersView = field(default_factory=UsersView)
    external: ExternalView | None = None
    """What others run of it, once Kafka has shown that it is there; None where all of it is Kedge's."""
    conditions: Mapping[str, ConditionView] = field(default_factory=lambda: MappingProxyType({}))
    history: HistoryView = field(default_factory=HistoryView)
    _answers: dict[Any, Any] | None = field(default=None, init=False, repr=False, compare=False)
    """What `once` keeps. A changed copy begins without."""

    @property
    def deleted(self) -> bool:
        """Whether nothing of it is left."""
        return self.requests.deleted

    @property
    def in_zookeeper_mode(self) -> bool:
        """Whether its metadata is in a ZooKeeper ensemble, and its voters are that ensemble's servers: until a
        migration has ended, whatever the spec says by then."""
        if self.quorum.founding is not None:
            return bool(self.quorum.protocol)
        return self.document is not None and self.document.spec.kafka.mode == "zookeeper"

    @property
    def security(self) -> SecurityView:
        """How far it is between plaintext and TLS. Who keeps what it was born with is at one end."""
        if self.settings.security is not None:
            return self.settings.security
        is_tls = self.document is not None and self.document.spec.security.internal == "tls"
        return at_rest(LAST if is_tls else FIRST, "zookeeper" if self.in_zookeeper_mode else "controller")

    @property
    def nodes_speak_tls(self) -> bool:
        """Whether its brokers are reached by certificates, by one another and by Kedge and its agents: by all of them,
        where the cluster is on its way."""
        return self.security.reaches_brokers_by_tls

    @property
    def quorum_service(self) -> str:
        """The service of who votes."""
        return "zookeeper" if self.in_zookeeper_mode else "controller"

    @once
    def working_spec(self) -> KafkaClusterDocument | None:
        """The spec whose nodes are wanted: the declared one, with disks as large as they have grown by themselves; but
        for a cluster between ZooKeeper and KRaft, which needs the nodes of both quorums until it has arrived."""
        document, ensemble = self.grown(self.document), self.quorum.ensemble_spec
        if document is None or ensemble is None or not self.in_zookeeper_mode:
            return document
        if self.quorum.migration is None and document.spec.kafka.mode == "zookeeper":
            return document
        return with_both_quorums(document, ensemble, self.quorum.migration)

    def grown(self, document: KafkaClusterDocument | None) -> KafkaClusterDocument | None:
        """A spec of this cluster as it is meant: disks that grew by themselves have at least its `sizeGib`."""
        grown = self.vms.grown_pools
        return with_grown_disks(document, grown) if document is not None and grown else document

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
        """Whether its volumes and its id pass to a successor: controllers that stay, brokers that are reattached."""
        if instance.departure.drained or instance.key in self.controller_moves():
            return False
        if not instance.is_broker or instance.planned.handover or instance.phase is Phase.RELEASED:
            return True  # what was let go waits for a successor, though the one it was let go for died and is gone
        successors = (i for i in self.of_node(instance.node) if i.planned.generation > instance.planned.generation)
        return any(i.planned.handover and i.service_id == instance.service_id for i in successors)

    @property
    def reattaches_lost(self) -> bool:
        """Whether the spec has the disks of lost brokers pass on: by `healing.lostDisk`, or as those of all do by its
        strategy."""
        spec = self.document.spec if self.document is not None else None
        return spec is not None and "reattach" in (spec.healing.lost_disk, spec.rollout.strategy)

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
    def controller_moves(self) -> Mapping[str, InstanceView]:
        """Controllers whose id and vote pass to another one, but neither their disk nor their address: by key, who
        takes their id over."""
        return controller_moves_of(self.instances.values())

    def is_broken(self, instance: InstanceView) -> str:
        """How it is known that what a voter kept there is gone, "" where nobody said so."""
        if not self.quorum.lost_volumes:
            return ""
        return next((words for one in kept_for_vote(instance) if (words := self.quorum.lost_volumes.get(one, ""))), "")

    @property
    def broker_port(self) -> int:
        """TCP port at which brokers are reached by one another and by Kedge, by the document in force: that of brokers
        that are still to be made. It is that of their one listener, unless nodes speak TLS."""
        return TLS_BROKER_PORT if self.nodes_speak_tls else self.plain_port_of(None)

    def port_of(self, broker: InstanceView) -> int:
        """Where this broker is reached. While another port of the spec is rolled in, the old ones keep theirs."""
        return TLS_BROKER_PORT if self.nodes_speak_tls else self.plain_port_of(broker)

    def plain_port_of(self, broker: InstanceView | None) -> int:
        """Where a broker that speaks plaintext is reached; None: one that is still to be made. It may have been born at
        a later step of another way."""
        if broker is not None and broker.port and (self.settings.security is None or broker.port != TLS_BROKER_PORT):
            return broker.port
        listeners = self.document.spec.listeners if self.document else ()
        # On its way to TLS a cluster has others beside it.
        return next((one.port for one in listeners if one.security == "plaintext"), 9092)

    def seat_address(self, instance: InstanceView) -> str:
        """The address that stays with its node, "" while it is not known, and for nodes that own none."""
        if instance.planned.vm_address:
            return instance.address
        return instance.own_address or self.vms.node_addresses.get(instance.node, "")

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
