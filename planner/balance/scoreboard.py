"""The placement while it is being changed: every list, every load and what each breach costs, for the kernels."""

from typing import NamedTuple, cast

import numpy as np

from planner.balance.kernels import kernel
from planner.balance.limits import BalanceLimits, counted
from planner.balance.loads import FIGURES, Figure, Loads, borne, leader_places, led_now
from planner.drain.model.state import NO_BROKER, Bools, BrokerState, ClusterState, Floats, Int64s

SLACK = 2e-6
"""Bands are aimed at this much (of the mean) inside their edges, so that a sum in another order is in band too."""


NONE = cast(int, np.int64(NO_BROKER))
"""NO_BROKER as a kernel starts a search with it: of a plain int numba would compile every callee once more."""

TOPIC_SCALE = 1e-3
"""One replica of a topic too many is as bad as this much, beside a broker's squared distance in means."""

LOW, HIGH, CEILING, SCALE, WEIGHT, HARD = range(6)
"""Last axis of `Scoreboard.edges`."""

FOLLOWING, LEADING = 0, 1
"""Middle axis of `Scoreboard.weigh`."""


class Scoreboard(NamedTuple):
    """P partitions, W replicas, B brokers, 8 figures.

    Fixed: `before`: int64[P, W] lists now. `weigh`: float64[P, 2, 8], what following adds and what leading adds on
    top. `edges`: float64[B, 8, 6], by LOW .. HARD: band, ceiling, 1 / mean, weight of a breach of band and of ceiling.
    `topic_band`: int64[T, R, 2], of a topic on a broker of each rack.
    Few arrays on purpose: numba counts references of each at each call. `movable`: bool[P] may be copied;
    `turnable`: bool[P] may be reordered. `takes`: bool[B] may be given replicas and leadership.
    Changing: `replicas`, `place` (where in `on`): int64[P, W]. `lead`: int64[P] column. `able`: bool[P, W] could lead.
    `load`: float64[B, 8]. `on`: int64[B, most] codes p * W + column, `many`: int64[B] of them. `spread`: int64[T, B].
    `room`: float64[B], bytes that may still arrive with everything leaving still there (H4 whatever the order).
    """

    before: Int64s
    size: Floats
    topic: Int64s
    rack: Int64s
    weigh: Floats
    edges: Floats
    topic_band: Int64s
    topic_weight: float
    movable: Bools
    turnable: Bools
    takes: Bools
    replicas: Int64s
    place: Int64s
    lead: Int64s
    able: Bools
    load: Floats
    on: Int64s
    many: Int64s
    spread: Int64s
    room: Floats


def scoreboard_of(
    state: ClusterState, loads: Loads, limits: BalanceLimits, *, hard_weight: float, takes: Bools, excluded: Bools
) -> Scoreboard:
    """The cluster as it is. `excluded`: bool[P], partitions that are not to be touched."""
    parts, brokers = state.partitions, state.brokers
    replicas = parts.replicas.astype(np.int64)
    lead = leader_places(state)
    load = borne(loads, parts.replicas, led_now(state))
    movable, turnable = touchable(state)
    many = np.bincount(replicas[replicas != NO_BROKER], minlength=len(brokers)).astype(np.int64)
    shrink = np.where(np.isin(np.arange(FIGURES), (Figure.REPLICAS, Figure.LEADERS)), 0.0, SLACK) * limits.mean
    on = np.full((len(brokers), _most_held(many, limits, state)), NO_BROKER, dtype=np.int64)
    place = np.full(replicas.shape, NO_BROKER, dtype=np.int64)
    seat_all(replicas, on, place, np.zeros(len(brokers), dtype=np.int64))
    dead = np.append(brokers.state == BrokerState.DEAD, True)
    return Scoreboard(
        before=np.ascontiguousarray(parts.replicas, dtype=np.int64),
        size=parts.size_bytes.astype(np.float64),
        topic=parts.topic.astype(np.int64),
        rack=brokers.rack.astype(np.int64),
        weigh=np.stack([loads.following, loads.leading], axis=1),
        edges=_edges(limits, shrink, hard_weight),
        topic_band=np.stack([limits.topic_low, limits.topic_high], axis=2).astype(np.int64),
        topic_weight=limits.topic_weight * TOPIC_SCALE,
        movable=movable & ~excluded,
        turnable=turnable & ~excluded,
        takes=takes & brokers.may_receive,
        replicas=replicas,
        place=place,
        lead=lead.astype(np.int64),
        able=parts.in_sync & ~dead[replicas],
        load=load,
        on=on,
        many=many,
        spread=counted(state, replicas).astype(np.int64),
        room=room_of(state, load[:, Figure.DISK]),
    )


