"""Clusters for drain tests: by hand, drawn by hypothesis, and what Kafka would say once a plan has run."""

from dataclasses import replace
from datetime import UTC, datetime
from random import Random

from hypothesis import strategies as st

from planner.drain.plan import DrainPlan
from planner.drain.request import Bandwidth, DrainRequest
from planner.observed import (
    BrokerSeen,
    KafkaSnapshot,
    LogDirsSeen,
    PartitionSeen,
    QuorumSeen,
    ThrottlesSeen,
    TopicPartition,
)

MIB, GIB = 2**20, 2**30
BANDWIDTH = Bandwidth(100 * MIB, "assumed")


def partition(
    topic: str, number: int, replicas: tuple[int, ...], /, *, size: int = 10 * MIB, **changes: object
) -> PartitionSeen:
    seen = PartitionSeen(
        name=TopicPartition(topic, number),
        leader=replicas[0],
        replicas=replicas,
        isr=replicas,
        min_isr=min(2, len(replicas)),
        size_bytes=size,
    )
    return replace(seen, **changes)  # type: ignore[arg-type]


def snapshot(
    racks: dict[int, str],
    partitions: list[PartitionSeen],
    *,
    disk: int = 100 * GIB,
    disks: dict[int, tuple[int, int]] | None = None,
    fenced: tuple[int, ...] = (),
) -> KafkaSnapshot:
    """`disks` overrides (total, usable) per broker; else usable is what the partitions leave of `disk`."""
    used = {b: sum(p.size_bytes for p in partitions if b in p.replicas) for b in racks}
    return KafkaSnapshot(
        at=datetime(2026, 1, 1, tzinfo=UTC),
        cluster_id="c",
        brokers={b: BrokerSeen(b, rack, b in fenced, f"h{b}", 9092) for b, rack in racks.items()},
        partitions=tuple(partitions),
        quorum=QuorumSeen(100, 1, ()),
        features={},
        log_dirs={
            b: LogDirsSeen(
                replicas=sum(b in p.replicas for p in partitions),
                used_bytes=used[b],
                total_bytes=(disks or {}).get(b, (disk, 0))[0],
                usable_bytes=(disks or {}).get(b, (disk, disk - used[b]))[1],
            )
            for b in racks
        },
        throttles=ThrottlesSeen(),
    )


def request(seen: KafkaSnapshot, **changes: object) -> DrainRequest:
    asked: dict[str, object] = {"cluster_uid": "u1", "drain_id": "d1", "bandwidth": BANDWIDTH, **changes}
    return DrainRequest.from_snapshot(seen, **asked)  # type: ignore[arg-type]


def roll() -> tuple[KafkaSnapshot, DrainRequest]:
    """Three racks, one broker each, and 1003 fresh in rack a to succeed 1000."""
    rows = [partition("orders", i, ((1000, 1001, 1002) * 2)[i % 3 : i % 3 + 3], size=i * MIB) for i in range(12)]
    seen = snapshot({1000: "a", 1001: "b", 1002: "c", 1003: "a"}, rows)
    return seen, request(seen, outgoing=(1000,), targets=(1003,), successors={1000: 1003})


def scale_down() -> tuple[KafkaSnapshot, DrainRequest]:
    """Six brokers in three racks, the newest three leave."""
    racks = {1000: "a", 1001: "b", 1002: "c", 1003: "a", 1004: "b", 1005: "c"}
    draw = Random(7)
    rows = [
        partition(
            "orders",
            i,
            tuple(draw.sample([draw.choice(p) for p in ((1000, 1003), (1001, 1004), (1002, 1005))], 3)),
            size=draw.randrange(1, 200) * MIB,
        )
        for i in range(40)
    ]
    seen = snapshot(racks, rows)
    return seen, request(seen, outgoing=(1003, 1004, 1005), targets=(1000, 1001, 1002))


def cases() -> st.SearchStrategy[tuple[KafkaSnapshot, DrainRequest]]:
    return st.integers(0, 2**32).map(case_of)


def case_of(seed: int) -> tuple[KafkaSnapshot, DrainRequest]:
    """A cluster and a drain of it; feasible or not. The same seed gives the same case."""
    random = Random(seed)
    rack_count = random.randint(1, 4)
    count = random.randint(2, 9)
    racks = {1000 + i: "abcd"[random.randrange(rack_count)] for i in range(count)}
    factor = random.randint(1, min(4, count))
    outgoing = tuple(sorted(random.sample(sorted(racks), random.randint(1, min(3, count - 1)))))
    names = [(f"t{i % 3}", i // 3) for i in range(random.randint(0, 25))]
    rows = [_drawn(random, topic, number, sorted(racks), factor) for topic, number in names]
    seen = snapshot(racks, rows, disk=random.choice([GIB, 4 * GIB, 100 * GIB]))
    stay = [b for b in sorted(racks) if b not in outgoing]
    successors = {outgoing[0]: stay[0]} if random.random() < 0.5 else {}
    return seen, request(
        seen,
        outgoing=outgoing,
        targets=tuple(stay),
        successors=successors,
        round=random.randint(1, 5),
        write_bytes_per_s={p.name: random.randrange(100_000) for p in rows} if random.random() < 0.5 else None,
        allow_partial=True,
    )


def executed(seen: KafkaSnapshot, plan: DrainPlan, moves: range | None = None) -> KafkaSnapshot:
    """Metadata once the moves (all, or the chosen positions) have ended."""
    chosen = plan.moves if moves is None else [plan.moves[i] for i in moves]
    after = {m.name: m.after for m in chosen}
    rows = tuple(
        replace(p, replicas=after[p.name], isr=after[p.name], leader=after[p.name][0]) if p.name in after else p
        for p in seen.partitions
    )
    return replace(seen, partitions=rows)


def _drawn(random: Random, topic: str, number: int, brokers: list[int], factor: int) -> PartitionSeen:
    replicas = tuple(random.sample(brokers, random.randint(1, factor)))
    seen = partition(topic, number, replicas, size=random.choice([0, 1, random.randrange(400 * MIB)]))
    fate = random.random()
    if fate < 0.05:
        return replace(seen, isr=replicas[:1])
    if fate < 0.1:
        return replace(seen, leader=-1, isr=())
    others = [b for b in brokers if b not in replicas]
    if fate < 0.15 and others:
        return replace(seen, replicas=(others[0], *replicas), adding=(others[0],), removing=(replicas[-1],))
    return seen
