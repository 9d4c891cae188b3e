"""Kedge's plan of a state, before any judge has seen it: a broken one is to show in the table, not to be refused."""

from planner.drain.model.plan import Schedule
from planner.drain.model.state import ClusterState
from planner.drain.solver import Unsolvable, solve


def planned(state: ClusterState) -> Schedule:
    """What the solver answers. Raises RuntimeError when it says that there is no plan."""
    answer = solve(state)
    if isinstance(answer, Unsolvable):
        raise RuntimeError(f"no plan: {answer.message}")
    return answer
