"""What was seen, as values: Kafka's metadata of one cluster at one time. Pure data; readers live further
out."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, wraps
from typing import Literal, TypeVar

from events.spec.topic_names import owner_of

Mode = Literal["kraft", "zookeeper"]
"""Where a cluster keeps its metadata: in its own controllers' log, or in ZooKeeper (Kafka up to 3.9)."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, order=True)
class TopicPartition:
    """A partition's name."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True)
class BrokerSeen:
    """A registered broker. A fenced one is registered but serves nobody."""

    id: int
    rack: str
    fenced: bool
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class PartitionSeen:
    """One partition. `leader` is -1 when it has none; `min_isr` is the effective value, never the requested
    one.

    `replicas` is what Kafka reports: while a reassignment runs it holds the target set followed by
    `removing`. `size_bytes` is the largest local log among its replicas, 0 when unknown.
    """

    name: TopicPartition
    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    min_isr: int
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    size_bytes: int = 0
    configured_min_isr: int = 0
    """`min.insync.replicas` as configured, 0 when not told. Brokers apply min(configured, assigned replicas),
    and a move assigns one more: with more configured than replicas, `min_isr` therefore rises for as long as
    the move runs."""
    arrived_bytes: tuple[int, ...] = ()
    """What each of `adding` has of the log, aligned with it; empty where a broker has not told."""
    leader_bytes: int = -1
    """The log on the leader itself, bytes; -1 where there is no leader or it has not told."""

    @property
    def is_moving(self) -> bool:
        return bool(self.adding or self.removing)

    @property
    def target(self) -> tuple[int, ...]:
        """The replica list once a running reassignment is over."""
        return tuple(r for r in self.replicas if r not in self.removing) if self.removing else self.replicas


@dataclass(frozen=True, slots=True)
class EndpointSeen:
    """Where the metadata log says that a controller is spoken to."""

    name: str
    """Of the listener, as in `CONTROLLER`."""
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class VoterSeen:
    """A member (voter or observer) of the controller quorum. `lag` is records behind the leader's log end.

    `silent_s` is seconds since it last fetched from the leader: a dead voter looks caught up for as long as
    nothing is written, silence tells.
    """

    id: int
    directory_id: str
    lag: int
    is_voter: bool
    silent_s: float = 0.0
    endpoints: frozenset[EndpointSeen] = frozenset()
    """Of a voter; empty where nobody told (KIP-853, Kafka 3.9 on)."""


@dataclass(frozen=True, slots=True)
class QuorumSeen:
    """The controller quorum as its leader describes it."""

    leader: int
    epoch: int
    members: tuple[VoterSeen, ...]


@dataclass(frozen=True, slots=True)
class FeatureSeen:
    """A feature's finalised level, and the range every registered node supports."""

    finalised: int
    min_supported: int
    max_supported: int
    limited_by: tuple[int, ...] = ()
    """Nodes that hold `max_supported` down while others support more."""


@dataclass(frozen=True, slots=True)
class LogDirSeen:
    """One log directory. `used_bytes` of logs are in it, `total`/`usable` are bytes of the volume it is on.

    `replicas`: which are in it; left empty where a broker has this directory alone, as all of its own are. `arriving`:
    those on their way in from another directory of the broker (KIP-113's future replicas), with the bytes that are
    there.
    """

    path: str
    used_bytes: int
    total_bytes: int
    usable_bytes: int
    replicas: frozenset[TopicPartition] = frozenset()
    arriving: Mapping[TopicPartition, int] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class LogDirsSeen:
    """Log directories of one live broker together. `replicas` counts partition replicas on it, `total`/`usable` are
    bytes. `dirs`: one by one, by path; empty where they are not known apart."""

    replicas: int
    used_bytes: int
    total_bytes: int
    usable_bytes: int
    dirs: tuple[LogDirSeen, ...] = ()

    def dir_of(self, name: TopicPartition) -> LogDirSeen | None:
        """The directory that holds the partition; None where that is not known, or none does."""
        return next((d for d in self.dirs if name in d.replicas), None)


@dataclass(frozen=True, slots=True)
class FailedDirsSeen:
    """A live broker of whose log directories some are offline: their paths, and what the others hold.

    `held`: the partitions in the others; None where that is not told, and nothing is known to be offline then.
    """

    paths: tuple[str, ...]
    replicas: int
    used_bytes: int
    held: frozenset[TopicPartition] | None = None


