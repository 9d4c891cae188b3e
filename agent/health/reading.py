"""Reads the vitals of one service: one bulk request to its metrics port, the process table, the log directories."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from agent.health.vitals import JvmVitals, MetadataVitals, Vitals, ZooKeeperVitals
from agent.metrics import Jolokia, number, value_of, whole
from agent.wire import LogDirReport

_THREADING = "java.lang:type=Threading"
_SYSTEM = "java.lang:type=OperatingSystem"

_REQUESTS: Mapping[str, Mapping[str, object]] = {
    "deadlocked": {"type": "exec", "mbean": _THREADING, "operation": "findDeadlockedThreads"},
    "threads": {"type": "read", "mbean": _THREADING, "attribute": "ThreadCount"},
    "descriptors": {"type": "read", "mbean": _SYSTEM, "attribute": "OpenFileDescriptorCount"},
    "descriptors_max": {"type": "read", "mbean": _SYSTEM, "attribute": "MaxFileDescriptorCount"},
    "pools": {"type": "read", "mbean": "java.lang:type=MemoryPool,name=*", "attribute": "CollectionUsage"},
    "collecting": {"type": "read", "mbean": "java.lang:type=GarbageCollector,name=*", "attribute": "CollectionTime"},
    "request_handler_idle": {
        "type": "read",
        "mbean": "kafka.server:type=KafkaRequestHandlerPool,name=RequestHandlerAvgIdlePercent",
        "attribute": "OneMinuteRate",
    },
    "network_processor_idle": {
        "type": "read",
        "mbean": "kafka.network:type=SocketServer,name=NetworkProcessorAvgIdlePercent",
        "attribute": "Value",
    },
    "cleaner_dead_threads": {
        "type": "read",
        "mbean": "kafka.log:type=LogCleaner,name=DeadThreadCount",
        "attribute": "Value",
    },
    "uncleanable": {
        "type": "read",
        "mbean": "kafka.log:type=LogCleanerManager,name=uncleanable-partitions-count,logDirectory=*",
        "attribute": "Value",
    },
    "offline_log_dirs": {
        "type": "read",
        "mbean": "kafka.log:type=LogManager,name=OfflineLogDirectoryCount",
        "attribute": "Value",
    },
    "copied": {
        "type": "read",
        "mbean": "kafka.server:type=BrokerTopicMetrics,name=ReassignmentBytesInPerSec",
        "attribute": "Count",
    },
    "metadata_lag_ms": {
        "type": "read",
        "mbean": "kafka.server:type=broker-metadata-metrics",
        "attribute": "last-applied-record-lag-ms",
    },
    "metadata_applied": {
        "type": "read",
        "mbean": "kafka.server:type=broker-metadata-metrics",
        "attribute": "last-applied-record-offset",
    },
    "partitions": {
        "type": "read",
        "mbean": "kafka.server:type=ReplicaManager,name=PartitionCount",
        "attribute": "Value",
    },
    "leaders": {"type": "read", "mbean": "kafka.server:type=ReplicaManager,name=LeaderCount", "attribute": "Value"},
    "replica_lag": {
        "type": "read",
        "mbean": "kafka.server:type=ReplicaFetcherManager,name=MaxLag,clientId=Replica",
        "attribute": "Value",
    },
    # KIP-831: there while a broker opens its logs, and gone afterwards.
    "logs_to_recover": {
        "type": "read",
        "mbean": "kafka.log:type=LogManager,name=remainingLogsToRecover,*",
        "attribute": "Value",
    },
    "segments_to_recover": {
        "type": "read",
        "mbean": "kafka.log:type=LogManager,name=remainingSegmentsToRecover,*",
        "attribute": "Value",
    },
    "metadata_load_errors": {
        "type": "read",
        "mbean": "kafka.server:type=broker-metadata-metrics",
        "attribute": "metadata-load-error-count",
    },
    "metadata_apply_errors": {
        "type": "read",
        "mbean": "kafka.server:type=broker-metadata-metrics",
        "attribute": "metadata-apply-error-count",
    },
    "active_controllers": {
        "type": "read",
        "mbean": "kafka.controller:type=KafkaController,name=ActiveControllerCount",
        "attribute": "Value",
    },
    "metadata_log_end": {"type": "read", "mbean": "kafka.server:type=raft-metrics", "attribute": "log-end-offset"},
    "app_info": {"type": "read", "mbean": "kafka.server:type=app-info,id=*", "attribute": "Version"},
    "zookeeper_session": {
        "type": "read",
        "mbean": "kafka.server:type=SessionExpireListener,name=SessionState",
        "attribute": "Value",
    },
}
"""By what is asked. A controller lacks the brokers' beans: their answers are errors of their own, and stay untold."""

_OLD = re.compile(r"old gen|tenured", re.IGNORECASE)


