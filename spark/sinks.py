"""Results out of Spark."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.drain.codec import Answer, answer_from_bytes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class Outcome:
    """One drain's answer, its canonical bytes, and what the check in columns found wrong (nothing, normally)."""

    answer: Answer
    answer_bytes: bytes
    violations: tuple[str, ...]


def collect_outcomes(outcomes: "DataFrame") -> dict[str, Outcome]:
    """Drain key -> outcome, from a frame of schema OUTCOMES."""
    table = outcomes.toArrow().to_pydict()
    columns = zip(table["drain_key"], table["answer"], table["violations"], strict=True)
    return {key: Outcome(answer_from_bytes(raw), raw, tuple(found)) for key, raw, found in columns}
