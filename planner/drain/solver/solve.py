"""The drain planner: one schedule at the physical limit, or a typed answer why there is none. Pure, deterministic."""

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from planner.drain.model.plan import Schedule
from planner.drain.model.state import NO_BROKER, Bools, ClusterState, Floats, Int64s
from planner.drain.solver.assemble import assembled, nothing_to_do
from planner.drain.solver.attempt import SCARCE, Attempt, attempt
from planner.drain.solver.demand import Demand, affected, demand_of
from planner.drain.solver.dirs import in_log_dirs, no_wider_than_dirs, without
from planner.drain.solver.infeasible import Obstacle, Unsolvable, no_log_dir
from planner.drain.solver.intake import Intake, Least, intake_of, least_of, used_bytes
from planner.drain.solver.late import placed_late
from planner.drain.solver.no_place import no_place
from planner.drain.solver.repair import healthy, needs_repair
from planner.drain.solver.sequence import WIDER_MARGINS
from planner.drain.solver.slots import extras_for

LEVEL = 1.0095
"""Disks end at most this many times the least level: the rest of the 1 % belongs to whole logs."""

LOOSER = (1.0, 1.03, 1.1)
"""Levels tried in turn, as multiples of the first, when whole logs do not fit; then the disk limit itself."""

ROUNDS = 4

CLOSE = 1.02
"""A makespan this near to the least is not searched further for slot numbers."""

LATE = 1.045
"""A makespan beyond this many times the least has long logs start earlier."""


def solve(
    state: ClusterState,
    *,
    excluded_topics: Collection[str] = (),
    pinned: Collection[int] = (),
    allow_partial: bool = False,
    leaders_stay: bool = False,
) -> Schedule | Unsolvable:
    """Empty all OUTGOING and DEAD brokers, or say why not. The same state gives the same plan on every machine.

    `excluded_topics` and `pinned` (partition rows) stay where they are. `allow_partial`: an Infeasible carries the
    schedule of everything else. `state.destinations` binds what leaves a broker to the targets named there. Where
    the state knows log directories, every new replica gets one of its target's. `leaders_stay`: every copy is read
    from who leads now: perhaps slower, and leadership gathers nowhere (H7).
    """
    schedule, reasons, wanted = _solved(no_wider_than_dirs(state), excluded_topics, pinned, leaders_stay)
    placed = in_log_dirs(state, schedule)
    part = placed.schedule
    if placed.missed.size:
        reasons = (*reasons, no_log_dir(state, part.row[placed.missed], *placed.widest))
        part = without(part, placed.missed)
    if not reasons:
        return part
    refusal = Unsolvable(reasons)
    return replace(refusal, movable=wanted - refusal.stuck.size, part=part if allow_partial else None)


def _solved(
    state: ClusterState, excluded_topics: Collection[str], pinned: Collection[int], leaders_stay: bool
) -> tuple[Schedule, tuple[Obstacle, ...], int]:
    """A schedule of all that can move, why the others cannot, and how many are to."""
    rows = affected(state)
    chosen = rows[~_left_alone(state, rows, excluded_topics, pinned)]
    assumptions = _assumptions(rows.size - chosen.size)
    whole = healthy(state, chosen)
    reasons = needs_repair(state, chosen[~whole])
    demand = demand_of(state, chosen[whole], leaders_stay=leaders_stay)
    if len(demand) == 0:
        return nothing_to_do(state, assumptions), reasons, chosen.size
    if not state.brokers.may_receive.any():
        nowhere = np.full(len(state.brokers), -1.0)
        few = no_place(state, demand, np.arange(len(demand)), nowhere)
        return nothing_to_do(state, assumptions), (*reasons, *few), chosen.size
    intake = intake_of(state, demand)
    best = _best(state, demand, intake, least_of(state, demand, intake))
    if best.unplaced.size:
        best = placed_late(state, demand, best, _left(state, demand, best))
    if best.unplaced.size:
        reasons = (*reasons, *no_place(state, demand, best.unplaced, _left(state, demand, best)))
    return assembled(state, demand, best, assumptions), reasons, chosen.size


def _left(state: ClusterState, demand: Demand, played: Attempt) -> Floats:
    """float64[B]: bytes each broker may still take below its disk limit; -1 where it may take nothing."""
    left = state.disk_limit * state.brokers.disk_bytes - used_bytes(state)
    entry, copy = np.nonzero(played.course.target != NO_BROKER)
    np.subtract.at(left, played.course.target[entry, copy], demand.size[entry])
    return np.where(state.brokers.may_receive, left, -1.0)


def _best(state: ClusterState, demand: Demand, intake: Intake, least: Least) -> Attempt:
    """Levels from tight to the limit until everything finds a place; what found none starts first the next time."""
    tight = min(state.disk_limit, LEVEL * least.fill)
    best: Attempt | None = None
    for level in (*(min(state.disk_limit, tight * looser) for looser in LOOSER), state.disk_limit):
        urgent: Int64s = np.zeros(0, dtype=np.int64)
        for _ in range(ROUNDS):
            tried = _tried(state, demand, intake, least, level, urgent)
            if best is None or tried.unplaced.size < best.unplaced.size:
                best = tried
            if tried.unplaced.size == 0:
                return tried
            more = np.union1d(urgent, tried.unplaced)
            if more.size == urgent.size:
                break
            urgent = more
    assert best is not None
    return best


def _tried(state: ClusterState, demand: Demand, intake: Intake, least: Least, level: float, urgent: Int64s) -> Attempt:
    """The best of the few slot numbers worth trying: the most entries placed, then the earliest end."""
    best: Attempt | None = None
    reading_counts = least.egress_s > SCARCE * least.ingress_s
    for extra in extras_for(demand, reading_counts=reading_counts):
        tried = attempt(state, demand, intake, least, level=level, urgent=urgent, extra=extra)
        if best is None or (tried.unplaced.size, tried.makespan_s) < (best.unplaced.size, best.makespan_s):
            best = tried
        if best.unplaced.size == 0 and best.makespan_s <= CLOSE * least.makespan_s:
            break
    assert best is not None
    return best if reading_counts else _earlier(state, demand, intake, least, level, urgent, best)


def _earlier(
    state: ClusterState, demand: Demand, intake: Intake, least: Least, level: float, urgent: Int64s, played: Attempt
) -> Attempt:
    """Where the drain ends late, the same with long logs sooner and sooner; the earliest end among those tried."""
    best = played
    for margin in WIDER_MARGINS:
        if best.unplaced.size or best.makespan_s <= LATE * least.makespan_s:
            break
        tried = attempt(state, demand, intake, least, level=level, urgent=urgent, margin=margin)
        if (tried.unplaced.size, tried.makespan_s) < (best.unplaced.size, best.makespan_s):
            best = tried
    return best


def _left_alone(state: ClusterState, rows: Int64s, excluded_topics: Collection[str], pinned: Collection[int]) -> Bools:
    unwanted = np.isin(np.array(state.partitions.topics, dtype=object), list(excluded_topics))
    alone: Bools = unwanted[state.partitions.topic[rows]] | np.isin(rows, list(pinned))
    return alone


def _assumptions(left_alone: int) -> tuple[str, ...]:
    return (f"{left_alone} partitions stay on drained brokers because they were excluded",) if left_alone else ()
