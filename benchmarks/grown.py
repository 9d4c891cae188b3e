"""A cluster that has just got more brokers, in racks of unequal size: what a scale-up leaves to the rebalance."""

from dataclasses import dataclass

import numpy as np

from planner.drain.model.state import Brokers, BrokerState, ClusterState, Partitions

RACKS = ("a", "b", "c")
RACK_OF = (0, 1, 2, 0)
"""Half of the brokers stand in the first rack, a quarter in each of the others."""

SEED, MEAN_BYTES, PER_TOPIC = 11, 50e6, 50
DISK_BYTES, NIC_BYTES_PER_S, DISK_LIMIT, FLOW_BYTES_PER_S = 10**13, 1.25e9, 0.8, 40e6


@dataclass(frozen=True, slots=True)
class Grown:
    """Replicas stand on the first `before` of `after` brokers, one in each rack."""

    partitions: int = 60_000
    before: int = 25
    after: int = 30


def grown(size: Grown) -> ClusterState:
    """Log-normal sizes and rates; everything in sync, the first replica leads."""
    draw = np.random.default_rng(SEED)
    rack = np.array(RACK_OF, dtype=np.int32)[np.arange(size.after) % len(RACK_OF)]
    columns = [draw.choice(np.flatnonzero(rack[: size.before] == r), size.partitions) for r in range(len(RACKS))]
    replicas = draw.permuted(np.stack(columns, axis=1), axis=1).astype(np.int32)
    row = np.arange(size.partitions, dtype=np.int32)
    bytes_each = (MEAN_BYTES * draw.lognormal(-0.5, 1.0, size.partitions)).astype(np.int64)
    new = np.arange(size.after) >= size.before
    return ClusterState(
        brokers=Brokers(
            id=np.arange(size.after, dtype=np.int32),
            rack=rack,
            racks=RACKS,
            state=np.where(new, BrokerState.NEW, BrokerState.ACTIVE).astype(np.int8),
            disk_bytes=np.full(size.after, DISK_BYTES),
            ingress_bytes_per_s=np.full(size.after, NIC_BYTES_PER_S / 2),
            egress_bytes_per_s=np.full(size.after, NIC_BYTES_PER_S / 2),
        ),
        partitions=Partitions(
            topics=tuple(f"t{n}" for n in range(-(-size.partitions // PER_TOPIC))),
            topic=row // PER_TOPIC,
            partition=row % PER_TOPIC,
            replicas=replicas,
            in_sync=np.ones(replicas.shape, dtype=np.bool_),
            leader=replicas[:, 0].copy(),
            min_isr=np.full(size.partitions, 2, dtype=np.int32),
            size_bytes=bytes_each,
            write_bytes_per_s=draw.lognormal(8.0, 1.0, size.partitions),
            read_bytes_per_s=draw.lognormal(8.0, 1.0, size.partitions),
        ),
        disk_limit=DISK_LIMIT,
        flow_bytes_per_s=FLOW_BYTES_PER_S,
    )
