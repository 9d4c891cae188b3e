"""A small cluster between ZooKeeper and KRaft, for what is asked of the in-memory fake and of real processes alike.

One ZooKeeper server, brokers 1000 to 1002, controllers 103 to 105, Kafka 3.9.1; taken along by `next_step`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from agent.wire import ServiceDocument
from controlplane.kafka.dialer import DirectDialer
from controlplane.kafka.gateway import KafkaGateway
from controlplane.kafka.migrating_gateway import MigratingGateway
from controlplane.kafka.zookeeper.ensemble import KazooEnsemble
from controlplane.kafka.zookeeper.members import ZooKeeperMember
from controlplane.kafka.zookeeper.migration import (
    STATES,
    ForgetClaim,
    Goal,
    Knows,
    MigrationBlocked,
    MigrationDone,
    MigrationSeen,
    MigrationWaits,
    StartServices,
    Step,
    Stop,
    next_step,
)
from controlplane.kafka.zookeeper.quorum import EnsembleRecord
from controlplane.kafka.zookeeper.registry import RegistrySeen
from tests.agent.migrating_cluster import MigratingCluster
from tests.agent.migrating_documents import BROKERS, CONTROLLERS, PASSWORD, SERVER, MigratingDocuments
from tests.fakes.kafka import FakeKafka
from tests.waiting import until

_WAITS = 100


class MigratingWorld(Protocol):
    """A gateway, and a hand on what each service is told."""

    gateway: KafkaGateway

    def steps(self, goal: Goal) -> Iterator[Step]:
        """Each step before it is taken, waits left out; the last one is Done or Blocked."""
        ...

    def look(self) -> MigrationSeen: ...
    def registry(self) -> RegistrySeen: ...
    def make_topic(self, name: str) -> None: ...
    def stop_broker(self, broker: int) -> None: ...
    def start_broker(self, broker: int) -> None:
        """As it was told last."""
        ...

    def until(self, condition: Callable[[], object], what: str) -> None:
        """Let time pass until the condition holds."""
        ...


class FakeMigratingWorld:
    def __init__(self) -> None:
        self.documents = MigratingDocuments()
        self.kafka = FakeKafka(version="3.9.1")
        self.gateway: KafkaGateway = self.kafka
        self.registry = self.kafka.migration.registry
        self._running: dict[int, ServiceDocument] = {}
        self._made: set[int] = set()
        self._begin(self.documents.zookeeper())
        for broker in BROKERS:
            self._begin(self.documents.of(broker))

    def steps(self, goal: Goal) -> Iterator[Step]:
        waited = 0
        while True:
            step = next_step(self.look(), goal)
            if isinstance(step, MigrationWaits):
                waited += 1
                assert waited < _WAITS, step.reason
                self.kafka.advance(0.5)
                continue
            yield step
            if isinstance(step, MigrationDone | MigrationBlocked):
                return
            self._take(step)

    def look(self) -> MigrationSeen:
        migration, told = self.kafka.migration, self.documents.knows
        metrics = {n: migration.metrics(d) for n, d in self._running.items()}
        leader = next((n for n, m in metrics.items() if m.get("active_controllers") == 1), -1)
        said = metrics.get(leader, {})
        late = {p.name.topic: set(p.replicas) - set(p.isr) for p in self.kafka.partitions()}
        away = {b for b in BROKERS if told[b] is not Knows.STOPPED and not self.kafka.serves(b)}
        return MigrationSeen(
            brokers={b: told[b] for b in BROKERS},
            controllers={c: told[c] for c in CONTROLLERS},
            unsettled=frozenset(away).union(*late.values()),
            state=STATES.get(int(said["zk_migration_state"])) if said else None,
            zookeeper_brokers=int(said.get("zk_brokers", 0)),
            leader=leader,
            registry=self.registry(),
        )

    def make_topic(self, name: str) -> None:
        self.kafka.create_topic(name, partitions=3, rf=3)

    def stop_broker(self, broker: int) -> None:
        self._end(broker)

    def start_broker(self, broker: int) -> None:
        self._begin(self.documents.of(broker))

    def until(self, condition: Callable[[], object], what: str) -> None:
        for _ in range(_WAITS):
            if condition():
                return
            self.kafka.advance(0.5)
        raise TimeoutError(f"nothing came of {what}")

    def _take(self, step: Step) -> None:
        if isinstance(step, ForgetClaim):
            self.kafka.migration.forget()
        elif isinstance(step, StartServices | Stop):
            for service in step.ids:
                self.documents.tell(service, step.knows if isinstance(step, StartServices) else Knows.STOPPED)
                self._end(service)
                if isinstance(step, StartServices):
                    self._begin(self.documents.of(service))

    def _begin(self, service: ServiceDocument) -> None:
        """As the machines of the simulator do."""
        migration, node = self.kafka.migration, service.node_id
        serves, home = migration.starts(service), migration.home_of(service.name)
        self._running[node] = service
        directory = service.log_dirs[0].directory_id
        if service.name == "broker" and node not in self._made:
            self._made.add(node)
            self.kafka.add_broker(node, service.rack, version=service.kafka_version)
        elif service.name == "broker" and serves:
            self.kafka.start_broker(node)
        elif service.name != "broker" and home.directory_of(node) == directory:
            home.start_controller(node)
        elif service.name != "broker":
            home.add_controller(node, version=service.kafka_version, directory_id=directory)
        migration.progress()

    def _end(self, node: int) -> None:
        service = self._running.pop(node, None)
        if service is None:
            return
        self.kafka.migration.stops(service, graceful=True)
        if service.name == "broker":
            self.kafka.stop_broker(node)
        else:
            self.kafka.migration.home_of(service.name).stop_controller(node)
        self.kafka.migration.progress()


class RealMigratingWorld:
    def __init__(self, base: Path) -> None:
        self.cluster = MigratingCluster(base)
        self._dialer = DirectDialer()
        member = ZooKeeperMember(SERVER.id, SERVER.address)
        roll = EnsembleRecord((member,), {SERVER.id: "its-disk"}, {SERVER.id: "its-disk"})
        self.gateway: KafkaGateway = MigratingGateway(
            self._dialer,
            "migrating",
            self.cluster.bootstrap(),
            ensemble=KazooEnsemble("migrating", lambda: [member], password=PASSWORD),
            registry=self.cluster.registry,
            roll=lambda: roll,
            controllers=lambda: [f"{address}:9093" for address in CONTROLLERS.values()],
        )
        self.look, self.steps = self.cluster.look, self.cluster.steps
        self.registry, self.make_topic = self.cluster.registry.look, self.cluster.make_topic

    def stop_broker(self, broker: int) -> None:
        self._told = self.cluster.knows[broker]
        self.cluster.tell(broker, Knows.STOPPED)

    def start_broker(self, broker: int) -> None:
        self.cluster.tell(broker, self._told)

    def until(self, condition: Callable[[], object], what: str) -> None:
        until(condition, what, timeout_s=90)

    def close(self) -> None:
        self._dialer.close()
        self.cluster.close()


@contextmanager
def real_migrating_world(base: Path) -> Iterator[RealMigratingWorld]:
    real = RealMigratingWorld(base)
    try:
        real.cluster.found()
        yield real
    finally:
        real.close()
