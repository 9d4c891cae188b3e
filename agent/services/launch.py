"""The Java command lines of Kafka, ZooKeeper, MirrorMaker, the storage tool and the metrics agent inside the first."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agent.services.jvm_options import with_options
from agent.wire import ServiceDocument, ServiceName

JOLOKIA_PORT: Mapping[ServiceName, int] = {"broker": 8778, "controller": 8779, "zookeeper": 8780}

MIRROR_MAKER_DIR = "mirror-maker"
"""Beside `libs`, where those lack it: Maven's closure of a broker has no Connect, Apache's archive has it in `libs`."""

_ENV_PASSED = ("PATH", "JAVA_HOME", "LANG", "LC_ALL", "HOME", "TZ", "TMPDIR", "KEDGE_VM_DIR")
"""Nothing else of the agent's environment reaches Kafka. By KEDGE_VM_DIR the `local` cloud knows a VM's processes."""

_QUICK_COMPILER = "-XX:TieredStopAtLevel=1"
_SMALL_JVM = ("-XX:+UseSerialGC", _QUICK_COMPILER)
_COMMON = ("-Xshare:auto", "-Xlog:disable")
_SMALL_HEAP_MIB = 512


@dataclass(frozen=True, slots=True)
class KafkaInstallation:
    """Kafka's jars on the VM: `<version>/libs/*.jar`, optional class archives `<version>/cds/<role>.jsa`."""

    kafka_dir: Path
    java: str

    def libs(self, version: str) -> Path:
        return self.kafka_dir / version / "libs"

    def has(self, version: str) -> bool:
        return any(self.libs(version).glob("kafka_*.jar"))

    def has_zookeeper(self, version: str) -> bool:
        """Kafka's own jars bring ZooKeeper up to 3.9."""
        return any(self.libs(version).glob("zookeeper-[0-9]*.jar"))

    def mirror_maker(self, version: str) -> tuple[Path, ...]:
        """Folders of jars that together have MirrorMaker 2; none where it is not there."""
        libs, beside = self.libs(version), self.kafka_dir / version / MIRROR_MAKER_DIR
        if any(libs.glob("connect-mirror-[0-9]*.jar")):
            return (libs,)
        return (libs, beside) if self.has(version) and any(beside.glob("connect-mirror-[0-9]*.jar")) else ()

    def jolokia(self, version: str) -> Path | None:
        return next(iter(sorted(self.libs(version).glob("jolokia-agent-jvm-*javaagent.jar"))), None)

    def class_archive(self, version: str, role: ServiceName) -> Path | None:
        path = self.kafka_dir / version / "cds" / f"{role}.jsa"
        return path if path.is_file() else None

    def kafka_command(self, service: ServiceDocument, *, directory: Path, marks: tuple[str, ...]) -> tuple[str, ...]:
        """A broker or controller. `directory` holds server.properties, log4j2.properties and jolokia-access.xml."""
        return self._command(service, "kafka.Kafka", directory / "server.properties", directory, marks)

    def zookeeper_command(
        self, service: ServiceDocument, *, directory: Path, config: Path, marks: tuple[str, ...]
    ) -> tuple[str, ...]:
        """A ZooKeeper server on its `zoo.cfg`, which is on its volume. `directory` holds the other files."""
        authority = f"-Dzookeeper.DigestAuthenticationProvider.superDigest={service.super_digest}"
        marks = (*marks, authority) if service.super_digest else marks
        return self._command(service, "org.apache.zookeeper.server.quorum.QuorumPeerMain", config, directory, marks)

    def _command(
        self, service: ServiceDocument, main: str, config: Path, directory: Path, marks: tuple[str, ...]
    ) -> tuple[str, ...]:
        archive = self.class_archive(service.kafka_version, service.name)
        return (
            self.java,
            *_heap(service),
            "-XX:+ExitOnOutOfMemoryError",
            "-XX:-UsePerfData",
            *_shared(archive),
            *marks,
            *self._metrics(service, directory / "jolokia-access.xml"),
            f"-Dlog4j2.configurationFile=file:{directory / 'log4j2.properties'}",
            f"-Dkafka.logs.dir={directory}",
            *("-cp", f"{self.libs(service.kafka_version)}/*", main, str(config)),
        )

    def mirror_maker_command(
        self, version: str, *, heap_mib: int, properties: Path, marks: tuple[str, ...]
    ) -> tuple[str, ...]:
        """MirrorMaker 2 in its dedicated mode. Beside `properties` is its log4j2.properties."""
        collector = _SMALL_JVM if heap_mib <= _SMALL_HEAP_MIB else ("-XX:+UseG1GC",)
        folders = ":".join(f"{folder}/*" for folder in self.mirror_maker(version))
        return (
            self.java,
            f"-Xms{min(64, heap_mib)}m",
            f"-Xmx{heap_mib}m",
            *collector,
            *_COMMON,
            "-XX:+ExitOnOutOfMemoryError",
            "-XX:-UsePerfData",
            *marks,
            f"-Dlog4j2.configurationFile=file:{properties.parent / 'log4j2.properties'}",
            f"-Dkafka.logs.dir={properties.parent}",
            *("-cp", folders, "org.apache.kafka.connect.mirror.MirrorMaker", str(properties)),
        )

    def storage_tool_command(
        self, service: ServiceDocument, properties: Path, arguments: tuple[str, ...]
    ) -> tuple[str, ...]:
        """`kafka.tools.StorageTool` (its class name in 4.1 and 4.2) with `-c properties` put after the verb."""
        shared = _shared(self.class_archive(service.kafka_version, service.name))
        classpath = ("-cp", f"{self.libs(service.kafka_version)}/*", "kafka.tools.StorageTool")
        tool = (*classpath, arguments[0], "-c", str(properties), *arguments[1:])
        return (self.java, "-Xmx128m", *_SMALL_JVM, *_COMMON, *shared, *tool)

    def _metrics(self, service: ServiceDocument, policy: Path) -> tuple[str, ...]:
        """Jolokia, bound to the service's address. `nodelay`: without it an answer waits 40 ms for a delayed ACK."""
        jar = self.jolokia(service.kafka_version)
        if jar is None:
            return ()
        options = {
            "host": service.address,
            "port": JOLOKIA_PORT[service.name],
            "agentId": f"{service.name}-{service.node_id}",
            "discoveryEnabled": "false",
            "policyLocation": f"file:{policy}",
        }
        return (
            "-Dsun.net.httpserver.nodelay=true",
            f"-javaagent:{jar}=" + ",".join(f"{key}={value}" for key, value in options.items()),
        )


