"""Real KRaft controllers and brokers for tests: plain `java` processes on loopback addresses, ended by pid.

Nothing of Kedge is used to run them, so a test of Kedge's own agent or gateway is judged by parts it did not
start. Brokers live on `<network>.<slot>:9092`, controllers on `<network>.<100 + slot>:9093`; slots count from
1 in the order nodes are added, so ids may be anything.
"""

import atexit
import contextlib
import ctypes
import os
import shutil
import signal
import socket
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType

from events.ids import kafka_uuid
from tests.waiting import until

JARS = Path(__file__).resolve().parent.parent / ".cache" / "kafka"
SMALL_JVM = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Xshare:auto",
    "-XX:+ExitOnOutOfMemoryError",
    "-Xms48m",
)
LOG4J = """appender.c.type=Console
appender.c.name=STDOUT
appender.c.layout.type=PatternLayout
appender.c.layout.pattern=[%d] %p %m (%c)%n
rootLogger.level=info
rootLogger.appenderRef.c.ref=STDOUT
"""
SMALL = {  # what lets several nodes share two cores; the default dedupe buffer alone is 128 MiB
    "num.network.threads": "2",
    "num.io.threads": "2",
    "num.replica.fetchers": "1",
    "replica.fetch.backoff.ms": "200",  # as the agent renders it
    "background.threads": "2",
    "num.recovery.threads.per.data.dir": "1",
    "log.cleaner.dedupe.buffer.size": "16777216",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "controller.listener.names": "CONTROLLER",
}

QUICK = {"broker.heartbeat.interval.ms": "500"}
"""A broker that starts or stops asks whether it may with its next heartbeat: 2 s by default, each time."""

SOON_FENCED = {"broker.session.timeout.ms": "4000"}
"""A dead broker is fenced after 9 s by default, and one that comes back is let in when its last life's 9 s are over."""


@dataclass(slots=True)
class Node:
    """One Kafka process, running or not. `directory_id` belongs to its disk."""

    id: int
    role: str
    host: str
    port: int
    version: str
    directory: Path
    directory_id: str
    rack: str = ""
    process: subprocess.Popen[bytes] | None = None
    overrides: Mapping[str, str] = field(default_factory=dict)

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def log(self) -> str:
        return (self.directory / "kafka.log").read_text(errors="replace")


