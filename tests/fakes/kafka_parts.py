"""The moving parts of the fake Kafka: brokers, partitions, controllers, and how copies progress in time."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from controlplane.kafka.features import METADATA
from controlplane.kafka.throttle import CLUSTER_DEFAULT, ThrottlePlan
from planner.observed import BrokerSeen, EndpointSeen, FeatureSeen, PartitionSeen, QuorumSeen, TopicPartition, VoterSeen

THROTTLE_REACHES = 0.8
"""Share of a configured throttle that real brokers reach (20 MB/s configured, 16.4 measured)."""

_NO_OPS_PER_S = 2

NO_DIRECTORY = "A" * 22
"""Kafka's id of no directory."""

SUPPORTED: Mapping[str, Mapping[str, tuple[int, int]]] = {
    release: {
        METADATA: (7, level),
        "eligible.leader.replicas.version": (0, 1),
        "group.version": (0, 1),
        "kraft.version": (0, 1),
        "share.version": (0, 1),
        "transaction.version": (0, 2),
    }
    | ({"streams.version": (0, 1)} if level >= 29 else {})
    for release, level in (("4.1", 27), ("4.2", 29), ("4.3", 30))
} | {"3.9": {METADATA: (1, 21), "kraft.version": (0, 1)}}
"""Feature ranges by release, as 4.1.1 and 4.2.0 brokers report them, and 3.9.1 brokers in KRaft mode."""


def supported_by(version: str) -> Mapping[str, tuple[int, int]]:
    """Of a service of KRaft's; 3.8 stands for ZooKeeper's alone here."""
    return {} if version.startswith("3.8") else SUPPORTED[".".join(version.split(".")[:2])]


@dataclass(slots=True)
class FakeBroker:
    """`running` is the process, `fenced` what the controllers think; between a power cut and the end of the
    session they differ."""

    id: int
    rack: str
    version: str
    disk_bytes: int
    log_dirs: tuple[str, ...] = ("/data",)
    failed_dirs: set[str] = field(default_factory=set)
    running: bool = True
    fenced: bool = False
    registered: bool = True
    fence_at: float | None = None
    cordoned: bool = False
    lags: bool = False
    is_krafts: bool = True

    @property
    def supports(self) -> Mapping[str, tuple[int, int]]:
        """Feature ranges. In ZooKeeper mode a broker has none."""
        return supported_by(self.version) if self.is_krafts else {}

    @property
    def hangs(self) -> bool:
        """Unregistered while it ran: it retries for ever and ignores a polite stop."""
        return self.running and not self.registered

    @property
    def serves(self) -> bool:
        return self.running and self.registered and not self.fenced


@dataclass(slots=True)
class FakeHangs:
    """What stands still though everybody is up: brokers that fetch nothing for new replicas, controllers that end no
    move while they are active (a fresh process does again), elections that change no leader: none at all, or none of
    the `electors` while one of them is active."""

    fetchers: set[int] = field(default_factory=set)
    controllers: set[int] = field(default_factory=set)
    elections: bool = False
    electors: set[int] = field(default_factory=set)

    def ends_moves(self, controller: int) -> bool:
        return controller not in self.controllers

    def elects(self, controller: int) -> bool:
        return not self.elections and controller not in self.electors


@dataclass(slots=True)
class Copy:
    """One replica on one disk: how much of the log it has."""

    bytes: float = 0.0
    records: int = 0


