"""The topics of a cluster as rows, and the partitions of one: counted from one snapshot of Kafka's metadata. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from types import MappingProxyType

from controlplane.cluster.observed.replica_lag import Replica
from planner.observed import KafkaSnapshot, PartitionSeen, once_a_reading

NO_LEADER, BELOW, OUT_OF_SYNC = "no leader", "below min ISR", "out of sync"
AILMENTS = (NO_LEADER, BELOW, OUT_OF_SYNC)
"""What a partition may lack, the worst first."""


@dataclass(frozen=True, slots=True)
class TopicRow:
    """One topic. Where partitions differ in replicas or min ISR, both ends are told."""

    name: str
    partitions: int
    replicas: int
    """Of the partition with the fewest, as it will be once what moves has arrived."""
    most_replicas: int
    min_isr: int
    """The effective one of the partition with the lowest."""
    most_min_isr: int
    under_replicated: int
    under_min_isr: int
    offline: int
    """Without a leader."""
    moving: int
    preferred_share: float
    """Of its partitions, those that the first of their replicas leads."""
    spread: float
    """Of the cluster's brokers, those that hold a replica of it. A topic with few replicas cannot be everywhere."""
    skew: float
    """Of the brokers that hold it, those with more of its replicas than an even share among them, rounded up."""
    size_bytes: int | None
    """One copy of each partition, the largest log of its replicas; None where the size of one is not known."""
    write_bytes_per_s: float | None = None
    """What producers write to it, of one copy; None until Kafka was read twice."""
    internal: bool = False
    """Kafka's own, or Kedge's."""


SORTS = (
    "name",
    "partitions",
    "replicas",
    "min_isr",
    "under_replicated",
    "under_min_isr",
    "offline",
    "moving",
    "preferred_share",
    "spread",
    "skew",
    "size_bytes",
    "write_bytes_per_s",
)


@dataclass(frozen=True, slots=True)
class PartitionRow:
    """One partition of a topic: in words, what is wrong with it and where it is going."""

    seen: PartitionSeen
    word: str
    tone: str
    out_of_sync: tuple[int, ...]
    """Assigned, not just arriving, and not in the ISR: what the snapshot counts as under-replicated."""
    size_bytes: int | None
    arriving: tuple[tuple[int, int | None], ...]
    """Each replica that is being added, and how many bytes of the log it has; None where its broker has not told."""
    behind_since: Mapping[int, datetime]
    """Since when this server has seen those out of sync so, by broker."""

    @property
    def number(self) -> int:
        return self.seen.name.partition

    @property
    def ails(self) -> bool:
        return bool(ailment(self.seen))


@once_a_reading
def topic_rows(snapshot: KafkaSnapshot) -> Sequence[TopicRow]:
    """Every topic of the snapshot, by name."""
    behind, below = _by_topic(snapshot.under_replicated()), _by_topic(snapshot.under_min_isr())
    brokers = len(snapshot.brokers) or len({b for p in snapshot.partitions for b in p.replicas})
    return tuple(
        TopicRow(
            name=name,
            partitions=len(parts),
            replicas=min(len(p.target) for p in parts),
            most_replicas=max(len(p.target) for p in parts),
            min_isr=min(p.min_isr for p in parts),
            most_min_isr=max(p.min_isr for p in parts),
            under_replicated=behind[name],
            under_min_isr=below[name],
            offline=sum(p.leader < 0 for p in parts),
            moving=sum(p.is_moving for p in parts),
            preferred_share=sum(p.leader == p.replicas[0] for p in parts if p.replicas) / len(parts),
            **_placed(parts, brokers),
            size_bytes=_sum(snapshot.bytes_of(p) for p in parts),
            internal=bool(snapshot.owner_of(name)),
        )
        for name, parts in sorted(snapshot.by_topic.items())
    )


def chosen_topics(
    rows: Sequence[TopicRow], *, text: str, sort: str, down: bool, internal: bool = True
) -> list[TopicRow]:
    """Topics with the text in their name, in the order asked for. A figure that is not known comes last.

    `internal`: those of Kafka and Kedge themselves, too.
    """
    wanted = text.strip().lower()
    found = [r for r in rows if wanted in r.name.lower() and (internal or not r.internal)]
    by = sort if sort in SORTS else "name"
    known = [r for r in found if getattr(r, by) is not None]
    unknown = [r for r in found if getattr(r, by) is None]
    known.sort(key=lambda r: r.name)
    return [*sorted(known, key=lambda r: getattr(r, by), reverse=down), *unknown]


def partition_rows(
    snapshot: KafkaSnapshot, behind: Mapping[Replica, datetime] = MappingProxyType({})
) -> list[PartitionRow]:
    """The partitions of a snapshot, by name; `behind`: since when replicas are seen out of sync."""
    return [_partition_row(snapshot, p, behind) for p in sorted(snapshot.partitions, key=lambda p: p.name)]


def ailment(p: PartitionSeen) -> str:
    """The worst it lacks: its leader, its min ISR, or a replica in sync; "" where it lacks none."""
    if p.leader < 0:
        return NO_LEADER
    if len(p.isr) < p.min_isr:
        return BELOW
    return OUT_OF_SYNC if _missing(p) else ""


def rows_in_order(
    snapshot: KafkaSnapshot, partitions: Sequence[PartitionSeen], behind: Mapping[Replica, datetime]
) -> list[PartitionRow]:
    """Some partitions of a snapshot as rows, in the order they come in."""
    return [_partition_row(snapshot, p, behind) for p in partitions]


def _missing(p: PartitionSeen) -> tuple[int, ...]:
    return tuple(r for r in p.replicas if r not in p.isr and r not in p.adding)


def _partition_row(snapshot: KafkaSnapshot, p: PartitionSeen, behind: Mapping[Replica, datetime]) -> PartitionRow:
    missing = _missing(p)
    word, tone = _word(p)
    arrived = p.arrived_bytes if len(p.arrived_bytes) == len(p.adding) else (None,) * len(p.adding)
    since = {b: behind[p.name, b] for b in missing if (p.name, b) in behind}
    moves = tuple(zip(p.adding, arrived, strict=True))
    return PartitionRow(p, word, tone, missing, snapshot.bytes_of(p), moves, since)


def _word(p: PartitionSeen) -> tuple[str, str]:
    """The worst that is to be said of it."""
    if lacks := ailment(p):
        return lacks, "warn" if lacks == OUT_OF_SYNC else "bad"
    return ("moving", "busy") if p.is_moving else ("in sync", "good")


def _placed(partitions: Sequence[PartitionSeen], brokers: int) -> dict[str, float]:
    """`spread` and `skew` of one topic in a cluster of so many brokers."""
    held = Counter(chain.from_iterable(p.replicas for p in partitions))
    even = -(-held.total() // max(1, len(held)))  # of these alone: what other brokers lack is told by the spread
    over = sum(count > even for count in held.values())
    return {"spread": len(held) / max(1, brokers, len(held)), "skew": over / max(1, len(held))}


def _by_topic(partitions: Iterable[PartitionSeen]) -> Counter[str]:
    return Counter(p.name.topic for p in partitions)


def _sum(sizes: Iterable[int | None]) -> int | None:
    every = list(sizes)
    known = [size for size in every if size is not None]
    return sum(known) if len(known) == len(every) else None