class KafkaProcesses:
    """A small cluster. `close()` ends everything."""

    def __init__(
        self,
        root: Path,
        *,
        controllers: Sequence[int] = (100,),
        version: str = "4.1.1",
        network: str = "127.0.30",
        min_isr: int = 2,
        replication: int = 3,
        properties: Mapping[str, str] | None = None,
        pace: Mapping[str, str] = QUICK,
        static: bool = False,
        cluster_id: str = "",
        disks: int = 1,
    ) -> None:
        """Format `controllers` (node ids) under `root`; nothing runs before `start()`. `static`: a quorum as before
        KIP-853, of `controller.quorum.voters`, at kraft.version 0. `cluster_id`: what `-t` of the storage tool gets;
        one of the tool's own form where it is empty. `disks`: log directories of each broker; those
        after the first have an id of their own.

        `min_isr` and `replication` become the cluster's defaults and those of its internal topics; `properties` are set
        on every node, and so is `pace`, without which everything is at Kafka's own.
        """
        self.cluster_id = cluster_id or kafka_uuid("test-cluster", str(root), uuid.uuid4().hex)
        self.nodes: dict[int, Node] = {}
        self._root, self._network, self._version = root, network, version
        self._min_isr, self._replication, self._properties = min_isr, replication, {**pace, **(properties or {})}
        self.static, self._disks = static, disks
        root.mkdir(parents=True, exist_ok=True)
        (root / "log4j2.properties").write_text(LOG4J)
        first = [self._new_node(i, "controller", version=version) for i in controllers]
        self._format(first)
        atexit.register(self.close)

    @property
    def bootstrap(self) -> list[str]:
        """Addresses of all brokers that were added, running or not."""
        return [n.address for n in self.nodes.values() if n.role == "broker"]

    def start_controllers(self, *, timeout_s: float = 40.0) -> None:
        """Start every controller and wait until each listens."""
        self._start_all(self._of("controller"), timeout_s=timeout_s)

    def add_broker(
        self,
        broker: int,
        rack: str,
        *,
        version: str | None = None,
        overrides: Mapping[str, str] | None = None,
    ) -> Node:
        """A new broker with an empty disk; started with `start`."""
        node = self._new_node(broker, "broker", version=version or self._version, rack=rack)
        several = [str(node.directory / "data"), *(str(node.directory / f"data{n}") for n in range(2, self._disks + 1))]
        node.overrides = {**({"log.dirs": ",".join(several)} if self._disks > 1 else {}), **(overrides or {})}
        self._write_meta(node)
        for path in several[1:]:
            Path(path).mkdir()
            self._write_meta(node, Path(path), kafka_uuid(self.cluster_id, path))
        return node

    def found(self, racks: Mapping[int, str] = MappingProxyType({}), *, timeout_s: float = 40.0) -> None:
        """The controllers, then brokers that were added and new ones (id -> rack) at once; waits until each listens."""
        for broker, rack in racks.items():
            self.add_broker(broker, rack)
        self.start_controllers(timeout_s=timeout_s)
        self._start_all(self._of("broker"), timeout_s=timeout_s)

    def _start_all(self, nodes: Sequence[Node], *, timeout_s: float) -> None:
        for node in nodes:
            self.start(node.id, wait=False)
        for node in nodes:
            self.await_listening(node.id, timeout_s=timeout_s)

    def add_controller(self, controller: int, *, version: str | None = None) -> Node:
        """A new controller with an empty disk: it starts as an observer, `add_voter` makes it a voter."""
        node = self._new_node(controller, "controller", version=version or self._version)
        self._write_meta(node)
        return node

    def start(self, node_id: int, *, version: str | None = None, wait: bool = True, timeout_s: float = 40.0) -> Node:
        """Start a node on its own disk, with other jars if `version` is given; wait until it listens."""
        node = self.nodes[node_id]
        node.version = version or node.version
        self._write_properties(node)
        log = (node.directory / "kafka.log").open("ab")
        with log:
            node.process = subprocess.Popen(
                self._java(node, "kafka.Kafka", str(node.directory / "server.properties")),
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                preexec_fn=partial(die_with, os.getpid()),
            )
        if wait:
            self.await_listening(node.id, timeout_s=timeout_s)
        return node

    def await_listening(self, node_id: int, *, timeout_s: float = 40.0) -> None:
        """Wait until a started node accepts connections; raises with the end of its log when it has ended."""
        node = self.nodes[node_id]

        def listens() -> bool:
            if not node.is_running:
                raise RuntimeError(f"{node.role} {node.id} ended while starting:\n{node.log()[-2000:]}")
            with contextlib.suppress(OSError), socket.create_connection((node.host, node.port), 0.5):
                return True
            return False

        until(listens, f"{node.role} {node.id} to listen on {node.address}", timeout_s=timeout_s)

    def stop(self, node_id: int, *, timeout_s: float = 30.0) -> None:
        """SIGTERM and wait; SIGKILL when it does not end in time."""
        node = self.nodes[node_id]
        if node.process is None:
            return
        node.process.terminate()
        try:
            node.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            node.process.kill()
            node.process.wait(10)

    def kill(self, node_id: int) -> None:
        """A power cut."""
        process = self.nodes[node_id].process
        if process is not None:
            process.kill()
            process.wait(10)

    def close(self) -> None:
        """End every process, as a power cut does: in order, brokers would hand over for seconds what nobody wants any
        more. Safe to call twice."""
        running = [n.process for n in self.nodes.values() if n.process is not None]
        for process in running:
            process.kill()
        for process in running:
            process.wait(10)
        atexit.unregister(self.close)

    def _of(self, role: str) -> list[Node]:
        return [n for n in self.nodes.values() if n.role == role]

    def _new_node(self, node_id: int, role: str, *, version: str, rack: str = "") -> Node:
        slot = len(self._of(role)) + 1
        host = f"{self._network}.{slot + (100 if role == 'controller' else 0)}"
        directory = self._root / f"{role}-{node_id}"
        (directory / "data").mkdir(parents=True)
        directory_id = kafka_uuid(self.cluster_id, str(node_id), uuid.uuid4().hex)
        port = 9093 if role == "controller" else 9092
        node = Node(node_id, role, host, port, version, directory, directory_id, rack)
        self.nodes[node_id] = node
        return node

    def _format(self, controllers: Sequence[Node]) -> None:
        """One tool run: the first controller is formatted, the others get a copy with their own identity."""
        first, *others = controllers
        self._write_properties(first)
        voters = ",".join(f"{n.id}@{n.address}:{n.directory_id}" for n in controllers)
        founding = [] if self.static else ["-I", voters]
        argv = self._java(first, "kafka.tools.StorageTool", "format", "-t", self.cluster_id, *founding)
        release = ".".join(self._version.split(".")[:2])
        argv += ["--release-version", release, "-c", str(first.directory / "server.properties")]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"formatting controller {first.id} failed: {done.stdout}{done.stderr}")
        if self.static:
            self._write_meta(first)  # the tool made up a directory id of its own
        for node in others:
            shutil.copytree(first.directory / "data", node.directory / "data", dirs_exist_ok=True)
            self._write_meta(node)

    def _write_meta(self, node: Node, directory: Path | None = None, directory_id: str = "") -> None:
        own = directory_id or node.directory_id
        text = f"version=1\ncluster.id={self.cluster_id}\nnode.id={node.id}\ndirectory.id={own}\n"
        ((directory or node.directory / "data") / "meta.properties").write_text(text)

    def _write_properties(self, node: Node) -> None:
        listener = "CONTROLLER" if node.role == "controller" else "PLAINTEXT"
        internal_rf = str(self._replication)
        values = {
            "process.roles": node.role,
            "node.id": str(node.id),
            "listeners": f"{listener}://{node.address}",
            "advertised.listeners": f"{listener}://{node.address}",
            "controller.quorum.bootstrap.servers": ",".join(n.address for n in self._of("controller")),
            "log.dirs": str(node.directory / "data"),
            # on controllers too: a value on brokers only leaves topics without their own value at min ISR 1
            "min.insync.replicas": str(self._min_isr),
            "default.replication.factor": internal_rf,
            **SMALL,
        }
        if node.role == "broker":
            values |= {
                "broker.rack": node.rack,
                "inter.broker.listener.name": "PLAINTEXT",
                "auto.create.topics.enable": "false",
                "auto.leader.rebalance.enable": "false",
                "group.initial.rebalance.delay.ms": "0",
                "log.segment.bytes": "67108864",
                "offsets.topic.replication.factor": internal_rf,
                "offsets.topic.num.partitions": "3",
                "transaction.state.log.replication.factor": internal_rf,
                "transaction.state.log.num.partitions": "3",
                "transaction.state.log.min.isr": str(self._min_isr),
            }
        if self.static:
            del values["controller.quorum.bootstrap.servers"]
            values["controller.quorum.voters"] = ",".join(f"{n.id}@{n.address}" for n in self._of("controller"))
        values |= {**self._properties, **node.overrides}
        text = "".join(f"{k}={v}\n" for k, v in values.items())
        (node.directory / "server.properties").write_text(text)

    def _java(self, node: Node, main: str, *args: str) -> list[str]:
        libs = JARS / node.version / "libs"
        if not libs.is_dir():
            raise RuntimeError(f"no Kafka {node.version} jars in {libs}: run `make setup` first")
        heap = "-Xmx128m" if node.role == "controller" else "-Xmx256m"
        logging = f"-Dlog4j2.configurationFile=file:{self._root / 'log4j2.properties'}"
        # classes archived by the image builder halve the start-up; without the file this flag does nothing
        archive = f"-XX:SharedArchiveFile={JARS / node.version / 'cds' / f'{node.role}.jsa'}"
        return [
            "java",
            *SMALL_JVM,
            heap,
            archive,
            "-Xlog:disable",
            "-Xlog:all=error:stderr",
            logging,
            "-cp",
            f"{libs}/*",
            main,
            *args,
        ]


def die_with(parent: int) -> None:
    """PR_SET_PDEATHSIG: no JVM outlives a killed test run. (Nor the thread that started it.)"""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
