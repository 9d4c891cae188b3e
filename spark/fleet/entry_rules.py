"""Rules that one entry keeps or breaks on its own: where its replicas go, who is read, what Kafka is sent."""

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 its usual name

from spark.fleet.schemas import VIOLATIONS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_SLACK = 1e-6
"""Relative; times and rates are floating point."""


def entry_violations(moves: "DataFrame", facts: "DataFrame") -> "DataFrame":
    """MOVES and `facts_of` in, VIOLATIONS out. Entries that keep every rule leave before rules become rows."""
    judged = moves.drop("position").join(F.broadcast(facts), "cluster")
    broken = [F.when(~F.coalesce(holds, F.lit(False)), F.lit(name)) for name, holds in _rules()]
    found = judged.where(F.coalesce(*broken).isNotNull())
    found = found.select("*", F.explode(F.array_compact(F.array(*broken))).alias("rule"))
    detail = F.to_json(F.struct("before", "after", "isr", "source", "start_s", "end_s"))
    subject = F.concat_ws("-", "topic", F.col("partition").cast("string"))
    return found.select("cluster", "rule", subject.alias("subject"), detail.alias("detail")).select(*VIOLATIONS.names)


def _rules() -> "list[tuple[str, Column]]":
    """Name -> what must hold; null (something unknown) counts as broken."""
    before, after, added, removed = (F.col(name) for name in ("before", "after", "added", "removed"))
    copies = F.size(added) > 0
    takes = F.col("size_bytes") / F.col("flow_bytes_per_s")
    return [
        ("as many replicas as before", F.size(after) == F.size(before)),
        ("every replica on a broker of its own", F.size(F.array_distinct(after)) == F.size(after)),
        ("nothing stays on a drained broker", ~F.arrays_overlap(after, F.col("drained"))),
        ("what may stay stays", F.size(F.array_except(removed, F.col("drained"))) == 0),
        ("targets may receive", F.size(F.array_except(added, F.col("receivers"))) == 0),
        ("targets are the named ones", F.col("destinations").isNull() | F.forall(removed, _goes_to_its_destination)),
        ("racks", _racks(after) >= F.least(_racks(before), F.col("racks_left").cast("int"))),
        ("everyone is in sync first", ~copies | (F.size(F.array_except(_not_in_sync(), F.col("dead"))) == 0)),
        ("min ISR when done", F.size(F.array_intersect(_kept(), F.col("isr"))) + F.size(added) >= F.col("min_isr")),
        ("the source is in sync", ~copies | F.array_contains("isr", F.col("source"))),
        ("the source is alive", ~copies | (F.col("states")[F.col("source")] != "dead")),
        ("it ends", ~F.isnan("end_s") & (F.col("end_s") < float("inf")) & (F.col("start_s") >= 0)),
        ("no faster than one fetch", ~copies | ((F.col("end_s") - F.col("start_s")) * (1 + _SLACK) + _SLACK >= takes)),
        ("Kafka is sent the plan", _same("sent", after)),
        ("rollback is what was", _same("rollback", before)),
    ]


def _goes_to_its_destination(broker: "Column") -> "Column":
    named = F.col("destinations")[broker]
    return named.isNull() | F.arrays_overlap(named, F.col("added"))


def _not_in_sync() -> "Column":
    return F.array_except("before", "isr")


def _kept() -> "Column":
    return F.array_intersect("before", "after")


def _racks(brokers: "Column") -> "Column":
    return F.size(F.array_distinct(F.transform(brokers, lambda b: F.col("racks")[b])))


def _same(entry: str, replicas: "Column") -> "Column":
    said = F.col(entry)
    same_partition = (said["topic"] == F.col("topic")) & (said["partition"] == F.col("partition"))
    return same_partition & (said["replicas"] == replicas)
