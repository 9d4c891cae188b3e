"""Changes of leader alone: demote brokers, even out preferred leaders. No byte is copied."""

from collections.abc import Sequence

import numpy as np

from planner.balance.answer import Balanced
from planner.balance.release import schedule_of
from planner.balance.rows import rows_of
from planner.drain.model.state import NO_BROKER, Bools, ClusterState
from planner.drain.solver.leaders import LeaderOrder, demoted_order, preferred_order


def demote(state: ClusterState, brokers: Sequence[int]) -> Balanced:
    """Take leadership off the brokers with these ids: order-only entries, the demoted last in each list they headed.

    What nobody else in sync could lead stays and is in `left`. Lists that hold a broker to be emptied cannot be named
    in a plan (H1) and are in `left` too: the drain takes their leadership. Raises ValueError for an unknown id.
    """
    demoted = np.zeros(len(state.brokers), dtype=np.bool_)
    demoted[rows_of(state, brokers)] = True
    order = demoted_order(state, demoted)
    leaving = emptied(state)
    answer = _answer(state, order, leaving)
    heads = state.partitions.replicas[:, 0].copy()
    heads[answer.schedule.row] = answer.schedule.after[:, 0]
    kept = np.flatnonzero((heads != NO_BROKER) & demoted[heads])
    why = {True: "is on a broker to be emptied: the drain moves its leader", False: "no other replica in sync can lead"}
    return Balanced(
        schedule=answer.schedule,
        leader_changes=answer.leader_changes,
        left=tuple((int(row), why[bool(leaving[row])]) for row in kept),
    )


def preferred(state: ClusterState) -> Balanced:
    """Even leader counts at the fewest changes, by order alone; exact (solver.leaders).

    Going back to the preferred leaders as they are needs no entry: every plan, also an empty one, ends with a
    preferred election.
    """
    leaving = emptied(state)
    return _answer(state, preferred_order(state, pinned=leaving), leaving)


def emptied(state: ClusterState) -> Bools:
    """bool[P]: lists with a replica on a broker that has to be emptied."""
    leaving: Bools = np.append(state.brokers.must_empty, False)
    return np.asarray(leaving[state.partitions.replicas].any(axis=1), dtype=np.bool_)


def _answer(state: ClusterState, order: LeaderOrder, leaving: Bools) -> Balanced:
    listed = ~leaving[order.extra_row]
    row, after = order.extra_row[listed], order.extra_after[listed]
    leader = state.partitions.leader
    return Balanced(
        schedule=schedule_of(state, row, after),
        leader_changes=int((after[:, 0] != leader[row]).sum()),
    )
