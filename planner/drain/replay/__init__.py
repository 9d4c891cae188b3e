"""The independent replay of a schedule. Shares nothing with the planner it judges."""

from planner.drain.replay.checkpoints import Limits
from planner.drain.replay.run import IngressSeries, Replay, ingress_series, replay
from planner.drain.replay.violation import Rule, Violation

__all__ = ["IngressSeries", "Limits", "Replay", "Rule", "Violation", "ingress_series", "replay"]
