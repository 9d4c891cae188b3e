"""New homes for replicas that have none: a place per copy, largest log first, racks before evenness."""

from typing import NamedTuple

import numpy as np

from planner.balance.gain import was_there
from planner.balance.kernels import kernel, part
from planner.balance.loads import Figure, Loads, borne, led_now
from planner.balance.scoreboard import NONE
from planner.drain.model.state import NO_BROKER, Bools, ClusterState, Floats, Int64s

FULLNESS = (Figure.DISK, Figure.REPLICAS, Figure.NIC_IN, Figure.POTENTIAL_OUT)
"""What a new follower adds to a broker. A target is as full as the fullest of these, against the even share."""


class Yard(NamedTuple):
    """`lists`: int64[P, W] being filled, NO_BROKER where a replica is wanted or there is none. `load`: float64[B, F] in
    units of the even share, `adds`: float64[P, F] in bytes and so on, `unit`: float64[B, F] what turns one into the
    other. `room`: float64[B] bytes. `before`: int64[P, W'].
    """

    lists: Int64s
    before: Int64s
    size: Floats
    rack: Int64s
    adds: Floats
    unit: Floats
    load: Floats
    room: Floats


def yard_of(state: ClusterState, loads: Loads, lists: Int64s, room: Floats) -> Yard:
    """`lists`: what stays of each partition, wide enough for what comes."""
    able = state.brokers.may_receive
    placed = [int(f) for f in FULLNESS if loads.known[f]]
    stays = lists.astype(np.int32)
    load = borne(loads, stays, np.where((stays == led_now(state)[:, None]).any(axis=1), led_now(state), NO_BROKER))
    capacity = loads.capacity[:, placed]
    share = np.where(np.isfinite(capacity), capacity, 1.0)
    total = np.maximum(load[able][:, placed].sum(axis=0), 1e-9)
    even = total * share / np.maximum(share[able].sum(axis=0), 1e-9)
    unit = 1 / np.where(even > 0, even, np.inf)
    return Yard(
        lists=np.ascontiguousarray(lists, dtype=np.int64),
        before=state.partitions.replicas.astype(np.int64),
        size=state.partitions.size_bytes.astype(np.float64),
        rack=state.brokers.rack.astype(np.int64),
        adds=np.ascontiguousarray(loads.following[:, placed]),
        unit=np.ascontiguousarray(unit),
        load=np.ascontiguousarray(load[:, placed] * unit),
        room=room,
    )


def house(yard: Yard, order: Int64s, wanted: Int64s, racks: Int64s, open_: Bools) -> Bools:
    """Fill the lists of `order` up to `wanted[p]` replicas; bool[P], which of them got all and span `racks[p]` racks.

    A rack the list does not use yet goes first, then the broker least full after taking it. A list that cannot be
    filled is left as it was.
    """
    done = np.zeros(yard.lists.shape[0], np.bool_)
    _house(yard, order, wanted, racks, open_, yard.lists.copy(), done)
    return done


@kernel
def _house(yard: Yard, order: Int64s, wanted: Int64s, racks: Int64s, open_: Bools, kept: Int64s, done: Bools) -> None:
    """`kept`: the lists as they were."""
    width = yard.lists.shape[1]
    for p in order:
        complete = True
        while complete:
            held, free = 0, 0
            for i in range(width - 1, -1, -1):
                if yard.lists[p, i] == NO_BROKER:
                    free = i
                else:
                    held += 1
            if held >= wanted[p]:
                break
            home = _home(yard, p, open_)
            complete = home >= 0
            if complete:
                yard.lists[p, free] = home
                _charge(yard, p, home, 1.0)
        done[p] = complete and _spans(yard, p) >= racks[p]
        if not done[p]:
            for i in range(width):
                if yard.lists[p, i] != kept[p, i]:
                    _charge(yard, p, yard.lists[p, i], -1.0)
                    yard.lists[p, i] = kept[p, i]


@part
def _home(yard: Yard, p: int, open_: Bools) -> int:
    """The broker for the next copy, NO_BROKER where none has room and lacks the partition, before as after."""
    best, best_new, best_full = NONE, False, np.inf
    for c in range(yard.room.shape[0]):
        if not open_[c] or yard.room[c] < yard.size[p] or was_there(yard.lists, p, c) or was_there(yard.before, p, c):
            continue
        new = True
        for i in range(yard.lists.shape[1]):
            b = yard.lists[p, i]
            new = new and (b == NO_BROKER or yard.rack[b] != yard.rack[c])
        full = 0.0
        for f in range(yard.load.shape[1]):
            full = max(full, yard.load[c, f] + yard.adds[p, f] * yard.unit[c, f])
        if (new and not best_new) or (new == best_new and full < best_full):
            best, best_new, best_full = c, new, full
    return best


@part
def _spans(yard: Yard, p: int) -> int:
    """Distinct racks of the list as it is."""
    found = 0
    for i in range(yard.lists.shape[1]):
        first = yard.lists[p, i] != NO_BROKER
        for j in range(i):
            there = yard.lists[p, j] != NO_BROKER and yard.rack[yard.lists[p, j]] == yard.rack[yard.lists[p, i]]
            first = first and not there
        found += first
    return found


@part
def _charge(yard: Yard, p: int, b: int, sign: float) -> None:
    yard.room[b] -= sign * yard.size[p]
    for f in range(yard.load.shape[1]):
        yard.load[b, f] += sign * yard.adds[p, f] * yard.unit[b, f]


def largest_first(size: Floats, rows: Int64s) -> Int64s:
    order: Int64s = rows[np.lexsort((rows, -size[rows]))].astype(np.int64)
    return order
