"""The rebalance-plan job: every cluster that is to be evened out, in one Spark job. Wiring only."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from planner.kinds import REBALANCE
from planner.rebalancing.codec import Answer
from planner.rebalancing.question import RebalanceQuestion
from spark.jobs.planning import outcomes_of
from spark.sinks import CheckedAnswer
from spark.transforms.validation import REBALANCE_RULES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def plan_rebalances(session: "SparkSession", questions: Sequence[RebalanceQuestion]) -> list[CheckedAnswer[Answer]]:
    """An outcome per question, in their order. Raises what Spark raises when the job fails as a whole."""
    return outcomes_of(session, REBALANCE, questions, REBALANCE_RULES)
