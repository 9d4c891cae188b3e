"""What a tick hands to Kafka while a drain copies: entries of the plan in its order, their sources put in charge first,
throttles (`pacing`) on exactly what is open. Pure: read off Kafka, nothing remembered.
"""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from controlplane.converger.questions.rolls.drain_progress import left_bytes
from controlplane.converger.situation.effects import Effect, ElectPreferred, PreferLogDirs, Reassign, SetThrottle
from controlplane.kafka.throttle import ThrottlePlan
from planner.drain.plan import DrainPlan, Move, Port
from planner.drain.release import ReleaseEntry, released
from planner.drain.request import MAX_MOVES_PER_CALL
from planner.drain.residual import Residual
from planner.observed import KafkaSnapshot, PartitionSeen, TopicPartition

LEADER_PEAK = 2.0
"""No broker is put in charge of more than this many times what the fullest leads now (rule H7 of docs/planning.md)."""

Seen = Mapping[TopicPartition, PartitionSeen]


def starting_now(
    plan: DrainPlan, left: Residual, kafka: KafkaSnapshot, allowed: Iterable[Move], *, share: float = 1.0
) -> list[Move]:
    """The allowed moves that start in this tick, in the plan's order. Mere changes of order come when all copies have
    been handed over: they take no slot, and nothing waits for them. `share`: of the planned rate, by the latency brake;
    as many copies run at once.
    """
    seen, live = kafka.by_name, kafka.live_brokers()
    waiting = list(allowed)
    copies = [m for m in waiting if m.added]
    return released(
        (_entry(m, seen[m.name], live) for m in copies or waiting),
        [_running(m, seen) for m in left.running],
        into=_braked(plan.into, share),
        out=_braked(plan.out, share),
        most=MAX_MOVES_PER_CALL,
    )


def hand_over(throttle: ThrottlePlan, kafka: KafkaSnapshot, starting: Sequence[Move]) -> tuple[Effect, ...]:
    """Throttles, then sources in charge, then directories, then the moves. Each can be repeated after a crash.

    Throttles are always set: a snapshot shows which topics are throttled, not which of their partitions.
    """
    effects = list(throttle_effects(throttle))
    transfers = transferred(starting, kafka)
    if transfers:
        effects += [Reassign({m.name: m.sourced for m in transfers}), ElectPreferred(tuple(m.name for m in transfers))]
    wishes = log_dir_wishes(starting, kafka)
    if wishes:
        effects.append(PreferLogDirs(wishes))
    return (*effects, Reassign({m.name: m.after for m in starting}))


def log_dir_wishes(starting: Sequence[Move], kafka: KafkaSnapshot) -> dict[int, dict[TopicPartition, str]]:
    """By broker, the directory the plan has for each replica it is about to get. One that has the replica already
    would copy it over, so it is not told again.
    """
    seen = kafka.by_name
    wishes: dict[int, dict[TopicPartition, str]] = {}
    for move in starting:
        for broker, path in zip(move.added, move.log_dirs, strict=False):
            if path and broker not in seen[move.name].replicas:
                wishes.setdefault(broker, {})[move.name] = path
    return wishes


def transferred(starting: Sequence[Move], kafka: KafkaSnapshot) -> list[Move]:
    """Moves whose source has to be put in charge first: it is in sync and live, the partition has enough in sync, and
    the source does not come to lead too much.
    """
    seen, live = kafka.by_name, kafka.live_brokers()
    leads = Counter(p.leader for p in kafka.partitions if p.leader >= 0)
    fair = math.ceil(len(kafka.partitions) / max(1, len(live)))
    most = LEADER_PEAK * max([fair, *leads.values()])
    chosen = []
    for move in starting:
        now = seen[move.name]
        source = source_of(move, now, live)
        if move.added and source != now.leader and len(now.isr) >= now.min_isr and leads[source] < most:
            leads[source] += 1
            leads[now.leader] -= 1
            chosen.append(move)
    return chosen


def throttle_effects(throttle: ThrottlePlan) -> tuple[Effect, ...]:
    return (SetThrottle(throttle),) if throttle.leader_bytes_per_s or throttle.follower_bytes_per_s else ()


def source_of(move: Move, now: PartitionSeen, live: frozenset[int]) -> int:
    """Who will be read: the plan's source while it is in sync and live, else whoever leads."""
    planned = move.source is not None and move.source in now.isr and move.source in live
    return move.source if planned and move.source is not None else now.leader


def stretch_of(plan: DrainPlan, position: int) -> int:
    """Between which two checkpoints the move at this position stands, counted from 0."""
    return bisect_right(plan.checkpoints, position)


def _braked(ports: Mapping[int, Port], share: float) -> Mapping[int, Port]:
    """One copy at least: moves have to end."""
    if share >= 1:
        return ports
    return {
        broker: replace(
            port,
            slots=None if port.slots is None else max(1, math.ceil(port.slots * share)),
            promised_bytes_per_s=int(port.promised_bytes_per_s * share),
        )
        for broker, port in ports.items()
    }


def _entry(move: Move, now: PartitionSeen, live: frozenset[int]) -> ReleaseEntry:
    size = max(now.size_bytes, move.bytes // max(1, len(move.added)))
    return ReleaseEntry(move, source_of(move, now, live), move.added, size)


def _running(move: Move, seen: Seen) -> ReleaseEntry:
    return ReleaseEntry(move, seen[move.name].leader, move.added, left_bytes(move, seen) // max(1, len(move.added)))
