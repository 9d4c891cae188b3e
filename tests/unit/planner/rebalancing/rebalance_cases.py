"""Rebalances for tests: by hand, and drawn with everything that has to cross to a worker."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

from planner.drain.model.capacity import Capacity, FigureOrigin, FigureSource
from planner.drain.plan import Move
from planner.observed import KafkaSnapshot, LogDirSeen, LogDirsSeen, PartitionSeen, TopicPartition
from planner.rebalancing.choice import EVERYTHING, BalanceChoice
from planner.rebalancing.question import RebalanceQuestion, question_of
from planner.rebalancing.request import RebalanceRequest
from tests.builders import a_partition, a_snapshot

MIB = 1024**2
OLD, NEW = (1000, 1001, 1002), (1003, 1004, 1005)
ALL = (*OLD, *NEW)
SIZE = 50 * MIB


def seen(count: int = 24, *, brokers: Sequence[int] = ALL, size: int = SIZE, **overrides: Any) -> KafkaSnapshot:
    """Everything is on the old brokers; `a_snapshot` deals racks out by id, so each rack has an old and a new one."""
    partitions = []
    for n in range(count):
        replicas = tuple(OLD[(n + k) % 3] for k in range(3))
        partitions.append(
            replace(a_partition(f"orders-{n}", replicas), size_bytes=size, isr=replicas, leader=replicas[0])
        )
    held = Counter(b for p in partitions for b in p.replicas)
    dirs = {b: LogDirsSeen(held[b], held[b] * size, 100_000 * MIB, 100_000 * MIB - held[b] * size) for b in brokers}
    return a_snapshot(*partitions, brokers=brokers, **{"log_dirs": dirs, **overrides})


def asked(**overrides: Any) -> RebalanceRequest:
    rate = float(100 * MIB)
    values: dict[str, Any] = {
        "cluster_uid": "c0ffee",
        "rebalance_id": "rebalance-1",
        "round": 1,
        "receivers": ALL,
        "capacities": (
            FigureSource(
                origin=FigureOrigin.GIVEN,
                everyone=Capacity(disk_bytes=100_000 * MIB, ingress_bytes_per_s=rate, egress_bytes_per_s=rate),
            ),
        ),
        "bandwidth_source": "assumed",
    }
    return RebalanceRequest(**{**values, **overrides})


def question(**overrides: Any) -> RebalanceQuestion:
    """Three old brokers hold all, three new ones are due their share."""
    return question_of(asked(**{"new": NEW, **overrides}), seen())


def unplannable() -> RebalanceQuestion:
    """Nobody knows a disk."""
    rates = Capacity(ingress_bytes_per_s=1e6, egress_bytes_per_s=1e6)
    return question(capacities=(FigureSource(origin=FigureOrigin.GIVEN, everyone=rates),))


def drawn(seed: int) -> RebalanceQuestion:
    """A cluster and a rebalance of it, plannable or not. The same seed gives the same question."""
    random = Random(seed)
    ids = [1000 + n for n in range(random.randint(2, 7))]
    names = [TopicPartition(f"t{n % 3}", n // 3) for n in range(random.randint(0, 30))]
    partitions = [_drawn(random, name, ids) for name in names]
    fenced = (ids[-1],) if len(ids) > 3 and random.random() < 0.2 else ()
    snapshot = a_snapshot(*partitions, brokers=[b for b in ids if b not in fenced], fenced=fenced)
    live = [b for b in ids if b not in fenced]
    told = {b: _dirs(random, b, partitions) for b in live if random.random() > 0.02}
    rates = {p.name: random.randrange(10**6) for p in partitions if random.random() < 0.5}
    sources = (
        FigureSource(
            origin=FigureOrigin.MEASURED,
            by_broker={b: Capacity(disk_bytes=seen.used_bytes + seen.usable_bytes) for b, seen in told.items()},
        ),
        FigureSource(
            origin=FigureOrigin.CATALOGUE,
            everyone=Capacity(ingress_bytes_per_s=random.uniform(1e6, 1e8), egress_bytes_per_s=1e8 / 3),
            everyone_words="assumed",
        ),
        FigureSource(
            origin=FigureOrigin.SPEC,
            by_broker={b: Capacity(nic_in_bytes_per_s=1e8, disk_io_bytes_per_s=2e8) for b in live[::2]},
            by_broker_words="as the spec says",
        ),
    )
    request = asked(
        receivers=tuple(live if random.random() < 0.7 else live[:-1]),
        new=(live[-2],) if random.random() < 0.3 else (),
        capacities=sources,
        racks={b: "abc"[b % 3] for b in ids if random.random() < 0.5},
        write_bytes_per_s=rates,
        write_rates_from="growth of logs",
        read_bytes_per_s={p.name: random.randrange(10**6) for p in partitions if random.random() < 0.5},
        cpu_used={b: random.random() for b in live if random.random() < 0.9},
        processors=dict.fromkeys(live, 8),
        demoted=tuple(b for b in live if random.random() < 0.1),
        choice=random.choice(
            [EVERYTHING, BalanceChoice(("leaders", "disk")), BalanceChoice((), ("t1",), (live[0],) if live else ())]
        ),
        most_bytes_per_s=random.choice([None, 5 * MIB]),
        round=random.randint(1, 5),
    )
    return question_of(request, replace(snapshot, log_dirs=told))


def _drawn(random: Random, name: TopicPartition, ids: Sequence[int]) -> PartitionSeen:
    replicas = tuple(random.sample(ids, random.randint(1, min(3, len(ids)))))
    size = random.choice([0, random.randrange(400 * MIB)])
    whole = PartitionSeen(name, replicas[0], replicas, replicas, min(2, len(replicas)), size_bytes=size)
    fate = random.random()
    if fate < 0.05:
        return replace(whole, isr=replicas[:1])
    if fate < 0.1:
        return replace(whole, isr=(), leader=-1)
    spare = [b for b in ids if b not in replicas]
    if fate < 0.15 and spare:
        return replace(
            whole, replicas=(*replicas[1:], spare[0], replicas[0]), adding=(spare[0],), removing=replicas[:1]
        )
    return whole


def _dirs(random: Random, broker: int, partitions: Sequence[PartitionSeen]) -> LogDirsSeen:
    held = [p for p in partitions if broker in p.replicas]
    disk = 40_000 * MIB
    count = random.choice([1, 1, 3])
    shares = [held[n::count] for n in range(count)]
    used = [sum(p.size_bytes for p in share) for share in shares]
    dirs = tuple(
        LogDirSeen(f"/disk{n}", size, disk // count, disk // count - size, frozenset(p.name for p in share))
        for n, (share, size) in enumerate(zip(shares, used, strict=True))
    )
    return LogDirsSeen(len(held), sum(used), disk, disk - sum(used), dirs if count > 1 else ())


def moved(snapshot: KafkaSnapshot, moves: Sequence[Move]) -> KafkaSnapshot:
    """The metadata as it will be once these moves are over and preferred leaders lead; disks are left as they are."""
    after = {m.name: m.after for m in moves}
    return replace(
        snapshot,
        partitions=tuple(
            replace(p, replicas=(now := after[p.name]), isr=now, leader=now[0], adding=(), removing=())
            if p.name in after
            else p
            for p in snapshot.partitions
        ),
    )
