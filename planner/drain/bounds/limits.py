"""What no plan can beat, from the state alone: L1-L7 of docs/planning.md."""

from dataclasses import dataclass

import numpy as np

from planner.drain.bounds.demand import confined_racks, demand_of, leaving_of
from planner.drain.bounds.egress import egress_s
from planner.drain.bounds.intake import BoundIntake, intake_of
from planner.drain.bounds.leaders import leader_changes_bound, leader_optimum
from planner.drain.bounds.release import release_sum_s
from planner.drain.bounds.volumes import at_most, network_alone, volumes_s
from planner.drain.model.state import NO_BROKER, ClusterState, Int64s

NETWORK_IN = "the network of those who take"
NETWORK_OUT = "the network of those who give"
VOLUMES_WRITE = "the volumes of those who take"
VOLUMES_READ = "the volumes of those who give"
VOLUMES = "the volumes of those who take and give, together"
LONGEST_LOG = "the longest log: one partition is one fetch"

NEARLY = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """Seconds, bytes and counts that every drain of this state needs at least. What volumes do is in all of them.

    L1 `bytes`: one copy per replica on a drained broker. L2 `makespan_s`: the largest of `ingress_s` (L2a), `egress_s`
    (L2b), `longest_log_s` (L2c) and `volumes_s` (L2d). `network_s`: L2a and L2b of the network alone. L3 `disk`.
    `leader_count`: least largest leader count; L4 `leader_changes`. L5, replicas moved that were on no drained broker:
    0, contained in L1. L6 `release_s`: the sum over drained brokers, inf where one of them is not to come free. inf
    where no plan can exist.
    """

    bytes: int
    ingress_s: float
    egress_s: float
    longest_log_s: float
    volumes_s: float
    network_s: tuple[float, float]
    leader_count: int
    leader_changes: int
    release_s: float
    intake: BoundIntake

    @property
    def makespan_s(self) -> float:
        return max(self.ingress_s, self.egress_s, self.longest_log_s, self.volumes_s)

    @property
    def binds(self) -> str:
        """Which limit makes the makespan no shorter, in words; "" where nothing is copied."""
        if not self.makespan_s > 0:
            return ""
        if self.longest_log_s >= self.makespan_s:
            return LONGEST_LOG
        if self.volumes_s >= self.makespan_s:
            return VOLUMES
        takes = self.ingress_s >= self.makespan_s
        known = self.ingress_s if takes else self.egress_s
        if self.network_s[0 if takes else 1] < known * (1 - NEARLY):
            return VOLUMES_WRITE if takes else VOLUMES_READ
        return NETWORK_IN if takes else NETWORK_OUT

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
    used = _used(state).astype(np.float64)
    network = network_alone(state)
    state = at_most(state)
    intake = intake_of(state, demand, used)
    ingress_s, read_s = intake.least_time_s(), egress_s(state, leaving)
    network_s = (ingress_s, read_s)
    if state.volumes is not None:
        network_s = (intake_of(network, demand, used).least_time_s(), egress_s(network, leaving))
    leaders = leader_optimum(state, leaving, demand, left)
    return Bounds(
        bytes=int(leaving.bytes.sum()),
        ingress_s=ingress_s,
        egress_s=read_s,
        longest_log_s=float(leaving.size.max(initial=0)) / state.flow_bytes_per_s,
        volumes_s=volumes_s(state, leaving),
        network_s=network_s,
        leader_count=leaders,
        leader_changes=leader_changes_bound(state, leaving, left, leaders),
        release_s=float("inf") if left.size else release_sum_s(state, leaving, confined_racks(state, leaving)),
        intake=intake,
    )


def _used(state: ClusterState) -> Int64s:
    """Bytes per broker now."""
    used = np.zeros(len(state.brokers), dtype=np.int64)
    held = state.partitions.replicas != NO_BROKER
    row, column = np.nonzero(held)
    np.add.at(used, state.partitions.replicas[row, column], state.partitions.size_bytes[row])
    return used
