"""Another replication factor for topics that Kafka has: what is to move, batch by batch, from the metadata alone. Pure.

Where replicas go, and which ones are dropped, is `planner.balance.factor`'s choice: racks first, then disks. Here it
becomes moves: the order of each list stays, of several replicas too many one goes at a time, so that of those in sync
a majority stays, and no batch loads a broker or a link more than the repairs of `planner.placement.corrections` do.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from planner.balance.answer import Balanced, Shortfall
from planner.balance.factor import change_replication_factor
from planner.drain.model.state import NO_BROKER, ClusterState
from planner.drain.plan import Move
from planner.drain.release import MOST_A_PAIR
from planner.observed import KafkaSnapshot, PartitionSeen, TopicPartition
from planner.placement.corrections import MOST_A_BROKER, MOST_AT_A_TIME, MOST_BYTES
from planner.rebalancing.known_load import KnownLoad
from planner.rebalancing.light_state import light_state

DISK_LIMIT = 0.9
"""No disk is planned fuller than this."""

_OPEN = 1e12
"""Bytes/s of each port: rates are set by the throttles of a batch, they decide no place."""


@dataclass(frozen=True, slots=True)
class FactorPlan:
    """All that is to move, the largest logs first. `left`: partitions that cannot be touched now, with why. `short`:
    what is missing for the rest, "" where nothing is. A shortfall says nothing of what `moves` has all the same.
    """

    moves: tuple[Move, ...] = ()
    left: Mapping[TopicPartition, str] = field(default_factory=dict)
    short: str = ""

    @property
    def copied_bytes(self) -> int:
        return sum(m.bytes for m in self.moves)


def factor_plan(
    kafka: KafkaSnapshot,
    receivers: Collection[int],
    topics: Sequence[str],
    factor: int,
    *,
    below_min_isr: bool = False,
    refusal: Callable[[PartitionSeen, tuple[int, ...]], str] = lambda partition, after: "",
) -> FactorPlan:
    """Every partition of `topics` gets `factor` replicas on brokers that serve.

    `below_min_isr`: it may be fewer than `min.insync.replicas` asks for. `refusal`: why a partition may not move to
    these replicas now, "" when it may. What moves already is left alone. Raises ValueError for a topic that is not
    there, or a factor below 1.
    """
    state = _state(kafka, receivers, factor, below_min_isr=below_min_isr)
    answer = change_replication_factor(state, topics, factor)
    best = answer if isinstance(answer, Balanced) else answer.best
    parts = kafka.partitions
    left = {parts[row].name: why for row, why in best.left} if best is not None else {}
    moves = []
    for row, after in _lists(state, best):
        p = parts[row]
        wanted = _ordered(p, after, factor)
        why = _untouchable(p) or refusal(p, wanted)
        if why:
            left[p.name] = why
            continue
        added = len(set(wanted) - set(p.replicas))
        moves.append(Move(p.name.topic, p.name.partition, p.replicas, wanted, p.size_bytes * added))
    return FactorPlan(tuple(moves), left, answer.message if isinstance(answer, Shortfall) else "")


def joined(plans: Sequence[FactorPlan]) -> FactorPlan:
    """Plans of topics that share no broker, as one."""
    if len(plans) == 1:
        return plans[0]
    moves = sorted((m for plan in plans for m in plan.moves), key=lambda m: (m.bytes > 0, -m.bytes))
    left = {name: why for plan in plans for name, why in plan.left.items()}
    return FactorPlan(tuple(moves), left, "; ".join(plan.short for plan in plans if plan.short))


def next_batch(kafka: KafkaSnapshot, moves: Sequence[Move]) -> tuple[Move, ...]:
    """The moves that begin together, in their order; the others have their turn later."""
    into: Counter[int] = Counter()
    out: Counter[int] = Counter()
    between: Counter[tuple[int, int]] = Counter()
    batch: list[Move] = []
    copied = 0
    for move in moves:
        leader = kafka.by_name[move.name].leader
        if len(batch) == MOST_AT_A_TIME:
            break
        if batch and copied + move.bytes > MOST_BYTES:
            continue
        crowded = any(into[b] >= MOST_A_BROKER or between[leader, b] >= MOST_A_PAIR for b in move.added)
        if batch and (crowded or (move.added and out[leader] >= MOST_A_BROKER)):
            continue
        batch.append(move)
        copied += move.bytes
        out[leader] += len(move.added)
        for broker in move.added:
            into[broker] += 1
            between[leader, broker] += 1
    return tuple(batch)


def _state(kafka: KafkaSnapshot, receivers: Collection[int], factor: int, *, below_min_isr: bool) -> ClusterState:
    """As `light_state`, with what is in sync, what writes need and disks up to the limit; bandwidths bind nobody."""
    state = light_state(kafka, tuple(sorted(receivers)), KnownLoad())
    parts, ids = state.partitions, state.brokers.id
    in_sync = np.zeros(parts.replicas.shape, dtype=np.bool_)
    for row, p in enumerate(kafka.partitions):
        held = parts.replicas[row]
        in_sync[row] = [b != NO_BROKER and int(ids[b]) in p.isr for b in held]
    least = [max(p.configured_min_isr, p.min_isr) for p in kafka.partitions]
    if below_min_isr:
        least = [min(needed, factor) for needed in least]
    row_of = {int(b): n for n, b in enumerate(ids)}
    leader = np.array([row_of.get(p.leader, NO_BROKER) for p in kafka.partitions], dtype=np.int32)
    used = {b: d.total_bytes - d.usable_bytes for b, d in kafka.log_dirs.items() if d.total_bytes > 0}
    told = {b: d.total_bytes for b, d in kafka.log_dirs.items() if d.total_bytes > 0}
    logs: Counter[int] = Counter()
    for p in kafka.partitions:
        for broker in p.target:
            logs[broker] += p.size_bytes
    # What else is on a disk takes of its size; one that nobody told of takes nothing.
    disks = [max(0, told[b] - max(0, int((used[b] - logs[b]) / DISK_LIMIT))) if b in told else 0 for b in ids.tolist()]
    return replace(
        state,
        brokers=replace(
            state.brokers,
            disk_bytes=np.array(disks, dtype=np.int64),
            ingress_bytes_per_s=np.full(len(ids), _OPEN),
            egress_bytes_per_s=np.full(len(ids), _OPEN),
        ),
        partitions=replace(parts, in_sync=in_sync, min_isr=np.array(least, dtype=np.int32), leader=leader),
        disk_limit=DISK_LIMIT,
    )


def _lists(state: ClusterState, best: Balanced | None) -> list[tuple[int, tuple[int, ...]]]:
    """Rows and new lists, by broker id; drops first, which cost nothing, then the largest logs."""
    if best is None:
        return []
    ids, plan = state.brokers.id, best.schedule
    found = [
        (int(row), tuple(int(ids[b]) for b in after if b != NO_BROKER))
        for row, after in zip(plan.row.tolist(), plan.after, strict=True)
    ]
    size, held = state.partitions.size_bytes, (state.partitions.replicas != NO_BROKER).sum(axis=1)
    return sorted(found, key=lambda one: (len(one[1]) > held[one[0]], -int(size[one[0]]), one[0]))


def _untouchable(p: PartitionSeen) -> str:
    if p.is_moving:
        return "somebody moves it"
    return f"{p.name} has no leader" if p.leader < 0 else ""


def _ordered(p: PartitionSeen, after: Sequence[int], factor: int) -> tuple[int, ...]:
    """The list as it stands, without who goes first of those that go, then who comes."""
    leaving = [b for b in p.replicas if b not in after]
    first = sorted(leaving, key=lambda b: (b in p.isr, -p.replicas.index(b)))[:1] if len(p.replicas) > factor else []
    return (*(b for b in p.replicas if b not in first), *(b for b in after if b not in p.replicas))
