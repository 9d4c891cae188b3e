"""A cluster of Kafka 3.9 in ZooKeeper mode and the controllers it is to migrate to, driven by documents alone.

One ZooKeeper server, three brokers, three controllers, each on a VM of its own. What a step asks for is put into
documents; what it is decided on is what agents, ZooKeeper and Kafka say.
"""

import time
from collections.abc import Iterator
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from agent.wire import EnsembleMember, LogDir, ServiceDocument, ServiceReport, Voter
from controlplane.zookeeper.authority import super_digest, super_password
from controlplane.zookeeper.migration import (
    STATES,
    Blocked,
    Done,
    ForgetMigration,
    Goal,
    Knows,
    MigrationSeen,
    Start,
    Step,
    Stop,
    next_step,
)
from controlplane.zookeeper.registry import KazooRegistry
from events.ids import kafka_uuid
from events.spec.releases import MIGRATES
from tests.agent.agent_vm import AgentVm, eventually
from tests.agent.control_server import ControlServer
from tests.agent.small_cluster import document

NETWORK = "127.0.44"
CLUSTER_ID = "kedgeMigratesToKRaftA1"
SERVER = EnsembleMember(id=1, address=f"{NETWORK}.101")
BROKERS = {1000 + i: f"{NETWORK}.1{i}" for i in range(3)}
CONTROLLERS = {103 + i: f"{NETWORK}.12{i}" for i in range(3)}
_QUICK = {"zookeeper.session.timeout.ms": "6000", "broker.session.timeout.ms": "6000"}
_STEP_S = 90.0


