"""One judged plan: what it reached beside what nobody can beat."""

import time
from collections import Counter
from dataclasses import dataclass

import numpy as np

from planner.drain.bounds import Bounds
from planner.drain.judge import PlanJudgement, judge
from planner.drain.model.plan import Schedule
from planner.drain.model.state import NO_BROKER, ClusterState

MOST_RELEASED = 6
"""Release order is held to its mark on states that drain at most this many brokers; beyond that it is reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Ratios are value / bound. `broken` counts violations by rule; `l2_s` is the bound of the makespan in seconds."""

    state: str
    seed: int | None
    partitions: int
    entries: int
    copies: int
    drained: int
    l2_s: float
    bytes: float
    makespan: float
    disk: float
    leaders: float
    changes: float
    release: float
    broken: dict[str, int]
    example: str
    left_behind: int
    source_transfers: int
    plan_s: float
    judge_s: float

    @property
    def name(self) -> str:
        return self.state if self.seed is None else f"{self.state} seed {self.seed}"

    @property
    def violations(self) -> int:
        return sum(self.broken.values())

    @property
    def release_counts(self) -> bool:
        return not self.state.startswith("rc") and self.drained <= MOST_RELEASED


def judged(
    name: str, seed: int | None, state: ClusterState, schedule: Schedule, bounds: Bounds, *, plan_s: float
) -> Row:
    """Replays the schedule and reads its figures."""
    started = time.perf_counter()
    verdict = judge(state, schedule, bounds)
    judge_s = time.perf_counter() - started
    ratios = _ratios(verdict)
    return Row(
        state=name,
        seed=seed,
        partitions=len(state.partitions),
        entries=len(schedule),
        copies=_copies(state, schedule),
        drained=int(state.brokers.must_empty.sum()),
        l2_s=float(bounds.makespan_s),
        **ratios,
        broken=dict(sorted(Counter(v.rule.value for v in verdict.replay.violations).items())),
        example=str(verdict.replay.violations[0]) if verdict.replay.violations else "",
        left_behind=verdict.replay.left_behind,
        source_transfers=verdict.replay.source_transfers,
        plan_s=plan_s,
        judge_s=judge_s,
    )


def _ratios(verdict: PlanJudgement) -> dict[str, float]:
    measures = verdict.measures
    return {
        "bytes": float(measures.bytes.ratio),
        "makespan": float(measures.makespan_s.ratio),
        "disk": float(measures.disk.ratio),
        "leaders": float(measures.leaders.ratio),
        "changes": float(measures.leader_changes.ratio),
        "release": float(measures.release_s.ratio),
    }


def _copies(state: ClusterState, schedule: Schedule) -> int:
    before = state.partitions.replicas[schedule.row]
    held = (schedule.after[:, :, None] == before[:, None, :]).any(axis=2)
    return int(np.count_nonzero((schedule.after != NO_BROKER) & ~held))
