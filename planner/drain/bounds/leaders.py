"""Leader counts: the least largest number any broker must lead (exact), and L4, the least leader changes."""

import numpy as np

from planner.drain.bounds.demand import Demand, Leaving
from planner.drain.bounds.matching import least_largest_load
from planner.drain.model.state import NOBODY, Bools, ClusterState, Int32s


def leader_optimum(state: ClusterState, leaving: Leaving, demand: Demand) -> int:
    """The smallest k such that every partition can be led by a broker it may be on, none leading more than k.

    At least ceil(P / A); which is it on ordinary clusters. A partition that moves may also be led by any broker of
    a rack its new replica may legally be in (or by its named destinations).
    """
    able = state.brokers.may_receive
    candidates = np.where(
        (state.partitions.replicas != NOBODY) & able[state.partitions.replicas], state.partitions.replicas, NOBODY
    )
    pools, pool_of = _pools(state, leaving, demand)
    return least_largest_load(candidates, pools, pool_of, able)


def leader_changes_bound(state: ClusterState) -> int:
    """L4: partitions led by drained brokers (or by nobody) + sum over the others of max(0, led - ceil(P / A))."""
    leader = state.partitions.leader
    able = state.brokers.may_receive
    counts = np.bincount(leader[leader != NOBODY], minlength=len(state.brokers))
    fair = -(-len(leader) // max(int(able.sum()), 1))
    return int((leader == NOBODY).sum() + counts[~able].sum() + np.maximum(0, counts[able] - fair).sum())


def _pools(state: ClusterState, leaving: Leaving, demand: Demand) -> tuple[Bools, Int32s]:
    """Sets of brokers a moving partition may be led by besides those it keeps: bool[K, B], and per partition which
    set, NOBODY for one that stays.
    """
    brokers = state.brokers
    pools = np.zeros((len(demand.needs), len(brokers)), dtype=np.bool_)
    for pool, need in zip(pools, demand.needs, strict=True):
        pool[[target for targets in need.named for target in targets]] = True
        if need.free:
            strict = need.new_racks == need.free
            pool |= brokers.may_receive & ~np.isin(brokers.rack, list(need.racks) if strict else [])
    pool_of = np.full(len(state.partitions), NOBODY, dtype=np.int32)
    pool_of[leaving.row] = demand.need_of
    return pools, pool_of
