"""L2b: the least time in which the sources can give what has to be read, exact."""

import numpy as np

from planner.drain.bounds.demand import Leaving
from planner.drain.bounds.maxflow import unmet_classes
from planner.drain.model.state import Bools, BrokerState, ClusterState, Int32s, Int64s

_PARTS = 10**15
"""The flow is in whole numbers: few bytes are cut into so many parts that rounding a capacity up means nothing."""


def egress_s(state: ClusterState, leaving: Leaving) -> float:
    """The value of the LP: min theta with sum over classes of y(class, s) <= theta x egress(s) for every broker s,
    sum over s of y(class, s) = bytes(class), y >= 0. A class is a set of brokers that may be read: in sync and not
    dead (an outgoing broker may be one).

    By duality it is the maximum over broker sets S of bytes readable only inside S / egress of S. Found by Newton's
    steps on that ratio (Dinkelbach): while theta is too small, the minimum cut names a set with a larger ratio;
    each step is exact, a few suffice, and a step costs one maximum flow instead of a general LP. inf when something
    has nobody to be read from.
    """
    sets, size = _classes(state, leaving)
    if not size.size:
        return 0.0
    counts = (sets >= 0).sum(axis=1)
    if not counts.all():
        return float("inf")
    sources_from = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    sources = sets[sets >= 0]
    egress = state.brokers.egress_bytes_per_s
    tight = np.isin(np.arange(egress.size), sources)
    theta = _ratio(sets, size, egress, tight)
    parts = max(1, _PARTS // int(size.sum()))
    # nobody gives more than everything: a broker with far more bandwidth than the others must not overflow
    whole = float(size.sum()) * parts + 1
    while np.isfinite(theta):
        capacity = np.minimum(np.ceil(theta * egress * parts * (1 + 1e-12)), whole).astype(np.int64)
        fits, tight = unmet_classes(sources_from, sources, size * parts, capacity)
        larger = theta if fits else _ratio(sets, size, egress, tight)
        if larger <= theta * (1 + 1e-11):
            break
        theta = larger
    return float(theta)


def _ratio(sets: Int32s, size: Int64s, egress: np.ndarray, inside: Bools) -> float:
    """Bytes readable only inside the set over its egress."""
    only = (inside[sets] | (sets < 0)).all(axis=1)
    rate, total = float(egress[inside].sum()), float(size[only].sum())
    return total / rate if rate > 0 else float("inf")


def _classes(state: ClusterState, leaving: Leaving) -> tuple[Int32s, Int64s]:
    """Sets of readable brokers, int32[K, W], ascending, padded in front with -1, and the bytes to be read from each;
    partitions without bytes are left out.
    """
    bytes_ = leaving.bytes
    row = np.flatnonzero(bytes_ > 0)
    replicas = leaving.replicas[row]
    alive = state.brokers.state != BrokerState.DEAD
    may = state.partitions.in_sync[leaving.row[row]] & alive[replicas] & (replicas >= 0)
    sets, where = np.unique(np.sort(np.where(may, replicas, -1), axis=1), axis=0, return_inverse=True)
    sizes = np.zeros(len(sets), dtype=np.int64)
    np.add.at(sizes, where.ravel(), bytes_[row])
    return sets.astype(np.int32), sizes
