"""The drain planner: one schedule at the physical limit, or a typed answer why there is none. Pure, deterministic."""

from collections.abc import Collection

import numpy as np

from planner.drain.model.plan import Schedule
from planner.drain.model.state import NOBODY, Bools, BrokerState, ClusterState, Int64s
from planner.drain.solver.assemble import assembled, nothing_to_do
from planner.drain.solver.attempt import SCARCE, Attempt, attempt
from planner.drain.solver.demand import Demand, affected, demand_of
from planner.drain.solver.dirs import in_log_dirs, no_wider_than_dirs, without
from planner.drain.solver.infeasible import Infeasible, needs_repair, no_log_dir, no_place
from planner.drain.solver.intake import Intake, Least, intake_of, least_of
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
) -> Schedule | Infeasible:
    """Empty all OUTGOING and DEAD brokers, or say why not. The same state gives the same plan on every machine.

    `excluded_topics` and `pinned` (partition rows) stay where they are. `allow_partial`: an Infeasible carries the
    schedule of everything else. `state.destinations` binds what leaves a broker to the targets named there. Where
    the state knows log directories, every new replica gets one of its target's. `leaders_stay`: every copy is read
    from who leads now: perhaps slower, and leadership gathers nowhere (H7).
    """
    answer = _solved(no_wider_than_dirs(state), excluded_topics, pinned, allow_partial, leaders_stay)
    schedule = answer.part if isinstance(answer, Infeasible) else answer
    if schedule is None:
        return answer
    placed = in_log_dirs(state, schedule)
    if not placed.missed.size:
        return _refused(answer, placed.schedule) if isinstance(answer, Infeasible) else placed.schedule
    refusal = no_log_dir(state, placed.schedule.row[placed.missed], *placed.widest)
    if isinstance(answer, Infeasible):
        stuck = np.union1d(answer.stuck, refusal.stuck).astype(np.int32)
        refusal = Infeasible(answer.kind, f"{answer.message}; {refusal.message}", stuck)
    return _refused(refusal, without(placed.schedule, placed.missed)) if allow_partial else refusal


def _solved(
    state: ClusterState,
    excluded_topics: Collection[str],
    pinned: Collection[int],
    allow_partial: bool,
    leaders_stay: bool,
) -> Schedule | Infeasible:
    rows = affected(state)
    chosen = rows[~_left_alone(state, rows, excluded_topics, pinned)]
    assumptions = _assumptions(rows.size - chosen.size)
    ill = ~_healthy(state, chosen)
    if ill.any() and not allow_partial:
        return needs_repair(state, chosen[ill])
    demand = demand_of(state, chosen[~ill], leaders_stay=leaders_stay)
    if len(demand) == 0:
        empty = nothing_to_do(state, assumptions)
        return _refused(needs_repair(state, chosen[ill]), empty) if ill.any() else empty
    intake = intake_of(state, demand)
    best = _best(state, demand, intake, least_of(state, demand, intake))
    missing = best.unplaced
    if missing.size and not allow_partial:
        return no_place(state, demand, intake, missing)
    schedule = assembled(state, demand, best, assumptions)
    if missing.size:
        return _refused(no_place(state, demand, intake, missing), schedule)
    return _refused(needs_repair(state, chosen[ill]), schedule) if ill.any() else schedule


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


def _healthy(state: ClusterState, rows: Int64s) -> Bools:
    """Every replica in sync or on a dead broker, and one at least that can be read."""
    replicas, in_sync = state.partitions.replicas[rows], state.partitions.in_sync[rows]
    dead = np.append(state.brokers.state == BrokerState.DEAD, False)[replicas]
    present = replicas != NOBODY
    healthy: Bools = (in_sync | dead | ~present).all(axis=1) & (in_sync & present & ~dead).any(axis=1)
    return healthy


def _assumptions(left_alone: int) -> tuple[str, ...]:
    return (f"{left_alone} partitions stay on drained brokers because they were excluded",) if left_alone else ()


def _refused(answer: Infeasible, part: Schedule) -> Infeasible:
    return Infeasible(answer.kind, answer.message, answer.stuck, part)
