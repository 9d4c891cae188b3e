"""Leader counts as a min-cost flow: the fewest and cheapest changes that bring every broker under its cap.

Nodes are brokers; a partition led by b that could be led by c is an arc b -> c. Successive shortest paths from
brokers above their cap to brokers below it (Ahuja, Magnanti, Orlin: Network Flows, 9.7, in its primal-dual form: all
paths of one cost and one number of arcs in one phase, as Dinic does) are exact because the start, every partition
where it is cheapest, has no arc of negative cost. A phase costs O(P W + B^2); paths of one and two arcs settle nearly
everything.
"""

import numpy as np

from planner.drain.model.compiled import compiled, inner, inner_making_arrays
from planner.drain.model.state import Bools, Int32s, Int64s

FAR = np.int64(2**62)
NONE = -1


@compiled
def start(candidates: Int32s, costs: Int64s, lead: Int32s, load: Int64s) -> None:
    """Fill `lead` int32[P] and `load` int64[B]: everyone at a cheapest candidate, ties to the least loaded.

    `candidates` int32[P, W] padded with -1; a row of nothing but -1 stays without a leader. Who has one cheapest
    candidate is placed first, so that those who may choose see the loads.
    """
    partitions, width = candidates.shape
    for turn in range(2):
        for p in range(partitions):
            best, ties = NONE, 0
            for i in range(width):
                c = candidates[p, i]
                if c < 0:
                    continue
                if best == NONE or costs[p, i] < costs[p, best]:
                    best, ties = i, 1
                elif costs[p, i] == costs[p, best]:
                    ties += 1
                    if load[c] < load[candidates[p, best]]:
                        best = i
            if best != NONE and (ties > 1) == (turn == 1):
                lead[p] = candidates[p, best]
                load[lead[p]] += 1


@compiled
def level(candidates: Int32s, costs: Int64s, cap: Int64s, lead: Int32s, load: Int64s, stuck: Bools) -> bool:
    """Move leadership until no load exceeds its cap, at least cost. False: impossible, `stuck` bool[B] says where:
    what these brokers lead could only be led by these brokers.
    """
    brokers = cap.size
    cheapest = np.empty((brokers, brokers), np.int64)
    distance = np.empty(brokers, np.int64)
    hops = np.empty(brokers, np.int64)
    while _any_above(load, cap):
        _cheapest_arcs(candidates, costs, lead, cheapest)
        _distances(cheapest, load, cap, distance)
        _hops(cheapest, distance, load, cap, hops)
        arcs = _shortening(candidates, costs, lead, distance, hops)
        if _phase(arcs, cap, lead, load, distance, hops) == 0:
            _closure(cheapest, load, cap, stuck)
            return False
    return True


@inner
def _any_above(load: Int64s, cap: Int64s) -> bool:
    above = 0
    for b in range(load.size):
        above += load[b] > cap[b]
    return above > 0


@inner
def _cheapest_arcs(candidates: Int32s, costs: Int64s, lead: Int32s, cheapest: Int64s) -> None:
    """int64[B, B]: what the cheapest change of leader from row to column costs, FAR when there is none."""
    cheapest[:, :] = FAR
    for p in range(lead.size):
        b = lead[p]
        if b < 0:
            continue
        now = _cost_at(candidates, costs, p, b)
        for i in range(candidates.shape[1]):
            c = candidates[p, i]
            if c >= 0 and c != b and costs[p, i] - now < cheapest[b, c]:
                cheapest[b, c] = costs[p, i] - now


@inner
def _cost_at(candidates: Int32s, costs: Int64s, p: int, broker: int) -> int:
    for i in range(candidates.shape[1]):
        if candidates[p, i] == broker:
            return int(costs[p, i])
    return 0


@inner
def _distances(cheapest: Int64s, load: Int64s, cap: Int64s, distance: Int64s) -> None:
    """Bellman-Ford towards the brokers with room: int64[B], FAR where none can be reached."""
    brokers = cap.size
    for b in range(brokers):
        distance[b] = 0 if load[b] < cap[b] else FAR
    changed = True
    while changed:
        changed = False
        for b in range(brokers):
            for c in range(brokers):
                if cheapest[b, c] != FAR and distance[c] != FAR and cheapest[b, c] + distance[c] < distance[b]:
                    distance[b] = cheapest[b, c] + distance[c]
                    changed = True


@inner_making_arrays
def _hops(cheapest: Int64s, distance: Int64s, load: Int64s, cap: Int64s, hops: Int64s) -> None:
    """int64[B]: the fewest arcs of a shortest path, FAR without one."""
    brokers = cap.size
    queue, filled, taken = np.empty(brokers, np.int32), 0, 0
    for b in range(brokers):
        hops[b] = 0 if load[b] < cap[b] and distance[b] == 0 else FAR
        if hops[b] == 0:
            queue[filled] = b
            filled += 1
    while taken < filled:
        c = queue[taken]
        taken += 1
        for b in range(brokers):
            if hops[b] == FAR and cheapest[b, c] != FAR and cheapest[b, c] + distance[c] == distance[b]:
                hops[b] = hops[c] + 1
                queue[filled] = b
                filled += 1