@dataclass(slots=True)
class FakePartition:
    """`isr` members have every acknowledged record; `elr` left the ISR clean while it was too small (KIP-966)."""

    name: TopicPartition
    configured_min_isr: int
    replicas: list[int]
    isr: list[int]
    leader: int
    bytes: float = 0.0
    acknowledged: int = 0
    adding: list[int] = field(default_factory=list)
    removing: list[int] = field(default_factory=list)
    elr: list[int] = field(default_factory=list)
    copies: dict[int, Copy] = field(default_factory=dict)
    follows_default: bool = False
    """Has no min ISR of its own: the cluster's is in force."""
    offline: set[int] = field(default_factory=set)
    """Brokers whose copy is in a directory they cannot read."""
    _seen: tuple[tuple[object, ...], PartitionSeen] | None = None

    @property
    def target(self) -> list[int]:
        return [r for r in self.replicas if r not in self.removing]

    @property
    def original(self) -> list[int]:
        return [r for r in self.replicas if r not in self.adding]

    @property
    def min_isr(self) -> int:
        return min(self.configured_min_isr, len(self.replicas))

    @property
    def is_moving(self) -> bool:
        return bool(self.adding or self.removing)

    @property
    def is_below_min(self) -> bool:
        in_sync = len(self.isr)
        return in_sync < self.configured_min_isr and in_sync < len(self.replicas)

    @property
    def lost(self) -> int:
        """Acknowledged records no assigned disk holds any more."""
        if not self.acknowledged:
            return 0
        best = 0
        for broker in self.replicas:
            held = self.copies.get(broker)
            if held is not None and held.records > best:
                best = held.records
        return self.acknowledged - best

    def append(self, records: int, size: int) -> None:
        """A write every ISR member takes."""
        self.acknowledged += records
        self.bytes += size
        for broker in self.isr:
            self.copies[broker] = Copy(self.bytes, self.acknowledged)

    def reassign(self, target: list[int]) -> None:
        """KIP-455: the replicas become target + those to remove; a running move is replaced."""
        original = self.original
        self.adding = [r for r in target if r not in original]
        self.removing = [r for r in original if r not in target]
        self._assign([*target, *self.removing])

    def cancel(self) -> None:
        original = self.original
        self.adding, self.removing = [], []
        self._assign(original)

    def leave_isr(self, broker: int) -> None:
        if broker in self.isr:
            self.isr.remove(broker)
            if len(self.isr) < self.min_isr:
                self.elr.append(broker)

    def settle(self, brokers: Mapping[int, FakeBroker], ends_moves: bool = True) -> None:
        """What the controller and the leader do without time passing: elect, admit, complete the move."""
        if self._is_whole(brokers):
            return
        self._elect(brokers)
        if self.leader == -1:
            return
        for r in self.replicas:
            caught_up = self.copies.setdefault(r, Copy()).bytes >= self.bytes
            keeps_up = caught_up and r in brokers and brokers[r].serves and not brokers[r].lags
            if r not in self.isr and keeps_up and r not in self.offline:
                self.isr.append(r)
        if len(self.isr) >= self.min_isr:
            self.elr = []
        # Kafka 4.1.1 completes a move when the ISR holds *every* target replica, not only the added ones
        if ends_moves and self.is_moving and set(self.target) <= set(self.isr):
            target = self.target
            self.adding, self.removing = [], []
            self._assign(target)
            self._elect(brokers)

    def seen(self) -> PartitionSeen:
        """Made anew where anything of it has changed: it is asked for at every tick of a simulated world."""
        replicas, isr, adding, removing = map(tuple, (self.replicas, self.isr, self.adding, self.removing))
        held = [(r, c.bytes) for r, c in self.copies.items()]
        now = (self.leader, replicas, isr, adding, removing, self.configured_min_isr, held)
        if self._seen is not None and self._seen[0] == now:
            return self._seen[1]
        led = self.copies.get(self.leader)
        seen = PartitionSeen(
            name=self.name,
            leader=self.leader,
            replicas=replicas,
            isr=replicas if len(isr) == len(replicas) else tuple(r for r in replicas if r in isr),
            min_isr=self.min_isr,
            adding=adding,
            removing=removing,
            size_bytes=int(max([size for _, size in held], default=0)),
            configured_min_isr=self.configured_min_isr,
            arrived_bytes=tuple([int(self.copies[r].bytes) if r in self.copies else 0 for r in adding]),
            leader_bytes=int(led.bytes) if led is not None else -1,
        )
        self._seen = now, seen
        return seen

    def _is_whole(self, brokers: Mapping[int, FakeBroker]) -> bool:
        """Led and in sync with nothing to move: as most are at most times, and nothing is to be done."""
        leader = brokers.get(self.leader)
        if self.adding or self.removing or self.elr or leader is None or leader.fenced or not leader.registered:
            return False
        in_sync = len(self.isr) == len(self.replicas) == len(self.copies)
        return in_sync and self.leader in self.isr

    def _assign(self, replicas: list[int]) -> None:
        self.replicas = replicas
        self.isr = [r for r in self.isr if r in replicas]
        self.copies = {r: self.copies.get(r, Copy()) for r in replicas}
        self.offline &= set(replicas)

    def _elect(self, brokers: Mapping[int, FakeBroker]) -> None:
        """Keep a live in-sync leader, else the first in-sync replica, else one that left clean. Never unclean."""

        def can_lead(r: int) -> bool:
            return r in brokers and brokers[r].registered and not brokers[r].fenced

        if self.leader in self.isr and can_lead(self.leader):
            return
        self.leader = next((r for r in self.target if r in self.isr and can_lead(r)), -1)
        self.leader = self.leader if self.leader != -1 else next((r for r in self.isr if can_lead(r)), -1)
        if self.leader == -1 and not self.isr:
            clean = [r for r in self.elr if can_lead(r) and self.copies.get(r, Copy()).records >= self.acknowledged]
            self.leader, self.isr = (clean[0], [clean[0]]) if clean else (-1, [])


