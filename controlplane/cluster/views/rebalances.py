"""The rebalance in hand and what is known of those before, as values. Part of `controlplane.cluster.view`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

DAY = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class RebalanceView:
    """The rebalance in hand, if any."""

    id: str
    cause: str
    reason: str
    requested_at: datetime
    new_brokers: tuple[int, ...] = ()
    threshold_percent: float = 0.0
    per_day_bytes: int = 0
    throttle_mib_per_s: int = 0
    """Of its moves, under that of the spec; 0 for that alone."""
    round: int = 1
    """Plans of it so far, the one in hand included."""
    tries: int = 0
    """Computations of a plan, ever: each is a job of its own."""
    failures: int = 0
    """Since a plan was made."""
    failed: str = ""
    failed_at: datetime | None = None
    plan_sha256: str = ""
    engine: str = ""
    moves: int = 0
    bytes: int = 0
    batches: int = 0
    batch: int = -1
    """The last one begun, counted from 0."""
    moving_at: datetime | None = None
    """When the plan's first batch began."""
    begun_bytes: int = 0
    """Bytes of the batches begun."""
    imbalance_before: float = 0.0
    imbalance_after: float = 0.0
    goals: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    done_moves: int = 0
    """By plans before this one."""
    done_bytes: int = 0
    cancelled: str = ""
    """Why a person wants no more of it, "" while nobody said so."""

    @property
    def chosen(self) -> tuple[int, ...]:
        """The brokers that alone receive, as a person chose them; empty where nobody did. New ones are no such choice:
        where one of those is gone, everybody's share is looked at."""
        return self.new_brokers if self.cause == "person" else ()

    @property
    def onto(self) -> str:
        """` onto 1004, 1005`, "" where nobody chose any."""
        return f" onto {', '.join(map(str, self.chosen))}" if self.chosen else ""


@dataclass(frozen=True, slots=True)
class LastRebalance:
    """The one before: when it ended and what imbalance it left, in percent."""

    ended_at: datetime
    imbalance: float


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
