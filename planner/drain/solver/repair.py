"""Which partitions can be moved as they are, and of the others what is wrong with them and what that means."""

import numpy as np

from planner.drain.model.state import NO_BROKER, Bools, BrokerState, ClusterState, Int32s, Int64s
from planner.drain.solver.infeasible import Obstacle, partitions_named
from planner.quantities import named


def healthy(state: ClusterState, rows: Int64s) -> Bools:
    """Every replica in sync or on a dead broker, and one at least that can be read."""
    living, in_sync = _living(state, rows), state.partitions.in_sync[rows]
    return np.asarray((in_sync | ~living).all(axis=1) & (in_sync & living).any(axis=1))


def needs_repair(state: ClusterState, rows: Int64s) -> tuple[Obstacle, ...]:
    """Why these rows, none of them healthy, have to be repaired first: one reason for each of the three ways."""
    living, in_sync = _living(state, rows), state.partitions.in_sync[rows]
    readable, has_copy = (living & in_sync).any(axis=1), living.any(axis=1)
    kinds = ((~readable & ~has_copy, _lost), (~readable & has_copy, _headless), (readable, _late))
    return tuple(build(state, rows[which].astype(np.int32)) for which, build in kinds if which.any())


def _lost(state: ClusterState, rows: Int32s) -> Obstacle:
    dead = _holders(state, rows, ~_living(state, rows))
    message = (
        f"{_first(state, rows)}: no replica is left to read from, {_its(rows)} records are on broker {named(dead)} only"
    )
    next_step = (
        f"bring broker {named(dead)} back with its disk, or give up the records of {partitions_named(state, rows)}"
    )
    return Obstacle("repair", message, rows, next_step)


def _headless(state: ClusterState, rows: Int32s) -> Obstacle:
    """Copies on living brokers, none in sync: what they lack, nobody who lives has."""
    living = _living(state, rows)
    late, dead = _holders(state, rows, living), _holders(state, rows, ~living)
    message = f"{_first(state, rows)}: no replica in sync is left to read from, what broker {named(late)} has is behind"
    if dead:
        message += f", and what that lacks is on broker {named(dead)} only"
    next_step = f"bring broker {named(dead)} back" if dead else f"find out why broker {named(late)} does not lead"
    return Obstacle("repair", message, rows, f"{next_step}; an unclean election gives up what its copy lacks")


def _late(state: ClusterState, rows: Int32s) -> Obstacle:
    late = _holders(state, rows, _living(state, rows) & ~state.partitions.in_sync[rows])
    message = f"{_first(state, rows)}: a replica is out of sync on broker {named(late)}"
    return Obstacle("repair", message, rows, f"wait until broker {named(late)} has caught up")


def _first(state: ClusterState, rows: Int32s) -> str:
    return f"{partitions_named(state, rows)} must be repaired first"


def _its(rows: Int32s) -> str:
    return "its" if rows.size == 1 else "their"


def _living(state: ClusterState, rows: Int64s | Int32s) -> Bools:
    """bool[N, W]: replicas on brokers that are not dead."""
    replicas = state.partitions.replicas[rows]
    living: Bools = np.append(state.brokers.state != BrokerState.DEAD, False)[replicas] & (replicas != NO_BROKER)
    return living


def _holders(state: ClusterState, rows: Int32s, which: Bools) -> list[int]:
    """Ids of the brokers that hold those replicas."""
    replicas = state.partitions.replicas[rows]
    ids: list[int] = state.brokers.id[np.unique(replicas[which & (replicas != NO_BROKER)])].tolist()
    return ids
