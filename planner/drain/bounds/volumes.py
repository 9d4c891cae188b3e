"""The volumes in the bounds: what limits a broker whatever it does at once, and what all together have to do."""

from dataclasses import replace

import numpy as np

from planner.drain.bounds.demand import Leaving
from planner.drain.model.state import NO_BROKER, BrokerState, ClusterState, Int32s


def at_most(state: ClusterState) -> ClusterState:
    """Each broker with the most it could take if it gave nothing, and give if it took nothing: no plan has more."""
    if state.volumes is None:
        return state
    volumes, brokers = state.volumes, state.brokers
    return replace(
        state,
        brokers=replace(brokers, ingress_bytes_per_s=volumes.most_in, egress_bytes_per_s=volumes.most_out),
    )


def network_alone(state: ClusterState) -> ClusterState:
    """Each broker as if its volumes had no limit."""
    if state.volumes is None:
        return state
    volumes, brokers = state.volumes, state.brokers
    return replace(
        state,
        brokers=replace(brokers, ingress_bytes_per_s=volumes.network_in, egress_bytes_per_s=volumes.network_out),
    )


def volumes_s(state: ClusterState, leaving: Leaving) -> float:
    """L2d: all that is copied is read once and written once, on the volumes of those who may take or be read: twice
    the bytes / what these volumes do together. 0 where one of them has no known limit.
    """
    if state.volumes is None:
        return 0.0
    part = state.brokers.may_receive.copy()
    part[_readable(state, leaving)] = True
    together = float(state.volumes.io[part].sum())
    return 2.0 * float(leaving.bytes.sum()) / together if np.isfinite(together) and together > 0 else 0.0


def _readable(state: ClusterState, leaving: Leaving) -> Int32s:
    found = state.partitions.replicas[leaving.row]
    alive = state.brokers.state != BrokerState.DEAD
    readable = state.partitions.in_sync[leaving.row] & (found != NO_BROKER) & alive[found]
    able: Int32s = np.unique(found[readable]).astype(np.int32)
    return able
