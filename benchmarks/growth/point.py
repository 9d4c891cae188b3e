"""One point of the growth plot: `python -m benchmarks.growth.point PARTITIONS` prints its figures as JSON."""

import json
import resource
import sys
import time
from typing import Any

from benchmarks.drain.generator import Shape, cluster
from benchmarks.drain.ours import planned
from benchmarks.drain.rows import judged
from benchmarks.drain.states import drain, state
from planner.drain.bounds import bounds_of

PARTITIONS_PER_BROKER, LEAST_BROKERS, MOST_BROKERS = 2_000, 12, 300
PARTITIONS_PER_TOPIC = 33


def measured(partitions: int) -> dict[str, Any]:
    """Seconds warm (another cluster is planned before), peak MiB of the process, its arrays included."""
    warm = state("c12")
    judged("warm", None, warm, planned(warm), bounds_of(warm), plan_s=0.0)
    before_mib = _peak_mib()
    brokers = min(MOST_BROKERS, max(LEAST_BROKERS, partitions // PARTITIONS_PER_BROKER)) // 3 * 3
    shape = Shape(brokers=brokers, topics=partitions // PARTITIONS_PER_TOPIC, partitions=partitions, exact=True)
    asked = drain(cluster(shape, seed=1), (0,))
    drawn_mib = _peak_mib()
    started = time.perf_counter()
    schedule = planned(asked)
    plan_s, plan_mib = time.perf_counter() - started, _peak_mib()
    bounds = bounds_of(asked)
    bounds_s = time.perf_counter() - started - plan_s
    row = judged("growth", None, asked, schedule, bounds, plan_s=plan_s)
    return {
        "partitions": partitions,
        "brokers": brokers,
        "copies": row.copies,
        "plan_s": round(plan_s, 3),
        "bounds_s": round(bounds_s, 3),
        "replay_s": round(row.judge_s, 3),
        "empty_mib": round(before_mib),
        "drawn_mib": round(drawn_mib),
        "plan_mib": round(plan_mib),
        "peak_mib": round(_peak_mib()),
        "makespan": round(row.makespan, 4),
        "violations": row.violations,
    }


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    print(json.dumps(measured(int(sys.argv[1]))))
