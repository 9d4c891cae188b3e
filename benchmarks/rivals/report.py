"""Asks every tool on every state and judges the answers beside ours."""

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.drain.ours import planned
from benchmarks.drain.rows import Row, judged
from benchmarks.drain.states import state
from benchmarks.rivals.environment import python_of_rivals
from benchmarks.rivals.tools import RIVALS, Answer, NoPlan, Rival, ask, schedule_of
from planner.drain.bounds import Bounds, bounds_of
from planner.drain.model.plan import UNLIMITED_SLOTS
from planner.drain.model.state import ClusterState

STATES = ("c12", "c60", "c60x", "rf60", "c300", "rc40-b0", "rc40-b0-3", "rc40-rack0")
LIMIT_S = 300.0
SLOTS = (UNLIMITED_SLOTS, 20, 5)
"""How an operator may run a plan that says nothing about it: all at once, or so many copies per broker and direction.
Each rival's row shows the fastest."""

COLUMNS = ("state", "tool", "bytes / L1", "makespan / L2", "disk", "leaders", "changes / L4", "release / L6")


@dataclass(frozen=True, slots=True)
class Entry:
    """`row` None: no plan, `note` says why. Otherwise `note` says how the plan was run."""

    state: str
    tool: str
    row: Row | None
    note: str


def run() -> dict[str, Any]:
    """Tools that give no plan within LIMIT_S are listed as such."""
    console = Console(width=200)
    python = python_of_rivals()
    entries = []
    for name in STATES:
        for entry in of_state(name, python):
            entries.append(entry)
            console.print(markdown_line(entry), highlight=False, markup=False)
    console.print("\n" + markdown(entries), highlight=False, markup=False)
    return {"limit_s": LIMIT_S, "rows": [_numbers(entry) for entry in entries]}


def of_state(name: str, python: Path) -> list[Entry]:
    """Ours first, then each rival."""
    cluster = state(name)
    bounds = bounds_of(cluster)
    started = time.perf_counter()
    schedule = planned(cluster)
    ours = judged(name, None, cluster, schedule, bounds, plan_s=time.perf_counter() - started)
    return [
        Entry(name, "Kedge", ours, "as planned"),
        *(_rival(rival, name, cluster, bounds, python) for rival in RIVALS),
    ]


def _rival(rival: Rival, name: str, cluster: ClusterState, bounds: Bounds, python: Path) -> Entry:
    with tempfile.TemporaryDirectory() as directory:
        try:
            answer = ask(rival, python, cluster, Path(directory), limit_s=LIMIT_S)
        except NoPlan as reason:
            return Entry(name, rival.title, None, str(reason))
    row, slots = min((_run(name, cluster, bounds, answer, slots) for slots in SLOTS), key=lambda one: one[0].makespan)
    return Entry(name, rival.title, row, "all at once" if slots == UNLIMITED_SLOTS else f"{slots} at once per broker")


def _run(name: str, cluster: ClusterState, bounds: Bounds, answer: Answer, slots: int) -> tuple[Row, int]:
    schedule = schedule_of(cluster, answer, slots=slots)
    return judged(name, None, cluster, schedule, bounds, plan_s=answer.seconds), slots


def markdown(entries: list[Entry]) -> str:
    head = (*COLUMNS, "rules broken", "left behind", "plan s", "run")
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *(markdown_line(entry) for entry in entries)])


def markdown_line(entry: Entry) -> str:
    """Rows without a plan say why instead of figures."""
    row = entry.row
    if row is None:
        return f"| {entry.state} | {entry.tool} |" + " - |" * 9 + f" {entry.note} |"
    figures = (row.bytes, row.makespan, row.disk, row.leaders, row.changes, row.release)
    broken = ", ".join(f"{rule} {count}" for rule, count in row.broken.items()) or "0"
    cells = [entry.state, entry.tool, *(f"{value:.3f}" for value in figures)]
    return "| " + " | ".join([*cells, broken, str(row.left_behind), f"{row.plan_s:.2f}", entry.note]) + " |"


def _numbers(entry: Entry) -> dict[str, Any]:
    numbers: dict[str, Any] = {"state": entry.state, "tool": entry.tool, "note": entry.note}
    if entry.row is not None:
        for measure in ("bytes", "makespan", "disk", "leaders", "changes", "release", "plan_s"):
            numbers[measure] = round(getattr(entry.row, measure), 4)
        numbers |= {"broken": entry.row.broken, "left_behind": entry.row.left_behind}
    return numbers
