"""Cruise Control's RandomCluster, bit for bit, so that its published figures can stand beside ours.

Steps, seeds and capacities are those of `RandomCluster` and `ClusterProperty` in linkedin/cruise-control (dadba67e),
drawn by `java.util.Random`. One difference, without which no drain is physical: a partition's log has one size,
drawn once, where Cruise Control draws another for each replica.
"""

from dataclasses import dataclass

import numpy as np

from benchmarks.drain.generator import partitions_of
from benchmarks.drain.java_random import doubles, first_int
from planner.drain.model.state import (
    NO_BROKER,
    Brokers,
    BrokerState,
    ClusterState,
    Floats,
    Int32s,
    Int64s,
    Partitions,
)

RACK_SEED, LEADER_SEED, PLACEMENT_SEED, POPULARITY_SEED = 3140, 72033, 1240, 7234
DISK_SEED, IN_SEED, OUT_SEED = 300_000, 500_000, 700_000
FACTOR, EXTRA_FACTOR = 3, 2
EXTRA_TOPIC = "TopicWithOneLeaderPerBroker"
DISK_BYTES = 300 * 10**9
INGRESS_BYTES_PER_S, EGRESS_BYTES_PER_S = 300e6, 200e6
FLOW_BYTES_PER_S = 70e6
DISK_LIMIT = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Cruise Control's `ClusterProperty`. `replicas` excludes the extra topic of one partition per broker.

    `mean_mb`: mean log size. `mean_kb_per_s`: mean bytes in and out of a replica. `shift`: added to every seed.
    """

    brokers: int = 40
    racks: int = 10
    topics: int = 3000
    replicas: int = 50_001
    mean_mb: float = 100.0
    mean_kb_per_s: float = 100.0
    shift: int = 0


def cluster(recipe: Recipe) -> ClusterState:
    """Uniform rack-aware placement, nobody drained yet. Broker ids are 0 .. B-1, as in Cruise Control."""
    rack = rack_of(recipe)
    counts = np.append(partitions_per_topic(recipe), recipe.brokers)
    factor = np.append(np.full(recipe.topics, FACTOR), EXTRA_FACTOR)
    topic = np.repeat(np.arange(recipe.topics + 1, dtype=np.int32), counts)
    replicas = placement(recipe, rack=rack, factor=factor[topic])
    return ClusterState(
        brokers=_brokers(recipe, rack),
        partitions=_partitions(recipe, topic=topic, counts=counts, replicas=replicas),
        disk_limit=DISK_LIMIT,
        flow_bytes_per_s=FLOW_BYTES_PER_S,
    )


def rack_of(recipe: Recipe) -> Int32s:
    """int32[B]: broker i below the number of racks stands in rack i, the others anywhere."""
    rows = np.arange(recipe.brokers)
    drawn = first_int(RACK_SEED + recipe.shift + rows, recipe.racks)
    return np.where(rows < recipe.racks, rows, drawn).astype(np.int32)


def partitions_per_topic(recipe: Recipe) -> Int64s:
    """int64[T]: drawn in [2, replicas / topics] while they fit, then one more to each in turn until all are used."""
    most = recipe.replicas // recipe.topics
    drawn = 2 + first_int(LEADER_SEED + recipe.shift + np.arange(recipe.topics), most - 1)
    counts, used = np.ones(recipe.topics, dtype=np.int64), recipe.topics * FACTOR
    for topic, wanted in enumerate(drawn):
        more = (int(wanted) - 1) * FACTOR
        if used + more <= recipe.replicas:
            counts[topic], used = wanted, used + more
    left = -(-(recipe.replicas - used) // FACTOR)
    counts += left // recipe.topics
    counts[: left % recipe.topics] += 1
    return counts


def placement(recipe: Recipe, *, rack: Int32s, factor: Int64s) -> Int32s:
    """int32[P, 3]: replica number k of the cluster is drawn from seed + k; a clash of broker or rack draws again.

    The retries of one partition go on counting over its replicas, their first draws do not see that count.
    """
    number = np.cumsum(factor) - factor
    replicas = np.full((factor.size, FACTOR), NO_BROKER, dtype=np.int32)
    retries = np.zeros(factor.size, dtype=np.int64)
    for position in range(FACTOR):
        todo, extra = np.flatnonzero(factor > position), np.zeros_like(retries)
        while todo.size:
            drawn = first_int(PLACEMENT_SEED + recipe.shift + number[todo] + position + extra[todo], recipe.brokers)
            clash = (rack[replicas[todo, :position]] == rack[drawn][:, None]).any(axis=1)
            replicas[todo[~clash], position] = drawn[~clash]
            todo = todo[clash]
            retries[todo] += 1
            extra = retries
    return replicas


def popularity(recipe: Recipe) -> Floats:
    """float64[T + 1]: Exp(1) per topic, the extra one last."""
    return _exponential(POPULARITY_SEED + recipe.shift, recipe.topics + 1)


def _exponential(seed: int, count: int) -> Floats:
    drawn: Floats = -np.log(1.0 - doubles(seed, count))
    return drawn


def _partitions(recipe: Recipe, *, topic: Int32s, counts: Int64s, replicas: Int32s) -> Partitions:
    weight = popularity(recipe)[topic]

    def drawn(seed: int, mean: float) -> Floats:
        return _exponential(seed + recipe.shift, topic.size) * mean * weight

    starts = np.repeat(np.cumsum(counts) - counts, counts)
    return partitions_of(
        topics=(*(f"T{i}" for i in range(recipe.topics)), EXTRA_TOPIC),
        topic=topic,
        partition=(np.arange(topic.size) - starts).astype(np.int32),
        replicas=replicas,
        size_bytes=np.maximum(1, drawn(DISK_SEED, recipe.mean_mb * 1e6)).astype(np.int64),
        write_bytes_per_s=drawn(IN_SEED, recipe.mean_kb_per_s * 1e3),
        read_bytes_per_s=drawn(OUT_SEED, recipe.mean_kb_per_s * 1e3),
    )


def _brokers(recipe: Recipe, rack: Int32s) -> Brokers:
    count = recipe.brokers
    return Brokers(
        id=np.arange(count, dtype=np.int32),
        rack=rack,
        racks=tuple(f"rack-{r:02}" for r in range(recipe.racks)),
        state=np.full(count, BrokerState.ACTIVE, dtype=np.int8),
        disk_bytes=np.full(count, DISK_BYTES, dtype=np.int64),
        ingress_bytes_per_s=np.full(count, INGRESS_BYTES_PER_S),
        egress_bytes_per_s=np.full(count, EGRESS_BYTES_PER_S),
    )
