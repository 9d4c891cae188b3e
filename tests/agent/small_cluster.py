"""A controller and a broker, each on a VM of its own, driven by documents alone. The addresses are always the same."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from agent.wire import Document, FindingReport, LogDir, ServiceDocument, ServiceReport, Voter
from tests.agent.agent_vm import AgentVm
from tests.agent.control_server import ControlServer

CONTROLLER, BROKER = "127.0.40.101", "127.0.40.11"
CLUSTER_ID = "kedgeAgentTestClusterA"
CONTROLLER_DIR = "Y29udHJvbGxlci1kaXItMQ"
BROKER_DIRS = ("YnJva2VyLWRpci1vbmUtMQ", "YnJva2VyLWRpci10d28tMg")
ONE_BROKER = {
    "default.replication.factor": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    # A broker that comes back is let in when the session of its last life is over: 9 s by default.
    "broker.session.timeout.ms": "2000",
    "broker.heartbeat.interval.ms": "500",
}


class Cluster:
    """One controller and one broker, each on a VM of its own."""

    def __init__(
        self, base: Path, *, dirs: Sequence[str] = ("data",), settings: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """`dirs` are the broker's log directories, `settings` Kafka properties of its document."""
        self.dirs, self.settings = dirs, settings
        self.server = ControlServer()
        self.disks = base / "disks"
        self.base = base
        self.controller = self.vm("controllers-0")
        self.broker = self.vm("brokers-0")

    def vm(self, node: str, generation: int = 1) -> AgentVm:
        root = self.base / f"{node}.g{generation}"
        return AgentVm(root, server_url=self.server.url, node=node, generation=generation)

    def serve_controller(
        self, start_id: str, *, generation: int = 1, fresh: bool = True, state: str = "running"
    ) -> None:
        service = self.service("controller", start_id, state=state, fresh=fresh)
        self.server.serve(document("controllers-0", service, generation=generation))

    def serve_broker(self, start_id: str, *, state: str = "running", epoch: int = 1) -> None:
        self.server.serve(document("brokers-0", self.service("broker", start_id, state=state), epoch=epoch))

    def service(self, name: str, start_id: str, *, state: str, fresh: bool = True) -> ServiceDocument:
        is_broker = name == "broker"
        node = "brokers-0" if is_broker else "controllers-0"
        ids = dict(zip(self.dirs, BROKER_DIRS, strict=False)) if is_broker else {"metadata": CONTROLLER_DIR}
        log_dirs = tuple(
            LogDir(name=name, volume=f"{node}.{name}.v1", directory_id=directory, fresh=fresh)
            for name, directory in ids.items()
        )
        return ServiceDocument(
            name=name,
            state=state,
            start_id=start_id,
            kafka_version="4.1.1",
            cluster_id=CLUSTER_ID,
            node_id=1000 if is_broker else 100,
            address=BROKER if is_broker else CONTROLLER,
            port=9092 if is_broker else 9093,
            rack="a",
            log_dirs=log_dirs,
            voters=(Voter(id=100, address=CONTROLLER, port=9093, directory_id=CONTROLLER_DIR),),
            founder=not is_broker,
            metadata_level="4.1",
            settings={**ONE_BROKER, **self.settings} if is_broker else ONE_BROKER,
            heap_mib=256 if is_broker else 128,
        )

    def start(self) -> None:
        self.controller.attach("controllers-0.metadata.v1", self.disks / "metadata")
        for name in self.dirs:
            self.broker.attach(f"brokers-0.{name}.v1", self.disks / name)
        self.controller.bind(CONTROLLER)
        self.broker.bind(BROKER)
        self.serve_controller("c-1")
        self.serve_broker("b-1")
        self.controller.boot()
        self.broker.boot()

    def broker_running(self, start_id: str, after: int = 0) -> ServiceReport:
        return self.server.wait_for_service(
            self.broker.instance, "broker", lambda s: s.state == "running" and s.start_id == start_id, after=after
        )

    def finding(self, name: str, *, timeout_s: float = 60.0) -> FindingReport:
        """The finding, once the broker's agent tells it from now on."""
        vm = self.broker.instance
        said = self.server.wait_for_service(
            vm,
            "broker",
            lambda s: any(f.name == name for f in s.findings),
            after=self.server.count(vm),
            timeout_s=timeout_s,
        )
        return next(f for f in said.findings if f.name == name)

    def without_finding(self, name: str, *, timeout_s: float = 60.0) -> None:
        """Until the broker's agent tells no such finding."""
        vm = self.broker.instance
        self.server.wait_for_service(
            vm,
            "broker",
            lambda s: s.state == "running" and all(f.name != name for f in s.findings),
            after=self.server.count(vm),
            timeout_s=timeout_s,
        )

    def close(self) -> None:
        self.broker.cut_power()
        self.controller.cut_power()
        self.server.close()


@contextmanager
def serving(cluster: Cluster) -> Iterator[Cluster]:
    """Its broker runs inside, nothing of it afterwards."""
    try:
        cluster.start()
        cluster.broker_running("b-1")
        yield cluster
    finally:
        cluster.close()


def document(node: str, *services: ServiceDocument, generation: int = 1, epoch: int = 1) -> Document:
    return Document(epoch=epoch, cluster_uid="c1", node=node, generation=generation, services=services)