@dataclass(slots=True)
class FakeController:
    """A controller process on a disk. Records of the metadata log come at 2 a second while nothing happens."""

    id: int
    directory_id: str
    version: str
    running: bool = True
    follows_at: float = 0.0
    stopped_at: float = 0.0
    endpoints: frozenset[EndpointSeen] = frozenset()

    def lag(self, seconds: float) -> int:
        """Records behind the leader at that time."""
        if not self.running:
            return int((seconds - self.stopped_at) * _NO_OPS_PER_S)
        return 1000 if seconds < self.follows_at else 0


@lru_cache(maxsize=1024)
def broker_seen(broker: int, rack: str, fenced: bool) -> BrokerSeen:
    """As others are told of it: the same at most looks, and then the very same."""
    return BrokerSeen(broker, rack, fenced, f"broker-{broker}", 9092)


def listed(registered: Sequence[FakeBroker], live: Sequence[FakeBroker]) -> list[FakeBroker]:
    """Fenced ones too, unless a KRaft broker may be asked that is older than Kafka 4 (KIP-1073)."""
    is_old = any(b.is_krafts and b.version.startswith("3.") for b in live)
    return [b for b in registered if not (b.fenced and is_old)]


def quorum_seen(
    leader: int,
    epoch: int,
    controllers: Iterable[FakeController],
    voters: Mapping[int, str],
    brokers: Iterable["FakeBroker"],
    seconds: float,
) -> QuorumSeen:
    """As the leader describes it: voters, controllers that follow without a vote, and brokers that run."""
    members = [
        VoterSeen(
            c.id,
            c.directory_id,
            lag=c.lag(seconds),
            is_voter=voters.get(c.id) == c.directory_id,
            silent_s=0.0 if c.running else seconds - c.stopped_at,
            endpoints=c.endpoints if voters.get(c.id) == c.directory_id else frozenset(),
        )
        for c in controllers
        if c.running or voters.get(c.id) == c.directory_id
    ]
    told = {(m.id, m.directory_id) for m in members}
    members += [
        VoterSeen(v, directory, lag=1000 + int(seconds), is_voter=True, silent_s=seconds)
        for v, directory in voters.items()
        if (v, directory) not in told
    ]
    members += [VoterSeen(b.id, f"directory-of-{b.id}", 0, is_voter=False) for b in brokers if b.running]
    return QuorumSeen(leader, epoch, tuple(sorted(members, key=lambda m: (not m.is_voter, m.id))))


def without_directories(quorum: QuorumSeen) -> QuorumSeen:
    """As Kafka describes a static quorum: it knows no directory of a voter."""
    return replace(
        quorum, members=tuple(replace(m, directory_id=NO_DIRECTORY) if m.is_voter else m for m in quorum.members)
    )


