"""Rules about a plan as a whole: every replica accounted for, each partition once, checkpoints, its own figures."""

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 its usual name

from spark.fleet.schemas import VIOLATIONS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MOST_PER_CHECKPOINT = 10_000
"""Kafka applies at most so many changes per request (MAX_RECORDS_PER_USER_OP, KAFKA-14996)."""

_SAME = 1e-9
"""Relative; the same sums in another order."""


def plan_violations(plans: "DataFrame", moves: "DataFrame", brokers: "DataFrame") -> "DataFrame":
    """`plans_of`, MOVES and `brokers_of` in; VIOLATIONS out."""
    return (
        _twice(moves)
        .unionByName(_left_behind(brokers))
        .unionByName(_lists(plans, moves))
        .unionByName(_figures(plans, moves, brokers))
    )


def _twice(moves: "DataFrame") -> "DataFrame":
    again = moves.groupBy("cluster", "topic", "partition").count().where("count > 1")
    subject = F.concat_ws("-", "topic", F.col("partition").cast("string"))
    return _found(again, "each partition once", subject, F.format_string("%d entries", "count"))


def _left_behind(brokers: "DataFrame") -> "DataFrame":
    left = brokers.where("not receives and dropped != held")
    detail = F.format_string("holds %d replicas, %d leave", "held", "dropped")
    return _found(left, "drained brokers end empty", F.format_string("broker %d", "broker"), detail)


def _lists(plans: "DataFrame", moves: "DataFrame") -> "DataFrame":
    """Every list of the plan has an element per entry, every entry is known, checkpoints divide the list."""
    known = moves.groupBy("cluster").agg(F.count("*").alias("known"))
    lengths = F.array_distinct(F.array(*(F.size(name) for name in ("sent", "rollback", "start_s", "end_s"))))
    rows = plans.select(
        "cluster", F.size("plan.partitions").alias("entries"), lengths.alias("lengths"), F.col("plan.checkpoints")
    )
    rows = rows.join(F.broadcast(known), "cluster", "left").fillna(0, ["known"])
    ends = F.col("checkpoints")
    gaps = F.zip_with(ends, F.concat(F.array(F.lit(0)), ends), lambda end, last: end - last)
    gaps = F.slice(gaps, 1, F.size(ends))
    in_step = F.forall(gaps, lambda gap: gap.between(1, MOST_PER_CHECKPOINT))
    asked = {
        "every list as long as the plan": F.col("lengths") == F.array("entries"),
        "every entry is in the snapshot": F.col("known") == F.col("entries"),
        "checkpoints divide the plan": (F.col("entries") == 0)
        | (in_step & (F.element_at(F.concat(F.array(F.lit(0)), ends), -1) == F.col("entries"))),
    }
    broken = F.array(*(F.when(~F.coalesce(holds, F.lit(False)), F.lit(name)) for name, holds in asked.items()))
    detail = F.format_string("%d entries, %d known, checkpoints %s", "entries", "known", ends.cast("string"))
    rows = rows.select("cluster", F.explode(F.array_compact(broken)).alias("rule"), detail.alias("detail"))
    return rows.withColumn("subject", F.lit("plan")).select(*VIOLATIONS.names)


def _figures(plans: "DataFrame", moves: "DataFrame", brokers: "DataFrame") -> "DataFrame":
    """What the certificate says against the same figures, summed up here from the snapshot and the entries."""
    copied = F.col("size_bytes") * F.size("added")
    leader = F.coalesce("leader", F.lit(-1))
    turned = (F.col("after")[0] != leader).cast("long") - (F.col("before")[0] != leader).cast("long")
    of_moves = moves.groupBy("cluster").agg(
        F.sum(copied).alias("bytes"), F.max("end_s").alias("makespan_s"), F.sum(turned).alias("turned")
    )
    fill = (F.col("used_bytes") + F.col("taken")) / F.col("disk_bytes")
    of_brokers = brokers.groupBy("cluster").agg(
        F.coalesce(F.max(F.when(F.col("receives"), fill)), F.lit(0.0)).alias("disk"),
        F.max(F.col("first") + F.col("led")).alias("leaders"),
        F.sum("changed").alias("changed"),
        F.sum(F.when(~F.col("receives"), F.col("gone_s")).otherwise(0.0)).alias("release_s"),
    )
    rows = plans.select("cluster", "values")
    for summed in (of_brokers, of_moves):
        rows = rows.join(F.broadcast(summed), "cluster", "left")
    rows = rows.fillna(0, ["bytes", "makespan_s", "turned"])
    rows = rows.withColumn("leader_changes", F.col("changed") + F.col("turned"))
    names = ("bytes", "makespan_s", "disk", "leaders", "leader_changes", "release_s")
    differs = [F.when(~F.coalesce(_same(name), F.lit(False)), _said_and_found(name)) for name in names]
    rows = rows.select("cluster", F.explode(F.array_compact(F.array(*differs))).alias("detail"))
    return _found(rows, "the certificate says what is", F.lit("certificate"), F.col("detail"))


def _same(name: str) -> "Column":
    said, found = F.col(f"values.{name}"), F.col(name)
    return F.abs(said - found) <= _SAME * F.greatest(F.abs(said), F.abs(found), F.lit(1e-3))


def _said_and_found(name: str) -> "Column":
    said, found = (F.col(column).cast("string") for column in (f"values.{name}", name))
    return F.concat(F.lit(f"{name}: said "), said, F.lit(", is "), found)


def _found(rows: "DataFrame", rule: str, subject: "Column", detail: "Column") -> "DataFrame":
    return rows.select("cluster", F.lit(rule).alias("rule"), subject.alias("subject"), detail.alias("detail"))
