"""One row per cluster at the end: what came of it, the certificate, and what the second check found."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812 its usual name

from spark.fleet.answers import AnswerRole, PlanAnswer, PlanOutcome

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOutcome:
    """`values` and `bounds` of a plan by measure. `seconds`: of each step in the kernel, over all its tasks."""

    cluster: str
    epoch: int
    outcome: PlanOutcome
    reason: str
    problems: tuple[str, ...]
    entries: int
    values: dict[str, float] | None
    bounds: dict[str, float] | None
    seconds: dict[str, float]


def verdict_of(answer: PlanAnswer) -> ClusterOutcome:
    """Of a cluster that never came to a task."""
    return ClusterOutcome(
        cluster=answer.cluster,
        epoch=answer.epoch,
        outcome=answer.outcome,
        reason=answer.reason,
        problems=answer.problems,
        entries=0,
        values=None,
        bounds=None,
        seconds={},
    )


def verdicts_of(answers: "DataFrame") -> list[ClusterOutcome]:
    """ANSWERS, without their documents, to the driver: what two tasks say of a cluster becomes one verdict."""
    rows = answers.select(*_LIGHT).toArrow().to_pylist()
    of_cluster: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        of_cluster.setdefault(row["cluster"], []).append(row)
    return [_merged(several) for _, several in sorted(of_cluster.items())]


def plans_with_bounds(answers: "DataFrame") -> "DataFrame":
    """ANSWERS in, a row per plan out, with the bounds that came from another task beside it."""
    plans = answers.where(F.col("role") != AnswerRole.BOUNDS)
    apart = answers.where(F.col("role") == AnswerRole.BOUNDS).select("cluster", F.col("bounds").alias("apart"))
    joined = plans.join(F.broadcast(apart), "cluster", "left").withColumn("bounds", F.coalesce("bounds", "apart"))
    return joined.select("cluster", "epoch", "plan", "reassignments", "rollbacks", "values", "bounds")


def _merged(several: list[dict[str, Any]]) -> ClusterOutcome:
    """A plan whose bounds failed is no certified plan: what went wrong speaks for both."""
    ranked = sorted(several, key=lambda row: (row["outcome"] == PlanOutcome.PLANNED, row["role"] == AnswerRole.BOUNDS))
    head = ranked[0]
    seconds: dict[str, float] = {}
    for row in several:
        for step, taken in row["seconds"].items():
            seconds[step] = seconds.get(step, 0.0) + (taken or 0.0)
    return ClusterOutcome(
        cluster=head["cluster"],
        epoch=head["epoch"],
        outcome=PlanOutcome(head["outcome"]),
        reason=head["reason"],
        problems=tuple(head["problems"]),
        entries=max(row["entries"] for row in several),
        values=next((row["values"] for row in several if row["values"]), None),
        bounds=next((row["bounds"] for row in several if row["bounds"]), None),
        seconds=seconds,
    )


_LIGHT = ("cluster", "role", "epoch", "outcome", "reason", "entries", "problems", "values", "bounds", "seconds")