@dataclass(frozen=True, slots=True)
class ThrottlesSeen:
    """Replication throttles as configured: broker id (-1 = cluster default) -> bytes/s, and topics with
    throttle lists."""

    leader_rate: Mapping[int, int] = field(default_factory=dict)
    follower_rate: Mapping[int, int] = field(default_factory=dict)
    topics: frozenset[str] = frozenset()
    log_dirs_rate: Mapping[int, int] = field(default_factory=dict, compare=False)
    """Of moves between the log directories of a broker (-1 = cluster default): no part of the others, and neither set
    nor cleared with them."""

    @property
    def any(self) -> bool:
        return bool(self.leader_rate or self.follower_rate or self.topics)


@dataclass(frozen=True, slots=True)
class SettingSeen:
    """A setting as a broker runs with it, None where it has no value. `is_own`: set live on this broker alone."""

    value: str | None
    is_own: bool = False


@dataclass(frozen=True, slots=True)
class SettingsSeen:
    """Some settings of the brokers that answered, by broker id and name, and the cluster's live defaults by name."""

    brokers: Mapping[int, Mapping[str, SettingSeen]]
    defaults: Mapping[str, str]

    def of(self, brokers: Collection[int]) -> "SettingsSeen":
        """What is seen of these brokers alone."""
        return SettingsSeen({b: found for b, found in self.brokers.items() if b in brokers}, self.defaults)

    def without(self, own: Mapping[int, Collection[str]]) -> "SettingsSeen":
        """Without the settings that brokers, by id, have for themselves."""
        kept = {b: {n: s for n, s in found.items() if n not in own.get(b, ())} for b, found in self.brokers.items()}
        return SettingsSeen(kept, self.defaults)


