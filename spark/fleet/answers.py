"""What one task says about one cluster, as a row: a plan with its replay, bounds, or a typed reason why not."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, cast

from planner.drain.bounds import Bounds
from planner.drain.judge import DISK_AT
from planner.drain.model.measures import Measures
from planner.drain.model.problem import StateProblem


class PlanOutcome(StrEnum):
    """PLANNED: there is a plan. INFEASIBLE: there cannot be one, `reason` says what to add. REFUSED: the cluster's
    input is wrong or incomplete. STALE: the snapshot is of another epoch than was asked for. FAILED: a defect of ours.
    VIOLATED: the second check found a broken rule in the plan.
    """

    PLANNED = "planned"
    INFEASIBLE = "infeasible"
    REFUSED = "refused"
    STALE = "stale"
    FAILED = "failed"
    VIOLATED = "violated"


class AnswerRole(StrEnum):
    """WHOLE: plan, replay and bounds in one task. Of a large cluster SCHEDULE and BOUNDS are two."""

    WHOLE = "whole"
    SCHEDULE = "schedule"
    BOUNDS = "bounds"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanAnswer:
    """A row of ANSWERS. `problems` and `violations` in full, `reason` for a person. `start_s`, `end_s`: when the replay
    starts and completes each entry.
    """

    cluster: str
    role: AnswerRole
    epoch: int
    outcome: PlanOutcome
    reason: str = ""
    problems: tuple[str, ...] = ()
    violations: tuple[str, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)
    values: dict[str, float] | None = None
    bounds: dict[str, float] | None = None
    plan: str | None = None
    reassignments: tuple[str, ...] | None = None
    rollbacks: tuple[str, ...] | None = None
    start_s: Any = None
    end_s: Any = None

    @property
    def entries(self) -> int:
        """How many the plan has."""
        return 0 if self.start_s is None else len(self.start_s)

    def row(self) -> dict[str, Any]:
        """Plain values, as Arrow takes them. When each entry starts and ends stays in the task."""
        told = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in ("start_s", "end_s")}
        return {**told, "entries": self.entries}


def refused(cluster: str, role: AnswerRole, epoch: int, problems: Iterable[StateProblem]) -> PlanAnswer:
    """The answer to input that cannot be planned from."""
    found = tuple(f"{problem.kind.value} {problem}" for problem in problems)
    reason = f"{len(found)} problems in the snapshot, first: {found[0]}; correct the source and observe again"
    return PlanAnswer(
        cluster=cluster, role=role, epoch=epoch, outcome=PlanOutcome.REFUSED, reason=reason, problems=found
    )


def bounds_row(bounds: Bounds) -> dict[str, float]:
    """The bounds as `judge` pairs them with the values."""
    return {
        "bytes": float(bounds.bytes),
        "makespan_s": float(bounds.makespan_s),
        "disk": float(bounds.disk(DISK_AT * bounds.makespan_s)),
        "leaders": float(bounds.leader_count),
        "leader_changes": float(bounds.leader_changes),
        "release_s": float(bounds.release_s),
    }


def certificate(values: dict[str, float], bounds: dict[str, float]) -> dict[str, dict[str, float | None]]:
    """The certificate of a plan file; what is infinite becomes null."""
    return {name: {"value": _finite(values[name]), "bound": _finite(bounds[name])} for name in _NAMES}


def _finite(figure: float) -> float | None:
    return figure if math.isfinite(figure) else None


_NAMES = cast(tuple[str, ...], Measures.__slots__)
