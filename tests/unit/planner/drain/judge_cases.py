"""Small clusters and schedules for the tests of bounds, replay and documents."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from planner.drain.model.plan import UNLIMITED_SLOTS, Schedule
from planner.drain.model.state import NO_BROKER, Brokers, BrokerState, ClusterState, Partitions

ACTIVE, OUTGOING, NEW, DEAD = BrokerState.ACTIVE, BrokerState.OUTGOING, BrokerState.NEW, BrokerState.DEAD


def padded(lists: Sequence[Sequence[int]], width: int | None = None) -> np.ndarray:
    width = width or max((len(x) for x in lists), default=1) or 1
    return np.array([[*x, *[NO_BROKER] * (width - len(x))] for x in lists], dtype=np.int32).reshape(len(lists), width)


def cluster(
    racks: str,
    states: Sequence[BrokerState],
    replicas: Sequence[Sequence[int]],
    *,
    size: Sequence[int] | int = 100,
    leader: Sequence[int] | None = None,
    out_of_sync: Sequence[tuple[int, int]] = (),
    ingress: Sequence[float] | float = 10.0,
    egress: Sequence[float] | float = 1000.0,
    flow: float = 1000.0,
    disk: Sequence[int] | int = 10**6,
    disk_limit: float = 0.85,
    min_isr: int = 1,
    write: float = float("nan"),
    destinations: Mapping[int, tuple[int, ...]] | None = None,
) -> ClusterState:
    """Broker row i has id 1001 + i and rack racks[i]. `out_of_sync`: (partition, broker) pairs."""
    count, names = len(racks), tuple(sorted(set(racks)))
    matrix = padded(replicas)
    in_sync = matrix != NO_BROKER
    for row, broker in out_of_sync:
        in_sync[row] &= matrix[row] != broker
    return ClusterState(
        brokers=Brokers(
            id=np.arange(1001, 1001 + count, dtype=np.int32),
            rack=np.array([names.index(r) for r in racks], dtype=np.int32),
            racks=names,
            state=np.array(states, dtype=np.int8),
            disk_bytes=np.broadcast_to(np.asarray(disk, dtype=np.int64), count).copy(),
            ingress_bytes_per_s=np.broadcast_to(np.asarray(ingress, dtype=np.float64), count).copy(),
            egress_bytes_per_s=np.broadcast_to(np.asarray(egress, dtype=np.float64), count).copy(),
        ),
        partitions=Partitions(
            topics=("t",),
            topic=np.zeros(len(replicas), dtype=np.int32),
            partition=np.arange(len(replicas), dtype=np.int32),
            replicas=matrix,
            in_sync=in_sync,
            leader=np.array([r[0] for r in replicas] if leader is None else leader, dtype=np.int32),
            min_isr=np.full(len(replicas), min_isr, dtype=np.int32),
            size_bytes=np.broadcast_to(np.asarray(size, dtype=np.int64), len(replicas)).copy(),
            write_bytes_per_s=np.full(len(replicas), write),
            read_bytes_per_s=np.full(len(replicas), np.nan),
        ),
        disk_limit=disk_limit,
        flow_bytes_per_s=flow,
        destinations=destinations or {},
    )


def plan(
    state: ClusterState,
    moves: Sequence[tuple[int, Sequence[int], int]],
    *,
    slots_in: int | Sequence[int] = UNLIMITED_SLOTS,
    slots_out: int | Sequence[int] = UNLIMITED_SLOTS,
    throttle_in: float = np.inf,
    throttle_out: float = np.inf,
    checkpoints: tuple[int, ...] | None = None,
) -> Schedule:
    """`moves`: (partition row, replicas after, source or NO_BROKER), in release order."""
    count = len(state.brokers)
    return Schedule(
        row=np.array([m[0] for m in moves], dtype=np.int32),
        after=padded([m[1] for m in moves]),
        source=np.array([m[2] for m in moves], dtype=np.int32),
        slots_in=np.broadcast_to(np.asarray(slots_in, dtype=np.int32), count).copy(),
        slots_out=np.broadcast_to(np.asarray(slots_out, dtype=np.int32), count).copy(),
        throttle_in_bytes_per_s=np.full(count, throttle_in),
        throttle_out_bytes_per_s=np.full(count, throttle_out),
        checkpoints=(len(moves),) if checkpoints is None else checkpoints,
    )


def with_sizes(state: ClusterState, size: Sequence[int]) -> ClusterState:
    return replace(state, partitions=replace(state.partitions, size_bytes=np.array(size, dtype=np.int64)))
