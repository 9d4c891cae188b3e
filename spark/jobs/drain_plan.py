"""The drain-plan job: every cluster that needs a plan, in one Spark job. Wiring only."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from planner.drain.request import DrainRequest
from spark.sinks import Outcome, collect_outcomes
from spark.sources import keys_of, partitions_frame, requests_frame
from spark.transforms.plans import solved
from spark.transforms.validation import validated

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def plan_drains(session: "SparkSession", requests: Sequence[DrainRequest]) -> list[Outcome]:
    """An outcome per request, in their order. Raises what Spark raises when the job fails as a whole."""
    if not requests:
        return []
    asked = requests_frame(session, requests)
    outcomes = collect_outcomes(validated(solved(asked, partitions_frame(session, requests)), asked))
    return [outcomes[key] for key in keys_of(requests)]
