"""Compiles the planner's kernels once, at set-up: numba keeps them beside their modules for every later process.

python -m planner.compile
"""

import time
from dataclasses import replace

import numpy as np

from planner.balance import change_replication_factor, rebalance
from planner.drain.bounds.matching import least_largest_load
from planner.drain.certified import CertifiedPlan, certified
from planner.drain.model.state import NOWHERE, Bools, Brokers, BrokerState, ClusterState, Int32s, LogDirs, Partitions


def main() -> None:
    """Tiny drains, planned and judged, a rebalance, another replication factor, and leaders that no greedy choice evens
    out: together they call every kernel.
    """
    began = time.monotonic()
    state = tiny_state()
    for asked in (state, replace(state, brokers=replace(state.brokers, egress_bytes_per_s=np.full(6, 1e5)))):
        if not isinstance(certified(asked), CertifiedPlan):
            raise RuntimeError("the smallest drain there is got no plan: the planner is broken, please report it")
    rebalance(state)
    rebalance(in_two_racks(state))
    change_replication_factor(state, state.partitions.topics, 4)
    least_largest_load(*two_of_three_on_one())
    print(f"the planner's kernels are compiled ({time.monotonic() - began:.0f} s)")


def tiny_state() -> ClusterState:
    """Six brokers in three racks, one outgoing and its stand-in with two log directories, twelve partitions of three
    replicas.
    """
    count, width = 12, 3
    row = np.arange(count, dtype=np.int32)
    replicas = np.stack([row % 2, 2 + row % 2, 4 + row % 2], axis=1).astype(np.int32)
    return ClusterState(
        brokers=Brokers(
            id=np.arange(1, 7, dtype=np.int32),
            rack=np.array([0, 0, 1, 1, 2, 2], dtype=np.int32),
            racks=("a", "b", "c"),
            state=np.array([BrokerState.OUTGOING, *[BrokerState.ACTIVE] * 5], dtype=np.int8),
            disk_bytes=np.full(6, 10**9, dtype=np.int64),
            ingress_bytes_per_s=np.full(6, 1e6),
            egress_bytes_per_s=np.full(6, 1e6),
        ),
        partitions=Partitions(
            topics=("t",),
            topic=np.zeros(count, dtype=np.int32),
            partition=row,
            replicas=replicas,
            in_sync=np.ones((count, width), dtype=np.bool_),
            leader=replicas[:, 0].copy(),
            min_isr=np.full(count, 2, dtype=np.int32),
            size_bytes=np.arange(1, count + 1, dtype=np.int64) * 1_000_000,
            write_bytes_per_s=np.full(count, np.nan),
            read_bytes_per_s=np.full(count, np.nan),
        ),
        disk_limit=0.85,
        flow_bytes_per_s=1e6,
        log_dirs=LogDirs(
            broker=np.array([1, 1], dtype=np.int32),
            path=("/a", "/b"),
            disk_bytes=np.full(2, 5 * 10**8, dtype=np.int64),
            used_bytes=np.full(2, 5 * 10**7, dtype=np.int64),
            located=np.full((count, width), NOWHERE, dtype=np.int32),
        ),
    )


def in_two_racks(state: ClusterState) -> ClusterState:
    """The same cluster with every list on the second rack and one broker of the third."""
    replicas = np.tile(np.array([2, 3, 4], dtype=np.int32), (len(state.partitions), 1))
    return replace(state, partitions=replace(state.partitions, replicas=replicas, leader=replicas[:, 0].copy()))


def two_of_three_on_one() -> tuple[Int32s, Bools, Int32s, Bools]:
    """Three brokers and three partitions, two of which only the first broker can lead."""
    candidates = np.array([[0], [0], [1]], dtype=np.int32)
    none_chosen = np.full(3, -1, dtype=np.int32)
    return candidates, np.zeros((1, 3), dtype=np.bool_), none_chosen, np.ones(3, dtype=np.bool_)


if __name__ == "__main__":
    main()
