"""From a request to a plan or a refusal: the one entry both engines call. Pure.

The planner itself (planner.drain.certified: schedule, bounds, replay) comes with compiled kernels and a solver library
that take 2 s to import, so it is loaded when the first plan is made.
"""

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from planner.drain.arrays import Int32s, Int64s
from planner.drain.certificate import Certificate, rounded
from planner.drain.infeasible import Infeasible
from planner.drain.model.measures import Measure, Measures
from planner.drain.model.state import Floats
from planner.drain.plan import DrainPlan, Engine, Move, Port
from planner.drain.refusal import refused_by_planner, unusable_target
from planner.drain.request import DrainRequest
from planner.drain.selection import Deferred, select
from planner.drain.throttle import (
    KAFKA_REACHES,
    ONTO_SLOW_VOLUMES_KAFKA_REACHES,
    CapTooLow,
    assumptions,
    charges,
    floor,
    quota,
    require_cap,
    rooms,
    usable,
    usable_volumes,
)
from planner.quantities import human_bytes

ENCRYPTED = "TLS (processors and fetchers)"
"""What takes the place of a network in the words of what binds."""

if TYPE_CHECKING:
    from planner.drain.answer import Answered


def solve(request: DrainRequest, *, engine: Engine = "in-process") -> DrainPlan | Infeasible:
    """The same request gives the same plan (but for `engine`) on every machine.

    A plan may be empty with `deferred` partitions left: they cannot move now (see Deferred.reason), ask again
    later.
    """
    selection = select(request)
    if not selection.rows.size:
        return _nothing_to_move(request, selection.deferred, engine)
    refusal = unusable_target(request)
    if refusal:
        return refusal
    into, out = charges(request, selection.rows)
    try:
        require_cap(request, into, out)
    except CapTooLow as low:
        return Infeasible(request.drain_id, request.cluster_uid, request.round, "throttle", str(low))
    room = rooms(request)
    ingress, egress = usable(request, into, room[0]), usable(request, out, room[1])
    from planner.drain.answer import Answered, Unanswered, answered

    answer = answered(request, selection.rows, ingress=ingress, egress=egress)
    if not isinstance(answer, Unanswered):
        return _plan(request, answer, selection.deferred, engine, (into, out))
    if not request.allow_partial:
        return refused_by_planner(request, answer, None)
    stuck, movable = answer.stuck, selection.rows
    rest: Answered | Unanswered = answer
    # What is left may find no places either once the first are out of the way; each time there are fewer.
    while isinstance(rest, Unanswered) and rest.stuck.size and movable.size:
        movable = np.setdiff1d(movable, rest.stuck)
        stuck = np.union1d(stuck, rest.stuck)
        if movable.size:
            rest = answered(request, movable, ingress=ingress, egress=egress)
    deferred = [Deferred(request.cluster.name(int(row)), "no target can take it") for row in stuck]
    left = tuple(sorted((*selection.deferred, *deferred)))
    part = None
    if not movable.size:
        part = _nothing_to_move(request, left, engine)
    elif not isinstance(rest, Unanswered):
        part = _plan(request, rest, left, engine, (into, out))
    return refused_by_planner(request, replace(answer, stuck=stuck), part)


def _plan(
    request: DrainRequest,
    answer: "Answered",
    deferred: tuple[Deferred, ...],
    engine: Engine,
    charged: tuple[Floats, Floats],
) -> DrainPlan:
    moves, room = _moves(request, answer), rooms(request)
    return DrainPlan(
        drain_id=request.drain_id,
        cluster_uid=request.cluster_uid,
        engine=engine,
        round=request.round,
        moves=moves,
        checkpoints=tuple(int(n) for n in answer.schedule.checkpoints),
        into=_into(request, answer, moves, charged[0], room[0]),
        out=_out(request, answer, moves, charged[1], room[1]),
        deferred=deferred,
        certificate=_certificate(request, answer, moves),
    )


