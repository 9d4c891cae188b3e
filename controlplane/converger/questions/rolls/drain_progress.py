"""How far a drain is: bytes that have arrived, the rate they came at, and how long the rest takes."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from controlplane.cluster.observed.traffic import UNKNOWN, Traffic
from controlplane.converger.situation.situation import Situation
from planner.drain.plan import DrainPlan, Move
from planner.drain.residual import Residual
from planner.observed import KafkaSnapshot, LogDirsSeen, PartitionSeen, TopicPartition
from planner.quantities import human_bytes

MEASURED_AFTER_S = 5.0
"""Before that the plan's own rate is told: copies have hardly begun."""

_NO_ROOM_BYTES = 1024 * 1024
_NONE_GONE: Mapping[int, str] = MappingProxyType({})
_AWAY = "which does not serve: it is waited for"

NOTABLE_FRACTION = 0.01
"""Growth that is less of the rate changes no figure a person reads."""


@dataclass(frozen=True, slots=True)
class Progress:
    """`rate_bytes_per_s` is the mean since the first stretch began, the plan's promise before there is one.

    `growth_bytes_per_s`: what is written meanwhile to what has not arrived, as far as that is known: it is copied too.
    `left_s` None: at these rates it never ends.
    """

    done_bytes: int
    left_bytes: int
    rate_bytes_per_s: float
    growth_bytes_per_s: float
    left_s: float | None

    def __str__(self) -> str:
        rate = f"{human_bytes(self.left_bytes)} left at {human_bytes(self.rate_bytes_per_s)}/s"
        if self.growth_bytes_per_s >= NOTABLE_FRACTION * self.rate_bytes_per_s and self.growth_bytes_per_s >= 1:
            rate += f" and growing by {human_bytes(self.growth_bytes_per_s)}/s"
        return f"{rate}, no end at this rate" if self.left_s is None else f"{rate}, about {self.left_s:.0f} s"


def progress_of(
    plan: DrainPlan,
    left: Residual,
    kafka: KafkaSnapshot,
    *,
    moving_s: float,
    traffic: Traffic = UNKNOWN,
    share: float = 1.0,
) -> Progress:
    """Read off Kafka and its log directories; `moving_s`: seconds since the first stretch began. `share`: of the
    planned rate, by the latency brake; what is left comes no faster than that.
    """
    seen = kafka.by_name
    sizes = [left_bytes(m, seen) for m in left.running] + [_waiting_bytes(m, seen) for m in left.valid_next]
    written = traffic.write_bytes_per_s
    growths = [written.get(m.name, 0.0) * len(m.added) for m in (*left.running, *left.valid_next)]
    done = sum(m.bytes for m in left.finished) + sum(_arrived_bytes(m, seen) for m in left.running)
    measured = moving_s >= MEASURED_AFTER_S and done > 0
    rate = done / moving_s if measured else _promised(plan)
    if share < 1:
        rate = min(rate, _promised(plan) * share) or rate
    return Progress(done, sum(sizes), rate, sum(growths), _left_s(sizes, growths, rate))


def held_up(running: Sequence[Move], kafka: KafkaSnapshot, gone: Mapping[int, str] = _NONE_GONE) -> str:
    """Why nothing arrives at a target of what runs, "" where nothing is known to stand in the way. What it is about is
    waited for: a broker that comes back, or gets room, goes on where it was. `gone`: of `gone_for_good`."""
    for broker in cannot_receive(running, kafka):
        if broker not in kafka.live_brokers():
            return f"nothing arrives at broker {broker}, {gone.get(broker, _AWAY)}"
        if is_full(kafka.log_dirs.get(broker)):
            return f"nothing arrives at broker {broker}, whose disk is full: it goes on once there is room"
        failed = ", ".join(kafka.failed_dirs[broker].paths)
        return f"nothing is sent to broker {broker}, of whose disks {failed} has failed"
    return ""


def cannot_receive(moves: Iterable[Move], kafka: KafkaSnapshot) -> list[int]:
    """Targets of these moves that do not serve, are full, or have a disk that failed; sorted."""
    able = kafka.live_brokers() - kafka.failed_dirs.keys()
    return [b for b in sorted({b for m in moves for b in m.added}) if b not in able or is_full(kafka.log_dirs.get(b))]


def kept_waiting(running: Sequence[Move], kafka: KafkaSnapshot, gone: Mapping[int, str] = _NONE_GONE) -> str:
    """Who keeps a replica of what runs and does not serve, "" where all do. All bytes may have arrived long ago: Kafka
    ends a move once every replica of its target is in sync, those that stay too."""
    live = kafka.live_brokers()
    away = Counter(b for m in running for b in m.after if b not in m.added and b not in live)
    return "; ".join(
        f"{away[b]} of them cannot end before broker {b} is in sync, {gone.get(b, _AWAY)}" for b in sorted(away)
    )


def gone_for_good(situation: Situation) -> Mapping[int, str]:
    """By id, brokers whose VM is gone, with what becomes of them."""
    found = {}
    for instance in situation.view.brokers():
        if instance.lost and instance.lost_at is not None:
            left_s = situation.lost_after_s - situation.seconds_since(instance.lost_at)
            when = f"it is replaced in {left_s:.0f} s" if left_s > 0 else "it is replaced next"
            found[instance.service_id] = f"whose VM is gone: {when}"
    return found


def seems_movable(kafka: KafkaSnapshot, outgoing: Collection[int]) -> bool:
    """Whether something on brokers to be emptied could move, as far as its own replicas are concerned
    (`planner.drain.selection`)."""
    free = (p for b in outgoing for p in kafka.hosted_by(b) if not p.is_moving and kafka.has_source(p))
    return any(set(p.replicas) <= {*p.isr, *outgoing} for p in free)


def is_full(disk: LogDirsSeen | None) -> bool:
    """Whether a broker tells that it has no room at all; of one that tells nothing it is not known."""
    return disk is not None and disk.total_bytes > 0 and disk.usable_bytes <= _NO_ROOM_BYTES


def left_bytes(move: Move, seen: Mapping[TopicPartition, PartitionSeen]) -> int:
    """Bytes of a running move that have not arrived; all of them where a target has not told."""
    partition = seen.get(move.name)
    if partition is None or not partition.arrived_bytes:
        return move.bytes
    size = max(partition.size_bytes, move.bytes // max(1, len(move.added)))
    return sum(max(0, size - arrived) for arrived in partition.arrived_bytes)


def _left_s(sizes: Sequence[int], growths: Sequence[float], rate_bytes_per_s: float) -> float | None:
    """As if one log came after the other, each growing until it has arrived; None when one outgrows the rate."""
    at_s = 0.0
    for size, growth in zip(sizes, growths, strict=True):
        left = size + growth * at_s
        if left > 0:
            if growth >= rate_bytes_per_s:
                return None
            at_s += left / (rate_bytes_per_s - growth)
    return at_s


def _waiting_bytes(move: Move, seen: Mapping[TopicPartition, PartitionSeen]) -> int:
    """As large as the log is by now; as planned where no log dir tells."""
    return max(move.bytes, seen[move.name].size_bytes * len(move.added)) if move.name in seen else move.bytes


def _arrived_bytes(move: Move, seen: Mapping[TopicPartition, PartitionSeen]) -> int:
    return sum(seen[move.name].arrived_bytes) if move.name in seen else 0


def _promised(plan: DrainPlan) -> float:
    makespan_s = plan.certificate.measures.makespan_s.value
    return sum(m.bytes for m in plan.moves) / makespan_s if makespan_s > 0 else 0.0
