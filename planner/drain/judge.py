"""The verdict on a plan, ours or a rival's: what it reaches, what nobody can beat, and every rule it breaks."""

from dataclasses import dataclass

import numpy as np

from planner.drain.bounds import Bounds, bounds_of
from planner.drain.model.measures import Measure, Measures
from planner.drain.model.plan import Schedule
from planner.drain.model.state import ClusterState, Int64s
from planner.drain.replay.run import Replay, replay

DISK_AT = 1.05
"""The disk bound is taken at this many times L2: time and balance trade off along L3."""


@dataclass(frozen=True, slots=True, eq=False)
class PlanJudgement:
    """`measures`: value and bound of each. `replay`: the rest, with `replay.violations`. `binds`: which limit makes the
    makespan no shorter.
    """

    measures: Measures
    replay: Replay
    binds: str

    @property
    def holds(self) -> bool:
        """No rule is broken at any instant and nothing is left behind."""
        return not self.replay.violations and not self.replay.left_behind


def judge(state: ClusterState, schedule: Schedule, bounds: Bounds | None = None) -> PlanJudgement:
    """Replays and measures. Pass `bounds` when the same state is judged more than once.

    What a plan leaves where it is, since it was excluded or cannot move, is in neither side of a measure: the bounds
    are then those of plans that leave just that. `replay.left_behind` says how much it is.
    """
    run = replay(state, schedule)
    least = bounds or bounds_of(state, left_alone(state, schedule))
    fill = run.disk_after[state.brokers.may_receive].max(initial=0.0)
    fullest_dir = 0.0
    if state.log_dirs is not None:
        staying = state.brokers.may_receive[state.log_dirs.broker]
        fill = run.log_dirs_after[staying].max(initial=fill)
        fullest_dir = (state.log_dirs.used_bytes / state.log_dirs.disk_bytes)[staying].max(initial=0.0)
    return PlanJudgement(
        measures=Measures(
            bytes=Measure(run.bytes_moved, least.bytes),
            makespan_s=Measure(run.makespan_s, least.makespan_s),
            disk=Measure(float(fill), max(least.disk(DISK_AT * least.makespan_s), float(fullest_dir))),
            leaders=Measure(int(run.leaders.max(initial=0)), least.leader_count),
            leader_changes=Measure(run.leader_changes, least.leader_changes),
            release_s=Measure(sum(run.release_s.values()), least.release_s),
        ),
        replay=run,
        binds=least.binds,
    )


def left_alone(state: ClusterState, schedule: Schedule) -> Int64s:
    """Rows with a replica on a drained broker that the schedule does not name."""
    held = np.asarray(np.append(state.brokers.must_empty, False)[state.partitions.replicas].any(axis=1))
    held[schedule.row] = False
    return np.flatnonzero(held).astype(np.int64)
