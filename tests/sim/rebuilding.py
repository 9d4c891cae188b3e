"""The simulated world loses its event store: what is left for a rebuild to read, and a new store in its place."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from agent.wire import Document
from controlplane.converger.tick.cluster_tick import new_events
from controlplane.server.rebuild.clusters import RebuiltCluster, rebuild_cluster
from controlplane.server.rebuild.evidence import DeclaredSpec, FoundCluster, FoundVm
from controlplane.storage.streams import cluster_stream
from events.envelope import Origin
from events.ids import Epoch, kafka_uuid
from events.spec.model import KafkaClusterDocument
from planner.observed import KafkaSnapshot
from providers.base import InstanceState, Place
from tests.fakes.event_store import MemoryEventStore
from tests.fakes.jobs import MemoryJobStore
from tests.fakes.latest_values import MemoryLatestStore
from tests.fakes.plans import MemoryPlanStore
from tests.sim.failpoints import CrashingStore
from tests.sim.vms import Vm, listed
from tests.sim.world import UID, World

PLACE = Place("local", "local-1")
LEAP = 1000


@dataclass(frozen=True)
class Memory:
    """What of the lost world is asked for in the end: nothing of it is told to the rebuild."""

    created: tuple[str, ...]
    broker_ids: frozenset[int]
    highest_generation: dict[str, int]


class LosableWorld(World):
    """A world whose agents keep the last document they took, as the real ones do on their VMs' disks."""

    def __init__(self, **given: Any) -> None:
        self.kept: dict[str, Document] = {}
        super().__init__(**given)
        self.kafka.cluster_id = kafka_uuid("kafka", UID)

    def _document(self, uid: str, key: str) -> Any:
        told = super()._document(uid, key)
        if told is not None:
            self.kept[key] = told
        return told or self.kept.get(key)

    def memory(self) -> Memory:
        highest: dict[str, int] = {}
        for key in self.machines.created:
            node, _, generation = key.rpartition(".g")
            highest[node] = max(highest.get(node, 0), int(generation))
        return Memory(tuple(self.machines.created), frozenset(self.machines.broker_ids), highest)

    def found(
        self, *, without_documents: Collection[str] = (), forgets: bool = False, by_names: bool = False
    ) -> FoundCluster:
        """What the cloud, the disks and Kafka tell now. `forgets`: a cloud that knows nothing of the terminated.
        `by_names`: Kafka's brokers say names of hosts, which no VM has as its address."""
        vms = tuple(self._found(vm, key not in without_documents) for key, vm in sorted(self.machines.vms.items()))
        return FoundCluster(
            UID,
            "orders",
            (PLACE,),
            vms,
            volumes=dict(self.machines.volumes),
            node_addresses=dict(self.machines.addresses),
            spent=None if forgets else self.memory().highest_generation,
            kafka=self.kafka.snapshot() if by_names else self._with_addresses(self.kafka.snapshot()),
        )

    def _with_addresses(self, seen: KafkaSnapshot) -> KafkaSnapshot:
        """Brokers where they registered: at the address of the VM that ran each last."""
        told = {key: document.services[0] for key, document in self.kept.items() if document.services}
        vms = sorted(self.machines.vms.values(), key=lambda vm: vm.process is not None)
        hosts = {
            service.node_id: vm.address for vm in vms if (service := told.get(vm.key)) and service.name == "broker"
        }
        return replace(seen, brokers={i: replace(b, host=hosts.get(i, b.host)) for i, b in seen.brokers.items()})

    def lose_store(self, spec: KafkaClusterDocument, **found: Any) -> RebuiltCluster:
        """Everything recorded is gone, the server with it; a rebuild from what is left is written into a new store."""
        evidence = self.found(**found)
        rebuilt = rebuild_cluster(evidence, DeclaredSpec(spec, "orders.yaml"), now=self.clock())
        self.store = CrashingStore(self.points, self.clock)
        self.jobs, self.plans = MemoryJobStore(clock=self.clock), MemoryPlanStore()
        self.latest = MemoryLatestStore()
        self.machines._latest = self.latest
        self._told = 0
        self.epoch = Epoch(self.epoch + LEAP)
        events = new_events(cluster_stream(UID), 0, rebuilt.facts)
        MemoryEventStore.append(self.store, cluster_stream(UID), events, expected_version=0, origin=Origin("rebuild"))
        self.start_server()
        return rebuilt

    def _found(self, vm: Vm, readable: bool) -> FoundVm:
        machines, planned = self.machines, self._planned[vm.key]
        there, address = listed(vm, self.seconds), machines.addresses.get(vm.node)
        seen = replace(
            there,
            state=there.state if vm.alive else InstanceState.GONE,
            volumes=tuple(v.key for v in machines.volumes.values() if v.attached_to == vm.key),
            addresses=(address,) if vm.bound and address else (),
            cluster_name="orders",
            shape=planned[0],
            image=planned[1],
        )
        return FoundVm(seen, self.kept.get(vm.key) if readable else None)

    @property
    def _planned(self) -> dict[str, tuple[str, str]]:
        """Shape and image of every VM: the cloud knows them."""
        return {k: (i.planned.shape, i.planned.kafka_version) for k, i in self.view().instances.items()}
