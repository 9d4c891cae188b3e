"""Results out of Spark."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class CheckedAnswer:
    """One cluster's answer as canonical bytes, and what the check in columns found wrong (nothing, normally).

    `failure`: why there is no answer, "" where there is one.
    """

    answer_bytes: bytes
    violations: tuple[str, ...] = ()
    failure: str = ""


def collect_outcomes(outcomes: "DataFrame") -> dict[str, CheckedAnswer]:
    """Plan key -> outcome, from a frame of schema OUTCOMES."""
    table = outcomes.toArrow().to_pydict()
    columns = zip(table["plan_key"], table["answer"], table["violations"], table["failure"], strict=True)
    return {key: CheckedAnswer(raw or b"", tuple(found), why or "") for key, raw, found, why in columns}
