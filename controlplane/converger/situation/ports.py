"""What a tick reaches the world through. Built in `controlplane.server.bootstrap`, faked by the simulator."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from controlplane.cluster.kedge_rights import KedgeRights
from controlplane.cluster.observed.cloud_drift import Noted
from controlplane.cluster.observed.networks import NetworkAwaited
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.converger.situation.observation import InventorySeen
from controlplane.converger.situation.passwords import NO_PASSWORDS, UserPasswords
from controlplane.kafka.errors import KafkaUnavailable
from controlplane.kafka.gateway import KafkaGateway
from controlplane.kafka.zookeeper.content import EnsembleContent
from controlplane.kafka.zookeeper.locks import LockStatus
from controlplane.kafka.zookeeper.registry import RegistrySeen
from controlplane.storage.certificates.own_authority_look import OwnAuthoritySeen
from controlplane.storage.job_store import JobStore
from controlplane.storage.latest_values import LatestStore
from controlplane.storage.plan_store import PlanStore
from events.clock import Clock
from events.ids import ClusterUid, Epoch
from events.store import EventStore
from planner.drain.request import DrainRequest
from planner.observed import KafkaSnapshot
from planner.rebalancing.request import RebalanceRequest
from providers.base import TerraformRun
from providers.handover import Handover

ReadsConsole = Callable[[ClusterView, InstanceView], str | None]
"""What the VM wrote, None where its cloud keeps nothing. Raises `ProviderError`."""


def no_console(view: ClusterView, instance: InstanceView) -> str | None:
    """Where no cloud is asked."""
    return None


class Inventory(Protocol):
    """The clouds' word, shared by all clusters of a place."""

    def seen(self, view: ClusterView, *, newer_than: datetime | None = None) -> InventorySeen:
        """What the clouds say of one cluster, asked anew if what is known is not newer. Raises `ProviderError`."""

    def terminate(self, view: ClusterView, cloud_id: str) -> None:
        """The cloud's own terminate. Raises `ProviderError`."""


class Runner(Protocol):
    """Starts long acts and returns at once; how they end is read from the job store."""

    def terraform(self, job_id: str, run: TerraformRun, *, epoch: Epoch) -> None:
        """Runs Terraform for an open intent. The job row exists when this returns."""

    def planning(self, job_id: str, request: DrainRequest, snapshot: KafkaSnapshot, *, epoch: Epoch) -> None:
        """Has a drain planned and the plan stored."""

    def balancing(self, job_id: str, request: RebalanceRequest, snapshot: KafkaSnapshot, *, epoch: Epoch) -> None:
        """Has a rebalance planned, judged and stored."""


class RestartLock(Protocol):
    """ZooKeeper mode: the lock of each cluster that its restarts are made under, held by this server's sessions."""

    def status(self, view: ClusterView) -> LockStatus:
        """From memory, without a call."""

    def take(self, view: ClusterView, why: str) -> str:
        """Who has it, in words; empty where it is ours now. Raises `KafkaFault`."""

    def release(self, view: ClusterView) -> None:
        """Frees it at once."""


class NoRestartLock:
    """Where no cluster has a ZooKeeper."""

    def status(self, view: ClusterView) -> LockStatus:
        return "lost"

    def take(self, view: ClusterView, why: str) -> str:
        return "there is no restart lock here"

    def release(self, view: ClusterView) -> None:
        return None


NO_RESTART_LOCK = NoRestartLock()


NOTHING_NOTED: Noted = {}


def _no_registry(view: ClusterView) -> RegistrySeen:
    raise KafkaUnavailable(what="looking into ZooKeeper", where=str(view.uid), why="nobody has a way to it here")


@dataclass(frozen=True, slots=True)
class ZooKeeperPorts:
    """Of clusters with a ZooKeeper: their ensembles. By default nobody has a way to one."""

    registered_id: Callable[[ClusterView], str] = lambda view: ""
    """The cluster id the ensemble holds, "" for none yet. Raises `KafkaFault`."""
    fix_cluster_id: Callable[[ClusterView, str], None] = lambda view, cluster_id: None
    """Have the ensemble hold it; again is fine. Raises `KafkaFault`, also where it holds another."""
    registry: Callable[[ClusterView], RegistrySeen] = _no_registry
    """While a cluster migrates to KRaft: who leads by ZooKeeper's word. Raises `KafkaFault`."""
    forget_migration: Callable[[ClusterView], None] = lambda view: None
    """Deletes what a quorum has left in ZooKeeper; again is fine. Raises `KafkaFault`."""
    content_is_right: Callable[[ClusterView, EnsembleContent], bool] = lambda view, wanted: False
    """Whether the ensemble keeps what it is to between plaintext and TLS. Raises `KafkaFault`."""
    put_content: Callable[[ClusterView, EnsembleContent], None] = lambda view, wanted: None
    """Have it do so; again is fine. Raises `KafkaFault`."""
    restart_lock: RestartLock = NO_RESTART_LOCK


@dataclass(frozen=True, slots=True)
class CloudTraits:
    """What a cloud says of itself, by its name. Each raises `ProviderError` where that cannot be told."""

    handover: Callable[[str], Handover] = lambda cloud: Handover.REBIND
    """What it can do with a node's address."""
    unlisted_s: Callable[[str], float] = lambda cloud: 0.0
    """How long what a run has made there may be missing in listings."""
    holds_mounted: Callable[[str], bool] = lambda cloud: False
    """Whether a mounted disk stays with its running VM (`HoldsMounted`)."""


@dataclass(frozen=True, slots=True)
class Ports:
    """Everything outside the pure core."""

    store: EventStore
    jobs: JobStore
    plans: PlanStore
    latest: LatestStore
    inventory: Inventory
    runner: Runner
    kafka: Callable[[ClusterView], KafkaGateway]
    boot_data: Callable[[ClusterUid, str, int, str], str]
    """(cluster uid, node, generation, intent id) -> boot data, byte-identical each time."""
    installation_id: str
    clock: Clock
    epoch: Callable[[], Epoch]
    """The epoch this server may act under. Raises LostLeadership when it holds the lease no more."""
    console: ReadsConsole = no_console
    networks: Callable[[ClusterView], tuple[NetworkAwaited, ...]] = lambda view: ()
    """What networks the cluster's VMs still wait for; asks nobody."""
    packet_filter: Callable[[ClusterView, InstanceView], str] = lambda view, instance: ""
    """The rules of a VM that filters packets itself as of now, "" of any other; asks nobody."""
    drift: Callable[[ClusterView], Noted] = lambda view: NOTHING_NOTED
    """The last audits of a cluster, by place; asks nobody."""
    zookeeper: ZooKeeperPorts = ZooKeeperPorts()
    clouds: CloudTraits = CloudTraits()
    passwords: UserPasswords = NO_PASSWORDS
    own_authorities: Callable[[str, str, bool], OwnAuthoritySeen] = lambda name, signer, is_own: OwnAuthoritySeen(name)
    """The files of a CA of the user's own: its name in specs, what signs now (PEM), and whether that is the user's."""
    kedge_rights: KedgeRights | None = None
    """Kedge's own ACLs; None where nobody looks at them."""