def service_environment() -> dict[str, str]:
    """The environment of a service's process."""
    return {name: os.environ[name] for name in _ENV_PASSED if name in os.environ}


def _shared(archive: Path | None) -> tuple[str, ...]:
    """Classes that need not be read and checked anew; Java goes without where the archive does not fit."""
    return (f"-XX:SharedArchiveFile={archive}",) if archive else ()


def _heap(service: ServiceDocument) -> tuple[str, ...]:
    """The heap, how Java goes about it, and what the spec says of that. Where the document has none of the machine, a
    small heap means a small one: one collector thread and the quick compiler halve the start time."""
    most = f"-Xmx{service.heap_mib}m"
    if service.jvm:
        return (f"-Xms{service.heap_mib}m", most, *with_options((*service.jvm, *_COMMON), service.jvm_options))
    by_heap: tuple[str, ...] = _SMALL_JVM if service.heap_mib <= _SMALL_HEAP_MIB else ("-XX:+UseG1GC",)
    if service.tls is not None:  # the quick compiler knows no AES of the processor's: TLS costs 8 to 24 times as much
        by_heap = tuple(option for option in by_heap if option != _QUICK_COMPILER)
    return (f"-Xms{min(64, service.heap_mib)}m", most, *with_options((*by_heap, *_COMMON), service.jvm_options))
