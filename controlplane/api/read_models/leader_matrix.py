"""Who follows whom: for each pair of brokers, how many partitions the one leads have a replica on the other. Pure.

When a broker stops, its partitions are led from its row: the strongest cell says who is likely to take over the most.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from planner.observed import KafkaSnapshot, PartitionSeen, once_a_reading

SHADES = 5
"""Of heat, beside none at all."""


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """`count` partitions; `shade` 0 (none) to SHADES (the most of any pair). `is_self` on the diagonal: no pair."""

    count: int
    shade: int
    is_self: bool = False


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """One broker as a leader. `cells` are aligned with the matrix' brokers."""

    broker: int
    rack: str
    """"" where Kafka does not list the broker."""
    leads: int
    alone: int
    """Partitions it leads that nobody else has a replica of."""
    cells: tuple[MatrixCell, ...]


@dataclass(frozen=True, slots=True)
class LeaderMatrix:
    """`follows` is, aligned with `brokers`, how many replicas of others' partitions each has."""

    brokers: tuple[int, ...]
    rows: tuple[MatrixRow, ...]
    follows: tuple[int, ...]
    leaderless: int
    """Partitions without a leader: they are in no row."""
    most: int
    """The count of the strongest pair."""


@once_a_reading
def leader_matrix(snapshot: KafkaSnapshot) -> LeaderMatrix:
    """All brokers that Kafka lists or a partition names, by id. Every replica counts that is not the leader: in sync or
    not, and while a partition moves those that arrive and those that leave, too."""
    pairs, leads, alone = Counter[tuple[int, int]](), Counter[int](), Counter[int]()
    named = set(snapshot.brokers)
    for p in snapshot.partitions:
        named.update(p.replicas)
        if p.leader < 0:
            continue
        named.add(p.leader)
        leads[p.leader] += 1
        followers = [r for r in p.replicas if r != p.leader]
        alone[p.leader] += not followers
        pairs.update((p.leader, follower) for follower in followers)
    brokers, most = tuple(sorted(named)), max(pairs.values(), default=0)
    rows = tuple(
        MatrixRow(
            broker=leader,
            rack=snapshot.brokers[leader].rack if leader in snapshot.brokers else "",
            leads=leads[leader],
            alone=alone[leader],
            cells=tuple(_cell(pairs[leader, follower], most, leader == follower) for follower in brokers),
        )
        for leader in brokers
    )
    follows = tuple(sum(pairs[leader, follower] for leader in brokers) for follower in brokers)
    return LeaderMatrix(brokers, rows, follows, len(snapshot.leaderless()), most)


def busiest(matrix: LeaderMatrix, count: int) -> Sequence[tuple[int, int, int]]:
    """The pairs with the most partitions, as (leader, follower, partitions); ties by id. Pairs without any are none."""
    pairs = [
        (row.broker, follower, cell.count)
        for row in matrix.rows
        for follower, cell in zip(matrix.brokers, row.cells, strict=True)
        if cell.count
    ]
    return sorted(pairs, key=lambda pair: (-pair[2], pair[0], pair[1]))[:count]


def of_pair(snapshot: KafkaSnapshot, leader: int, follower: int) -> Sequence[PartitionSeen]:
    """The partitions of one cell, by name."""
    found = (p for p in snapshot.partitions if p.leader == leader != follower and follower in p.replicas)
    return sorted(found, key=lambda p: p.name)


def _cell(count: int, most: int, is_self: bool) -> MatrixCell:
    """The shade is the count as a share of the most, rounded up: one partition is never drawn like none."""
    return MatrixCell(count, -(-count * SHADES // most) if most else 0, is_self)
