"""Broker ids and topic names of a request as rows of the state."""

from collections.abc import Iterable

import numpy as np

from planner.drain.model.state import ClusterState, Int64s


def rows_of(state: ClusterState, ids: Iterable[int]) -> Int64s:
    """int64[N], ascending. Raises ValueError naming every id the state does not have."""
    wanted = np.unique(np.asarray(list(ids), dtype=np.int64))
    unknown = np.setdiff1d(wanted, state.brokers.id)
    if unknown.size:
        raise ValueError(f"the state has no broker {', '.join(str(b) for b in unknown)}: name brokers it has")
    return np.searchsorted(state.brokers.id, wanted).astype(np.int64)


def topics_of(state: ClusterState, names: Iterable[str]) -> Int64s:
    """int64[N] topic codes. Raises ValueError naming every topic the state does not have."""
    code = {name: at for at, name in enumerate(state.partitions.topics)}
    wanted = sorted(set(names))
    unknown = [name for name in wanted if name not in code]
    if unknown:
        raise ValueError(f"the state has no topic {', '.join(unknown)}: name topics it has")
    return np.array([code[name] for name in wanted], dtype=np.int64)
