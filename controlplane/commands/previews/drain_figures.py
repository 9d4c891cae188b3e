"""The figures of a plan as people are shown them, on a terminal and on a page: each broker before and after, the
certificate in words, what each target takes over time. Pure; loads the planner's kernels.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.balance.answer import GoalReport, Range
from planner.drain.model.measures import Measure, Measures
from planner.drain.model.plan import UNLIMITED_SLOTS, Schedule
from planner.drain.model.state import NO_BROKER, BrokerState, ClusterState, Floats, Int64s
from planner.drain.replay import Replay, ingress_series
from planner.drain.replay.entries import entries_of
from planner.drain.replay.holdings import leader_counts, placement_after, used_bytes
from planner.quantities import human_bytes, human_seconds

MEASURES = ("bytes", "makespan_s", "disk", "leaders", "leader_changes", "release_s")
_WORDS = {
    "bytes": "bytes copied",
    "makespan_s": "time until the last copy",
    "disk": "fullest disk afterwards",
    "leaders": "most leaders on a broker",
    "leader_changes": "changes of leader",
    "release_s": "brokers empty, sum of times",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainedBroker:
    """Disks are fractions in use, None of a broker whose disk is not known (a dead one); `empty_after_s` is None for a
    broker that is not drained, inf if it never is.
    `slots_*` and `throttle_*` are None without a limit.
    """

    id: int
    rack: str
    state: str
    replicas_before: int
    replicas_after: int
    leaders_before: int
    leaders_after: int
    disk_before: float | None
    disk_after: float | None
    disk_worst: float | None
    bytes_in: int
    bytes_out: int
    slots_in: int | None
    slots_out: int | None
    throttle_in_bytes_per_s: float | None
    throttle_out_bytes_per_s: float | None
    empty_after_s: float | None


def broker_rows(state: ClusterState, schedule: Schedule, replay: Replay) -> list[DrainedBroker]:
    """Every broker, by id."""
    brokers, parts = state.brokers, state.partitions
    count = len(brokers)
    entries = entries_of(state, schedule)
    after = placement_after(state, entries)
    taken, given = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    sizes = entries.size[entries.copy_entry]
    np.add.at(taken, entries.copy_target, sizes)
    np.add.at(given, entries.source[entries.copy_entry], sizes)
    held_before, held_after = _held(parts.replicas, count), _held(after, count)
    leads = leader_counts(parts.leader, count)
    known = brokers.disk_bytes > 0
    used = used_bytes(state, parts.replicas) / np.maximum(brokers.disk_bytes, 1)
    return [
        DrainedBroker(
            id=int(brokers.id[b]),
            rack=brokers.racks[int(brokers.rack[b])],
            state=BrokerState(int(brokers.state[b])).name.lower(),
            replicas_before=int(held_before[b]),
            replicas_after=int(held_after[b]),
            leaders_before=int(leads[b]),
            leaders_after=int(replay.leaders[b]),
            disk_before=float(used[b]) if known[b] else None,
            disk_after=float(replay.disk_after[b]) if known[b] else None,
            disk_worst=float(replay.disk_worst[b]) if known[b] else None,
            bytes_in=int(taken[b]),
            bytes_out=int(given[b]),
            slots_in=_slots(int(schedule.slots_in[b])),
            slots_out=_slots(int(schedule.slots_out[b])),
            throttle_in_bytes_per_s=_rate(float(schedule.throttle_in_bytes_per_s[b])),
            throttle_out_bytes_per_s=_rate(float(schedule.throttle_out_bytes_per_s[b])),
            empty_after_s=replay.release_s.get(b),
        )
        for b in range(count)
    ]


def copying_entries(state: ClusterState, schedule: Schedule) -> int:
    """Partitions that get a replica somewhere, an empty one too; the other entries only change the order of a list."""
    return int(np.count_nonzero(entries_of(state, schedule).copies))


def certificate_rows(measures: Measures) -> list[list[str]]:
    """Measure, value, bound and ratio in words, a row each."""
    return [_measure_cells(name, getattr(measures, name)) for name in MEASURES]


def targets_over_time(
    state: ClusterState, schedule: Schedule, makespan_s: float, *, bins: int
) -> tuple[Int64s, Floats] | None:
    """Rows of the targets and what each takes per bin: int64[T], float64[T, bins]."""
    if not (math.isfinite(makespan_s) and makespan_s > 0):
        return None
    series = ingress_series(state, schedule, makespan_s, bins=bins)
    rows = np.flatnonzero(series.bytes_per_s.max(axis=1) > 0).astype(np.int64)
    return rows, series.bytes_per_s[rows]


def time_words(seconds: float) -> str:
    """How long, or that it never ends."""
    return human_seconds(seconds) if math.isfinite(seconds) else "never"


def _held(replicas: np.ndarray[Any, Any], count: int) -> Int64s:
    held: Int64s = np.bincount(replicas[replicas != NO_BROKER], minlength=count).astype(np.int64)
    return held


def _slots(slots: int) -> int | None:
    return None if slots == UNLIMITED_SLOTS else slots


def _rate(bytes_per_s: float) -> float | None:
    return None if bytes_per_s == float("inf") else bytes_per_s


def _measure_cells(name: str, measure: Measure) -> list[str]:
    ratio = f"{measure.ratio:.3f}" if math.isfinite(measure.ratio) else "-"
    return [_WORDS[name], _figure(name, measure.value), _figure(name, measure.bound), ratio]


def _figure(name: str, value: float) -> str:
    if name == "bytes":
        return human_bytes(value)
    if name == "disk":
        return f"{value:.2%}" if math.isfinite(value) else "-"
    if name.endswith("_s"):
        return time_words(value)
    return f"{value:.0f}" if math.isfinite(value) else "-"


def goal_rows(goals: Iterable[GoalReport]) -> list[list[str]]:
    """Goal, before, after, band, how many are out of it before and after, and what stands in its way: in words."""
    return [_goal_row(goal) for goal in goals]


def _goal_row(goal: GoalReport) -> list[str]:
    name = f"{goal.goal} (hard)" if goal.hard else str(goal.goal)
    out = f"{goal.broken_before} -> {goal.broken_after}"
    return [name, _range(goal.before), _range(goal.after), _range(goal.band), out, goal.why or "met"]


def _range(range_: Range) -> str:
    if math.isnan(range_.least):
        return "-"
    return f"{_side(range_.least)} .. {_side(range_.most)}"


def _side(figure: float) -> str:
    return f"{figure:.3g}" if math.isfinite(figure) else ""
