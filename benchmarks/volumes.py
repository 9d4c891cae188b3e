"""Drains whose volumes are slower than the network, judged by the replay: value / bound, and what binds.

    python -m benchmarks volumes

The states of the drain benchmark, 500 MB/s (rc: 300 and 200) of network each way, on volumes that read and write so
much together. No plan may break a rule: a promise that volumes cannot keep is a violation of H5.
"""

import time
from dataclasses import replace
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.drain.states import state
from planner.drain.certified import CertifiedPlan, certified
from planner.drain.model.hardware import unknown_hardware

STATES = ("c12", "c60", "c60x", "rc40-b0-3")
VOLUMES_BYTES_PER_S = (600e6, 300e6, 150e6)


def main() -> dict[str, Any]:
    """A row for each state and speed of volumes."""
    console = Console(width=160)
    rows = {f"{name} {int(rate / 1e6)} MB/s": measured(name, rate) for name in STATES for rate in VOLUMES_BYTES_PER_S}
    for name, row in rows.items():
        console.print(name, row, highlight=False)
    return {
        "makespan": max(row["makespan"] for row in rows.values()),
        "violations": sum(row["violations"] for row in rows.values()),
        "rows": rows,
    }


def measured(name: str, volumes_bytes_per_s: float) -> dict[str, Any]:
    """One drain, planned and judged. Raises RuntimeError where there is no plan."""
    there = state(name)
    rates = np.full(len(there.brokers), volumes_bytes_per_s)
    there = replace(there, hardware=replace(unknown_hardware(rates.size), disk_io_bytes_per_s=rates))
    started = time.perf_counter()
    plan = certified(there)
    if not isinstance(plan, CertifiedPlan):
        raise RuntimeError(plan.message)
    return {
        "makespan": round(float(plan.measures.makespan_s.ratio), 4),
        "disk": round(float(plan.measures.disk.ratio), 4),
        "bytes": round(float(plan.measures.bytes.ratio), 4),
        "binds": plan.verdict.binds,
        "violations": len(plan.verdict.replay.violations),
        "seconds": round(time.perf_counter() - started, 2),
    }
