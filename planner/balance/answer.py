"""What the planner answers: a schedule with its account, or what is missing."""

from dataclasses import dataclass
from typing import Literal

from planner.balance.goals import Goal
from planner.drain.model.plan import Schedule

MissingKind = Literal["brokers", "rack", "capacity", "disk", "in-sync"]


@dataclass(frozen=True, slots=True)
class Range:
    """The least and the most over the brokers that count."""

    least: float
    most: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalReport:
    """One goal before and after. Bands and values are multiples of the broker's even share, ceilings and their values
    fractions of its capacity (replica-capacity: replicas); racks and topic-spread have no such figure (NaN).

    `broken_before`, `broken_after`: brokers out of band; for racks partitions, for topic-spread pairs of topic and
    broker. `why`: empty when met, else what stands in the way.
    """

    goal: Goal
    hard: bool
    before: Range
    after: Range
    band: Range
    broken_before: int
    broken_after: int
    why: str = ""

    @property
    def met(self) -> bool:
        return self.broken_after == 0


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Balanced:
    """`bytes_moved` beside `bytes_bound`, what any plan that reaches the bands must copy; `leader_changes`: partitions
    whose leader after the plan is not the leader now. `left`: partitions (rows) that could not be touched, with why.
    """

    schedule: Schedule
    goals: tuple[GoalReport, ...] = ()
    bytes_moved: int = 0
    bytes_bound: float = 0.0
    leader_changes: int = 0
    left: tuple[tuple[int, str], ...] = ()

    @property
    def bytes_ratio(self) -> float:
        """1.0 where nothing had to move and nothing moves; inf where something moves for goals without a bound."""
        if self.bytes_bound > 0:
            return self.bytes_moved / self.bytes_bound
        return 1.0 if self.bytes_moved == 0 else float("inf")


@dataclass(frozen=True, slots=True)
class Missing:
    """The smallest thing to add: `amount` brokers, racks, bytes of disk, bytes/s of NIC or units of CPU."""

    kind: MissingKind
    amount: float
    what: str


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Shortfall:
    """What was asked for cannot be had. `stuck`: rows of the partitions concerned. `best`: what can be done all the
    same, the feasible part.
    """

    message: str
    missing: Missing
    stuck: tuple[int, ...] = ()
    best: Balanced | None = None


Answer = Balanced | Shortfall
