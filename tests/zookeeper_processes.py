"""Real ZooKeeper servers, and Kafka 3.9 brokers that use them, for tests: plain `java` on loopback, ended by pid.

Nothing of Kedge is used to run them. Servers live on `<network>.<100 + id>` (clients 2181, peers 2888, elections 3888),
brokers on `<network>.<slot>:9092`.
"""

import atexit
import base64
import contextlib
import hashlib
import os
import shutil
import socket
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.kafka_processes import JARS, LOG4J, SMALL, SMALL_JVM, die_with
from tests.waiting import until

SUPER_PASSWORD = "only-for-tests"
SUPER_DIGEST = "super:" + base64.b64encode(hashlib.sha1(f"super:{SUPER_PASSWORD}".encode()).digest()).decode()
_STATIC = """tickTime=500
initLimit=20
syncLimit=10
dataDir={data}
admin.enableServer=false
standaloneEnabled=false
reconfigEnabled=true
4lw.commands.whitelist=ruok,srvr,mntr,conf
quorumListenOnAllIPs=false
maxClientCnxns=0
dynamicConfigFile={config}.dynamic
"""


@dataclass(slots=True)
class JavaNode:
    """One process, running or not. A server of the ensemble (`role` zookeeper) or a broker."""

    id: int
    role: str
    host: str
    port: int
    version: str
    directory: Path
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
        return (self.directory / "out.log").read_text(errors="replace")