class MigratingCluster:
    """`steps` takes it to a goal. `close` ends every VM, brokers first."""

    def __init__(self, base: Path) -> None:
        self.control = ControlServer(f"{NETWORK}.1")
        self.base = base
        self.vms: dict[str, AgentVm] = {}
        self.knows = {**dict.fromkeys(BROKERS, Knows.ENSEMBLE), **dict.fromkeys(CONTROLLERS, Knows.STOPPED)}
        self.registry = KazooRegistry("migrating", lambda: [f"{SERVER.address}:{SERVER.port}"])
        self._starts = dict.fromkeys(self.knows, 0)
        self._disks = dict.fromkeys(CONTROLLERS, 1)
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
        self.control.serve(document("zookeeper-1", self._zookeeper()))
        self._boot("zookeeper-1", "data", SERVER.address)
        eventually(self._is_id_fixed, timeout_s=30)
        for broker in BROKERS:
            self._tell(broker)
            self._boot(_node(broker), "data", BROKERS[broker])
        eventually(lambda: not self.look().unsettled, timeout_s=60)

    def steps(self, goal: Goal) -> Iterator[Step]:
        """Every step that is taken, waits left out; the last one is Done or Blocked."""
        while True:
            step = self._next(goal)
            yield step
            if isinstance(step, Done | Blocked):
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
            node = _node(controller)
            self.vms[node].detach(self._volume(controller))
            self._disks[controller] += 1
            self.vms[node].attach(self._volume(controller), self.base / "disks" / self._volume(controller))

    def lose_zookeeper(self) -> None:
        self.vms.pop("zookeeper-1").cut_power()

    def make_topic(self, name: str) -> None:
        """Whoever leads the cluster makes it. The client asks again by itself, so that it is there already is fine."""
        self.admin.create_topics([NewTopic(name, 3, 3)])[name].exception(30)
        eventually(lambda: name in self.topics(), timeout_s=20)

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
            if isinstance(step, Start | Stop | ForgetMigration | Done | Blocked):
                return step
            time.sleep(0.3)
        raise AssertionError(f"after {_STEP_S:.0f} s: {step}, by {self.look()}")

    def _take(self, step: Step) -> None:
        if isinstance(step, ForgetMigration):
            self.registry.forget_migration()
        elif isinstance(step, Start | Stop):
            knows = step.knows if isinstance(step, Start) else Knows.STOPPED
            for service in step.ids:
                self.knows[service] = knows
                self._starts[service] += isinstance(step, Start)
                self._tell(service)
                if _node(service) not in self.vms:
                    self._boot(_node(service), "metadata", CONTROLLERS[service])
        if isinstance(step, Stop):
            eventually(lambda: all(self._known(s) is Knows.STOPPED for s in step.ids), timeout_s=_STEP_S)

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
        if report is None or (report.state, report.start_id) != ("running", self._start_id(service)):
            return False
        if service in BROKERS:
            return report.metrics.get("broker_state") == 3
        return report.metrics.get("quorum_leader") in CONTROLLERS and report.metrics.get("quorum_high_watermark", 0) > 0

    def _report(self, service: int) -> ServiceReport | None:
        vm = self.vms.get(_node(service))
        reports = self.control.reports[vm.instance] if vm else []
        return next(iter(reports[-1].services), None) if reports else None

    def _tell(self, service: int) -> None:
        told = self._broker(service) if service in BROKERS else self._controller(service)
        self.control.serve(document(_node(service), told))

    def _start_id(self, service: int) -> str:
        return f"s-{service}-{self._starts[service]}"

    def _broker(self, broker: int) -> ServiceDocument:
        knows = self.knows[broker]
        log_dir = LogDir(
            name="data", volume=f"{_node(broker)}.data.v1", directory_id=kafka_uuid("broker", str(broker)), fresh=True
        )
        return ServiceDocument(
            name="broker",
            state="stopped" if knows is Knows.STOPPED else "running",
            start_id=self._start_id(broker),
            kafka_version=MIGRATES,
            cluster_id=CLUSTER_ID,
            node_id=broker,
            address=BROKERS[broker],
            port=9092,
            rack=f"az-{broker}",
            log_dirs=(log_dir,),
            voters=self._voters() if knows.has_quorum else (),
            ensemble=() if knows is Knows.QUORUM else (SERVER,),
            protocol_version="" if knows is Knows.QUORUM else "3.9",
            settings=_QUICK,
        )

    def _controller(self, controller: int) -> ServiceDocument:
        knows = self.knows[controller]
        log_dir = LogDir(
            name="metadata", volume=self._volume(controller), directory_id=self._directory(controller), fresh=True
        )
        changed = {
            "name": "controller",
            "node_id": controller,
            "state": "stopped" if knows is Knows.STOPPED else "running",
            "start_id": self._start_id(controller),
            "address": CONTROLLERS[controller],
            "port": 9093,
            "log_dirs": (log_dir,),
            "voters": self._voters(),
            "ensemble": (SERVER,) if knows is Knows.BOTH else (),
            "protocol_version": "",
            "founder": True,
            "metadata_level": "3.9",
            "heap_mib": 128,
            "settings": {},
        }
        return self._broker(min(BROKERS)).model_copy(update=changed)

    def _zookeeper(self) -> ServiceDocument:
        log_dir = LogDir(name="data", volume="zookeeper-1.data.v1", directory_id=kafka_uuid("zookeeper"), fresh=True)
        changed = {
            "name": "zookeeper",
            "node_id": SERVER.id,
            "state": "running",
            "start_id": "z-1",
            "address": SERVER.address,
            "port": SERVER.port,
            "log_dirs": (log_dir,),
            "founder": True,
            "super_digest": super_digest(super_password(b"a key", "c1")),
            "heap_mib": 96,
            "settings": {},
        }
        return self._broker(min(BROKERS)).model_copy(update=changed)

    def _voters(self) -> tuple[Voter, ...]:
        return tuple(
            Voter(id=c, address=address, port=9093, directory_id=self._directory(c))
            for c, address in CONTROLLERS.items()
        )

    def _volume(self, controller: int) -> str:
        return f"{_node(controller)}.metadata.v{self._disks[controller]}"

    def _directory(self, controller: int) -> str:
        return kafka_uuid("controller", str(controller), str(self._disks[controller]))

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


def _node(service: int) -> str:
    return f"{'brokers' if service in BROKERS else 'controllers'}-{service}"
