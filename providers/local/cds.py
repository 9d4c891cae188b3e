"""Archives of loaded classes (CDS) for Kafka's two roles, made by running one of each for a moment.

`-XX:ArchiveClassesAtExit` writes what a JVM had loaded when it ends; so a throw-away cluster of one
controller and one broker is brought up and stopped. 12 to 14 s per version, 45 MB per file.
"""

import secrets
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from providers import process
from providers.errors import CloudUnavailable

JVM_FLAGS = ("-Xms64m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
"""Archives are bound to the collector's kind of heap: use them with the same flags."""

_ADDRESS = "127.0.41.1"
_PORTS = {"controller": 9093, "broker": 9092}
_BOOT_TIMEOUT_S = 90.0
_STOP_TIMEOUT_S = 60.0

_COMMON = """\
controller.quorum.bootstrap.servers={address}:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={directory}/data
log.cleaner.dedupe.buffer.size=16777216
num.network.threads=2
num.io.threads=2
offsets.topic.replication.factor=1
"""

_ROLE = {
    "controller": "process.roles=controller\nnode.id=1\nlisteners=CONTROLLER://{address}:9093\n",
    "broker": "process.roles=broker\nnode.id=2\nlisteners=PLAINTEXT://{address}:9092\n",
}

_LOGGING = """\
appender.c.type=Console
appender.c.name=STDOUT
appender.c.layout.type=PatternLayout
appender.c.layout.pattern=[%d] %p %m (%c)%n
rootLogger.level=info
rootLogger.appenderRef.c.ref=STDOUT
"""


def archive_classes(libs: Path, work: Path) -> tuple[Path, ...]:
    """`controller.jsa` and `broker.jsa` in `work`, which must be an empty folder. Raises `CloudUnavailable`.

    The class path is `<libs>/*`, exactly as VMs use it: another spelling would make Java ignore the archive.
    """
    java = shutil.which("java")
    if java is None:
        raise CloudUnavailable("Java 17 (java) is not installed")
    cluster = secrets.token_urlsafe(16).replace("-", "a")
    for role in _PORTS:
        _configure(role, work / role)
    _format(java, libs, work, cluster)
    with ExitStack() as running:  # ends the broker first: without its controller it would hang
        for role in _PORTS:
            running.enter_context(_running(java, libs, role, work))
    archives = tuple(work / f"{role}.jsa" for role in _PORTS)
    for archive in archives:
        if not archive.exists():
            raise CloudUnavailable(
                f"Java wrote no {archive.name}; see {archive.with_suffix('.log').read_text()[-2000:]}"
            )
    return archives


def _configure(role: str, directory: Path) -> None:
    (directory / "data").mkdir(parents=True)
    values = {"address": _ADDRESS, "directory": directory}
    (directory / "server.properties").write_text((_ROLE[role] + _COMMON).format(**values))
    (directory / "log4j2.properties").write_text(_LOGGING)


def _format(java: str, libs: Path, work: Path, cluster: str) -> None:
    """The controller by Kafka's own tool; a broker only needs its `meta.properties`."""
    tool = ("kafka.tools.StorageTool", "format", "--standalone", "-t", cluster)
    done = subprocess.run(
        (java, *JVM_FLAGS, "-cp", f"{libs}/*", *tool, "-c", str(work / "controller" / "server.properties")),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise CloudUnavailable(f"Kafka's storage tool failed: {done.stderr.strip()[-500:]}")
    identity = secrets.token_urlsafe(16).replace("-", "a")
    meta = f"version=1\ncluster.id={cluster}\nnode.id=2\ndirectory.id={identity}\n"
    (work / "broker" / "data" / "meta.properties").write_text(meta)


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
                "kafka.Kafka",
                str(work / role / "server.properties"),
            ),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        if not process.wait_until(lambda: _ready(role, log) or started.poll() is not None, timeout_s=_BOOT_TIMEOUT_S):
            raise CloudUnavailable(f"the throw-away {role} does not come up: {log.read_text()[-1000:]}")
        yield
    finally:
        started.send_signal(signal.SIGTERM)
        try:
            started.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            started.kill()
            started.wait()


def _ready(role: str, log: Path) -> bool:
    """Kafka logs this line once the node is up; for a broker that is after it was registered and unfenced."""
    if "Kafka Server started" not in log.read_text(errors="replace"):
        return False
    try:
        socket.create_connection((_ADDRESS, _PORTS[role]), timeout=1.0).close()
    except OSError:
        return False
    return True
