"""Rebalance and add brokers: every goal within its tolerance for the fewest bytes that could be found."""

from collections.abc import Sequence

import numpy as np

from planner.balance.answer import Answer, Balanced, Shortfall
from planner.balance.bound import bytes_moved, least_bytes
from planner.balance.goals import DEFAULT_GOALS, Goal, Goals
from planner.balance.limits import limits_of
from planner.balance.loads import MeasuredLoads, borne, led_now, loads_of
from planner.balance.release import schedule_of
from planner.balance.report import missing_for, narrow, reports
from planner.balance.rows import rows_of
from planner.balance.settle import lists_after, settled
from planner.drain.model.state import Bools, ClusterState, Int32s

UNMEASURED = MeasuredLoads()


def rebalance(
    state: ClusterState,
    goals: Goals = DEFAULT_GOALS,
    *,
    measured: MeasuredLoads = UNMEASURED,
    excluded_topics: frozenset[str] = frozenset(),
    excluded_brokers: Sequence[int] = (),
    demoted: Sequence[int] = (),
) -> Answer:
    """Bring the cluster within the goals. A cluster that is within them gets an empty schedule.

    `excluded_topics` stay where they are and count. `excluded_brokers`: ids of brokers that receive nothing and may
    give. `demoted`: ids of brokers that are to lead nothing. Partitions on brokers that have to be emptied, and those
    that need repair first, are left alone (Balanced.left). A hard goal that stays missed gives a Shortfall whose `best`
    is the plan that comes nearest. Raises ValueError for goals that contradict themselves.
    """
    takes = state.brokers.may_receive.copy()
    takes[rows_of(state, excluded_brokers)] = False
    return _planned(state, goals, measured, takes=takes, excluded=excluded_topics, demoted=demoted)


def add_brokers(
    state: ClusterState,
    new: Sequence[int],
    goals: Goals = DEFAULT_GOALS,
    *,
    measured: MeasuredLoads = UNMEASURED,
    excluded_topics: frozenset[str] = frozenset(),
    demoted: Sequence[int] = (),
) -> Answer:
    """Give the brokers with these ids their share: replicas and leadership move onto them and nowhere else.

    They are brought up to the lower edge of every band, from the fullest; what only moves among the old brokers could
    mend is left to `rebalance` and shows in the report. `excluded_topics` and `demoted` as there. Raises ValueError for
    an id the state does not have.
    """
    takes = np.zeros(len(state.brokers), dtype=np.bool_)
    takes[rows_of(state, new)] = True
    takes &= state.brokers.may_receive
    return _planned(state, goals, measured, takes=takes, excluded=excluded_topics, demoted=demoted, grows=True)


def _planned(
    state: ClusterState,
    goals: Goals,
    measured: MeasuredLoads,
    *,
    takes: Bools,
    excluded: frozenset[str],
    demoted: Sequence[int],
    grows: bool = False,
) -> Answer:
    loads = loads_of(state, measured)
    parts = state.partitions
    first = led_now(state)
    total = borne(loads, parts.replicas, first)
    leadless = np.zeros(len(state.brokers), dtype=np.bool_)
    leadless[rows_of(state, demoted)] = True
    limits = limits_of(state, loads, goals, total, leadless)
    apart = np.isin(parts.topic, [i for i, topic in enumerate(parts.topics) if topic in excluded])
    scoreboard = settled(state, loads, limits, takes=takes, excluded=apart)
    lists = lists_after(scoreboard, first)
    answer = Balanced(
        schedule=schedule_of(state, *changed(state, lists), assumptions=loads.assumptions),
        goals=reports(
            state, loads, limits, goals,
            before=borne(loads, parts.replicas, parts.leader), after=borne(loads, lists, _leaders(state, lists)),
            replicas=lists,
        ),
        bytes_moved=bytes_moved(state, lists),
        bytes_bound=least_bytes(state, loads, limits, total, only=takes if grows else None),
        leader_changes=int((_leaders(state, lists) != parts.leader).sum()),
        left=_left(scoreboard.movable | apart),
    )  # fmt: skip
    missed = [goal for goal in answer.goals if goal.hard and not goal.met]
    if not missed or grows:
        return answer
    after = borne(loads, lists, _leaders(state, lists))
    stuck = np.flatnonzero(narrow(state, lists)) if missed[0].goal == Goal.RACKS else ()
    return Shortfall(
        message=f"{missed[0].goal} cannot be met: {missed[0].why}",
        missing=missing_for(state, loads, limits, missed[0], after),
        stuck=tuple(int(row) for row in stuck),
        best=answer,
    )


def changed(state: ClusterState, lists: Int32s) -> tuple[Int32s, Int32s]:
    """Rows whose list differs from the one now, and their new lists."""
    before = state.partitions.replicas
    row = np.flatnonzero((lists[:, : before.shape[1]] != before).any(axis=1)).astype(np.int32)
    return row, lists[row]


def _leaders(state: ClusterState, lists: Int32s) -> Int32s:
    """int32[P]: who leads after the election at the end: the first; where that one cannot, as `leader_places`."""
    same = lists[:, 0] == state.partitions.replicas[:, 0]
    return np.where(same, led_now(state), lists[:, 0]).astype(np.int32)


def _left(touched: Bools) -> tuple[tuple[int, str], ...]:
    why = "has a replica out of sync or on a broker to be emptied: repair or drain first"
    return tuple((int(row), why) for row in np.flatnonzero(~touched))
