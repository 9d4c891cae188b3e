"""Rules that hold at every instant, as running sums per broker over what starts and ends: one window function.

At one instant, ends come before starts: a slot or a disk is free when its copy is through. Of an entry with several
copies only the last one's end is known, so the others are taken to end as early as one fetch can: what is found
broken is broken.
"""

from typing import TYPE_CHECKING

from pyspark.sql import (
    Window,
    functions as F,  # noqa: N812 its usual name
)

from spark.fleet.schemas import VIOLATIONS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_SLACK = 1e-6
_ENDS, _STARTS = 0, 1

RULES = ("disk", "slots of a target", "slots of a source", "bytes into a target", "bytes out of a source")
DISK, TAKING, GIVING, TAKEN, GIVEN = range(len(RULES))
"""Numbers until something is found: millions of events are sorted by them."""


def running_violations(moves: "DataFrame", brokers: "DataFrame", clusters: "DataFrame") -> "DataFrame":
    """MOVES, `brokers_of` and CLUSTERS in; VIOLATIONS out, one per broker and rule: its first instant."""
    so_far = Window.partitionBy("broker", "rule", "cluster").orderBy("at_s", "order", "position")
    level = F.sum("change").over(so_far.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    sums = _events(moves, clusters).withColumn("level", level).where(F.col("order") == _STARTS)
    judged = sums.join(F.broadcast(brokers), ["cluster", "broker"], "left")
    judged = judged.where(~F.coalesce(_holds(), F.lit(False)))
    worst = judged.groupBy("cluster", "rule", "broker").agg(
        F.min("at_s").alias("at_s"), F.min_by("level", "at_s").alias("level"), F.count("*").alias("times")
    )
    detail = F.format_string("%d at %.0f s, %d times in all", "level", "at_s", "times")
    subject = F.format_string("broker %d", "broker")
    rule = F.array(*map(F.lit, RULES))[F.col("rule")].alias("rule")
    return worst.select("cluster", rule, subject.alias("subject"), detail.alias("detail")).select(*VIOLATIONS.names)


def _events(moves: "DataFrame", clusters: "DataFrame") -> "DataFrame":
    """What changes a sum: (cluster, position, broker, rule, at_s, order, change).

    The copies of an entry leave their source as one: they may take it past its slots together. Lists are exploded and
    events are inlined apart: a lambda over a list would keep Spark from compiling either.
    """
    timed = moves.join(F.broadcast(clusters.select("cluster", "flow_bytes_per_s")), "cluster")
    earliest = F.col("start_s") + F.col("size_bytes") / F.col("flow_bytes_per_s")
    copies = F.size("added").cast("long")
    timed = timed.withColumn(
        "copy_end_s", F.when(copies == 1, F.col("end_s")).otherwise(F.least(earliest, F.col("end_s")))
    )
    size, one = F.col("size_bytes"), F.lit(1).cast("long")
    targets = _on(
        timed.withColumn("broker", F.explode("added")),
        _event(DISK, "start_s", _STARTS, size),
        _event(TAKING, "start_s", _STARTS, one),
        _event(TAKING, "copy_end_s", _ENDS, -one),
        _event(TAKEN, "end_s", _STARTS, size),
    )
    left = _on(timed.withColumn("broker", F.explode("removed")), _event(DISK, "end_s", _ENDS, -size))
    sources = _on(
        timed.where(copies > 0).withColumn("broker", F.col("source")),
        _event(GIVING, "start_s", _STARTS, copies),
        _event(GIVING, "copy_end_s", _ENDS, -copies),
        _event(GIVEN, "end_s", _STARTS, size * copies),
    )
    return targets.unionByName(left).unionByName(sources)


def _on(rows: "DataFrame", *events: "Column") -> "DataFrame":
    """Each event of each row, on its `broker`."""
    return rows.select("cluster", "position", "broker", F.inline(F.array(*events)))


def _event(rule: int, at: str, order: int, change: "Column") -> "Column":
    return F.struct(
        F.lit(rule).alias("rule"), F.col(at).alias("at_s"), F.lit(order).alias("order"), change.alias("change")
    )


def _holds() -> "Column":
    """The rule of each sum; an unknown broker breaks it. Bytes that are through by now needed at least this long."""
    level, before = F.col("level"), F.col("level") - F.col("change")
    return (
        F.when(F.col("rule") == DISK, F.col("used_bytes") + level <= F.col("allowed_bytes"))
        .when(F.col("rule") == TAKING, level <= F.col("slots_in"))
        .when(F.col("rule") == GIVING, before < F.col("slots_out"))
        .when(F.col("rule") == TAKEN, level <= F.col("takes_bytes_per_s") * F.col("at_s") * (1 + _SLACK) + 1)
        .when(F.col("rule") == GIVEN, level <= F.col("gives_bytes_per_s") * F.col("at_s") * (1 + _SLACK) + 1)
    )