def _moves(request: DrainRequest, answer: "Answered") -> tuple[Move, ...]:
    model, schedule = request.cluster, answer.schedule
    rows = answer.question.row[schedule.row]
    ids = np.append(model.brokers.id, np.int32(-1))
    before, after = model.replicas[rows], ids[schedule.after]
    copied = ((after >= 0) & ~(after[:, :, None] == before[:, None, :]).any(axis=2)).sum(axis=1)
    source = _sources(request, rows, ids[schedule.source])
    columns = zip(
        (model.topics[i] for i in model.topic[rows].tolist()),
        model.partition[rows].tolist(),
        before.tolist(),
        after.tolist(),
        (model.size_bytes[rows] * copied).tolist(),
        source.tolist(),
        copied.tolist(),
        _log_dirs(answer, model.replicas[rows]),
        strict=True,
    )
    return tuple(
        Move(topic, partition, _unpadded(old), _unpadded(new), size, read if copies and read >= 0 else None, dirs)
        for topic, partition, old, new, size, read, copies, dirs in columns
    )


def _log_dirs(answer: "Answered", before: Int32s) -> Iterable[tuple[str, ...]]:
    """Per entry the path each of its added replicas goes to, "" where Kafka chooses; () where it does for all."""
    chosen, table, state = answer.schedule.log_dirs, answer.question.state.log_dirs, answer.question.state
    if chosen is None or table is None:
        return ((),) * len(answer.schedule)
    after = np.append(state.brokers.id, np.int32(-1))[answer.schedule.after]
    added = (after >= 0) & ~(after[:, :, None] == before[:, None, :]).any(axis=2)
    paths = (*table.path, "")
    lists = zip(chosen.tolist(), added.tolist(), strict=True)
    named = [tuple(paths[d] for d, new in zip(dirs, are_new, strict=True) if new) for dirs, are_new in lists]
    return [dirs if any(dirs) else () for dirs in named]


def _sources(request: DrainRequest, rows: Int64s, source: np.ndarray) -> np.ndarray:
    """Who is read: only one in sync may be; the leader now (-1) where the planner took a late leaver for one."""
    in_sync = (request.cluster.isr[rows] == source[:, None]).any(axis=1)
    return np.where(in_sync, source, -1)


def _into(
    request: DrainRequest, answer: "Answered", moves: tuple[Move, ...], charged: Floats, room: Floats
) -> dict[int, Port]:
    schedule, brokers = answer.schedule, answer.question.state.brokers
    rates = np.minimum(schedule.throttle_in_bytes_per_s, brokers.ingress_bytes_per_s)
    used = {b for move in moves for b in move.added}
    slow = usable_volumes(request) < room  # NaN, where nobody knows, is not
    reaches = np.where(slow, ONTO_SLOW_VOLUMES_KAFKA_REACHES, KAFKA_REACHES)
    return _ports(request, used, schedule.slots_in, rates, charged, room, reaches)


def _out(
    request: DrainRequest, answer: "Answered", moves: tuple[Move, ...], charged: Floats, room: Floats
) -> dict[int, Port]:
    """Every replica in sync may come to lead a copy, so all of them have a rate."""
    schedule, brokers = answer.schedule, answer.question.state.brokers
    rates = np.minimum(schedule.throttle_out_bytes_per_s, brokers.egress_bytes_per_s)
    rows = answer.question.row[schedule.row][[bool(m.added) for m in moves]] if moves else np.zeros(0, dtype=np.int64)
    isr = request.cluster.isr[rows]
    used = {int(b) for b in np.unique(np.append(isr, request.cluster.leader[rows])) if b >= 0}
    reaches = np.full(room.size, KAFKA_REACHES)
    return _ports(request, used, schedule.slots_out, rates, charged, room, reaches)


def _ports(
    request: DrainRequest,
    used: Iterable[int],
    slots: np.ndarray,
    rates: Floats,
    charged: Floats,
    room: Floats,
    reaches: Floats,
) -> dict[int, Port]:
    """`reaches`: float64[B], the share of a throttle that Kafka really moves."""
    from planner.drain.model.plan import UNLIMITED_SLOTS

    row = {int(b): i for i, b in enumerate(request.cluster.brokers.id)}
    ports = {}
    for broker in sorted(used):
        at = row[broker]
        charge = float(charged[at])
        throttle = quota(
            request,
            promised_bytes_per_s=float(rates[at]),
            charged_bytes_per_s=charge,
            room_bytes_per_s=float(room[at]),
            reaches=float(reaches[at]),
        )
        ports[broker] = Port(
            slots=None if slots[at] >= UNLIMITED_SLOTS else int(slots[at]),
            promised_bytes_per_s=max(1, int(rates[at])),
            quota_bytes_per_s=throttle,
            floor_bytes_per_s=min(throttle, floor(charge)),
        )
    return ports