@inner_making_arrays
def _shortening(
    candidates: Int32s, costs: Int64s, lead: Int32s, distance: Int64s, hops: Int64s
) -> tuple[Int64s, Int32s, Int32s]:
    """The arcs of shortest paths that come one hop nearer: those of broker b are `begin[b]` .. `begin[b + 1] - 1`, each
    a partition and the broker it would go to.
    """
    begin, nothing = np.zeros(distance.size + 1, np.int64), np.empty(0, np.int32)
    _collect(False, candidates, costs, lead, distance, hops, begin, nothing, nothing)
    for b in range(distance.size):
        begin[b + 1] += begin[b]
    partition, to = np.empty(begin[-1], np.int32), np.empty(begin[-1], np.int32)
    _collect(True, candidates, costs, lead, distance, hops, begin, partition, to)
    return begin, partition, to


@inner
def _collect(
    fill: bool,
    candidates: Int32s,
    costs: Int64s,
    lead: Int32s,
    distance: Int64s,
    hops: Int64s,
    begin: Int64s,
    partition: Int32s,
    to: Int32s,
) -> None:
    """Count each broker's arcs in `begin`, or fill them in from behind, which brings `begin` to where they start."""
    for p in range(lead.size):
        b = lead[p]
        if b < 0 or hops[b] == FAR or hops[b] == 0:
            continue
        now = _cost_at(candidates, costs, p, b)
        for i in range(candidates.shape[1]):
            c = candidates[p, i]
            if c < 0 or hops[c] != hops[b] - 1 or costs[p, i] - now + distance[c] != distance[b]:
                continue
            if fill:
                begin[b] -= 1
                partition[begin[b]], to[begin[b]] = p, c
            else:
                begin[b] += 1


@inner_making_arrays
def _phase(
    arcs: tuple[Int64s, Int32s, Int32s], cap: Int64s, lead: Int32s, load: Int64s, distance: Int64s, hops: Int64s
) -> int:
    """Route along the paths of the least cost, until none is left among those of the fewest arcs; returns how many."""
    begin, partition, _ = arcs
    brokers, least = cap.size, FAR
    for b in range(brokers):
        if load[b] > cap[b] and distance[b] < least:
            least = distance[b]
    pointer, dead = begin[:-1].copy(), np.zeros(brokers, np.bool_)
    path = np.empty(brokers + 1, np.int32)
    routed = 0
    for source in range(brokers):
        if distance[source] != least or least == FAR:
            continue
        while load[source] > cap[source]:
            path[0] = source
            depth = _search(arcs, cap, lead, load, hops, pointer, dead, path)
            if depth == 0:
                break
            routed += 1
            for step in range(depth):
                lead[partition[pointer[path[step]]]] = path[step + 1]
                pointer[path[step]] += 1
            load[source] -= 1
            load[path[depth]] += 1
    return routed


@inner
def _search(
    arcs: tuple[Int64s, Int32s, Int32s],
    cap: Int64s,
    lead: Int32s,
    load: Int64s,
    hops: Int64s,
    pointer: Int64s,
    dead: Bools,
    path: Int32s,
) -> int:
    """Depth first from `path[0]`, each arc one hop nearer; the path's length, 0 when there is none.

    `pointer` is the arc each broker takes or tries next and `dead` (bool[B]) who has none left: what led nowhere once
    leads nowhere for the rest of the phase, because arcs only go to fewer hops.
    """
    begin, partition, to = arcs
    depth = 0
    while depth >= 0:
        b = path[depth]
        if hops[b] == 0 and load[b] < cap[b]:
            return depth
        while pointer[b] < begin[b + 1] and (lead[partition[pointer[b]]] != b or dead[to[pointer[b]]]):
            pointer[b] += 1
        if pointer[b] == begin[b + 1]:
            dead[b] = True
            depth -= 1
            continue
        depth += 1
        path[depth] = to[pointer[b]]
    return 0


@inner_making_arrays
def _closure(cheapest: Int64s, load: Int64s, cap: Int64s, stuck: Bools) -> None:
    """Everything an overloaded broker can pass leadership on to, and further: bool[B]."""
    brokers = cap.size
    queue, filled = np.empty(brokers, np.int32), 0
    stuck[:] = False
    for b in range(brokers):
        if load[b] > cap[b]:
            stuck[b] = True
            queue[filled] = b
            filled += 1
    taken = 0
    while taken < filled:
        b = queue[taken]
        taken += 1
        for c in range(brokers):
            if cheapest[b, c] != FAR and not stuck[c]:
                stuck[c] = True
                queue[filled] = c
                filled += 1
