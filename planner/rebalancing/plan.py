"""The rebalance plan as a value and as canonical bytes: what is stored, hashed, checked and executed.

Its moves, ports and checkpoints are those of a drain plan, so that the same machine carries them out.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planner.drain.plan import DrainPlan, PlanUnreadable, canonical, plan_document, plan_from

FORMAT = 2
"""1 kept the largest deviation alone, of whichever goal (`_OF_ANY`)."""

_OF_ANY = "imbalance"


@dataclass(frozen=True, slots=True)
class GoalStatus:
    """One goal before and after, as `GoalReport`: brokers (or partitions) out of it, and the figures' ranges."""

    goal: str
    hard: bool
    broken_before: int
    broken_after: int
    before: tuple[float | None, float | None]
    after: tuple[float | None, float | None]
    why: str = ""


@dataclass(frozen=True, slots=True)
class Unplanned:
    """There is no plan: the metadata is no state to plan on. What now: the message says what is missing."""

    cluster_uid: str
    rebalance_id: str
    round: int
    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class RebalancePlan:
    """`copies`: the moves, in release order; a stretch between two checkpoints is one small batch.

    `left`: partitions that could not be touched. `uneven_*`: `imbalance.deviations` before and after, by goal.
    """

    copies: DrainPlan
    goals: tuple[GoalStatus, ...]
    left: int
    uneven_before: Mapping[str, float]
    uneven_after: Mapping[str, float]

    @property
    def imbalance_before(self) -> float:
        """How far the broker furthest from any goal is from it now, percent."""
        return max(self.uneven_before.values(), default=0.0)

    @property
    def imbalance_after(self) -> float:
        """The same when all has moved."""
        return max(self.uneven_after.values(), default=0.0)

    def to_bytes(self) -> bytes:
        """Canonical JSON: the same plan gives the same bytes on every machine."""
        return canonical(
            {
                "rebalance_format": FORMAT,
                "copies": plan_document(self.copies),
                "goals": [
                    [g.goal, g.hard, g.broken_before, g.broken_after, g.before, g.after, g.why] for g in self.goals
                ],
                "left": self.left,
                "uneven": [dict(sorted(self.uneven_before.items())), dict(sorted(self.uneven_after.items()))],
            }
        )

    @classmethod
    def from_bytes(cls, raw: bytes) -> "RebalancePlan":
        """Raises PlanUnreadable when the bytes are no rebalance plan of this format."""
        try:
            return _plan_from(json.loads(raw))
        except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            raise PlanUnreadable(f"stored rebalance plan ({len(raw)} bytes) cannot be read: {error!r}") from error


def _plan_from(document: Mapping[str, Any]) -> RebalancePlan:
    if document["rebalance_format"] not in (1, FORMAT):
        raise ValueError(f"format {document['rebalance_format']!r}, this release reads {FORMAT}")
    named = document["rebalance_format"] == FORMAT
    before, after = document["uneven"] if named else ({_OF_ANY: percent} for percent in document["imbalance"])
    return RebalancePlan(
        copies=plan_from(document["copies"]),
        goals=tuple(
            GoalStatus(str(goal), bool(hard), int(out), int(left), (was[0], was[1]), (now[0], now[1]), str(why))
            for goal, hard, out, left, was, now, why in document["goals"]
        ),
        left=int(document["left"]),
        uneven_before={str(goal): float(percent) for goal, percent in before.items()},
        uneven_after={str(goal): float(percent) for goal, percent in after.items()},
    )
