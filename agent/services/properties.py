"""Renders `server.properties` and `log4j2.properties`. Pure text; the values were run (KRaft with Kafka 4.1 and 4.2,
ZooKeeper mode with 3.8 and 3.9).

Three layers, later wins: Kedge's defaults, the document's settings, and the keys Kedge owns, which nobody overrides.
"""

from collections.abc import Mapping
from pathlib import Path

from agent.host_port import HostPort
from agent.services.properties_text import section
from agent.services.tls_properties import tls_properties
from agent.services.tls_steps import at_step
from agent.wire import ServiceDocument

_SMALL_HEAP_MIB = 512

_DEFAULTS = {
    # In the controllers' properties too: since 4.1 the controller's own static value becomes the cluster default, and
    # a topic without a value of its own would get 1 if only brokers had it.
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "auto.create.topics.enable": "false",
    "auto.leader.rebalance.enable": "false",  # Kedge restores preferred leaders itself, at the end of each step
}
_BROKER_DEFAULTS = {
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    # A throttled fetcher pauses this long whenever its quota is spent: Kafka's own second makes copies come in bursts.
    "replica.fetch.backoff.ms": "200",
}
_SMALL_DEFAULTS = {
    "num.network.threads": "2",
    "num.io.threads": "2",
    "num.replica.fetchers": "1",
    "background.threads": "2",
    "num.recovery.threads.per.data.dir": "1",
    "log.cleaner.dedupe.buffer.size": "16777216",  # the default of 128 MiB does not fit a small heap
}
_SMALL_BROKER_DEFAULTS = {
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "group.initial.rebalance.delay.ms": "0",
    "log.segment.bytes": "67108864",
}
_OWNED_NEVER_RENDERED = {  # but where the mode wants one: then it is among the owned
    "broker.id",
    "broker.id.generation.enable",
    "controller.listener.names",
    "controller.quorum.auto.join.enable",  # a removed voter would add itself again
    "controller.quorum.bootstrap.servers",
    "controller.quorum.voters",
    "log.dir",
    "metadata.log.dir",  # the first of log.dirs; rendered where there are several
    "node.id",
    "process.roles",
    "zookeeper.connect",
    "zookeeper.metadata.migration.enable",
}


def server_properties(service: ServiceDocument, *, log_dirs: tuple[Path, ...], tls_dir: Path | None = None) -> str:
    """The whole file. `log_dirs` are absolute, in the order of the document; `tls_dir` has the certificates of a node
    that speaks TLS, which is not rendered without."""
    owned = _owned(service, log_dirs, tls_dir)
    defaults = _defaults(service)
    settings = {k: v for k, v in service.settings.items() if k not in owned and k not in _OWNED_NEVER_RENDERED}
    layers = (
        ("owned by Kedge", owned),
        ("defaults of Kedge", {k: v for k, v in defaults.items() if k not in settings and k not in owned}),
        ("settings of the spec", dict(sorted(settings.items()))),
    )
    return "\n".join(section(title, values) for title, values in layers if values)


def ignored_settings(service: ServiceDocument) -> tuple[str, ...]:
    """Keys of the document's settings that Kedge owns: they are not rendered, and reported."""
    owned = {*_owned(service, (), Path("/tls")), *_OWNED_NEVER_RENDERED}
    return tuple(sorted(owned & service.settings.keys()))


ROOT_LOGGER = "root"
LEVELS_EVERY_S = 15


def log4j2_properties(*, log_file: Path, cap_bytes: int, files: int, levels: Mapping[str, str]) -> str:
    """Kafka's own log: one file that is rolled at `cap_bytes`, `files` old ones kept. `levels` by logger, `root` for
    all others. log4j reads the file again when it has changed (`monitorInterval`, in seconds).

    Without log4j's shutdown hook, which runs beside Kafka's and takes the log away while Kafka still shuts down.
    """
    named = sorted((name, level) for name, level in levels.items() if name != ROOT_LOGGER)
    loggers = "".join(f"logger.{n}.name={name}\nlogger.{n}.level={level}\n" for n, (name, level) in enumerate(named))
    return f"""\
status=error
shutdownHook=disable
monitorInterval={LEVELS_EVERY_S}
appender.file.type=RollingFile
appender.file.name=FILE
appender.file.fileName={log_file}
appender.file.filePattern={log_file}.%i
appender.file.layout.type=PatternLayout
appender.file.layout.pattern=[%d] %p %m (%c)%n
appender.file.policies.type=Policies
appender.file.policies.size.type=SizeBasedTriggeringPolicy
appender.file.policies.size.size={cap_bytes}
appender.file.strategy.type=DefaultRolloverStrategy
appender.file.strategy.max={files}
rootLogger.level={levels.get(ROOT_LOGGER, "INFO")}
rootLogger.appenderRef.file.ref=FILE
{loggers}"""


