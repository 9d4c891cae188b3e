"""The placement kernel: plain Python over arrays, interpreted for small clusters, compiled by numba for large
ones.

The in-process planner and the Spark workers run this very function. Brokers are row numbers of the broker
table. Replica matrices are int32[rows, width], padded with -1.
"""

from collections.abc import Callable
from functools import cache

import numpy as np
import numpy.typing as npt

from planner.drain.model import Int32s, Int64s

Bools = npt.NDArray[np.bool_]

PLACED, NO_BROKER, NO_RACK, NO_DISK = 0, 1, 2, 3
"""Outcomes, by how far the best candidate came: none is left, all would cost a rack, all are too full."""


def assign(
    before: Int32s,
    size: Int64s,
    rack: Int32s,
    outgoing: Bools,
    eligible: Bools,
    successor: Int32s,
    room: Int64s,
    load: Int64s,
    total: Int64s,
    count: Int64s,
    after: Int32s,
    outcome: Int32s,
    nearest: Int32s,
    lost_rack: Int32s,
) -> None:
    """Fill `after`, `outcome`, `nearest`, `lost_rack` row by row; `room`, `load`, `count` follow what is
    placed.

    A successor takes its predecessor's slot unless it holds the partition already; then the other slots take
    the least loaded target. Slot by slot is exact for racks: a rack not used yet never blocks a later slot
    (the target sets form a partition matroid).
    """
    for i in range(before.shape[0]):
        old, new = before[i], after[i]
        width = held_slots(old)
        open_slots = clear_outgoing(old, new, outgoing)
        needed = distinct_racks(old, rack)
        for turn in range(2):
            for slot in range(width):
                heir = heir_of(old, slot, successor)
                if new[slot] >= 0 or outcome[i] != PLACED or (turn == 0) != (heir >= 0):
                    continue
                least = needed - open_slots + 1
                best, reached, close = pick(old, new, size[i], least, heir, rack, eligible, room, load, total, count)
                if best >= 0:
                    new[slot] = best
                    open_slots -= 1
                else:
                    outcome[i], nearest[i], lost_rack[i] = reached, close, rack[old[slot]]
        if outcome[i] == PLACED:
            charge(old, new, size[i], room, load, count)
        else:
            new[:] = old


def pick(
    old: Int32s,
    new: Int32s,
    size: int,
    least_racks: int,
    heir: int,
    rack: Int32s,
    eligible: Bools,
    room: Int64s,
    load: Int64s,
    total: Int64s,
    count: Int64s,
) -> tuple[int, int, int]:
    """(target or -1, outcome if -1, target that came closest on disk). Least loaded by log bytes per byte of
    disk, then by replicas, then by row; only the heir when there is one. `least_racks`: distinct racks with
    it in place.
    """
    best, reached, close, best_share = -1, NO_BROKER, -1, 0.0
    racks_now = distinct_racks(new, rack)
    for t in range(rack.size):
        if not eligible[t] or (heir >= 0 and t != heir) or holds(old, t) or holds(new, t):
            continue
        reached = max(reached, NO_RACK)
        if racks_now + (0 if has_rack(new, rack, rack[t]) else 1) < least_racks:
            continue
        reached = NO_DISK
        if room[t] < size:
            if close < 0 or room[t] > room[close]:
                close = t
            continue
        share = load[t] / total[t]
        if best < 0 or share < best_share or (share == best_share and count[t] < count[best]):
            best, best_share = t, share
    return best, reached, close


def held_slots(replicas: Int32s) -> int:
    slots = 0
    while slots < replicas.size and replicas[slots] >= 0:
        slots += 1
    return slots


def clear_outgoing(old: Int32s, new: Int32s, outgoing: Bools) -> int:
    cleared = 0
    for slot in range(old.size):
        if old[slot] >= 0 and outgoing[old[slot]]:
            new[slot] = -1
            cleared += 1
    return cleared


def heir_of(old: Int32s, slot: int, successor: Int32s) -> int:
    heir = successor[old[slot]]
    return -1 if holds(old, heir) else int(heir)


def holds(replicas: Int32s, broker: int) -> bool:
    """-1 counts as held when a slot is open or padded, so never ask for it but to learn 'no broker'."""
    for slot in range(replicas.size):  # noqa: SIM110 numba compiles loops, not generators
        if replicas[slot] == broker:
            return True
    return False


def has_rack(replicas: Int32s, rack: Int32s, wanted: int) -> bool:
    for slot in range(replicas.size):  # noqa: SIM110
        if replicas[slot] >= 0 and rack[replicas[slot]] == wanted:
            return True
    return False


def distinct_racks(replicas: Int32s, rack: Int32s) -> int:
    distinct = 0
    for slot in range(replicas.size):
        if replicas[slot] >= 0 and not has_rack(replicas[:slot], rack, rack[replicas[slot]]):
            distinct += 1
    return distinct


def charge(old: Int32s, new: Int32s, size: int, room: Int64s, load: Int64s, count: Int64s) -> None:
    for slot in range(old.size):
        if new[slot] != old[slot]:
            room[new[slot]] -= size
            load[new[slot]] += size
            count[new[slot]] += 1


@cache
def compiled() -> Callable[..., None]:
    """`assign` as machine code, cached on disk where that is possible (not inside every kind of archive)."""
    import numba
    from numba.extending import register_jitable

    for part in (pick, held_slots, clear_outgoing, heir_of, holds, has_rack, distinct_racks, charge):
        register_jitable(part)
    try:
        kernel: Callable[..., None] = numba.njit(cache=True)(assign)
    except RuntimeError:  # "cannot cache function: no locator available"
        kernel = numba.njit()(assign)
    return kernel