def _edges(limits: BalanceLimits, shrink: Floats, hard_weight: float) -> Floats:
    # What is to lead nothing has no share of its own to measure a breach by: that of the others.
    mean = np.where(limits.leadless[:, None] & (limits.mean <= 0), limits.mean.max(axis=0, initial=0.0), limits.mean)
    scale = np.where(mean > 0, 1 / np.where(mean > 0, mean, 1), 0.0)
    soft, hard = np.broadcast_to(limits.weight, scale.shape), np.full(scale.shape, hard_weight)
    sides = [limits.low + shrink, limits.high - shrink, limits.ceiling - shrink]
    return np.ascontiguousarray(np.stack([*sides, scale, soft, hard], axis=2))


def room_of(state: ClusterState, used: Floats) -> Floats:
    """float64[B]: bytes a disk may still take within `disk_limit`; 0 where nothing may or can arrive."""
    brokers = state.brokers
    room = np.floor(brokers.disk_bytes * state.disk_limit) - used
    return np.where(brokers.may_receive & (brokers.ingress_bytes_per_s > 0), np.maximum(room, 0.0), 0.0)


def touchable(state: ClusterState) -> tuple[Bools, Bools]:
    """bool[P] twice: what may be copied and what may be reordered.

    Not copied: what has a replica out of sync (repair first), nobody to read, fewer replicas than min ISR, or a write
    rate its in-sync followers could not keep up with under any quota (H9). Neither: what has a replica on a broker
    that has to be emptied; that is a drain's or a repair's work.
    """
    parts, brokers = state.partitions, state.brokers
    held = parts.replicas != NO_BROKER
    leaving = (np.append(brokers.must_empty, False)[parts.replicas] & held).any(axis=1)
    whole = (parts.in_sync | ~held).all(axis=1)
    charge = np.nan_to_num(parts.write_bytes_per_s) * np.maximum(parts.in_sync.sum(axis=1) - 1, 0)
    egress = np.append(brokers.egress_bytes_per_s, 0.0)[parts.replicas]
    read = (parts.in_sync & (egress > np.ceil(charge)[:, None] + 1)).any(axis=1)
    enough = held.sum(axis=1) >= parts.min_isr
    turnable = ~leaving & held.any(axis=1) & (parts.leader != NO_BROKER)
    return turnable & whole & read & enough, turnable


def _most_held(many: Int64s, limits: BalanceLimits, state: ClusterState) -> int:
    """Places per broker: what the band allows where there is one, else everything within reason."""
    high = limits.high[:, Figure.REPLICAS]
    total, count = int(many.sum()), max(len(state.brokers), 1)
    wanted = np.where(np.isfinite(high), high, 4 * total / count).max(initial=0.0)
    return int(min(max(int(many.max(initial=0)), wanted, 4 * total / count) + 64, total + 1))


@kernel
def seat_all(replicas: Int64s, on: Int64s, place: Int64s, many: Int64s) -> None:
    """Write every replica into its broker's row."""
    partitions, width = replicas.shape
    for p in range(partitions):
        for i in range(width):
            b = replicas[p, i]
            if b != NO_BROKER:
                on[b, many[b]] = p * width + i
                place[p, i] = many[b]
                many[b] += 1
