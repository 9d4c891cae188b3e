"""Results out of Spark."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic

from planner.kinds import Answer, PlanKind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class CheckedAnswer(Generic[Answer]):
    """One request's answer, its canonical bytes, and what the check in columns found wrong (nothing, normally)."""

    answer: Answer
    answer_bytes: bytes
    violations: tuple[str, ...]


def collect_outcomes(kind: PlanKind[Any, Answer], outcomes: "DataFrame") -> dict[str, CheckedAnswer[Answer]]:
    """Plan key -> outcome, from a frame of schema OUTCOMES."""
    table = outcomes.toArrow().to_pydict()
    columns = zip(table["plan_key"], table["answer"], table["violations"], strict=True)
    return {key: CheckedAnswer(kind.from_bytes(raw), raw, tuple(found)) for key, raw, found in columns}
