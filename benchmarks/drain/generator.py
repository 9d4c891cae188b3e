"""The clusters of generator G: balanced racks, popular topics, log sizes spread over five decades.

Published figures about these clusters (docs/planning.md) can only be compared when the draw is the same, so the
order of draws is part of the definition: numpy's `default_rng(seed)`, then popularity, partitions, sizes, placement.
"""

from dataclasses import dataclass

import numpy as np

from planner.drain.model.state import Brokers, BrokerState, ClusterState, Floats, Int32s, Int64s, Partitions

FACTOR = 3
RACKS = ("a", "b", "c")
FIRST_ID = 1001
MIGRATION_BYTES_PER_S = 500e6
FLOW_BYTES_PER_S = 70e6
DISK_LIMIT = 0.85
MEAN_FILL = 0.55
MEAN_SIZE_BYTES = 10e9
LEAST_SIZE_BYTES = 1e6
RETENTION_S = 3 * 86_400
MOST_PARTITIONS_OF_A_TOPIC = 65


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How large a cluster is. `partitions` is what the topics are scaled to; each loses its fraction unless `exact`."""

    brokers: int
    topics: int
    partitions: int
    exact: bool = False


def cluster(shape: Shape, *, seed: int) -> ClusterState:
    """Topic popularity Exp(1); log size Exp(10 GB x popularity) + 1 MB; one replica per rack; disks 55 % full.

    Broker row b stands in rack b mod 3, so the rows of one rack are every third. Nobody is drained yet.
    """
    rng = np.random.default_rng(seed)
    popularity = rng.exponential(1.0, shape.topics)
    counts = _partitions_per_topic(rng, shape)
    topic = np.repeat(np.arange(shape.topics, dtype=np.int32), counts)
    size = (rng.exponential(MEAN_SIZE_BYTES * popularity[topic]) + LEAST_SIZE_BYTES).astype(np.int64)
    replicas = _one_per_rack(rng, topic.size, shape.brokers)
    held = float(size.sum()) * FACTOR / shape.brokers
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    return ClusterState(
        brokers=_brokers(shape.brokers, disk_bytes=int(held / MEAN_FILL)),
        partitions=partitions_of(
            topics=tuple(f"topic-{i:04}" for i in range(shape.topics)),
            topic=topic,
            partition=(np.arange(topic.size) - starts).astype(np.int32),
            replicas=replicas,
            size_bytes=size,
            write_bytes_per_s=size / RETENTION_S,
            read_bytes_per_s=size / RETENTION_S,
        ),
        disk_limit=DISK_LIMIT,
        flow_bytes_per_s=FLOW_BYTES_PER_S,
    )


def partitions_of(
    *,
    topics: tuple[str, ...],
    topic: Int32s,
    partition: Int32s,
    replicas: Int32s,
    size_bytes: Int64s,
    write_bytes_per_s: Floats,
    read_bytes_per_s: Floats,
) -> Partitions:
    """Healthy partitions: all replicas in sync, the first leads, min ISR one less than the replicas (at least 1)."""
    present = replicas >= 0
    return Partitions(
        topics=topics,
        topic=topic,
        partition=partition,
        replicas=np.ascontiguousarray(replicas),
        in_sync=present,
        leader=np.ascontiguousarray(replicas[:, 0]),
        min_isr=np.maximum(1, present.sum(axis=1) - 1).astype(np.int32),
        size_bytes=size_bytes,
        write_bytes_per_s=write_bytes_per_s,
        read_bytes_per_s=read_bytes_per_s,
    )


def _partitions_per_topic(rng: np.random.Generator, shape: Shape) -> Int64s:
    drawn = rng.integers(1, MOST_PARTITIONS_OF_A_TOPIC + 1, shape.topics)
    scaled: Int64s = np.maximum(1, drawn * shape.partitions // drawn.sum())
    if shape.exact:
        missing = shape.partitions - int(scaled.sum())
        scaled += missing // shape.topics
        scaled[: missing % shape.topics] += 1
    return scaled


def _one_per_rack(rng: np.random.Generator, partitions: int, brokers: int) -> Int32s:
    """int32[partitions, 3] rows; which rack leads is drawn as well."""
    racks = np.tile(np.arange(len(RACKS)), (partitions, 1))
    order = rng.permuted(racks, axis=1)
    of_rack = np.bincount(np.arange(brokers) % len(RACKS), minlength=len(RACKS))
    within = rng.integers(0, of_rack[order])
    rows: Int32s = (within * len(RACKS) + order).astype(np.int32)
    return rows


def _brokers(count: int, *, disk_bytes: int) -> Brokers:
    rows = np.arange(count, dtype=np.int32)
    return Brokers(
        id=rows + FIRST_ID,
        rack=rows % len(RACKS),
        racks=RACKS,
        state=np.full(count, BrokerState.ACTIVE, dtype=np.int8),
        disk_bytes=np.full(count, disk_bytes, dtype=np.int64),
        ingress_bytes_per_s=np.full(count, MIGRATION_BYTES_PER_S),
        egress_bytes_per_s=np.full(count, MIGRATION_BYTES_PER_S),
    )
