"""The drain planner proper: from a cluster state to a schedule at the physical limit, or a typed refusal."""

from planner.drain.solver.infeasible import Unsolvable
from planner.drain.solver.solve import solve

__all__ = ["Unsolvable", "solve"]
