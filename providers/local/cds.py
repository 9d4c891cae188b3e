"""Archives of loaded classes (CDS) for the two roles of a Kafka version, made by running them for a moment.

`-XX:ArchiveClassesAtExit` writes what a JVM had loaded when it ends; so a throw-away node that is broker and
controller, before Kafka 4 a broker and a ZooKeeper server, is brought up and stopped. The roles of a node share one
file of 50 MB.
"""

import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from agent.exit_reason import exit_reason
from providers import process
from providers.errors import CloudUnavailable

JVM_FLAGS = ("-Xms64m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
"""Archives are bound to the collector's kind of heap: use them with the same flags."""

_ADDRESS = "127.0.41.1"
_STARTED = re.compile(r"Kafka Server started|\[KafkaServer id=\d+\] started")
"""The second is what a broker in ZooKeeper mode says."""
_PORTS = {"node": 9092, "broker": 9092, "zookeeper": 2181}
_MAIN = {"zookeeper": "org.apache.zookeeper.server.quorum.QuorumPeerMain"}
_BOOT_TIMEOUT_S = 90.0
_STOP_TIMEOUT_S = 60.0

_COMMON = """\
log.dirs={directory}/data
log.cleaner.dedupe.buffer.size=16777216
num.network.threads=2
num.io.threads=2
offsets.topic.replication.factor=1
"""

_NODE = (
    """\
process.roles=broker,controller
node.id=1
listeners=CONTROLLER://{address}:9093,PLAINTEXT://{address}:9092
controller.quorum.bootstrap.servers={address}:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
"""
    + _COMMON
)

_BROKER_OF_ZOOKEEPER = "broker.id=2\nzookeeper.connect={address}:2181\nlisteners=PLAINTEXT://{address}:9092\n" + _COMMON
_ZOOKEEPER = """\
dataDir={directory}/data
tickTime=500
initLimit=20
syncLimit=20
admin.enableServer=false
standaloneEnabled=false
reconfigEnabled=true
4lw.commands.whitelist=srvr
server.1={address}:2888:3888:participant;{address}:2181
"""

_LOGGING = """\
appender.c.type=Console
appender.c.name=STDOUT
appender.c.layout.type=PatternLayout
appender.c.layout.pattern=[%d] %p %m (%c)%n
rootLogger.level=info
rootLogger.appenderRef.c.ref=STDOUT
"""


def roles_of(version: str) -> tuple[str, str]:
    """The roles Kedge runs of a Kafka version, in the order they start: before Kafka 4 that is ZooKeeper mode."""
    return ("zookeeper" if int(version.partition(".")[0]) < 4 else "controller", "broker")


def archive_classes(libs: Path, work: Path, roles: tuple[str, str]) -> tuple[Path, ...]:
    """`<role>.jsa` for both roles in `work`, which must be an empty folder. Raises `CloudUnavailable`.

    The class path is `<libs>/*`, exactly as VMs use it: another spelling would make Java ignore the archive.
    """
    java = shutil.which("java")
    if java is None:
        raise CloudUnavailable("Java 17 (java) is not installed")
    run = {"node": roles} if "controller" in roles else {role: (role,) for role in roles}
    for one in run:
        _configure(one, work / one)
    if "node" in run:
        _format(java, libs, work)
    with ExitStack() as running:  # ends the broker first: without its ZooKeeper it would hang
        for one in run:
            running.enter_context(_running(java, libs, one, work))
    return tuple(archive for one, archived in run.items() for archive in _named(work, one, archived))


def _named(work: Path, one: str, roles: tuple[str, ...]) -> list[Path]:
    """The archive of a process, under the name of each role it is of."""
    written = work / f"{one}.jsa"
    if not written.exists():
        words = exit_reason(written.with_suffix(".log").read_text()).words
        raise CloudUnavailable(f"Java wrote no archive of {' and '.join(roles)}: {words}")
    archives = [work / f"{role}.jsa" for role in roles]
    for archive in archives:
        if archive != written:
            os.link(written, archive)
    return archives


def _configure(one: str, directory: Path) -> None:
    (directory / "data").mkdir(parents=True)
    if one == "zookeeper":
        (directory / "data" / "myid").write_text("1\n")
    text = {"node": _NODE, "broker": _BROKER_OF_ZOOKEEPER, "zookeeper": _ZOOKEEPER}[one]
    (directory / "server.properties").write_text(text.format(address=_ADDRESS, directory=directory))
    (directory / "log4j2.properties").write_text(_LOGGING)


def _format(java: str, libs: Path, work: Path) -> None:
    cluster = secrets.token_urlsafe(16).replace("-", "a")
    tool = ("kafka.tools.StorageTool", "format", "--standalone", "-t", cluster)
    done = subprocess.run(
        (java, *JVM_FLAGS, "-cp", f"{libs}/*", *tool, "-c", str(work / "node" / "server.properties")),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise CloudUnavailable(f"Kafka's storage tool failed: {exit_reason(done.stderr).words}")


@contextmanager
def _running(java: str, libs: Path, role: str, work: Path) -> Iterator[None]:
    log = work / f"{role}.log"
    with log.open("wb") as output:
        started = subprocess.Popen(
            (
                java,
                *JVM_FLAGS,
                f"-XX:ArchiveClassesAtExit={work / f'{role}.jsa'}",
                f"-Dlog4j2.configurationFile=file:{work / role / 'log4j2.properties'}",
                "-cp",
                f"{libs}/*",
                _MAIN.get(role, "kafka.Kafka"),
                str(work / role / "server.properties"),
            ),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        if not process.wait_until(lambda: _ready(role, log) or started.poll() is not None, timeout_s=_BOOT_TIMEOUT_S):
            raise CloudUnavailable(f"the throw-away {role} does not come up: {exit_reason(log.read_text()).words}")
        yield
    finally:
        started.send_signal(signal.SIGTERM)
        try:
            started.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            started.kill()
            started.wait()


def _ready(role: str, log: Path) -> bool:
    """Kafka logs a line once the node is up; for a broker that is after it was registered and unfenced."""
    if role != "zookeeper" and not _STARTED.search(log.read_text(errors="replace")):
        return False
    try:
        with socket.create_connection((_ADDRESS, _PORTS[role]), timeout=1.0) as talk:
            if role != "zookeeper":
                return True
            talk.sendall(b"srvr")
            return b"Mode: " in b"".join(iter(lambda: talk.recv(4096), b""))
    except OSError:
        return False
