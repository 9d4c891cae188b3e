"""Where a plan stands in fresh metadata: nothing about a running drain is remembered, all of it is read
again.
"""

from collections.abc import Collection
from dataclasses import dataclass

from planner.drain.plan import DrainPlan, Move
from planner.observed import KafkaSnapshot, TopicPartition


@dataclass(frozen=True, slots=True)
class Residual:
    """What is left of a plan. Every move is in exactly one of the first four, or its topic is gone.

    `valid_next`: replicas still equal `before` (or that with the source first, put in charge of the copy), nothing
    runs: may be started. `running`: ours, on its way to
    `after`. `finished`: replicas equal `after`. `changed_by_others`: anything else (a foreign reassignment
    that runs is waited for; one that has ended belongs to the next round).
    """

    valid_next: tuple[Move, ...]
    running: tuple[Move, ...]
    finished: tuple[Move, ...]
    changed_by_others: tuple[TopicPartition, ...]
    foreign_running: tuple[TopicPartition, ...]


def residual(plan: DrainPlan, snapshot: KafkaSnapshot, outgoing: Collection[int]) -> Residual:
    """Sort the plan's moves by what Kafka says. `outgoing` are the brokers being emptied.

    Sorted once for each snapshot: a tick of a drain asks in half a dozen places, of up to 100,000 moves.
    """
    known: list[tuple[DrainPlan, tuple[int, ...], Residual]] = snapshot.__dict__.setdefault("_residuals", [])
    asked = tuple(outgoing)
    for of, emptied, found in known:
        if of is plan and emptied == asked:
            return found
    known.append((plan, asked, _sorted(plan, snapshot, asked)))
    return known[-1][2]


def _sorted(plan: DrainPlan, snapshot: KafkaSnapshot, outgoing: Collection[int]) -> Residual:
    seen = snapshot.by_name
    valid, running, finished = [], [], []
    changed: list[TopicPartition] = []
    for move in plan.moves:
        now = seen.get(move.name)
        if now is None:
            continue
        if now.is_moving:
            if now.target == move.after:
                running.append(move)
            else:
                changed.append(move.name)
        elif now.replicas == move.after:
            finished.append(move)
        elif now.replicas in (move.before, move.sourced):
            valid.append(move)
        else:
            changed.append(move.name)
    left = [p for b in outgoing for p in snapshot.hosted_by(b)]
    ours = {m.name for m in running}
    return Residual(
        valid_next=tuple(valid),
        running=tuple(running),
        finished=tuple(finished),
        changed_by_others=tuple(changed),
        foreign_running=tuple(sorted({p.name for p in left if p.is_moving and p.name not in ours})),
    )
