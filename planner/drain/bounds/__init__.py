"""Lower bounds L1-L7 of a drain. Shares nothing with the planner they judge."""

from planner.drain.bounds.limits import Bounds, bounds_of

__all__ = ["Bounds", "bounds_of"]
