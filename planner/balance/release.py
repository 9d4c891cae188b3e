"""From new lists to a schedule that can run: who is read, in which order, how many at once.

Targets are fixed here, so what is left is small: each target's largest logs first, the target with most time ahead
of it first, sources that share the reading evenly, and as many slots as it takes to fill a port.
"""

import math
from dataclasses import replace

import numpy as np

from planner.drain.model.plan import UNLIMITED_SLOTS, Schedule
from planner.drain.model.state import NO_BROKER, Bools, BrokerState, ClusterState, Floats, Int32s
from planner.drain.solver.dirs import in_log_dirs

MOST_PER_REQUEST = 10_000
"""Kafka applies this many entries of one request (MAX_RECORDS_PER_USER_OP, KAFKA-14996)."""


def schedule_of(state: ClusterState, row: Int32s, after: Int32s, *, assumptions: tuple[str, ...] = ()) -> Schedule:
    """`row`: int32[M] partitions, `after`: int32[M, W] their lists, preferred leader first.

    Entries that only reorder come first (they complete at once), then copies, longest remaining target first.
    Throttles are left open: the state's bandwidths are what migration may use. The livelock rule (H9) bounds the
    slots of a source. Raises ValueError for a copy nobody can be read for.
    """
    added = _added(state, row, after)
    copies = added.sum(axis=1)
    size = state.partitions.size_bytes[row].astype(np.float64)
    source = _sources(state, row, after, copies=copies, size=size)
    order = _order(state, after, added, size)
    row, after, source, copies = row[order], after[order], source[order], copies[order]
    count = len(row)
    schedule = Schedule(
        row=row.astype(np.int32),
        after=np.ascontiguousarray(after, dtype=np.int32),
        source=source,
        slots_in=_slots(state, state.brokers.ingress_bytes_per_s),
        slots_out=_slots_out(state, row, source, copies),
        throttle_in_bytes_per_s=np.full(len(state.brokers), np.inf),
        throttle_out_bytes_per_s=np.full(len(state.brokers), np.inf),
        checkpoints=(*range(MOST_PER_REQUEST, count, MOST_PER_REQUEST), count) if count else (),
        assumptions=assumptions,
    )
    return _in_log_dirs(state, schedule)


def _in_log_dirs(state: ClusterState, schedule: Schedule) -> Schedule:
    """Targets are fixed here: where a log fits none of its target's directories before anything has left it, Kafka
    chooses, and the plan says so.
    """
    placed = in_log_dirs(state, schedule, elsewhere=False)
    if not placed.missed.size:
        return placed.schedule
    line = f"{placed.missed.size} partitions may fit no log directory of their target until others have left: Kafka's"
    return replace(placed.schedule, assumptions=(*schedule.assumptions, f"{line} choice"))


def _added(state: ClusterState, row: Int32s, after: Int32s) -> Bools:
    """bool[M, W]: replicas that are not there yet."""
    before = state.partitions.replicas[row]
    held = (after[:, :, None] == before[:, None, :]).any(axis=2)
    added: Bools = (after != NO_BROKER) & ~held
    return added


def _order(state: ClusterState, after: Int32s, added: Bools, size: Floats) -> Int32s:
    """Positions of the entries in release order: by the time its target still has before it, longest first."""
    entry, column = np.nonzero(added)
    target = after[entry, column]
    largest_first = np.lexsort((entry, -size[entry], target))
    entry, target = entry[largest_first], target[largest_first]
    ahead = np.zeros(len(after))
    start = np.searchsorted(target, np.arange(len(state.brokers) + 1))
    for b in range(len(state.brokers)):
        mine = entry[start[b] : start[b + 1]]
        left = np.cumsum(size[mine][::-1])[::-1] / max(float(state.brokers.ingress_bytes_per_s[b]), 1e-9)
        ahead[mine] = np.maximum(ahead[mine], left)
    moves = added.any(axis=1)
    order: Int32s = np.lexsort((np.arange(len(after)), -size, -ahead, moves)).astype(np.int32)
    return order


