"""Rules that hold at every instant, as running sums per broker over what starts and ends: one window function.

At one instant, ends come before starts: a slot or a disk is free when its copy is through. Of an entry with several
copies only the last one's end is known, so the others are taken to end as early as one fetch can: what is found
broken is broken.
"""

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812 its usual name

from spark.fleet.schemas import VIOLATIONS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_SLACK = 1e-6
_ENDS, _STARTS = 0, 1

DISK, TAKING, GIVING = "disk", "slots of a target", "slots of a source"
TAKEN, GIVEN = "bytes into a target", "bytes out of a source"


def running_violations(moves: "DataFrame", board: "DataFrame", clusters: "DataFrame") -> "DataFrame":
    """MOVES, `board_of` and CLUSTERS in; VIOLATIONS out, one per broker and rule: its first instant."""
    so_far = Window.partitionBy("cluster", "rule", "broker").orderBy("at_s", "order", "position")
    level = F.sum("change").over(so_far.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    sums = _events(moves, clusters).withColumn("level", level).where(F.col("order") == _STARTS)
    judged = sums.join(F.broadcast(board), ["cluster", "broker"], "left")
    judged = judged.where(~F.coalesce(_holds(), F.lit(False)))
    worst = judged.groupBy("cluster", "rule", "broker").agg(
        F.min("at_s").alias("at_s"), F.min_by("level", "at_s").alias("level"), F.count("*").alias("times")
    )
    detail = F.format_string("%d at %.0f s, %d times in all", "level", "at_s", "times")
    subject = F.format_string("broker %d", "broker")
    return worst.select("cluster", "rule", subject.alias("subject"), detail.alias("detail")).select(*VIOLATIONS.names)


def _events(moves: "DataFrame", clusters: "DataFrame") -> "DataFrame":
    """What changes a sum: (cluster, position, rule, broker, at_s, order, change)."""
    timed = moves.join(F.broadcast(clusters.select("cluster", "flow_bytes_per_s")), "cluster")
    earliest = F.col("start_s") + F.col("size_bytes") / F.col("flow_bytes_per_s")
    copies = F.size("added").cast("long")
    timed = timed.withColumn(
        "copy_end_s", F.when(copies == 1, F.col("end_s")).otherwise(F.least(earliest, F.col("end_s")))
    )
    size, one, source = F.col("size_bytes"), F.lit(1).cast("long"), F.array("source")
    givers = F.when(copies > 0, source).otherwise(F.slice(source, 1, 0))
    events = F.concat(
        _event(DISK, "added", "start_s", _STARTS, size),
        _event(DISK, "removed", "end_s", _ENDS, -size),
        _event(TAKING, "added", "start_s", _STARTS, one),
        _event(TAKING, "added", "copy_end_s", _ENDS, -one),
        _event(TAKEN, "added", "end_s", _STARTS, size),
        _event(GIVING, givers, "start_s", _STARTS, copies),
        _event(GIVING, givers, "copy_end_s", _ENDS, -copies),
        _event(GIVEN, givers, "end_s", _STARTS, size * copies),
    )
    return timed.select("cluster", "position", F.inline(events))


def _event(rule: str, brokers: "str | Column", at: str, order: int, change: "Column") -> "Column":
    """One per broker. The copies of an entry leave their source as one: they may take it past its slots together."""
    return F.transform(
        brokers,
        lambda broker: F.struct(
            F.lit(rule).alias("rule"),
            broker.alias("broker"),
            F.col(at).alias("at_s"),
            F.lit(order).alias("order"),
            change.alias("change"),
        ),
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
