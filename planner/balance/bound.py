"""Bytes that any plan within the bands has to move: what nobody can beat, from state and bands alone.

Replicas of a broker above a band must leave until it is met, those a broker lacks must come; each figure alone by
the replicas that carry most of it per byte, the last one in part (the fractional knapsack is a relaxation, so a
bound). A broker's figures are met by the same moves: the largest counts. What all brokers give is also what all take.
"""

import numpy as np

from planner.balance.limits import BalanceLimits
from planner.balance.loads import Figure, Loads
from planner.drain.model.state import NO_BROKER, Bools, ClusterState, Floats, Int32s

PLACED = (Figure.REPLICAS, Figure.DISK, Figure.NIC_IN, Figure.POTENTIAL_OUT)
"""Figures that only a copy can change; the others can be mended by a change of leader, which costs no bytes."""


def least_bytes(
    state: ClusterState, loads: Loads, limits: BalanceLimits, total: Floats, *, only: Bools | None = None
) -> float:
    """The larger of what must leave and what must arrive. `total`: float64[B, 8] borne now; `only`: bool[B], the
    brokers whose bands count (all that may receive when None).
    """
    parts = state.partitions
    able = np.flatnonzero(state.brokers.may_receive if only is None else only)
    size = parts.size_bytes.astype(np.float64)
    ranked = [_by_worth(loads.following[:, f], size) for f in PLACED]
    giving, taking = 0.0, 0.0
    for b in able.tolist():
        here = (parts.replicas == b).any(axis=1)
        give, take = 0.0, 0.0
        for figure, order in zip(PLACED, ranked, strict=True):
            weight = loads.following[:, figure]
            over = total[b, figure] - limits.high[b, figure]
            lack = limits.low[b, figure] - total[b, figure]
            if over > 0:
                give = max(give, _cheapest(over, order[here[order]], weight, size))
            if lack > 0:
                take = max(take, _cheapest(lack, order[~here[order]], weight, size))
        giving += give
        taking += take
    return max(giving, taking)


def _by_worth(weight: Floats, size: Floats) -> Int32s:
    """Rows by figure per byte, most first; rows without the figure last."""
    worth = weight / np.maximum(size, 1.0)
    return np.lexsort((np.arange(size.size), -worth)).astype(np.int32)


def _cheapest(amount: float, order: Int32s, weight: Floats, size: Floats) -> float:
    """Bytes of the cheapest rows that carry `amount`, the last in part; all of them when they carry less."""
    carried = np.cumsum(weight[order])
    end = int(np.searchsorted(carried, amount))
    whole = float(size[order[:end]].sum())
    if end == len(order):
        return whole
    before = carried[end - 1] if end else 0.0
    return whole + float(size[order[end]]) * (amount - before) / float(weight[order[end]])


def bytes_moved(state: ClusterState, replicas: Int32s) -> int:
    """Bytes copied to get from the lists now to `replicas` (int32[P, W])."""
    before = state.partitions.replicas
    held = (replicas[:, :, None] == before[:, None, :]).any(axis=2)
    added = ((replicas != NO_BROKER) & ~held).sum(axis=1)
    return int((added * state.partitions.size_bytes).sum())