class ZooKeeperProcesses:
    """An ensemble and brokers. `close()` ends everything."""

    def __init__(self, root: Path, *, network: str = "127.0.50", version: str = "3.9.1", min_isr: int = 1) -> None:
        self.servers: dict[int, JavaNode] = {}
        self.brokers: dict[int, JavaNode] = {}
        self._root, self._network, self._version, self._min_isr = root, network, version, min_isr
        root.mkdir(parents=True, exist_ok=True)
        (root / "log4j2.properties").write_text(LOG4J)
        atexit.register(self.close)

    @property
    def connect(self) -> str:
        """`zookeeper.connect` of the servers added so far."""
        return ",".join(n.address for n in self.servers.values())

    @property
    def bootstrap(self) -> list[str]:
        return [n.address for n in self.brokers.values()]

    def found(self, ids: Iterable[int]) -> None:
        """The first ensemble: every server knows all of them, as participants."""
        for i in ids:
            self._new_server(i)
        lines = [self.line(i) for i in self.servers]
        for node in self.servers.values():
            self._write_server(node, lines)
            self._spawn(node)
        for node in self.servers.values():
            self.await_serving(node.id)

    def add_server(self, server: int, *, members: Iterable[int]) -> JavaNode:
        """A newcomer with an empty disk: it knows `members`, and itself as an observer."""
        node = self._new_server(server)
        self._write_server(node, [*(self.line(m) for m in members), self.line(server, "observer")])
        self._spawn(node)
        return node

    def line(self, server: int, role: str = "participant") -> str:
        host = self.servers[server].host
        return f"server.{server}={host}:2888:3888:{role};{host}:2181"

    def add_broker(self, broker: int, rack: str = "az-1", *, overrides: Mapping[str, str] | None = None) -> JavaNode:
        """A new broker with an empty disk; `start_broker` starts it."""
        host = f"{self._network}.{len(self.brokers) + 1}"
        directory = self._root / f"broker-{broker}"
        (directory / "data").mkdir(parents=True)
        node = JavaNode(broker, "broker", host, 9092, self._version, directory, rack, overrides=overrides or {})
        self.brokers[broker] = node
        return node

    def start_broker(self, broker: int, *, wait: bool = True) -> None:
        node = self.brokers[broker]
        values = {
            "broker.id": str(broker),
            "broker.id.generation.enable": "false",  # else an id from 1000 up is refused
            "broker.rack": node.rack,
            "zookeeper.connect": self.connect,
            "zookeeper.session.timeout.ms": "6000",
            "inter.broker.protocol.version": ".".join(self._version.split(".")[:2]),
            "listeners": f"PLAINTEXT://{node.address}",
            "advertised.listeners": f"PLAINTEXT://{node.address}",
            "log.dirs": str(node.directory / "data"),
            "min.insync.replicas": str(self._min_isr),
            "auto.create.topics.enable": "false",
            "auto.leader.rebalance.enable": "false",
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "3",
            **{k: v for k, v in SMALL.items() if not k.startswith(("controller.", "listener."))},
            **node.overrides,
        }
        (node.directory / "server.properties").write_text("".join(f"{k}={v}\n" for k, v in values.items()))
        self._spawn(node)
        if wait:
            self.await_listening(node)

    def start_server(self, server: int) -> None:
        """Once more, with the configuration ZooKeeper itself has written since."""
        self._spawn(self.servers[server])
        self.await_serving(server)

    def await_serving(self, server: int) -> None:
        node = self.servers[server]
        until(lambda: "Mode: " in self.ask(server, "srvr"), f"ZooKeeper {server} to serve ({node.address})")

    def await_listening(self, node: JavaNode) -> None:
        def listens() -> bool:
            if not node.is_running:
                raise RuntimeError(f"{node.role} {node.id} ended while starting:\n{node.log()[-3000:]}")
            with contextlib.suppress(OSError), socket.create_connection((node.host, node.port), 0.5):
                return True
            return False

        until(listens, f"{node.role} {node.id} to listen on {node.address}", timeout_s=40)

    def ask(self, server: int, word: str) -> str:
        """The answer to a four-letter word, empty when there is none."""
        node = self.servers[server]
        with contextlib.suppress(OSError), socket.create_connection((node.host, node.port), 1.0) as talk:
            talk.sendall(word.encode())
            return b"".join(iter(lambda: talk.recv(65536), b"")).decode()
        return ""

    def stop(self, node: JavaNode, *, timeout_s: float = 30.0) -> None:
        """SIGTERM and wait; SIGKILL when it does not end in time."""
        if node.process is None:
            return
        node.process.terminate()
        try:
            node.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            node.process.kill()
            node.process.wait(10)

    def kill(self, node: JavaNode) -> None:
        """A power cut."""
        if node.process is not None:
            node.process.kill()
            node.process.wait(10)

    def wipe(self, server: int) -> None:
        """The disk of a server that is down is lost with all that was on it."""
        shutil.rmtree(self.servers.pop(server).directory)

    def close(self) -> None:
        """End every process, as a power cut does. Safe to call twice."""
        running = [n.process for n in (*self.brokers.values(), *self.servers.values()) if n.process is not None]
        for process in running:
            process.kill()
        for process in running:
            process.wait(10)
        atexit.unregister(self.close)

    def _new_server(self, server: int) -> JavaNode:
        directory = self._root / f"zookeeper-{server}"
        (directory / "data").mkdir(parents=True)
        (directory / "data" / "myid").write_text(f"{server}\n")
        host = f"{self._network}.{100 + server}"
        node = JavaNode(server, "zookeeper", host, 2181, self._version, directory)
        self.servers[server] = node
        return node

    def _write_server(self, node: JavaNode, lines: Iterable[str]) -> None:
        config = node.directory / "zoo.cfg"
        config.write_text(_STATIC.format(data=node.directory / "data", config=config))
        (node.directory / "zoo.cfg.dynamic").write_text("\n".join(lines) + "\n")

    def _spawn(self, node: JavaNode) -> None:
        is_server = node.role == "zookeeper"
        main = "org.apache.zookeeper.server.quorum.QuorumPeerMain" if is_server else "kafka.Kafka"
        libs = JARS / node.version / "libs"
        if not libs.is_dir():
            raise RuntimeError(f"no Kafka {node.version} jars in {libs}: run `make setup` first")
        command = [
            "java",
            *SMALL_JVM,
            "-Xmx96m" if is_server else "-Xmx256m",
            f"-XX:SharedArchiveFile={JARS / node.version / 'cds' / f'{node.role}.jsa'}",
            "-Xlog:disable",
            "-Xlog:all=error:stderr",
            f"-Dlog4j2.configurationFile=file:{self._root / 'log4j2.properties'}",
            f"-Dkafka.logs.dir={node.directory}",
            *((f"-Dzookeeper.DigestAuthenticationProvider.superDigest={SUPER_DIGEST}",) if is_server else ()),
            *("-cp", f"{libs}/*", main),
            str(node.directory / ("zoo.cfg" if is_server else "server.properties")),
        ]
        with (node.directory / "out.log").open("ab") as log:
            node.process = subprocess.Popen(
                command,
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                preexec_fn=partial(die_with, os.getpid()),
            )
