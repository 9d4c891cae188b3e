"""A fleet from Parquet to published plans: 50 clusters, 2,600 brokers, 5 M partitions, one broker drained in each.

    python -m benchmarks fleet

`seconds` runs from before Spark starts until the last file is written; every plan is replayed, certified and checked
a second time in columns by then. The Parquet is made before and kept in `.cache`. Numba's machine code comes from its
cache on disk, where one small drain puts it before the clock starts (`compile_s`, apart).
"""

import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.drain import fleet, generator
from benchmarks.drain.generator import Shape
from benchmarks.drain.states import drain, state
from benchmarks.memory import peak_rss
from benchmarks.processor import processor_seconds
from planner.drain.certified import certified
from planner.drain.model.state import ClusterState
from spark.fleet.answers import PlanOutcome
from spark.fleet.kernel import KERNELS
from spark.fleet.outcomes import ClusterOutcome
from spark.fleet.snapshot import read_snapshot, write_snapshot
from spark.jobs.fleet_plan import COMPILER, SETTINGS, SPLIT_ABOVE, FleetReport, plan_fleet
from spark.session import SparkSettings, build_session, close_session

EPOCH = 1
MEMORY = "3g"
CACHE = Path(__file__).resolve().parent.parent / ".cache" / "fleet"


def main() -> dict[str, Any]:
    """`partitions`, `seconds`, `rss_gib` (peak of all processes together), where the time went, the worst ratios."""
    partitions = generated("fleet")
    numbers, report = measured(CACHE / "fleet")
    if len(report.verdicts) != fleet.CLUSTERS:
        raise AssertionError(f"{len(report.verdicts)} of {fleet.CLUSTERS} clusters answered")
    return {"partitions": partitions, **numbers, "worst": worst_ratios(report.verdicts)}


def measured(snapshot: Path, *, split_above: int = SPLIT_ABOVE) -> tuple[dict[str, Any], FleetReport]:
    """One run from a cold session to published files. Raises AssertionError when a cluster is not planned."""
    began = time.perf_counter()
    certified(state("c12"))
    compile_s = time.perf_counter() - began
    with tempfile.TemporaryDirectory() as work, peak_rss() as rss, processor_seconds() as taken_s:
        began = time.perf_counter()
        session = build_session(_settings(Path(work)))
        session_s, session_processor_s = time.perf_counter() - began, taken_s()
        try:
            tables = read_snapshot(session, str(snapshot))
            report = plan_fleet(session, tables, EPOCH, f"{work}/out", split_above=split_above)
            seconds = time.perf_counter() - began
            processor_s = taken_s()
        finally:
            close_session(session)
        peak = rss()
    others = [f"{v.cluster} {v.outcome}: {v.reason}" for v in report.verdicts if v.outcome is not PlanOutcome.PLANNED]
    if others:
        raise AssertionError(f"{len(others)} clusters are not planned: {others[:3]}")
    numbers = {
        "seconds": round(seconds, 1),
        "rss_gib": round(peak / 2**30, 2),
        "processor_s": round(processor_s, 1),
        "compile_s": round(compile_s, 2),
        "session_s": round(session_s, 1),
        "steps_s": dict(report.seconds),
        "kernel_s": kernel_seconds(report.verdicts),
        "beside_kernels_s": {s: t for s, t in task_seconds(report.verdicts).items() if s not in KERNELS},
        **overhead(report.verdicts, seconds=seconds - session_s, processor_s=processor_s - session_processor_s),
        "clusters": len(report.verdicts),
        "moves": sum(verdict.entries for verdict in report.verdicts),
    }
    return numbers, report


def _settings(work: Path) -> SparkSettings:
    """Two cores; the rest as `spark.jobs.fleet_plan` has it."""
    return SparkSettings(work_dir=work, master="local[2]", driver_memory=MEMORY, compiler=COMPILER, extra=SETTINGS)


def generated(name: str) -> int:
    """Writes one of FLEETS once, in a process of its own: its memory is not the job's. Returns its partitions."""
    done = CACHE / name / "partitions.count"
    if not done.exists():
        subprocess.run([sys.executable, "-m", "benchmarks.fleet", name], check=True)
    return int(done.read_text())


def skewed() -> Iterator[tuple[str, ClusterState]]:
    """A million partitions in one cluster, as many in twenty others."""
    giant = Shape(brokers=300, topics=30_000, partitions=1_000_000, exact=True)
    yield "giant", drain(generator.cluster(giant, seed=fleet.FIRST_SEED), (0,))
    yield from fleet.clusters(20, Shape(brokers=27, topics=1_500, partitions=50_000, exact=True))


FLEETS: dict[str, Callable[[], Iterator[tuple[str, ClusterState]]]] = {
    "fleet": fleet.clusters,
    "tenth": partial(fleet.clusters, fleet.CLUSTERS // 10),
    "skewed": skewed,
}


def kernel_seconds(verdicts: tuple[ClusterOutcome, ...]) -> dict[str, float]:
    """Processor seconds of each step of the kernel, summed over all clusters."""
    return {step: taken for step, taken in task_seconds(verdicts).items() if step in KERNELS}


def task_seconds(verdicts: tuple[ClusterOutcome, ...]) -> dict[str, float]:
    """The same of everything that is timed in a task: what is read and the second check too."""
    total: Counter[str] = Counter()
    for verdict in verdicts:
        total.update(verdict.seconds)
    return {step: round(taken, 2) for step, taken in total.items()}


def overhead(verdicts: tuple[ClusterOutcome, ...], *, seconds: float, processor_s: float) -> dict[str, float]:
    """The job, its session's start apart, over the processor seconds of its kernels: by the clock, and by processor
    seconds, which others on the machine make no longer."""
    kernels = sum(kernel_seconds(verdicts).values())
    return {"wall_over_kernels": round(seconds / kernels, 2), "processor_over_kernels": round(processor_s / kernels, 2)}


def worst_ratios(verdicts: tuple[ClusterOutcome, ...]) -> dict[str, float]:
    """The largest value / bound of each measure over all clusters."""
    worst: dict[str, float] = {}
    for verdict in verdicts:
        values, bounds = verdict.values or {}, verdict.bounds or {}
        for name, value in values.items():
            ratio = value / bounds[name] if bounds[name] else 1.0
            worst[name] = round(max(worst.get(name, 0.0), ratio), 4)
    return worst


if __name__ == "__main__":
    chosen = sys.argv[1]
    count = write_snapshot(CACHE / chosen, FLEETS[chosen](), epoch=EPOCH)
    (CACHE / chosen / "partitions.count").write_text(str(count))
