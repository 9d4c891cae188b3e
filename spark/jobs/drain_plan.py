"""The drain-plan job: every cluster that has to empty a broker, in one Spark job. Wiring only."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from planner.drain.codec import Answer
from planner.drain.request import DrainRequest
from planner.kinds import DRAIN
from spark.jobs.planning import outcomes_of
from spark.sinks import CheckedAnswer
from spark.transforms.validation import DRAIN_RULES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def plan_drains(session: "SparkSession", requests: Sequence[DrainRequest]) -> list[CheckedAnswer[Answer]]:
    """An outcome per request, in their order. Raises what Spark raises when the job fails as a whole."""
    return outcomes_of(session, DRAIN, requests, DRAIN_RULES)
