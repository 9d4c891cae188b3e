"""What each broker should bear: the even share by capacity, as far as racks can hold it.

A list spans as many racks as it can, so a rack gets no more than one replica of a partition (two, where it has one
more than there are racks, and so on). With as many racks as replicas every rack holds everything once, whatever the
number of its brokers: there a share that forgot racks could never be reached.
"""

import numpy as np

from planner.balance.loads import FIGURES, Figure, Loads
from planner.drain.model.state import NO_BROKER, Bools, ClusterState, Floats, Int64s

COUNTED = (Figure.REPLICAS, Figure.LEADERS)
"""Whole numbers per broker, shared out evenly; the others in proportion to the capacity."""


LED = (Figure.LEADERS, Figure.LEADER_IN, Figure.NIC_OUT)
"""What only who leads bears."""


def even_share(
    state: ClusterState, loads: Loads, total: Floats, *, by_rack: bool, leadless: Bools | None = None
) -> Floats:
    """float64[B, 8]: what each broker would bear if all that able brokers bear were spread by capacity.

    `total`: float64[B, 8] borne now. `by_rack`: no rack is given more than it can hold. `leadless`: bool[B], brokers
    that are to lead nothing: the others share what leading brings.
    """
    able, rack = state.brokers.may_receive, state.brokers.rack
    most = _most_per_rack(state) if by_rack else np.zeros(len(state.partitions))
    once = np.minimum(most, 1.0)
    share = np.zeros(total.shape)
    for figure in range(FIGURES):
        capacity = loads.capacity[:, figure]
        counted = figure in COUNTED or figure == Figure.LEADER_IN or not np.isfinite(capacity[able]).all()
        weight = np.ones(len(rack)) if counted else np.where(np.isfinite(capacity), capacity, 0.0)
        amount = np.array([total[able, figure].sum()])
        bound = float(loads.following[:, figure] @ most + np.maximum(loads.leading[:, figure], 0.0) @ once)
        cap = np.full((1, len(state.brokers.racks)), bound if by_rack else np.inf)
        due = able & ~leadless if leadless is not None and figure in LED else able
        weight = np.where(due, weight, 0.0)
        share[:, figure] = levels(amount, _by_rack(state, weight), cap)[0, rack] * weight
    return share


def topic_share(state: ClusterState, counts: Int64s, *, by_rack: bool) -> Floats:
    """float64[T, R]: replicas of each topic that a broker of each rack should hold. `counts`: int64[T, B] now."""
    able, topics = state.brokers.may_receive, len(state.partitions.topics)
    cap = np.full((topics, len(state.brokers.racks)), np.inf)
    if by_rack:
        cap[:] = np.bincount(state.partitions.topic, weights=_most_per_rack(state), minlength=topics)[:, None]
    amount = counts[:, able].sum(axis=1).astype(np.float64)
    return levels(amount, _by_rack(state, able.astype(np.float64)), cap)


def levels(amount: Floats, weight: Floats, cap: Floats) -> Floats:
    """float64[N, R]: how much falls to each unit of weight when no rack takes more than its cap, else all the same.

    `amount`: float64[N] to be shared out, `weight`: float64[R], `cap`: float64[N, R]. A rack without weight gets the
    level of those below their caps. Where all are at their caps they are forgotten: the least wrong share is even.
    """
    full = np.zeros(cap.shape, dtype=np.bool_)
    level = _rest(amount, weight, cap, full)
    for _ in range(cap.shape[1]):
        over = ~full & (level[:, None] * weight > cap * (1 + 1e-12))
        if not over.any():
            break
        full |= over
        level = _rest(amount, weight, cap, full)
    below: Bools = np.any(~full & (weight > 0), axis=1)
    full &= below[:, None]
    level = _rest(amount, weight, cap, full)
    return np.where(full, cap / np.where(weight > 0, weight, 1.0), level[:, None])


def most_in_a_rack(replicas: Int64s, racks: int) -> Floats:
    """float64[P]: of so many replicas (int64[P]), how many one rack holds at most when a list spans all it can."""
    most: Floats = np.where(replicas > 0, np.maximum(replicas - max(racks, 1) + 1, 1), 0).astype(np.float64)
    return most


def _by_rack(state: ClusterState, weight: Floats) -> Floats:
    """float64[R]: the weights (float64[B]) of each rack's brokers together."""
    total: Floats = np.bincount(state.brokers.rack, weights=weight, minlength=len(state.brokers.racks)).astype(
        np.float64
    )
    return total


def _rest(amount: Floats, weight: Floats, cap: Floats, full: Bools) -> Floats:
    """float64[N]: what is left for each unit of weight in racks that are not full."""
    left = np.maximum(amount - np.where(full, cap, 0.0).sum(axis=1, where=full), 0.0)
    unit = np.where(full, 0.0, weight).sum(axis=1)
    rest: Floats = np.where(unit > 0, left / np.where(unit > 0, unit, 1.0), 0.0)
    return rest


def _most_per_rack(state: ClusterState) -> Floats:
    """float64[P]: `most_in_a_rack` of each partition."""
    racks = int(np.unique(state.brokers.rack[state.brokers.may_receive]).size)
    return most_in_a_rack((state.partitions.replicas != NO_BROKER).sum(axis=1), racks)
