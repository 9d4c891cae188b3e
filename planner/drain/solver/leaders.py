"""Which replica of every partition is preferred after a plan: even leader counts at the fewest changes of leader.

After a plan a preferred election runs, so the first replica of a list *is* the leader. The largest count over active
and new brokers is the least that any choice allows, and among the choices that reach it the one taken has the fewest
partitions whose leader differs from the leader now (a min-cost flow, leaders_flow).
"""

from dataclasses import dataclass

import numpy as np

from planner.drain.model.state import NO_BROKER, Bools, BrokerState, ClusterState, Int32s, Int64s
from planner.drain.solver.leaders_flow import level, start

CHANGE = 1 << 32
"""What a change of leader costs. An order-only entry, or a leader not in sync yet (no source for its own copy), costs
1: no number of them outweighs a change."""


@dataclass(frozen=True, slots=True, eq=False)
class LeaderOrder:
    """`after` int32[M, W]: the lists given, each led by the chosen replica, the rest in the order it had.

    `extra_row` int32[E], `extra_after` int32[E, W]: order-only entries for partitions outside of the plan.
    `leader` int32[P]: who leads after the preferred election, NO_BROKER where no replica can. `most`: the largest count
    of leaders on a broker that may receive, the least possible.
    """

    after: Int32s
    extra_row: Int32s
    extra_after: Int32s
    leader: Int32s
    most: int


def order_leaders(
    state: ClusterState, row: Int32s, after: Int32s, *, pinned: Bools | None = None, barred: Bools | None = None
) -> LeaderOrder:
    """Choose the first replica of each partition, listed (`row` int32[M], `after` int32[M, W]) or not.

    `pinned` bool[P]: partitions whose order must not change. `barred` bool[B]: brokers that shall lead only what
    nobody else can lead. O(P W + B^2) for each length of an augmenting path.
    """
    lists = _lists_after(state, row, after)
    may_lead, anyway = _may_lead(state, row, lists, barred), _leads_anyway(state, lists)
    unlisted = np.ones(len(state.partitions), dtype=np.bool_)
    unlisted[row] = False
    if pinned is not None:
        may_lead[pinned] &= lists[pinned] == anyway[pinned, None]
        unlisted &= ~pinned
    candidates = np.where(may_lead, lists, np.int32(NO_BROKER))
    leader, most = _chosen(state, candidates, _costs(state, row, lists))
    ordered = led_by(lists, np.where(leader >= 0, leader, lists[:, 0]).astype(np.int32))
    leader = np.where(leader >= 0, leader, anyway).astype(np.int32)
    extra = np.flatnonzero(unlisted & (ordered[:, 0] != lists[:, 0])).astype(np.int32)
    return LeaderOrder(
        after=ordered[row, : after.shape[1]], extra_row=extra, extra_after=ordered[extra], leader=leader, most=most
    )


def preferred_order(state: ClusterState, *, pinned: Bools | None = None) -> LeaderOrder:
    """Even leader counts by order-only entries alone: no replica moves."""
    return order_leaders(state, *_nothing(state), pinned=pinned)


def demoted_order(state: ClusterState, demoted: Bools) -> LeaderOrder:
    """Take leadership off the `demoted` brokers (bool[B]) and spread it; what others lead stays where it is.

    The demoted broker goes to the end of each list it headed. It keeps what no other replica in sync could lead.
    """
    partitions = state.partitions
    heads = partitions.replicas[:, 0]
    touched = demoted[heads] | ((partitions.leader >= 0) & demoted[partitions.leader])
    order = order_leaders(state, *_nothing(state), pinned=~touched, barred=demoted)
    return LeaderOrder(
        after=order.after,
        extra_row=order.extra_row,
        extra_after=_last(order.extra_after, demoted),
        leader=order.leader,
        most=order.most,
    )


def led_by(lists: Int32s, leader: Int32s) -> Int32s:
    """int32[N, W]: each list with `leader` (int32[N], one of it) in front, the others in the order they had."""
    follows = lists != leader[:, None]
    ordered: Int32s = np.take_along_axis(lists, np.argsort(follows, axis=1, kind="stable"), axis=1)
    return ordered


def _last(lists: Int32s, demoted: Bools) -> Int32s:
    """Demoted followers behind the others, padding at the very end; the first stays first."""
    rank = np.where(lists == NO_BROKER, 2, np.where(demoted[lists], 1, 0))
    rank[:, 0] = -1
    ordered: Int32s = np.take_along_axis(lists, np.argsort(rank, axis=1, kind="stable"), axis=1)
    return ordered


