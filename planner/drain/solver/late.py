"""Entries the search passed over though they have places: it looks at few that wait for several targets at once, and
gives each copy the roomiest one, which may be the only one another copy is sent to. They are copied last, one by one.
"""

from dataclasses import replace

import numpy as np

from planner.drain.model.state import ClusterState, Floats
from planner.drain.solver.attempt import Attempt
from planner.drain.solver.compose import EntryCourse
from planner.drain.solver.demand import Demand
from planner.drain.solver.rates import NONE
from planner.drain.solver.unplaced import each_unplaced, places


def placed_late(state: ClusterState, demand: Demand, played: Attempt, left: Floats) -> Attempt:
    """The same with targets for those that have any, the smallest first. `left`: float64[B], bytes each broker may
    still take below its disk limit; consumed.
    """
    known = played.course
    course = EntryCourse(
        known.target.copy(), known.source.copy(), known.turn.copy(), known.started.copy(), known.ended.copy()
    )
    turn, now = int(course.turn.max(initial=NONE)) + 1, played.makespan_s
    order = played.unplaced[np.argsort(demand.size[played.unplaced], kind="stable")]
    for i, entry in zip(order.tolist(), each_unplaced(state, demand, order), strict=True):
        roomy = entry.allowed & (left >= entry.size)
        targets = places(state, entry, roomy, -left) if roomy.any(axis=1).all() else None
        if targets is None:
            continue
        source = _source(demand, i)
        course.target[i, : len(targets)] = targets
        course.source[i], course.turn[i], course.started[i] = source, turn, now
        now += entry.size * len(targets) / _rate(state, source, targets)
        course.ended[i] = now
        left[list(targets)] -= entry.size
        turn += 1
    return replace(played, course=course)


def _source(demand: Demand, entry: int) -> int:
    """The leader where it can be read, else the first that can."""
    sources = demand.sources[entry]
    return int(demand.leader[entry] if demand.leader[entry] in sources else sources[0])


def _rate(state: ClusterState, source: int, targets: tuple[int, ...]) -> float:
    brokers = state.brokers
    takes = float(brokers.ingress_bytes_per_s[list(targets)].min())
    return min(state.flow_bytes_per_s, takes, float(brokers.egress_bytes_per_s[source]))
