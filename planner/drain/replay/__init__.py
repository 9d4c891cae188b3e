"""The independent replay of a schedule. Shares nothing with the planner it judges."""

from planner.drain.replay.checkpoints import ReplayLimits
from planner.drain.replay.run import IngressSeries, Replay, ingress_series, replay
from planner.drain.replay.violation import PlanRule, Violation

__all__ = ["IngressSeries", "PlanRule", "Replay", "ReplayLimits", "Violation", "ingress_series", "replay"]
