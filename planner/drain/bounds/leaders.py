"""Leader counts: the least largest number any broker must lead (exact), and L4, the least leader changes."""

import numpy as np

from planner.drain.bounds.demand import BoundDemand, Leaving
from planner.drain.bounds.matching import least_largest_load
from planner.drain.model.state import NO_BROKER, Bools, BrokerState, ClusterState, Int32s, Int64s
from planner.drain.replay.holdings import leader_counts, leaders_after


def leader_optimum(state: ClusterState, leaving: Leaving, demand: BoundDemand, staying: Int64s) -> int:
    """The smallest k such that every partition can be led by a broker it may be on, none leading more than k.

    At least ceil(P / A); which is it on ordinary clusters. A partition that moves may also be led by any broker of
    a rack its new replica may legally be in (or by its named destinations). One of `staying` (rows), which no plan may
    name, is led by who leads it then anyway, also where that is a drained broker.
    """
    able, parts = state.brokers.may_receive, state.partitions
    candidates = np.where((parts.replicas != NO_BROKER) & able[parts.replicas], parts.replicas, NO_BROKER)
    candidates[~_can_be_led(state, leaving)] = NO_BROKER
    fixed = leaders_after(state, parts.replicas, staying[:0])[staying]
    candidates[staying] = NO_BROKER
    candidates[staying, 0] = np.where(able[fixed] & (fixed != NO_BROKER), fixed, NO_BROKER)
    pools, pool_of = _pools(state, leaving, demand)
    kept = leader_counts(fixed, len(state.brokers))
    return max(least_largest_load(candidates, pools, pool_of, able), int(kept.max(initial=0)))


def leader_changes_bound(state: ClusterState, leaving: Leaving, staying: Int64s, optimum: int) -> int:
    """L4: partitions led by drained brokers (or by nobody, where somebody can) + sum over the others of
    max(0, led - the least largest count, which is `optimum` or ceil(P / A)). With `staying` (rows): those of them that
    change hands by themselves, and nothing for the even count.
    """
    parts, brokers = state.partitions, state.brokers
    able, leader = brokers.may_receive, parts.leader
    moves = np.ones(len(parts), dtype=np.bool_)
    moves[staying] = False
    headless = moves & (leader == NO_BROKER) & _can_be_led(state, leaving)
    counts = leader_counts(leader, len(brokers))
    drained = leader_counts(leader[moves], len(brokers))[~able].sum()
    by_themselves = (leaders_after(state, parts.replicas, staying[:0])[staying] != leader[staying]).sum()
    fair = max(optimum, -(-len(leader) // max(int(able.sum()), 1)))
    # where some leaders may not change, nobody need reach the even count: more of them may stay where they are
    over = 0 if staying.size else np.maximum(0, counts[able] - fair).sum()
    return int(headless.sum() + drained + by_themselves + over)


def _can_be_led(state: ClusterState, leaving: Leaving) -> Bools:
    """bool[P]: those that somebody leads now or a living replica in sync could lead, and those that move."""
    parts = state.partitions
    lives = np.append(state.brokers.state != BrokerState.DEAD, False)
    can: Bools = lives[parts.leader] | (parts.in_sync & lives[parts.replicas]).any(axis=1)
    can[leaving.row] = True
    return can


def _pools(state: ClusterState, leaving: Leaving, demand: BoundDemand) -> tuple[Bools, Int32s]:
    """Sets of brokers a moving partition may be led by besides those it keeps: bool[K, B], and per partition which
    set, NO_BROKER for one that stays.
    """
    brokers = state.brokers
    pools = np.zeros((len(demand.needs), len(brokers)), dtype=np.bool_)
    for pool, need in zip(pools, demand.needs, strict=True):
        pool[[target for targets in need.named for target in targets]] = True
        if need.free:
            strict = need.new_racks == need.free
            pool |= brokers.may_receive & ~np.isin(brokers.rack, list(need.racks) if strict else [])
    pool_of = np.full(len(state.partitions), NO_BROKER, dtype=np.int32)
    pool_of[leaving.row] = demand.need_of
    return pools, pool_of
