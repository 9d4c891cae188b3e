"""From a request to a plan or a refusal: the one entry both engines call. Pure."""

from collections.abc import Sequence

import numpy as np

from planner.drain.bounds import Bounds, bounds_of
from planner.drain.certificate import Certificate
from planner.drain.infeasible import Infeasible, human_bytes
from planner.drain.kernel import PLACED
from planner.drain.plan import Batch, DrainPlan, Engine, Move
from planner.drain.refusal import refused_placement, unusable_target
from planner.drain.request import DrainRequest
from planner.drain.schedule import BATCH_OVERHEAD_S, batches_in_order, copies_of, timed
from planner.drain.selection import Deferred, select
from planner.drain.targets import Placement, disk_room, eligible_targets, place
from planner.drain.throttle import KAFKA_REACHES, CapTooLow, Throttles, replication_share, throttles_for


def solve(request: DrainRequest, *, engine: Engine = "in-process") -> DrainPlan | Infeasible:
    """The same request gives the same plan (but for `engine`) on every machine.

    A plan may be empty with `deferred` partitions left: they cannot move now (see Deferred.reason), ask again
    later.
    """
    selection = select(request)
    if selection.rows.size:
        refusal = unusable_target(request)
        if refusal:
            return refusal
    placement = place(request, selection.rows)
    placed = placement.only(placement.outcome == PLACED)
    if len(placed.rows) == len(placement.rows):
        return _plan(request, placed, selection.deferred, engine)
    failed = placement.only(placement.outcome != PLACED)
    stuck = tuple(Deferred(request.cluster.name(row), "no target can take it") for row in failed.rows)
    left = tuple(sorted((*selection.deferred, *stuck)))
    part = _plan(request, placed, left, engine) if request.allow_partial else None
    return refused_placement(request, failed, part if isinstance(part, DrainPlan) else None)


def _plan(
    request: DrainRequest, placed: Placement, deferred: tuple[Deferred, ...], engine: Engine
) -> DrainPlan | Infeasible:
    moves = _moves(request, placed)
    copies = copies_of(moves, request.cluster.leader[placed.rows].tolist())
    cuts = batches_in_order(copies, request.limits)
    try:
        throttles = throttles_for(request, placed, cuts)
    except CapTooLow as low:
        return Infeasible(request.drain_id, request.cluster_uid, request.round, "throttle", str(low))
    batches = timed(cuts, copies, throttles)
    return DrainPlan(
        drain_id=request.drain_id,
        cluster_uid=request.cluster_uid,
        engine=engine,
        round=request.round,
        moves=moves,
        batches=batches,
        leader_throttle=throttles.leader,
        follower_throttle=throttles.follower,
        deferred=deferred,
        certificate=_certificate(request, placed, moves, batches, throttles),
    )


def _moves(request: DrainRequest, placed: Placement) -> tuple[Move, ...]:
    model = request.cluster
    copied = placed.size_bytes * placed.copies.sum(axis=1)
    names = (model.topics[i] for i in model.topic[placed.rows].tolist())
    columns = zip(
        names,
        model.partition[placed.rows].tolist(),
        placed.before.tolist(),
        placed.after.tolist(),
        copied.tolist(),
        strict=True,
    )
    return tuple(
        Move(topic, partition, _unpadded(before), _unpadded(after), size)
        for topic, partition, before, after, size in columns
    )


def _unpadded(ids: Sequence[int]) -> tuple[int, ...]:
    return tuple(b for b in ids if b >= 0)


def _certificate(
    request: DrainRequest,
    placed: Placement,
    moves: tuple[Move, ...],
    batches: tuple[Batch, ...],
    throttles: Throttles,
) -> Certificate:
    bound = _bound(request, placed, throttles)
    copied = sum(m.bytes for m in moves)
    eta_s = sum(b.eta_s for b in batches)
    copying_s = eta_s - BATCH_OVERHEAD_S * len(batches)
    fullest, fraction = _fullest(request, placed)
    return Certificate(
        moves=len(moves),
        replicas=sum(len(m.added) for m in moves),
        bytes=copied,
        bytes_bound=bound.bytes,
        bytes_ratio=_ratio(copied, bound.bytes),
        eta_s=round(eta_s, 3),
        eta_bound_s=round(bound.makespan_s, 3),
        eta_ratio=_ratio(copying_s, bound.makespan_s),
        rack_violations=_rack_violations(request, moves),
        stayers_moved=sum(1 for m in moves for b in m.removed if b not in request.outgoing),
        disk_max_fraction=fraction,
        disk_max_broker=fullest,
        bandwidth_source=request.bandwidth.source,
        assumptions=_assumptions(request, placed, throttles),
    )


def _bound(request: DrainRequest, placed: Placement, throttles: Throttles) -> Bounds:
    brokers = request.cluster.brokers
    share = {int(b): KAFKA_REACHES * replication_share(request, int(b)) for b in brokers.id}
    able = brokers.id[eligible_targets(request)].tolist()
    give = {b: max(rate, KAFKA_REACHES * throttles.leader.get(b, 0)) for b, rate in share.items()}
    take = {b: max(share[b], KAFKA_REACHES * throttles.follower.get(b, 0)) for b in able}
    return bounds_of(request, placed.rows.tolist(), out_bytes_per_s=give, in_bytes_per_s=take)


def _ratio(value: float, bound: float) -> float:
    return round(value / bound, 4) if bound > 0 else 1.0


def _fullest(request: DrainRequest, placed: Placement) -> tuple[int, float]:
    """The fullest target once every copy is there: targets only fill, so that is the worst instant."""
    brokers = request.cluster.brokers
    arriving = disk_room(request) - placed.room_left
    fractions = [
        ((total - free + extra) / total, int(broker))
        for broker, total, free, extra in zip(
            brokers.id,
            brokers.total_bytes.tolist(),
            brokers.free_bytes.tolist(),
            arriving.tolist(),
            strict=True,
        )
        if total > 0 and int(broker) in request.targets
    ]
    fraction, broker = max(fractions, default=(0.0, -1))
    return broker, round(fraction, 6)


def _rack_violations(request: DrainRequest, moves: tuple[Move, ...]) -> int:
    brokers = request.cluster.brokers
    rack = dict(zip(brokers.id.tolist(), brokers.rack.tolist(), strict=True))
    return sum(len({rack[b] for b in m.after}) < len({rack[b] for b in m.before}) for m in moves)


def _assumptions(request: DrainRequest, placed: Placement, throttles: Throttles) -> tuple[str, ...]:
    lines = list(throttles.assumptions) if placed.rows.size else []
    empty = int((placed.size_bytes == 0).sum())
    if empty:
        lines.append(f"{empty} of {placed.rows.size} moved partitions report 0 bytes: taken as empty")
    brokers = request.cluster.brokers
    blind = brokers.id[np.isin(brokers.id, request.targets) & (brokers.total_bytes <= 0)].tolist()
    if blind:
        lines.append(f"disks of brokers {blind} unknown: they receive nothing")
    fraction = int(placed.size_bytes.max()) if empty < placed.rows.size else 0
    if fraction:
        lines.append(f"log directories of a broker seen as one disk; longest log {human_bytes(fraction)}")
    return tuple(lines)