def read_vitals(jolokia: Jolokia, *, at_s: float, pid: int, log_dirs: Sequence[LogDirReport], proc: Path) -> Vitals:
    """One sample. `proc` is /proc. Raises `JolokiaSilent`."""
    answers = dict(zip(_REQUESTS, jolokia.ask(list(_REQUESTS.values())), strict=True))
    values = {name: value_of(item) for name, item in answers.items()}
    used, most = _old_generation(values["pools"])
    deadlocked = values["deadlocked"] if isinstance(values["deadlocked"], list) else []
    return Vitals(
        at_s=at_s,
        pid=pid,
        request_handler_idle=number(values["request_handler_idle"]),
        network_processor_idle=number(values["network_processor_idle"]),
        cleaner_dead_threads=whole(values["cleaner_dead_threads"]),
        uncleanable_partitions=_sum(values["uncleanable"], "Value"),
        offline_log_dirs=whole(values["offline_log_dirs"]),
        copied_total=whole(values["copied"]),
        identity=_identity(values["app_info"]),
        partitions=whole(values["partitions"]),
        leaders=whole(values["leaders"]),
        replica_lag=whole(values["replica_lag"]),
        logs_to_recover=_sum(values["logs_to_recover"], "Value"),
        segments_to_recover=_sum(values["segments_to_recover"], "Value"),
        free_bytes={d.name: d.free_bytes for d in log_dirs},
        total_bytes={d.name: d.total_bytes for d in log_dirs},
        jvm=JvmVitals(
            deadlocked=_thread_names(jolokia, deadlocked) if deadlocked else (),
            threads=whole(values["threads"]),
            threads_max=threads_max(proc, pid),
            descriptors=whole(values["descriptors"]),
            descriptors_max=whole(values["descriptors_max"]),
            old_used_bytes=used,
            old_max_bytes=most,
            collecting_ms_total=_sum(values["collecting"], "CollectionTime"),
        ),
        metadata=MetadataVitals(
            lag_ms=whole(values["metadata_lag_ms"]),
            is_active_controller=None if (active := whole(values["active_controllers"])) is None else active == 1,
            log_end=whole(values["metadata_log_end"]),
            applied=whole(values["metadata_applied"]),
            errors=_both(values["metadata_load_errors"], values["metadata_apply_errors"]),
        ),
        zookeeper=ZooKeeperVitals(
            session=values["zookeeper_session"] if isinstance(values["zookeeper_session"], str) else None
        ),
    )


def threads_max(proc: Path, pid: int) -> int | None:
    """How many threads the process may have: the lowest of its own limit, its control group's and the machine's."""
    found = [_limit_of_processes(proc / str(pid) / "limits"), _first_number(proc / "sys/kernel/threads-max")]
    group = _control_group(proc / str(pid) / "cgroup")
    if group is not None:
        found.append(_first_number(Path("/sys/fs/cgroup") / group / "pids.max"))
    known = [n for n in found if n is not None]
    return min(known) if known else None


def _thread_names(jolokia: Jolokia, ids: Sequence[int]) -> tuple[str, ...]:
    """Names of threads by id; the id itself where the JVM does not tell."""
    asked = [
        {"type": "exec", "mbean": _THREADING, "operation": "getThreadInfo(long)", "arguments": [thread]}
        for thread in ids
    ]
    infos = [value_of(item) for item in jolokia.ask(asked)]
    names = [i.get("threadName") if isinstance(i, dict) else None for i in infos]
    return tuple(sorted(str(name or f"thread {n}") for n, name in zip(ids, names, strict=True)))


def _old_generation(pools: object) -> tuple[int | None, int | None]:
    """(used after its last collection, most) of the pool that holds what lives long."""
    for bean, pool in pools.items() if isinstance(pools, dict) else ():
        usage = pool.get("CollectionUsage") if isinstance(pool, dict) else None
        if _OLD.search(bean) and isinstance(usage, dict):
            most = whole(usage.get("max"))
            return whole(usage.get("used")), most if most and most > 0 else None
    return None, None


def _sum(beans: object, attribute: str) -> int | None:
    """The attribute of all beans of a pattern, added up; None where none tells it."""
    figures = [b.get(attribute) for b in beans.values() if isinstance(b, dict)] if isinstance(beans, dict) else []
    known = [v for v in (whole(value) for value in figures) if v is not None]
    return sum(known) if known else None


def _identity(beans: object) -> tuple[str, str] | None:
    """From `kafka.server:id=1000,type=app-info` -> {Version: 4.1.1}; the bean is named after the node id."""
    for bean, attributes in beans.items() if isinstance(beans, dict) else ():
        node = re.search(r"[:,]id=(-?\d+)", bean)
        version = attributes.get("Version") if isinstance(attributes, dict) else None
        if node is not None and isinstance(version, str):
            return node[1], version
    return None


def _both(one: object, other: object) -> int | None:
    known = [n for n in (whole(one), whole(other)) if n is not None]
    return sum(known) if known else None


def _limit_of_processes(limits: Path) -> int | None:
    """The soft limit "Max processes" of /proc/<pid>/limits (proc(5)); it binds nobody who is root."""
    try:
        lines = limits.read_text().splitlines()
    except OSError:
        return None
    found = next((line.split() for line in lines if line.startswith("Max processes")), None)
    return int(found[2]) if found and found[2].isdecimal() else None


def _first_number(path: Path) -> int | None:
    try:
        text = path.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdecimal() else None


def _control_group(cgroup: Path) -> str | None:
    """The path of the process in the unified hierarchy (cgroups(7)): the line `0::/...`."""
    try:
        lines = cgroup.read_text().splitlines()
    except OSError:
        return None
    return next((line[3:].lstrip("/") for line in lines if line.startswith("0::")), None)