def _certificate(request: DrainRequest, answer: "Answered", moves: tuple[Move, ...]) -> Certificate:
    ids, brokers = request.cluster.brokers.id.tolist(), answer.question.state.brokers
    rates = dict(zip(ids, np.maximum(brokers.ingress_bytes_per_s, brokers.egress_bytes_per_s).tolist(), strict=True))
    return Certificate(
        measures=rounded(answer.measures),
        replicas=sum(len(m.added) for m in moves),
        source_transfers=answer.source_transfers,
        bandwidth_source=request.bandwidth.source,
        assumptions=(*assumptions(request, answer.moving, rates), *_assumed_disks(request, answer, moves)),
        binds=_binds(request, answer),
    )


def _binds(request: DrainRequest, answer: "Answered") -> str:
    """A network that the operator's cap alone makes narrow is the cap's, and one that TLS does is that of TLS."""
    from planner.drain.bounds.limits import NETWORK_IN, NETWORK_OUT

    binds, cap = answer.verdict.binds, request.throttle_cap_bytes_per_s
    if binds not in (NETWORK_IN, NETWORK_OUT):
        return binds
    ids = [int(b) for b in request.cluster.brokers.id]
    concerned, limit = (request.targets, request.tls.into) if binds == NETWORK_IN else (ids, request.tls.out)
    encrypted = {b: limit.get(b, math.inf) for b in ids}
    left = {b: min(request.bandwidth.of(b), encrypted[b]) * (1 - request.client_fraction) for b in ids}
    if cap is not None and all(cap * KAFKA_REACHES < left[b] for b in ids):
        return "rollout.throttleMibPerS"
    is_tls = all(encrypted[b] < request.bandwidth.of(b) for b in concerned if b in encrypted)
    return binds.replace("the network", ENCRYPTED) if is_tls else binds


def _assumed_disks(request: DrainRequest, answer: "Answered", moves: tuple[Move, ...]) -> list[str]:
    sizes, brokers = request.cluster.size_bytes[answer.moving], request.cluster.brokers
    empty = int((sizes == 0).sum())
    lines = [f"{empty} of {sizes.size} moved partitions report 0 bytes: taken as empty"] if empty else []
    blind = brokers.id[np.isin(brokers.id, request.targets) & (brokers.total_bytes <= 0)].tolist()
    if blind:
        lines.append(f"disks of brokers {blind} unknown: they receive nothing")
    told = set(brokers.id[brokers.log_dirs.broker].tolist())
    whole = sorted({b for m in moves for b in m.added} - told)
    if whole and int(sizes.max(initial=0)):
        longest = human_bytes(int(sizes.max()))
        lines.append(f"log directories of brokers {whole} not known: each seen as one disk; longest log {longest}")
    return lines


def _nothing_to_move(request: DrainRequest, deferred: tuple[Deferred, ...], engine: Engine) -> DrainPlan:
    none = Measure(0, 0)
    return DrainPlan(
        drain_id=request.drain_id,
        cluster_uid=request.cluster_uid,
        engine=engine,
        round=request.round,
        moves=(),
        checkpoints=(),
        into={},
        out={},
        deferred=deferred,
        certificate=Certificate(
            measures=Measures(
                bytes=none, makespan_s=none, disk=none, leaders=none, leader_changes=none, release_s=none
            ),
            replicas=0,
            source_transfers=0,
            bandwidth_source=request.bandwidth.source,
            assumptions=(),
        ),
    )


def _unpadded(ids: Iterable[int]) -> tuple[int, ...]:
    return tuple(b for b in ids if b >= 0)
