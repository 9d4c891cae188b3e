"""Beyond drains, with the same arrays in and the same schedule out: rebalance, grow, demote, repair, re-factor."""

from planner.balance.answer import Answer, Balanced, GoalReport, Missing, Shortfall
from planner.balance.factor import change_replication_factor
from planner.balance.goals import DEFAULT_GOALS, Aim, Goal, Goals
from planner.balance.leadership import demote, preferred
from planner.balance.loads import MeasuredLoads
from planner.balance.offline import fix_offline
from planner.balance.rebalance import add_brokers, rebalance

__all__ = [
    "DEFAULT_GOALS",
    "Aim",
    "Answer",
    "Balanced",
    "Goal",
    "GoalReport",
    "Goals",
    "MeasuredLoads",
    "Missing",
    "Shortfall",
    "add_brokers",
    "change_replication_factor",
    "demote",
    "fix_offline",
    "preferred",
    "rebalance",
]