@dataclass(frozen=True)  # no slots: `by_name` is kept
class KafkaSnapshot:
    """Kafka's metadata at one time. `at` is when reading *began*, so nothing in it is older."""

    at: datetime
    cluster_id: str
    brokers: Mapping[int, BrokerSeen]
    partitions: tuple[PartitionSeen, ...]
    quorum: QuorumSeen
    features: Mapping[str, FeatureSeen]
    log_dirs: Mapping[int, LogDirsSeen]
    throttles: ThrottlesSeen
    mode: Mode = "kraft"
    """In ZooKeeper mode there is no quorum (no leader, no members) and no feature; a broker that is not live is not
    known at all."""
    controller: int = -1
    """ZooKeeper mode: the broker that leads the cluster."""
    controller_epoch: int = -1
    """ZooKeeper mode: of that controller, it grows with each election; -1 where ZooKeeper was not asked."""
    cordoned: frozenset[int] = frozenset()
    """Live brokers all of whose log directories are cordoned by `*`: they get no new replica (Kafka 4.3, KIP-1066)."""
    failed_dirs: Mapping[int, FailedDirsSeen] = field(default_factory=dict)
    """By broker. Those are missing from `log_dirs`: what a directory nobody can read holds is not known."""
    internal: frozenset[str] = frozenset()
    """Topics that brokers say are Kafka's own (`is_internal` of their metadata); of a recorded snapshot it is empty."""
    sizes_at: datetime | None = None
    """Of what was recorded, to be shown: when its sizes were read, None where none are known. None of a reading."""

    @cached_property
    def by_name(self) -> Mapping[TopicPartition, PartitionSeen]:
        """The partitions by their name, made once: a tick of a drain asks for it in half a dozen places."""
        return {p.name: p for p in self.partitions}

    @cached_property
    def by_topic(self) -> Mapping[str, tuple[PartitionSeen, ...]]:
        """The partitions of each topic, as they come; made once."""
        found: dict[str, list[PartitionSeen]] = {}
        for p in self.partitions:
            found.setdefault(p.name.topic, []).append(p)
        return {topic: tuple(parts) for topic, parts in found.items()}

    @cached_property
    def between_dirs(self) -> Mapping[int, frozenset[TopicPartition]]:
        """By broker, the partitions whose replica there is on its way from one of its log directories to another."""
        found = {b: frozenset(n for d in seen.dirs for n in d.arriving) for b, seen in self.log_dirs.items()}
        return {b: names for b, names in found.items() if names}

    @cached_property
    def at_min_isr(self) -> tuple[PartitionSeen, ...]:
        """Partitions with a replica missing, where writes are refused once another one is. Those that have no more
        replicas than their min ISR are always there and not counted. Worked out once: every tick at rest asks."""
        return tuple(p for p in self.partitions if len(p.isr) == p.min_isr < len(p.target))

    def owner_of(self, topic: str) -> str:
        """`Kafka` or `Kedge` where the topic is its own, by what brokers say and by the names known; "" for another."""
        return "Kafka" if topic in self.internal else owner_of(topic)

    def bytes_of(self, partition: PartitionSeen) -> int | None:
        """Bytes of one copy. `size_bytes` is 0 of an empty log, and of one no broker told of: that one is None here."""
        is_known = partition.leader_bytes >= 0 or any(r in self.log_dirs for r in partition.replicas)
        return partition.size_bytes if partition.size_bytes or is_known else None

    def live_brokers(self) -> frozenset[int]:
        return self._live

    def has_source(self, partition: PartitionSeen) -> bool:
        """Whether its leader serves, from whom copies of it are fetched."""
        return partition.leader in self.live_brokers()

    def may_have_only_copy(self, broker: int) -> bool:
        """Whether something it hosts has no leader that serves: it may have the only copy in sync."""
        return any(not self.has_source(p) for p in self.hosted_by(broker))

    def hosted_by(self, broker: int) -> tuple[PartitionSeen, ...]:
        """Partitions that name the broker, also while they are moving off it."""
        return self._by_broker.get(broker, ())

    def in_failed_dirs(self, broker: int) -> tuple[PartitionSeen, ...]:
        """Partitions whose replica on this broker is in a log directory that is offline: in no other one, and out of
        sync. None of a broker that has not told what its other directories hold: unknown is not offline."""
        failed = self.failed_dirs.get(broker)
        if failed is None or failed.held is None:
            return ()
        return tuple(
            p
            for p in self.hosted_by(broker)
            if broker in p.replicas and broker not in (*p.isr, *p.adding) and p.name not in failed.held
        )

    def under_min_isr(self) -> tuple[PartitionSeen, ...]:
        return self._under_min_isr

    def under_replicated(self) -> tuple[PartitionSeen, ...]:
        """Partitions with a replica (that is to stay) out of the ISR."""
        return self._under_replicated

    def leaderless(self) -> tuple[PartitionSeen, ...]:
        return self._leaderless

    def moving(self) -> tuple[PartitionSeen, ...]:
        return self._moving

    # Looked for once in each reading: every list of the fleet, and every tick, asks all clusters for them; of each
    # partition, or of each broker, some steps do.
    @cached_property
    def _live(self) -> frozenset[int]:
        return frozenset(b.id for b in self.brokers.values() if not b.fenced)

    @cached_property
    def _by_broker(self) -> Mapping[int, tuple[PartitionSeen, ...]]:
        found: dict[int, list[PartitionSeen]] = {}
        for p in self.partitions:
            for broker in {*p.replicas, *p.adding, *p.removing} if p.is_moving else p.replicas:
                found.setdefault(broker, []).append(p)
        return {broker: tuple(hosted) for broker, hosted in found.items()}

    @cached_property
    def _under_min_isr(self) -> tuple[PartitionSeen, ...]:
        return tuple(p for p in self.partitions if len(p.isr) < p.min_isr)

    @cached_property
    def _under_replicated(self) -> tuple[PartitionSeen, ...]:
        # Most have all replicas in sync, in the same order: those are told apart at once.
        thin = (p for p in self.partitions if p.isr != p.replicas)
        return tuple(p for p in thin if any(r not in p.isr for r in p.replicas if r not in p.adding))

    @cached_property
    def _leaderless(self) -> tuple[PartitionSeen, ...]:
        return tuple(p for p in self.partitions if p.leader < 0)

    @cached_property
    def _moving(self) -> tuple[PartitionSeen, ...]:
        return tuple(p for p in self.partitions if p.is_moving)


def once_a_reading(of: Callable[[KafkaSnapshot], _T]) -> Callable[[KafkaSnapshot], _T]:
    """What follows from a snapshot alone is worked out once for it: pages ask for the same of it until the next one is
    read. For pure functions whose answer nobody changes."""
    name = f"{of.__module__}.{of.__qualname__}"

    @wraps(of)
    def known(snapshot: KafkaSnapshot) -> _T:
        answers = snapshot.__dict__.setdefault("_answers", {})
        if name not in answers:
            answers[name] = of(snapshot)
        answer: _T = answers[name]
        return answer

    return known
