"""What the second check knows of every broker, from the snapshot and the plan file alone."""

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 its usual name

from planner.drain.model.plan import UNLIMITED_SLOTS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from spark.fleet.snapshot import Snapshot

MAY_RECEIVE = ("active", "new")


def brokers_of(snapshot: "Snapshot", plans: "DataFrame", moves: "DataFrame") -> "DataFrame":
    """A row per broker of a planned cluster: what it holds now and what the plan lets it do.

    `used_bytes`, `held` (replicas) and `first` (partitions that list it first) are now; `changed` of those have another
    leader now. `takes_bytes_per_s`, `gives_bytes_per_s`: the smaller of bandwidth and throttle. `allowed_bytes`: the
    disk limit. `taken` bytes, `dropped` replicas and `led` (partitions that list it first) are what the plan changes;
    `gone_s` is when the last replica leaves.
    """
    holdings = _holdings(snapshot.partitions)
    policy = snapshot.clusters.select("cluster", "disk_limit")
    brokers = snapshot.brokers.join(F.broadcast(policy), "cluster").withColumnRenamed("id", "broker")
    brokers = brokers.join(F.broadcast(plans.select("cluster", "plan.slots", "plan.throttles")), "cluster")
    name = F.col("broker").cast("string")
    slots, throttle = F.col("slots")[name], F.col("throttles")[name]
    allowed = F.floor(F.col("disk_bytes") * F.col("disk_limit") * (1 + 1e-12))
    changes = _changes(moves)
    for counted in (holdings, changes):
        brokers = brokers.join(F.broadcast(counted), ["cluster", "broker"], "left")
    return brokers.select(
        "cluster",
        "broker",
        "rack",
        "disk_bytes",
        F.col("state").isin(*MAY_RECEIVE).alias("receives"),
        allowed.alias("allowed_bytes"),
        _least("ingress_bytes_per_s", throttle["in_bytes_per_s"]).alias("takes_bytes_per_s"),
        _least("egress_bytes_per_s", throttle["out_bytes_per_s"]).alias("gives_bytes_per_s"),
        F.coalesce(slots["in"], F.lit(UNLIMITED_SLOTS)).alias("slots_in"),
        F.coalesce(slots["out"], F.lit(UNLIMITED_SLOTS)).alias("slots_out"),
        *(F.coalesce(count, F.lit(0)).alias(count) for count in _COUNTS),
    )


def facts_of(snapshot: "Snapshot") -> "DataFrame":
    """A row per cluster: `racks` and `states` by broker; brokers that are `drained`, `receivers` or `dead`; how many
    `racks_left` can still receive; `destinations`, null where no broker has one of its own.
    """
    entry = F.struct("id", "rack"), F.struct("id", "state")
    receives = F.col("state").isin(*MAY_RECEIVE)
    facts = snapshot.brokers.groupBy("cluster").agg(
        F.map_from_entries(F.collect_list(entry[0])).alias("racks"),
        F.map_from_entries(F.collect_list(entry[1])).alias("states"),
        F.collect_list(F.when(~receives, F.col("id"))).alias("drained"),
        F.collect_list(F.when(receives, F.col("id"))).alias("receivers"),
        F.collect_list(F.when(F.col("state") == "dead", F.col("id"))).alias("dead"),
        F.count_distinct(F.when(receives, F.col("rack"))).alias("racks_left"),
    )
    named = F.when(F.size("destinations") > 0, F.col("destinations")).alias("destinations")
    return facts.join(F.broadcast(snapshot.clusters.select("cluster", named, "flow_bytes_per_s")), "cluster")


def _holdings(partitions: "DataFrame") -> "DataFrame":
    """One pass over all replicas of all clusters."""
    replicas = partitions.select(
        "cluster", "size_bytes", F.coalesce("leader", F.lit(-1)).alias("leader"), F.posexplode("replicas")
    ).withColumnsRenamed({"pos": "place", "col": "broker"})
    is_first = F.col("place") == 0
    return replicas.groupBy("cluster", "broker").agg(
        F.sum("size_bytes").alias("used_bytes"),
        F.count("*").alias("held"),
        F.count_if(is_first).alias("first"),
        F.count_if(is_first & (F.col("broker") != F.col("leader"))).alias("changed"),
    )


def _changes(moves: "DataFrame") -> "DataFrame":
    """What the plan changes on every broker it names."""
    size, nothing, never = F.col("size_bytes"), F.lit(0).cast("long"), F.lit(0.0)
    one = F.lit(1).cast("long")
    first_after, first_before = F.explode(F.slice("after", 1, 1)), F.explode(F.slice("before", 1, 1))
    changes = (
        _change(moves, F.explode("added"), size, nothing, nothing, never)
        .unionByName(_change(moves, F.explode("removed"), -size, one, nothing, F.col("end_s")))
        .unionByName(_change(moves, first_after, nothing, nothing, one, never))
        .unionByName(_change(moves, first_before, nothing, nothing, -one, never))
    )
    return changes.groupBy("cluster", "broker").agg(
        *(F.sum(name).alias(name) for name in ("taken", "dropped", "led")), F.max("gone_s").alias("gone_s")
    )


def _change(
    moves: "DataFrame", brokers: "Column", taken: "Column", dropped: "Column", led: "Column", gone_s: "Column"
) -> "DataFrame":
    return moves.select(
        "cluster",
        brokers.alias("broker"),
        taken.alias("taken"),
        dropped.alias("dropped"),
        led.alias("led"),
        gone_s.alias("gone_s"),
    )


def _least(bandwidth: str, throttle: "Column") -> "Column":
    return F.least(F.col(bandwidth), F.coalesce(throttle, F.lit(float("inf"))))


_COUNTS = ("used_bytes", "held", "first", "changed", "taken", "dropped", "led", "gone_s")
"""Sums that are 0 where nothing was summed up."""
