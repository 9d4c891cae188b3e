"""What one giant cluster costs a fleet: a million partitions in one cluster, a million in twenty others.

    python -m benchmarks skew

`seconds` with the giant's bounds in a task of their own, `whole_s` with all of it in one task. `giant_s` and
`others_s` are seconds in the kernel: no fleet ends before its giant's largest task has ended.
"""

from typing import Any

from benchmarks.fleet import CACHE, generated, measured
from spark.fleet.kernel import KERNELS
from spark.fleet.outcomes import ClusterOutcome

NEVER = 2**31


def main() -> dict[str, Any]:
    """The job twice, each from a cold session."""
    partitions = generated("skewed")
    split, report = measured(CACHE / "skewed")
    whole, _ = measured(CACHE / "skewed", split_above=NEVER)
    giant = next(verdict for verdict in report.verdicts if verdict.cluster == "giant")
    others = [verdict for verdict in report.verdicts if verdict is not giant]
    return {
        "partitions": partitions,
        "seconds": split["seconds"],
        "whole_s": whole["seconds"],
        "plan_step_s": [numbers["steps_s"]["plan"] for numbers in (split, whole)],
        "giant_s": {step: round(taken, 2) for step, taken in giant.seconds.items() if step in KERNELS},
        "others_s": round(sum(map(_kernel_s, others)), 2),
        "rss_gib": max(split["rss_gib"], whole["rss_gib"]),
    }


def _kernel_s(verdict: ClusterOutcome) -> float:
    return sum(taken for step, taken in verdict.seconds.items() if step in KERNELS)
