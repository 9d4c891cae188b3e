"""How far a drain is: bytes that have arrived, the rate they came at, and how long the rest takes."""

from dataclasses import dataclass

from planner.drain.plan import DrainPlan, Move
from planner.drain.residual import Residual
from planner.observed import KafkaSnapshot, PartitionSeen, TopicPartition
from planner.quantities import human_bytes

MEASURED_AFTER_S = 5.0
"""Before that the plan's own rate is told: copies have hardly begun."""


@dataclass(frozen=True, slots=True)
class Progress:
    """`rate_bytes_per_s` is the mean since the first stretch began, the plan's promise before there is one."""

    done_bytes: int
    left_bytes: int
    rate_bytes_per_s: float

    @property
    def left_s(self) -> float:
        return self.left_bytes / self.rate_bytes_per_s if self.rate_bytes_per_s > 0 else 0.0

    def __str__(self) -> str:
        rate = f"{human_bytes(self.left_bytes)} left at {human_bytes(self.rate_bytes_per_s)}/s"
        return f"{rate}, about {self.left_s:.0f} s"


def progress_of(plan: DrainPlan, left: Residual, kafka: KafkaSnapshot, *, moving_s: float) -> Progress:
    """Read off Kafka and its log directories; `moving_s`: seconds since the first stretch began."""
    seen = {p.name: p for p in kafka.partitions}
    waiting = sum(m.bytes for m in left.valid_next)
    missing = sum(left_bytes(m, seen) for m in left.running)
    done = sum(m.bytes for m in (*left.finished, *left.running)) - missing
    if moving_s >= MEASURED_AFTER_S and done > 0:
        return Progress(done, waiting + missing, done / moving_s)
    return Progress(done, waiting + missing, _promised(plan))


def left_bytes(move: Move, seen: dict[TopicPartition, PartitionSeen]) -> int:
    """Bytes of a running move that have not arrived; all of them where a target has not told."""
    partition = seen.get(move.name)
    if partition is None or not partition.arrived_bytes:
        return move.bytes
    size = max(partition.size_bytes, move.bytes // max(1, len(move.added)))
    return sum(max(0, size - arrived) for arrived in partition.arrived_bytes)


def _promised(plan: DrainPlan) -> float:
    makespan_s = plan.certificate.measures.makespan_s.value
    return sum(m.bytes for m in plan.moves) / makespan_s if makespan_s > 0 else 0.0
