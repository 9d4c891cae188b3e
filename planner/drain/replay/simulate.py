"""The fluid replay: runs the plan file's semantics to the letter and says when everything started and ended.

An entry starts, with all its copies at once, when its source and each of its targets have at least one slot free.
The list is scanned from its head at t = 0 and after every completion of a copy (only then does a slot come free).
Several copies of one entry may take the source past its limit. Rates are max-min fair (flows.py).
"""

from typing import NamedTuple

import numpy as np

from planner.drain.model.compiled import compiled, inner, inner_making_arrays
from planner.drain.model.state import Bools, Floats, Int32s, Int64s
from planner.drain.replay.flows import Flight, add, empty_flight, fill, remove

SAME_TIME = 1e-9
"""Ends closer than this, relative to the clock, are one event: float noise must not order them."""


class Run(NamedTuple):
    """What the kernel writes. Times are seconds, inf = never. A *tick* numbers starts and ends in their order.

    `entry_*`: [M]; `copy_*`: [C]. `overload`: float64[3B], the highest load / capacity of each node at any event, then
    of each broker's volumes, which do both (`volumes`: float64[B]).
    `taken_bytes`: float64[B, bins], bytes each broker took per `bin_s` seconds; no bins = not wanted.
    """

    entry_start_s: Floats
    entry_end_s: Floats
    entry_start_tick: Int64s
    entry_end_tick: Int64s
    copy_end_s: Floats
    copy_end_tick: Int64s
    overload: Floats
    volumes: Floats
    taken_bytes: Floats
    bin_s: float


class Queue(NamedTuple):
    """Entries that wait. `free`: int64[2B] slots, may fall below 0 at a source. CSR `waits_from`, `waits`: per node
    its entries in list order; `next_wait`: int64[2B], how far a node's list is used up. `freed`: int32[2B], nodes
    that got a slot back at this event, the first `counters[0]`; `counters[1]`: entries not started; `counters[2]`:
    the tick.
    """

    copies_from: Int64s
    free: Int64s
    waits_from: Int64s
    waits: Int32s
    next_wait: Int64s
    cursor: Int64s
    freed: Int32s
    is_freed: Bools
    open_copies: Int32s
    remaining: Floats
    counters: Int64s