def _nothing(state: ClusterState) -> tuple[Int32s, Int32s]:
    return np.empty(0, dtype=np.int32), np.empty((0, state.partitions.replicas.shape[1]), dtype=np.int32)


def _lists_after(state: ClusterState, row: Int32s, after: Int32s) -> Int32s:
    """int32[P, W']: replicas after the plan; W' is the wider of the two widths."""
    replicas = state.partitions.replicas
    width = max(replicas.shape[1], after.shape[1])
    lists = np.full((len(state.partitions), width), NO_BROKER, dtype=np.int32)
    lists[:, : replicas.shape[1]] = replicas
    lists[row] = NO_BROKER
    lists[row, : after.shape[1]] = after
    return lists


def _may_lead(state: ClusterState, row: Int32s, lists: Int32s, barred: Bools | None) -> Bools:
    """Replicas that could lead: on a broker that stays, and in sync (a listed partition ends with all in sync).

    Where all of those are barred, the barred stay candidates: a partition without a leader would be worse.
    """
    present = lists >= 0
    in_sync = np.zeros(lists.shape, dtype=np.bool_)
    in_sync[:, : state.partitions.in_sync.shape[1]] = state.partitions.in_sync
    in_sync[row] = True
    may: Bools = present & in_sync & state.brokers.may_receive[lists]
    if barred is None:
        return may
    allowed: Bools = may & ~barred[lists]
    only_barred = ~allowed.any(axis=1)
    allowed[only_barred] = may[only_barred]
    return allowed


def _leads_anyway(state: ClusterState, lists: Int32s) -> Int32s:
    """int32[P]: who leads after a preferred election of lists nobody changes: the first replica where it lives and is
    in sync, else who leads now and lives, else NO_BROKER.
    """
    partitions = state.partitions
    lives = np.append(state.brokers.state != BrokerState.DEAD, False)
    first = lists[:, 0]
    able = lives[first] & partitions.in_sync[:, 0] & (partitions.replicas[:, 0] == first)
    stays = lives[partitions.leader] & (lists == partitions.leader[:, None]).any(axis=1)
    return np.where(able, first, np.where(stays, partitions.leader, NO_BROKER)).astype(np.int32)


def _costs(state: ClusterState, row: Int32s, lists: Int32s) -> Int64s:
    """int64[P, W]: what it costs that this replica leads."""
    partitions = state.partitions
    costs = np.where(lists == partitions.leader[:, None], 0, CHANGE)
    unlisted = np.ones(len(partitions), dtype=np.bool_)
    unlisted[row] = False
    costs[unlisted] += lists[unlisted] != lists[unlisted, :1]
    synced = np.where(partitions.in_sync[row], partitions.replicas[row], NO_BROKER)
    costs[row] += ~(lists[row][:, :, None] == synced[:, None, :]).any(axis=2)
    return costs.astype(np.int64)


def _chosen(state: ClusterState, candidates: Int32s, costs: Int64s) -> tuple[Int32s, int]:
    """The leaders int32[P] (NO_BROKER without candidate) and the largest count, for the least cap that can be met.

    When a cap cannot be met, the brokers that stay above it together with all they can pass on to lead a known
    number of partitions among themselves: their mean is a bound, and the next cap tried. So each cap tried is a lower
    bound of the optimum, and the first one met is the optimum.
    """
    candidates, costs = np.ascontiguousarray(candidates), np.ascontiguousarray(costs)
    brokers = len(state.brokers)
    stays = np.flatnonzero(state.brokers.may_receive)
    led = int((candidates >= 0).any(axis=1).sum())
    cap = -(-led // max(1, stays.size))
    stuck = np.zeros(brokers, dtype=np.bool_)
    first, first_load = np.full(candidates.shape[0], NO_BROKER, dtype=np.int32), np.zeros(brokers, dtype=np.int64)
    start(candidates, costs, first, first_load)
    while True:
        lead, load = first.copy(), first_load.copy()
        if level(candidates, costs, np.full(brokers, cap, dtype=np.int64), lead, load, stuck):
            return lead, int(load.max(initial=0))
        cap = max(cap + 1, -(-int(load[stuck].sum()) // int(stuck.sum())))
