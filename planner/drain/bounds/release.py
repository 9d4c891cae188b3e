"""L6: the least sum of the times at which drained brokers come free."""

from collections.abc import Iterable

import numpy as np

from planner.drain.bounds.demand import Leaving
from planner.drain.model.state import ClusterState, Floats, Int64s


def release_sum_s(state: ClusterState, leaving: Leaving, confined: Iterable[int]) -> float:
    """Sum over j of max(bytes of the j smallest drained brokers / ingress of their targets, the j-th smallest of
    their longest logs / flow): when j brokers are free, all their bytes have arrived and j longest logs are through.

    Taken once for all drained brokers, and once as the sum over racks in `confined` (those no replica can leave);
    the larger. Named destinations make groups of their own: brokers that share targets, directly or not.
    """
    drained = np.flatnonzero(state.brokers.must_empty)
    count = len(state.brokers)
    bytes_ = np.zeros(count, dtype=np.int64)
    longest = np.zeros(count, dtype=np.int64)
    entry, column = np.nonzero(leaving.leaves)
    broker = leaving.replicas[entry, column]
    np.add.at(bytes_, broker, leaving.size[entry])
    np.maximum.at(longest, broker, leaving.size[entry])
    receives = state.brokers.may_receive
    everywhere = _group_s(state, drained, bytes_, longest, state.brokers.ingress_bytes_per_s[receives].sum())
    racks = 0.0
    for code in confined:
        inside = state.brokers.rack == code
        ingress = state.brokers.ingress_bytes_per_s[inside & receives].sum()
        racks += _group_s(state, drained[inside[drained]], bytes_, longest, ingress)
    successors = sum(
        _group_s(state, np.array(group), bytes_, longest, state.brokers.ingress_bytes_per_s[list(targets)].sum())
        for group, targets in _successors(state)
    )
    return float(max(everywhere, racks, successors))


def _group_s(state: ClusterState, group: Int64s, bytes_: Int64s, longest: Int64s, ingress: float) -> float:
    full = group[bytes_[group] > 0]
    if not full.size:
        return 0.0
    if ingress <= 0:
        return float("inf")
    arrived: Floats = np.cumsum(np.sort(bytes_[full])) / ingress
    return float(np.maximum(arrived, np.sort(longest[full]) / state.flow_bytes_per_s).sum())


def _successors(state: ClusterState) -> list[tuple[list[int], set[int]]]:
    """Drained brokers with destinations, joined where they share a target: [(brokers, targets)]."""
    groups: list[tuple[list[int], set[int]]] = []
    for broker, named in sorted(state.destinations.items()):
        targets = set(named)
        joined = [broker]
        apart = []
        for brokers, others in groups:
            if others & targets:
                joined += brokers
                targets |= others
            else:
                apart.append((brokers, others))
        groups = [*apart, (sorted(joined), targets)]
    return groups
