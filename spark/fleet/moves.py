"""What a plan says, beside what the snapshot says: the files as they are published, taken apart in columns."""

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 its usual name

from spark.fleet.answers import AnswerRole, PlanOutcome
from spark.fleet.schemas import MOVES, PLAN_FILE, REASSIGNMENT_FILE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_KEY = ["cluster", "topic", "partition"]


def plans_of(answers: "DataFrame") -> "DataFrame":
    """ANSWERS in; (cluster, plan: PLAN_FILE, sent, rollback, start_s, end_s, values) of each plan out."""
    planned = answers.where((F.col("outcome") == PlanOutcome.PLANNED) & (F.col("role") != AnswerRole.BOUNDS))
    return planned.select(
        "cluster",
        F.from_json("plan", PLAN_FILE).alias("plan"),
        _entries("reassignments").alias("sent"),
        _entries("rollbacks").alias("rollback"),
        "start_s",
        "end_s",
        "values",
    )


def moves_of(plans: "DataFrame", partitions: "DataFrame", *, few: bool) -> "DataFrame":
    """`plans_of` and the snapshot's PARTITIONS in, MOVES out. `few`: the moves fit every task's memory, so the
    snapshot is not shuffled. Entries about partitions that the snapshot does not have give no row.
    """
    parallel = F.arrays_zip(
        F.col("plan.partitions").alias("entry"), F.col("sent"), F.col("rollback"), F.col("start_s"), F.col("end_s")
    )
    listed = plans.select("cluster", F.posexplode(parallel).alias("position", "one"))
    listed = listed.select(
        "cluster",
        "position",
        F.col("one.entry.topic").alias("topic"),
        F.col("one.entry.partition").alias("partition"),
        F.col("one.entry.replicas").alias("after"),
        F.col("one.entry.source").alias("said_source"),
        *(F.col(f"one.{name}").alias(name) for name in ("start_s", "end_s", "sent", "rollback")),
    )
    known = partitions.withColumnRenamed("replicas", "before")
    moves = known.join(F.broadcast(listed) if few else listed, _KEY)
    columns = {
        "source": F.coalesce("said_source", "leader"),
        "added": F.array_except("after", "before"),
        "removed": F.array_except("before", "after"),
    }
    return moves.withColumns(columns).select(*MOVES.names)


def _entries(column: str) -> "Column":
    """All entries of several reassignment files, in order."""
    return F.flatten(F.transform(column, lambda text: F.from_json(text, REASSIGNMENT_FILE)["partitions"]))