def _owned(service: ServiceDocument, log_dirs: tuple[Path, ...], tls_dir: Path | None) -> dict[str, str]:
    if service.is_zookeeper_mode:
        return _with_tls(service, _owned_of_zookeeper(service, log_dirs), tls_dir)
    listener = "PLAINTEXT" if service.name == "broker" else "CONTROLLER"
    endpoint = f"{listener}://{HostPort(service.address, service.port)}"
    owned = {
        "process.roles": service.name,
        "node.id": str(service.node_id),
        "listeners": endpoint,
        "advertised.listeners": endpoint,
        **_quorum(service),
        "log.dirs": ",".join(str(path) for path in log_dirs),
    }
    if service.name == "broker":
        owned |= {"broker.rack": service.rack, "inter.broker.listener.name": "PLAINTEXT"}
    elif service.is_migrating:
        # The listener by which it sends brokers of ZooKeeper's what a controller of theirs would.
        owned |= {**_migration(service), "inter.broker.listener.name": "PLAINTEXT"}
    if len(log_dirs) > 1:
        owned["metadata.log.dir"] = str(log_dirs[0])  # Kafka's own default, said so that no spec moves it
    return _with_tls(service, owned, tls_dir)


def _with_tls(service: ServiceDocument, owned: Mapping[str, str], tls_dir: Path | None) -> dict[str, str]:
    if service.tls is None:
        return dict(owned)
    if tls_dir is None:
        raise ValueError(f"{service.name}: it speaks TLS, and nobody says where its certificates are")
    return {**owned, **at_step(service, service.tls, tls_properties(service, service.tls, tls_dir))}


def _owned_of_zookeeper(service: ServiceDocument, log_dirs: tuple[Path, ...]) -> dict[str, str]:
    """The protocol version is pinned: unset it is the binary's own, and the first start of a new one would be a door
    that only opens one way."""
    endpoint = f"PLAINTEXT://{HostPort(service.address, service.port)}"
    owned = {
        "broker.id": str(service.node_id),
        "broker.id.generation.enable": "false",  # else ids above reserved.broker.max.id (1000) are refused
        "zookeeper.connect": _ensemble(service),
        "inter.broker.protocol.version": service.protocol_version,
        "listeners": endpoint,
        "advertised.listeners": endpoint,
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "log.dirs": ",".join(str(path) for path in log_dirs),
        "broker.rack": service.rack,
    }
    return {**owned, **_quorum(service), **_migration(service)} if service.is_migrating else owned


def _quorum(service: ServiceDocument) -> dict[str, str]:
    return {
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "controller.quorum.bootstrap.servers": ",".join(str(HostPort(v.address, v.port)) for v in service.voters),
    }


def _migration(service: ServiceDocument) -> dict[str, str]:
    return {"zookeeper.metadata.migration.enable": "true", "zookeeper.connect": _ensemble(service)}


def _ensemble(service: ServiceDocument) -> str:
    return ",".join(str(HostPort(m.address, m.port)) for m in service.ensemble)


def _defaults(service: ServiceDocument) -> dict[str, str]:
    is_broker, is_small = service.name == "broker", service.heap_mib <= _SMALL_HEAP_MIB
    defaults = dict(_DEFAULTS)
    defaults |= _BROKER_DEFAULTS if is_broker else {}
    defaults |= _SMALL_DEFAULTS if is_small else {}
    defaults |= _SMALL_BROKER_DEFAULTS if is_broker and is_small else {}
    return defaults
