"""From requests of one kind to their outcomes, in one Spark job: what drain and rebalance plans have in common."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from planner.kinds import Answer, PlanKind, Request
from spark.sinks import CheckedAnswer, collect_outcomes
from spark.sources import keys_of, partitions_frame, requests_frame
from spark.transforms.plans import solved
from spark.transforms.validation import Rules, validated

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def outcomes_of(
    session: "SparkSession", kind: PlanKind[Request, Answer], requests: Sequence[Request], rules: Rules
) -> list[CheckedAnswer[Answer]]:
    """An outcome per request, in their order. Raises what Spark raises when the job fails as a whole."""
    if not requests:
        return []
    asked = requests_frame(session, kind, requests)
    answers = solved(kind, asked, partitions_frame(session, kind, requests))
    outcomes = collect_outcomes(kind, validated(answers, asked, rules))
    return [outcomes[key] for key in keys_of(kind, requests)]
