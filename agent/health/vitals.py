"""One look at a running service, as plain numbers. None is "not told": it is never taken for a good value."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class JvmVitals:
    """Of the Java process, whatever it serves."""

    deadlocked: tuple[str, ...] = ()
    """Names of the threads that wait for each other, sorted."""
    threads: int | None = None
    threads_max: int | None = None
    descriptors: int | None = None
    descriptors_max: int | None = None
    old_used_bytes: int | None = None
    """In the old generation right after its last collection: what could not be freed."""
    old_max_bytes: int | None = None
    collecting_ms_total: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataVitals:
    """Of the cluster's metadata, as a broker applies it or a controller writes it."""

    lag_ms: int | None = None
    errors: int | None = None
    applied: int | None = None
    """Offset of the last metadata record the broker has applied."""
    log_end: int | None = None
    """Of the quorum's log, as this member has it."""
    is_active_controller: bool | None = None
    no_op_every_ms: int | None = None
    """How often an active controller without work writes a record that says nothing; 0 never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeperVitals:
    """Of a ZooKeeper server; the session is that of a broker in ZooKeeper mode."""

    session: str | None = None
    """CONNECTED, or another state of ZooKeeper's client."""
    outstanding_requests: int | None = None
    """That it has taken and not answered."""
    updates_total: int | None = None
    update_ms_total: float | None = None
    """How long those updates took together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vitals:
    """A sample. `at_s` is monotonic. Bytes and counts are of that moment, `*_total` since the process began."""

    at_s: float
    pid: int
    jvm: JvmVitals = JvmVitals()
    metadata: MetadataVitals = MetadataVitals()
    zookeeper: ZooKeeperVitals = ZooKeeperVitals()
    request_handler_idle: float | None = None
    """0 to 1, over the last minute."""
    network_processor_idle: float | None = None
    cleaner_dead_threads: int | None = None
    uncleanable_partitions: int | None = None
    offline_log_dirs: int | None = None
    copied_total: int | None = None
    """Bytes that moves brought: of partitions of which this broker is to be a new replica."""
    partitions: int | None = None
    leaders: int | None = None
    replica_lag: int | None = None
    """Records the replica that is furthest behind has still to fetch."""
    logs_to_recover: int | None = None
    """Of a broker that starts: logs it has not opened yet."""
    segments_to_recover: int | None = None
    identity: tuple[str, str] | None = None
    """(node id, Kafka version) as the process itself has it."""
    wanted: tuple[str, str] | None = None
    """The same as the document has it."""
    free_bytes: Mapping[str, int] = field(default_factory=dict)
    """By log directory."""
    total_bytes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class VitalsFinding:
    """Something is wrong, with its numbers. `since_s` is the monotonic time it was first seen in this stretch."""

    name: str
    message: str
    since_s: float
    numbers: Mapping[str, float] = field(default_factory=dict)
