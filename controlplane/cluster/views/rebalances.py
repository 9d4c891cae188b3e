"""The rebalance in hand and what is known of those before, as values. Part of `controlplane.cluster.view`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

from controlplane.cluster.views.plans import PlanningView, PlanView, ProgressView
from planner.rebalancing.choice import EVERYTHING, BalanceChoice

DAY = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class RebalanceTerms:
    """What was asked for."""

    new_brokers: tuple[int, ...] = ()
    threshold_percent: float = 0.0
    per_day_bytes: int = 0
    throttle_mib_per_s: int = 0
    """Of its moves, under that of the spec; 0 for that alone."""
    choice: BalanceChoice = EVERYTHING


@dataclass(frozen=True, slots=True)
class RebalanceGains:
    """What its plan makes better: the imbalance in percent, before and after, each goal in its own measure, and by goal
    how far the broker furthest from it is (`[before, after]`, percent)."""

    imbalance_before: float = 0.0
    imbalance_after: float = 0.0
    goals: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    uneven: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    def uneven_before(self) -> Mapping[str, float] | None:
        """By goal, percent; None where the plan did not tell."""
        return {goal: float(before) for goal, (before, _) in self.uneven.items()} or None

    def uneven_after(self) -> Mapping[str, float]:
        """The same as planned; empty where the plan did not tell."""
        return {goal: float(after) for goal, (_, after) in self.uneven.items()}


@dataclass(frozen=True, slots=True)
class RebalanceView:
    """The rebalance in hand, if any."""

    id: str
    cause: str
    reason: str
    requested_at: datetime
    terms: RebalanceTerms = field(default_factory=RebalanceTerms)
    round: int = 1
    """Plans of it so far, the one in hand included."""
    planning: PlanningView = field(default_factory=PlanningView)
    plan: PlanView = field(default_factory=PlanView)
    gains: RebalanceGains = field(default_factory=RebalanceGains)
    progress: ProgressView = field(default_factory=ProgressView)
    begun_bytes: int = 0
    """Bytes of the batches begun."""
    cancelled: str = ""
    """Why a person wants no more of it, "" while nobody said so."""

    @property
    def chosen(self) -> tuple[int, ...]:
        """The brokers that alone receive, as a person chose them; empty where nobody did. New ones are no such choice:
        where one of those is gone, everybody's share is looked at."""
        return self.terms.new_brokers if self.cause == "person" else ()

    @property
    def onto(self) -> str:
        """` onto 1004, 1005`, "" where nobody chose any."""
        return f" onto {', '.join(map(str, self.chosen))}" if self.chosen else ""


@dataclass(frozen=True, slots=True)
class LastRebalance:
    """The one before: when it ended and what imbalance it left, in percent; by goal in `left`, None where that was not
    recorded."""

    ended_at: datetime
    imbalance: float
    left: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class BatchSpent:
    """Bytes that were begun then: what the day's budget is counted from."""

    at: datetime
    bytes: int


def with_spent(spent: tuple[BatchSpent, ...], at: datetime, size: int) -> tuple[BatchSpent, ...]:
    """With a batch of that many bytes, begun at `at`; what is older than a day is forgotten."""
    return (*(s for s in spent if at - s.at < DAY), BatchSpent(at, size))


def spent_bytes(spent: tuple[BatchSpent, ...], now: datetime) -> int:
    """Bytes begun in the 24 hours before `now`."""
    return sum(s.bytes for s in spent if now - s.at < DAY)
