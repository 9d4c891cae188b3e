"""The moves that run, as a table with what is left of each, how fast it came on and how long it may take. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from planner.observed import KafkaSnapshot, PartitionSeen, TopicPartition
from planner.pulse import MovePulse

MOST_SHOWN = 200


@dataclass(frozen=True, slots=True)
class MoveRow:
    """One partition on its way. `left_bytes` and `rate_bytes_per_s` are None while nobody knows."""

    topic: str
    partition: int
    adding: tuple[int, ...]
    removing: tuple[int, ...]
    arrived_bytes: int
    left_bytes: int | None
    rate_bytes_per_s: float | None
    age_s: float | None
    still_s: float | None


@dataclass(frozen=True, slots=True)
class MovesInHand:
    """All of them together; `rows` are those with most left. Percent would go back while leaders are written to: bytes
    that are left and the mean rate since each began say more.
    """

    rows: tuple[MoveRow, ...]
    total: int
    left_bytes: int
    unknown: int
    rate_bytes_per_s: float

    @property
    def left_s(self) -> float | None:
        """How long at this rate; None where that says nothing."""
        if self.unknown or not self.rate_bytes_per_s:
            return None
        return self.left_bytes / self.rate_bytes_per_s


def moves_in_hand(kafka: KafkaSnapshot, pulses: Mapping[TopicPartition, MovePulse]) -> MovesInHand:
    """What the last metadata has of moves, with what was seen of them before."""
    rows = [_row(kafka, p, pulses.get(p.name)) for p in kafka.moving()]
    rows.sort(key=lambda r: (-(r.left_bytes or 0), r.topic, r.partition))
    return MovesInHand(
        rows=tuple(rows[:MOST_SHOWN]),
        total=len(rows),
        left_bytes=sum(r.left_bytes or 0 for r in rows),
        unknown=sum(r.left_bytes is None for r in rows),
        rate_bytes_per_s=sum(r.rate_bytes_per_s or 0.0 for r in rows),
    )


def _row(kafka: KafkaSnapshot, partition: PartitionSeen, pulse: MovePulse | None) -> MoveRow:
    arrived = sum(partition.arrived_bytes)
    age_s = (kafka.at - pulse.began).total_seconds() if pulse else None
    is_known = bool(partition.adding) and len(partition.arrived_bytes) == len(partition.adding)
    left = sum(max(0, partition.size_bytes - a) for a in partition.arrived_bytes) if is_known else None
    return MoveRow(
        topic=partition.name.topic,
        partition=partition.name.partition,
        adding=partition.adding,
        removing=partition.removing,
        arrived_bytes=arrived,
        left_bytes=0 if not partition.adding else left,
        rate_bytes_per_s=arrived / age_s if age_s and is_known else None,
        age_s=age_s,
        still_s=(kafka.at - pulse.grew_at).total_seconds() if pulse else None,
    )