@dataclass(frozen=True, slots=True)
class Transfer:
    """One replica being copied: its partition, source, destination and speed in bytes/s."""

    partition: FakePartition
    source: int
    destination: int
    bytes_per_s: float

    @property
    def missing(self) -> float:
        return self.partition.bytes - self.partition.copies[self.destination].bytes


def transfers(
    partitions: Iterable[FakePartition],
    brokers: Mapping[int, FakeBroker],
    throttles: ThrottlePlan,
    link_bytes_per_s: float,
) -> list[Transfer]:
    """Everything that copies now. Brokers share their link, and each throttle, evenly among their copies."""
    wanted = [
        (p, p.leader, r)
        for p in partitions
        if p.leader != -1 and brokers[p.leader].serves
        for r in p.replicas
        if r not in p.isr and r in brokers and brokers[r].serves and r not in p.offline
    ]
    pairs = []
    for p, source, destination in wanted:
        leaders, followers = throttles.topics.get(p.name.topic, ((), ()))
        limits = [
            (("out", source), link_bytes_per_s),
            (("in", destination), link_bytes_per_s),
        ]
        if f"{p.name.partition}:{source}" in leaders:
            limits.append((("throttled out", source), _rate(throttles.leader_bytes_per_s, source)))
        if f"{p.name.partition}:{destination}" in followers:
            limits.append((("throttled in", destination), _rate(throttles.follower_bytes_per_s, destination)))
        pairs.append((p, source, destination, limits))
    users: dict[tuple[str, int], int] = {}
    for *_, limits in pairs:
        for key, _ in limits:
            users[key] = users.get(key, 0) + 1
    return [Transfer(p, s, d, min(limit / users[key] for key, limit in limits)) for p, s, d, limits in pairs]


def _rate(rates: Mapping[int, int], broker: int) -> float:
    rate = rates.get(broker, rates.get(CLUSTER_DEFAULT))
    return float("inf") if rate is None else THROTTLE_REACHES * rate


def assignment_problem(
    name: TopicPartition,
    target: tuple[int, ...],
    partitions: Mapping[TopicPartition, FakePartition],
    brokers: Mapping[int, FakeBroker],
) -> str:
    """Why a reassignment is refused, in Kafka's words; empty when it is taken."""
    if name not in partitions:
        return f"Unable to find partition {name} (UnknownTopicOrPartitionError)"
    unknown = [r for r in target if r not in brokers or not brokers[r].registered]
    if unknown:
        return (
            f"The manual partition assignment includes broker {unknown[0]}, but no such broker is registered. "
            "(InvalidReplicationAssignmentError)"
        )
    if not target or len(set(target)) < len(target):
        return "The manual partition assignment is empty or names a broker twice. (InvalidReplicationAssignmentError)"
    return ""


def features_seen(live: Sequence[FakeBroker], finalised: Mapping[str, int]) -> dict[str, FeatureSeen]:
    """Feature levels, and the ranges all live brokers support."""
    versions = tuple((b.id, b.version if b.is_krafts else "") for b in live)
    return dict(_features_seen(versions, tuple(finalised.items())))


@lru_cache(maxsize=256)
def _features_seen(live: tuple[tuple[int, str], ...], levels: tuple[tuple[str, int], ...]) -> dict[str, FeatureSeen]:
    """Of brokers, each with its version, "" in ZooKeeper mode: asked at every look, and seldom another answer."""
    seen, finalised = {}, dict(levels)
    supports = {broker: supported_by(version) if version else {} for broker, version in live}
    for name in sorted({f for ranges in supports.values() for f in ranges} | set(finalised)):
        own = {broker: ranges.get(name, (0, 0)) for broker, ranges in supports.items()}
        lowest = min(high for _, high in own.values())
        behind = tuple(sorted(b for b, (_, high) in own.items() if high == lowest))
        low = max(low for low, _ in own.values())
        limited_by = behind if len(behind) < len(own) else ()
        seen[name] = FeatureSeen(finalised.get(name, 0), low, lowest, limited_by)
    return seen