def simulate(
    *,
    copies_from: Int64s,
    nodes: Int32s,
    size: Floats,
    able: Bools,
    capacity: Floats,
    slots: Int64s,
    flow_cap: float,
    volumes: Floats,
    bin_s: float = 0.0,
    bins: int = 0,
) -> Run:
    """Replays M entries over B brokers; `nodes`: int32[C, 2] (taking, giving), `slots`, `capacity`: [2B]. `volumes`:
    [B], inf where there is no limit: they slow nobody here, and who passes them is noted.
    """
    entries, copies, width = copies_from.size - 1, len(nodes), capacity.size
    run = Run(
        entry_start_s=np.full(entries, np.inf),
        entry_end_s=np.full(entries, np.inf),
        entry_start_tick=np.full(entries, np.iinfo(np.int64).max),
        entry_end_tick=np.full(entries, np.iinfo(np.int64).max),
        copy_end_s=np.full(copies, np.inf),
        copy_end_tick=np.full(copies, np.iinfo(np.int64).max),
        overload=np.zeros(width + width // 2),
        volumes=volumes,
        taken_bytes=np.zeros((width // 2, bins)),
        bin_s=float(bin_s),
    )
    waits_from, waits = _waiting_lists(copies_from, nodes, able, width)
    queue = Queue(
        copies_from=copies_from,
        free=slots.astype(np.int64),
        waits_from=waits_from,
        waits=waits,
        next_wait=waits_from[:-1].copy(),
        cursor=np.zeros(width, np.int64),
        freed=np.zeros(width, np.int32),
        is_freed=np.zeros(width, np.bool_),
        open_copies=np.zeros(entries, np.int32),
        remaining=size.copy(),
        counters=np.zeros(3, np.int64),
    )
    _run(run, queue, empty_flight(np.ascontiguousarray(nodes), capacity, float(flow_cap)), able)
    return run


def _waiting_lists(copies_from: Int64s, nodes: Int32s, able: Bools, width: int) -> tuple[Int64s, Int32s]:
    """CSR: which able entries, in list order, need a slot of each node."""
    entry = np.repeat(np.arange(copies_from.size - 1), np.diff(copies_from))
    pairs = np.unique(np.stack([nodes.ravel(), np.repeat(entry, 2)]).T[np.repeat(able[entry], 2)], axis=0)
    counts = np.bincount(pairs[:, 0], minlength=width)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), pairs[:, 1].astype(np.int32)


@compiled
def _run(run: Run, queue: Queue, flight: Flight, able: Bools) -> None:
    now = 0.0
    for entry in range(able.size):
        if queue.copies_from[entry] == queue.copies_from[entry + 1]:
            run.entry_start_s[entry] = run.entry_end_s[entry] = 0.0
            run.entry_start_tick[entry] = run.entry_end_tick[entry] = _tick(queue)
        elif able[entry]:
            queue.counters[1] += 1
    for entry in range(able.size):
        if able[entry]:
            _start_if_free(run, queue, flight, entry, now)
    while flight.active_count[0] > 0:
        fill(flight)
        step = _shortest(queue, flight)
        if step == np.inf:
            break
        _note_loads(run, flight, now, step)
        now += step
        _advance(run, queue, flight, now, step)
        _scan(run, queue, flight, now)


@inner
def _tick(queue: Queue) -> int:
    queue.counters[2] += 1
    return int(queue.counters[2])


@inner
def _start_if_free(run: Run, queue: Queue, flight: Flight, entry: int, now: float) -> bool:
    first, last = queue.copies_from[entry], queue.copies_from[entry + 1]
    if first == last or run.entry_start_s[entry] != np.inf:
        return False
    for copy in range(first, last):
        if queue.free[flight.nodes[copy, 0]] <= 0 or queue.free[flight.nodes[copy, 1]] <= 0:
            return False
    for copy in range(first, last):
        queue.free[flight.nodes[copy, 0]] -= 1
        queue.free[flight.nodes[copy, 1]] -= 1
        add(flight, copy)
    queue.open_copies[entry] = last - first
    queue.counters[1] -= 1
    run.entry_start_s[entry] = now
    run.entry_start_tick[entry] = _tick(queue)
    return True


@inner
def _shortest(queue: Queue, flight: Flight) -> float:
    """Seconds until the next copy ends at the rates now; inf when nothing moves."""
    step = np.inf
    for i in range(flight.active_count[0]):
        copy = flight.active[i]
        if queue.remaining[copy] <= 0.0:
            return 0.0
        if flight.rate[copy] > 0.0:
            step = min(step, queue.remaining[copy] / flight.rate[copy])
    return step


@inner
def _advance(run: Run, queue: Queue, flight: Flight, now: float, step: float) -> None:
    """Moves every copy on by `step` seconds and ends those that are through; `freed` names the nodes it opened."""
    queue.counters[0] = 0
    i = 0
    while i < flight.active_count[0]:
        copy = flight.active[i]
        queue.remaining[copy] -= flight.rate[copy] * step
        if queue.remaining[copy] > flight.rate[copy] * now * SAME_TIME:
            i += 1
            continue
        remove(flight, copy)
        _end_copy(run, queue, flight, copy, now)


@inner
def _end_copy(run: Run, queue: Queue, flight: Flight, copy: int, now: float) -> None:
    run.copy_end_s[copy] = now
    run.copy_end_tick[copy] = _tick(queue)
    for side in range(2):
        node = flight.nodes[copy, side]
        queue.free[node] += 1
        if not queue.is_freed[node]:
            queue.is_freed[node] = True
            queue.freed[queue.counters[0]] = node
            queue.counters[0] += 1
    entry = np.searchsorted(queue.copies_from, copy, side="right") - 1
    queue.open_copies[entry] -= 1
    if queue.open_copies[entry] == 0:
        run.entry_end_s[entry] = now
        run.entry_end_tick[entry] = _tick(queue)


@inner
def _scan(run: Run, queue: Queue, flight: Flight, now: float) -> None:
    """Starts what can start, in list order. After the first scan every waiting entry is blocked by some node, so
    only entries at a node that got a slot back can start now, and no longer than that node has a slot: a merge of
    the freed nodes' lists is the scan from the head.
    """
    freed = queue.counters[0]
    for i in range(freed):
        node = queue.freed[i]
        queue.is_freed[node] = False
        at = queue.next_wait[node]
        while at < queue.waits_from[node + 1] and run.entry_start_s[queue.waits[at]] != np.inf:
            at += 1
        queue.next_wait[node] = at
        queue.cursor[node] = at
    while queue.counters[1] > 0:
        entry = _next_waiting(run, queue, freed)
        if entry < 0:
            return
        _start_if_free(run, queue, flight, entry, now)


@inner
def _next_waiting(run: Run, queue: Queue, freed: int) -> int:
    """The earliest entry at any freed node that still has a slot, and moves the cursors past it; -1 = none."""
    best = -1
    for i in range(freed):
        node = queue.freed[i]
        if queue.free[node] <= 0:
            continue
        at = queue.cursor[node]
        if at < queue.waits_from[node + 1] and (best < 0 or queue.waits[at] < best):
            best = queue.waits[at]
    for i in range(freed):
        node = queue.freed[i]
        at = queue.cursor[node]
        if at < queue.waits_from[node + 1] and queue.waits[at] <= best:
            queue.cursor[node] = at + 1
    return best


@inner_making_arrays
def _note_loads(run: Run, flight: Flight, now: float, step: float) -> None:
    """The load of every node at these rates, against its capacity and, when wanted, into the series."""
    load = np.zeros(flight.head.size)
    for i in range(flight.active_count[0]):
        copy = flight.active[i]
        load[flight.nodes[copy, 0]] += flight.rate[copy]
        load[flight.nodes[copy, 1]] += flight.rate[copy]
    for node in range(load.size):
        if load[node] > 0.0:
            run.overload[node] = max(run.overload[node], load[node] / flight.capacity[node])
    for broker in range(load.size // 2):
        both = load[broker] + load[broker + load.size // 2]
        if both > 0.0:
            volumes = load.size + broker
            run.overload[volumes] = max(run.overload[volumes], both / run.volumes[broker])
    bins = run.taken_bytes.shape[1]
    at, bin_ = now, 0 if bins == 0 else min(int(now / run.bin_s), bins - 1)
    while bins > 0 and at < now + step:
        until = now + step if bin_ == bins - 1 else min(now + step, (bin_ + 1) * run.bin_s)
        for broker in range(load.size // 2):
            run.taken_bytes[broker, bin_] += load[broker] * max(until - at, 0.0)
        # Counted on, not computed from `at`: a quotient rounded down at an edge would name the bin just left.
        at, bin_ = max(at, until), min(bin_ + 1, bins - 1)
