"""A cluster of Kafka 3.9 in ZooKeeper mode and the controllers it is to migrate to, driven by documents alone.

One ZooKeeper server, three brokers, three controllers, each on a VM of its own. What a step asks for is put into
documents; what it is decided on is what agents, ZooKeeper and Kafka say.
"""

import time
from collections.abc import Iterator
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from agent.wire import ServiceReport
from controlplane.kafka.zookeeper.live_registry import KazooRegistry
from controlplane.kafka.zookeeper.migration import (
    STATES,
    ForgetClaim,
    Goal,
    Knows,
    MigrationBlocked,
    MigrationDone,
    MigrationSeen,
    StartServices,
    Step,
    Stop,
    next_step,
)
from tests.agent.agent_vm import AgentVm
from tests.agent.control_server import ControlServer
from tests.agent.migrating_documents import (
    BROKERS,
    CLUSTER_ID,
    CONTROLLERS,
    NETWORK,
    SERVER,
    MigratingDocuments,
    node_of,
)
from tests.agent.small_cluster import document
from tests.waiting import until

_STEP_S = 90.0


class MigratingCluster:
    """`steps` takes it to a goal. `close` ends every VM, brokers first."""

    def __init__(self, base: Path) -> None:
        self.control = ControlServer(f"{NETWORK}.1")
        self.base = base
        self.vms: dict[str, AgentVm] = {}
        self.documents = MigratingDocuments()
        self.knows = self.documents.knows
        self.registry = KazooRegistry("migrating", lambda: [f"{SERVER.address}:{SERVER.port}"])
        self._admin: AdminClient | None = None

    def bootstrap(self) -> list[str]:
        return [f"{address}:9092" for address in BROKERS.values()]

    @property
    def admin(self) -> AdminClient:
        """One for the life of the cluster: its futures end with it."""
        if self._admin is None:
            servers = ",".join(self.bootstrap())
            self._admin = AdminClient({"bootstrap.servers": servers, "log_level": 0, "socket.timeout.ms": 5000})
        return self._admin

    def found(self) -> None:
        """The cluster as it was: ZooKeeper with the cluster's id, then brokers."""
        self.control.serve(document("zookeeper-1", self.documents.zookeeper()))
        self._boot("zookeeper-1", "data", SERVER.address)
        until(self._is_id_fixed, timeout_s=30)
        for broker in BROKERS:
            self._tell(broker)
            self._boot(node_of(broker), "data", BROKERS[broker])
        until(lambda: not self.look().unsettled, timeout_s=60)

    def steps(self, goal: Goal) -> Iterator[Step]:
        """Every step that is taken, waits left out; the last one is Done or Blocked."""
        while True:
            step = self._next(goal)
            yield step
            if isinstance(step, MigrationDone | MigrationBlocked):
                return
            self._take(step)

    def look(self) -> MigrationSeen:
        leads = {c: r for c in CONTROLLERS if (r := self._report(c)) and r.metrics.get("active_controllers") == 1}
        leader = next(iter(leads), -1)
        told = leads[leader].metrics if leads else {}
        return MigrationSeen(
            brokers={b: self._known(b) for b in BROKERS},
            controllers={c: self._known(c) for c in CONTROLLERS},
            unsettled=self._unsettled(),
            state=STATES.get(int(told["zk_migration_state"])) if "zk_migration_state" in told else None,
            zookeeper_brokers=int(told.get("zk_brokers", 0)),
            leader=leader,
            registry=self.registry.look(),
        )

    def renew_controllers(self) -> None:
        """Empty disks, as controllers of a later migration need: what was on the old ones is of no use."""
        for controller in CONTROLLERS:
            vm, old = self.vms[node_of(controller)], self.documents.volume_of(controller)
            self.documents.renew_disk(controller)
            new = self.documents.volume_of(controller)
            vm.detach(old)
            vm.attach(new, self.base / "disks" / new)

    def lose_zookeeper(self) -> None:
        self.vms.pop("zookeeper-1").cut_power()

    def make_topic(self, name: str) -> None:
        """Whoever leads the cluster makes it. The client asks again by itself, so that it is there already is fine."""
        self.admin.create_topics([NewTopic(name, 3, 3)])[name].exception(30)
        until(lambda: name in self.topics(), timeout_s=20)

    def topics(self) -> set[str]:
        return set(self.admin.list_topics(timeout=5).topics)

    def close(self) -> None:
        for vm in reversed(self.vms.values()):
            vm.cut_power()
        self.control.close()

    def _next(self, goal: Goal) -> Step:
        deadline = time.monotonic() + _STEP_S
        while time.monotonic() < deadline:
            step = next_step(self.look(), goal)
            if isinstance(step, StartServices | Stop | ForgetClaim | MigrationDone | MigrationBlocked):
                return step
            time.sleep(0.3)
        raise AssertionError(f"after {_STEP_S:.0f} s: {step}, by {self.look()}")

    def _take(self, step: Step) -> None:
        if isinstance(step, ForgetClaim):
            self.registry.forget_migration()
        elif isinstance(step, StartServices | Stop):
            knows = step.knows if isinstance(step, StartServices) else Knows.STOPPED
            for service in step.ids:
                self.tell(service, knows)
                if node_of(service) not in self.vms:
                    self._boot(node_of(service), "metadata", CONTROLLERS[service])
        if isinstance(step, Stop):
            until(lambda: all(self._known(s) is Knows.STOPPED for s in step.ids), timeout_s=_STEP_S)

    def _known(self, service: int) -> Knows:
        """What it was started with; stopped only by its agent's proof."""
        knows, report = self.knows[service], self._report(service)
        is_stopped = report is None or report.state == "stopped"
        return knows if knows is not Knows.STOPPED or is_stopped else Knows.BOTH

    def _unsettled(self) -> frozenset[int]:
        late = {s for s in self.knows if self.knows[s] is not Knows.STOPPED and not self._serves(s)}
        try:
            topics = self.admin.list_topics(timeout=5).topics.values()
        except KafkaException:
            return frozenset(BROKERS)
        partitions = [p for t in topics for p in t.partitions.values()]
        return frozenset(late).union(*(set(p.replicas) - set(p.isrs) for p in partitions))

    def _serves(self, service: int) -> bool:
        report = self._report(service)
        if report is None or (report.state, report.start_id) != ("running", self.documents.start_id(service)):
            return False
        if service in BROKERS:
            return report.metrics.get("broker_state") == 3
        return report.metrics.get("quorum_leader") in CONTROLLERS and report.metrics.get("quorum_high_watermark", 0) > 0

    def _report(self, service: int) -> ServiceReport | None:
        vm = self.vms.get(node_of(service))
        reports = self.control.reports[vm.instance] if vm else []
        return next(iter(reports[-1].services), None) if reports else None

    def tell(self, service: int, knows: Knows) -> None:
        """Once more where it is told the same: another start."""
        self.documents.tell(service, knows)
        self._tell(service)

    def _tell(self, service: int) -> None:
        self.control.serve(document(node_of(service), self.documents.of(service)))

    def _is_id_fixed(self) -> bool:
        reports = self.control.reports[self.vms["zookeeper-1"].instance]
        if not (reports and reports[-1].services and reports[-1].services[0].metrics.get("serves")):
            return False
        self.registry.found(CLUSTER_ID)
        return True

    def _boot(self, node: str, name: str, address: str) -> None:
        vm = self.vms[node] = AgentVm(self.base / node, server_url=self.control.url, node=node)
        volume = f"{node}.{name}.v1"
        vm.attach(volume, self.base / "disks" / volume)
        vm.bind(address)
        vm.boot()
