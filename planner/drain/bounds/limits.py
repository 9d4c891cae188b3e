"""What no plan can beat, from the state alone: L1-L7 of docs/planning.md."""

from dataclasses import dataclass

import numpy as np

from planner.drain.bounds.demand import confined_racks, demand_of, leaving_of
from planner.drain.bounds.egress import egress_s
from planner.drain.bounds.intake import BoundIntake, intake_of
from planner.drain.bounds.leaders import leader_changes_bound, leader_optimum
from planner.drain.bounds.release import release_sum_s
from planner.drain.model.state import NOBODY, ClusterState, Int64s


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """Seconds, bytes and counts that every drain of this state needs at least.

    L1 `bytes`: one copy per replica on a drained broker. L2 `makespan_s`: the largest of `ingress_s` (L2a),
    `egress_s` (L2b) and `longest_log_s` (L2c). L3 `disk`. `leader_count`: least largest leader count; L4
    `leader_changes`. L5, replicas moved that were on no drained broker: 0, contained in L1. L6 `release_s`: the sum
    over drained brokers, inf where one of them is not to come free. inf where no plan can exist.
    """

    bytes: int
    ingress_s: float
    egress_s: float
    longest_log_s: float
    leader_count: int
    leader_changes: int
    release_s: float
    intake: BoundIntake

    @property
    def makespan_s(self) -> float:
        return max(self.ingress_s, self.egress_s, self.longest_log_s)

    def disk(self, makespan_s: float) -> float:
        """L3: the least largest fill after the plan (a fraction) of any plan that takes `makespan_s`. Also L7: a
        broker that only takes is never fuller than at its end, so no plan's worst instant is below this.
        """
        return self.intake.least_fill(makespan_s)


def bounds_of(state: ClusterState, staying: Int64s | None = None) -> Bounds:
    """All bounds of draining what is OUTGOING or DEAD, but for the partitions (rows) in `staying`: what no plan can
    beat that leaves just those where they are.
    """
    left = np.zeros(0, dtype=np.int64) if staying is None else staying
    leaving = leaving_of(state, left)
    demand = demand_of(state, leaving)
    intake = intake_of(state, demand, _used(state).astype(np.float64))
    leaders = leader_optimum(state, leaving, demand, left)
    return Bounds(
        bytes=int(leaving.bytes.sum()),
        ingress_s=intake.least_time_s(),
        egress_s=egress_s(state, leaving),
        longest_log_s=float(leaving.size.max(initial=0)) / state.flow_bytes_per_s,
        leader_count=leaders,
        leader_changes=leader_changes_bound(state, leaving, left, leaders),
        release_s=float("inf") if left.size else release_sum_s(state, leaving, confined_racks(state, leaving)),
        intake=intake,
    )


def _used(state: ClusterState) -> Int64s:
    """Bytes per broker now."""
    used = np.zeros(len(state.brokers), dtype=np.int64)
    held = state.partitions.replicas != NOBODY
    row, column = np.nonzero(held)
    np.add.at(used, state.partitions.replicas[row, column], state.partitions.size_bytes[row])
    return used