def _sources(state: ClusterState, row: Int32s, after: Int32s, *, copies: Int32s, size: Floats) -> Int32s:
    """int32[M]: the leader unless its port would be the last to finish; NO_BROKER for order-only entries.

    Largest first, to the member in sync whose reading ends earliest; the leader is kept while it ends no later than
    the busiest target takes anyway.
    """
    brokers, parts = state.brokers, state.partitions
    source = np.full(len(row), NO_BROKER, dtype=np.int32)
    egress = brokers.egress_bytes_per_s
    taken = np.zeros(len(brokers))
    entry, column = np.nonzero(_added(state, row, after))
    np.add.at(taken, after[entry, column], size[entry])
    ingress = np.maximum(brokers.ingress_bytes_per_s, 1e-9)
    budget = float((taken / ingress).max(initial=0.0))
    charge = _charge(state, row)
    # Lists, not arrays: one number at a time is ten times as fast to read from a list.
    lists, leaders, ports = parts.replicas[row].tolist(), parts.leader[row].tolist(), egress.tolist()
    able = _readable(state, row, charge).tolist()
    given = [0.0] * len(brokers)
    for e in np.lexsort((np.arange(len(row)), -size)).tolist():
        if not copies[e]:
            continue
        amount = float(size[e] * copies[e])
        best, best_end, leader = NO_BROKER, math.inf, leaders[e]
        for b, readable in zip(lists[e], able[e], strict=True):
            if not readable:
                continue
            end = (given[b] + amount) / ports[b]
            if b == leader and end <= budget:
                end = 0.0
            if end < best_end:
                best, best_end = b, end
        if best == NO_BROKER:
            raise ValueError(f"partition row {int(row[e])} has no replica in sync that can be read")
        source[e] = best
        given[best] += amount
    return source


def _readable(state: ClusterState, row: Int32s, charge: Floats) -> Bools:
    """bool[M, W]: members in sync, alive, whose port outlasts what the followers take."""
    parts, brokers = state.partitions, state.brokers
    member = parts.replicas[row]
    port = np.where(brokers.state == BrokerState.DEAD, 0.0, brokers.egress_bytes_per_s)
    readable: Bools = (member != NO_BROKER) & parts.in_sync[row] & (port[member] > charge[:, None] + 1)
    return readable


def _charge(state: ClusterState, row: Int32s) -> Floats:
    """float64[M]: bytes/s its in-sync followers take from the quota of whoever is read (H9)."""
    parts = state.partitions
    followers = np.maximum(parts.in_sync[row].sum(axis=1) - 1, 0)
    charge: Floats = np.ceil(np.nan_to_num(parts.write_bytes_per_s[row]) * followers)
    return charge


def _slots(state: ClusterState, bandwidth: Floats) -> Int32s:
    """int32[B]: enough fetches to fill the port (K* = ceil(B / x))."""
    slots = np.ceil(bandwidth / state.flow_bytes_per_s - 1e-9)
    return np.clip(slots, 1, UNLIMITED_SLOTS).astype(np.int32)


def _slots_out(state: ClusterState, row: Int32s, source: Int32s, copies: Int32s) -> Int32s:
    """As `_slots`, but never so many that the charges of the heaviest reads reach the port (no copy would end)."""
    slots = _slots(state, state.brokers.egress_bytes_per_s)
    moving = copies > 0
    charge = _charge(state, row)
    for b in np.unique(source[moving]).tolist():
        heaviest = np.sort(charge[moving & (source == b)])[::-1]
        allowed = int((np.cumsum(heaviest) < np.ceil(state.brokers.egress_bytes_per_s[b]) - 1).sum())
        if allowed < heaviest.size:
            slots[b] = max(1, min(int(slots[b]), allowed))
    return slots
