"""Replicas on dead brokers or dead log dirs get new homes."""

import numpy as np

from planner.balance.answer import Answer, Balanced, Missing, Shortfall
from planner.balance.bound import bytes_moved
from planner.balance.homes import house, largest_first, yard_of
from planner.balance.loads import Figure, MeasuredLoads, borne, loads_of
from planner.balance.release import schedule_of
from planner.balance.scoreboard import room_of
from planner.drain.model.state import NO_BROKER, Bools, BrokerState, ClusterState, Int32s, Int64s
from planner.drain.solver.demand import distinct_racks


def fix_offline(state: ClusterState, offline: Bools | None = None) -> Answer:
    """`offline`: bool[P, W] aligned with replicas, true on a dead log dir; what is on a DEAD broker is so anyway.

    Every replica of such a partition that is offline, or on a broker to be emptied, is copied from one in sync to a
    broker that lacks it; racks are kept (H2). Partitions without a replica in sync are in `left`: only bringing a
    broker back saves them. So are those where another replica lags on a living disk (repair first). A Shortfall names
    the smallest thing to add; its `best` has the others.
    """
    parts, brokers = state.partitions, state.brokers
    held = parts.replicas != NO_BROKER
    gone = _gone(state, offline)
    leaves = held & (gone | np.append(brokers.must_empty, False)[parts.replicas])
    left = _untouchable(state, held, gone)
    rows = np.flatnonzero(gone.any(axis=1) & ~np.isin(np.arange(len(parts)), [row for row, _ in left]))
    lists = parts.replicas.astype(np.int64)
    lists[rows] = np.where(leaves[rows], NO_BROKER, lists[rows])
    loads = loads_of(state, MeasuredLoads())
    room = room_of(state, borne(loads, parts.replicas, parts.leader)[:, Figure.DISK])
    yard = yard_of(state, loads, lists, room)
    done = house(
        yard, largest_first(yard.size, rows), held.sum(axis=1).astype(np.int64), _racks_kept(state, held),
        brokers.may_receive,
    )  # fmt: skip
    row = rows[done[rows]].astype(np.int32)
    best = answer_for(state, row, _led(state, row, yard.lists), left)
    stuck = rows[~done[rows]]
    return (
        lacking(state, stuck, held.sum(axis=1) - (lists != NO_BROKER).sum(axis=1), yard.room, best)
        if stuck.size
        else best
    )


def answer_for(state: ClusterState, row: Int32s, after: Int32s, left: tuple[tuple[int, str], ...] = ()) -> Balanced:
    """The schedule of new lists; the bytes are exactly the copies asked for, so they are their own bound."""
    lists = np.full(
        (len(state.partitions), max(after.shape[1], state.partitions.replicas.shape[1])), NO_BROKER, np.int32
    )
    lists[:, : state.partitions.replicas.shape[1]] = state.partitions.replicas
    lists[row] = NO_BROKER
    lists[row, : after.shape[1]] = after
    amount = bytes_moved(state, lists)
    return Balanced(
        schedule=schedule_of(state, row, after),
        bytes_moved=amount,
        bytes_bound=float(amount),
        leader_changes=int((after[:, 0] != state.partitions.leader[row]).sum()),
        left=left,
    )


def lacking(state: ClusterState, stuck: Int64s, copies: Int64s, room: object, best: Balanced) -> Shortfall:
    """The smallest thing to add: a broker where there are too few, a broker elsewhere where racks bind, else disk."""
    rooms = np.asarray(room)
    able = state.brokers.may_receive & (rooms > 0)
    size = state.partitions.size_bytes
    wanted = int((state.partitions.replicas[stuck] != NO_BROKER).sum(axis=1).max(initial=0))
    rows = tuple(int(row) for row in stuck)
    if int(state.brokers.may_receive.sum()) < wanted:
        short = wanted - int(state.brokers.may_receive.sum())
        missing = Missing("brokers", short, f"{short} broker{'s' * (short != 1)} that may receive replicas")
    elif (rooms[able].max(initial=0.0) >= size[stuck]).any():
        missing = Missing("rack", 1, f"a broker with {int(size[stuck].max())} bytes free in a rack these do not use")
    else:
        amount = int((size[stuck] * np.maximum(copies[stuck], 1)).sum())
        missing = Missing("disk", amount, f"{amount} bytes of disk within the limit of {state.disk_limit:.0%}")
    return Shortfall(
        message=f"{len(rows)} partitions find no home: add {missing.what}", missing=missing, stuck=rows, best=best
    )


def _gone(state: ClusterState, offline: Bools | None) -> Bools:
    parts = state.partitions
    if offline is not None and offline.shape != parts.replicas.shape:
        raise ValueError(f"offline is {offline.shape}, the replicas are {parts.replicas.shape}: one flag per replica")
    dead = np.append(state.brokers.state == BrokerState.DEAD, False)[parts.replicas] & (parts.replicas != NO_BROKER)
    both: Bools = dead if offline is None else dead | (offline & (parts.replicas != NO_BROKER))
    return both


def _untouchable(state: ClusterState, held: Bools, gone: Bools) -> tuple[tuple[int, str], ...]:
    parts, egress = state.partitions, np.append(state.brokers.egress_bytes_per_s, 0.0)
    readable = np.asarray((parts.in_sync & ~gone & (egress[parts.replicas] > 0)).any(axis=1))
    lagging = np.asarray((held & ~parts.in_sync & ~gone).any(axis=1))
    found = []
    for row in np.flatnonzero(gone.any(axis=1) & (~readable | lagging)).tolist():
        lost = "no replica in sync is alive: bring its broker back"
        found.append((row, "another replica is out of sync: repair first" if readable[row] else lost))
    return tuple(found)


def _racks_kept(state: ClusterState, held: Bools) -> Int64s:
    """int64[P]: what H2 asks for."""
    left = int(np.unique(state.brokers.rack[state.brokers.may_receive]).size)
    return np.minimum(distinct_racks(state.brokers.rack, state.partitions.replicas, held), left).astype(np.int64)


def _led(state: ClusterState, row: Int32s, lists: Int64s) -> Int32s:
    """The new lists: the leader now in front where it stays, else the first that was in sync all along."""
    parts = state.partitions
    after = lists[row]
    synced = np.where(parts.in_sync[row], parts.replicas[row], NO_BROKER)
    stays = ((after[:, :, None] == synced[:, None, :]) & (after[:, :, None] != NO_BROKER)).any(axis=2)
    rank = np.where(after == NO_BROKER, 3, np.where(after == parts.leader[row][:, None], 0, np.where(stays, 1, 2)))
    order = np.argsort(rank, axis=1, kind="stable")
    return np.take_along_axis(after, order, axis=1).astype(np.int32)
