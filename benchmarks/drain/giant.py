"""The cluster of Cruise Control's issue #1592: 2.8 million replicas, one broker drained, arrays in memory.

Cruise Control plans this drain in 275 s on the same two cores (../docs/planning.md), without schedule or bounds.
"""

import time
from typing import Any

from benchmarks.drain.ours import planned
from benchmarks.drain.rows import judged
from benchmarks.drain.states import giant
from planner.drain.bounds import bounds_of

CRUISE_CONTROL_S = 275.0


def giant_seconds() -> dict[str, Any]:
    """`seconds`: from arrays to plan, bounds and replay, the second time. The first run compiles."""
    state = giant()
    for _ in range(2):
        started = time.perf_counter()
        schedule = planned(state)
        plan_s = time.perf_counter() - started
        bounds = bounds_of(state)
        bounds_s = time.perf_counter() - started - plan_s
        row = judged("giant", None, state, schedule, bounds, plan_s=plan_s)
    return {
        "replicas": int((state.partitions.replicas >= 0).sum()),
        "seconds": round(plan_s + bounds_s + row.judge_s, 3),
        "plan_s": round(plan_s, 3),
        "bounds_s": round(bounds_s, 3),
        "replay_s": round(row.judge_s, 3),
        "makespan": round(row.makespan, 4),
        "violations": row.violations,
        "cruise_control_s": CRUISE_CONTROL_S,
    }
