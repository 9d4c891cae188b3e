"""The plan job: drains and rebalances of all clusters that need one, in one Spark job. Wiring only."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from planner.kinds import PlanTask
from spark.sinks import CheckedAnswer, collect_outcomes
from spark.sources import keys_of, requests_frame, slots_of
from spark.transforms.plans import solved
from spark.transforms.validation import validated

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def planned(session: "SparkSession", tasks: Sequence[PlanTask]) -> list[CheckedAnswer]:
    """An outcome per task, in their order: what goes wrong with one cluster is in its own. Raises what Spark raises
    when the job fails as a whole.
    """
    if not tasks:
        return []
    asked = requests_frame(session, tasks)
    outcomes = collect_outcomes(validated(solved(asked, slots_of(tasks)), asked))
    return [outcomes[key] for key in keys_of(tasks)]
