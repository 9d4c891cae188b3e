"""Maximum flow from classes to brokers: Dinic's algorithm on integers, in numba."""

import numpy as np

from planner.drain.model.compiled import compiled, inner
from planner.drain.model.state import Bools, Int32s, Int64s


def unmet_classes(sources_from: Int64s, sources: Int32s, supply: Int64s, capacity: Int64s) -> tuple[bool, Bools]:
    """Sends every class's supply to its brokers, none beyond its capacity. Returns whether all of it fits, and
    the brokers on the source side of the minimum cut: bool[B], those that nothing can be handed out of.

    CSR: class c may use brokers sources[sources_from[c] : sources_from[c + 1]].
    """
    flow = np.zeros(sources.size, dtype=np.int64)
    back_from, back = _by_broker(sources, capacity.size)
    left, room = supply.copy(), capacity.copy()
    owner = np.repeat(np.arange(supply.size, dtype=np.int32), np.diff(sources_from))
    cut = _dinic(sources_from, sources, owner, back_from, back, left, room, flow)
    return not left.any(), cut


def _by_broker(sources: Int32s, brokers: int) -> tuple[Int64s, Int64s]:
    """CSR the other way round: the arcs that end in each broker."""
    order = np.argsort(sources, kind="stable").astype(np.int64)
    return np.concatenate([[0], np.cumsum(np.bincount(sources, minlength=brokers))]).astype(np.int64), order


@compiled
def _dinic(
    sources_from: Int64s,
    sources: Int32s,
    owner: Int32s,
    back_from: Int64s,
    back: Int64s,
    left: Int64s,
    room: Int64s,
    flow: Int64s,
) -> Bools:
    """Blocking flows over shortest residual paths until none is left. Works on `left`, `room` and `flow` in place."""
    classes, brokers = left.size, room.size
    class_level = np.empty(classes, np.int32)
    broker_level = np.empty(brokers, np.int32)
    queue = np.empty(classes + brokers, np.int32)
    path = np.empty(2 * (brokers + classes) + 2, np.int64)
    while _levels(sources_from, sources, owner, back_from, back, left, room, flow, class_level, broker_level, queue):
        class_at = sources_from[:-1].copy()
        broker_at = back_from[:-1].copy()
        for start in range(classes):
            while left[start] > 0 and class_level[start] == 0:
                sent = _send(
                    start, sources_from, sources, owner, back_from, back, left, room, flow,
                    class_level, broker_level, class_at, broker_at, path,
                )  # fmt: skip
                if sent == 0:
                    break
    return broker_level >= 0


@inner
def _levels(
    sources_from: Int64s,
    sources: Int32s,
    owner: Int32s,
    back_from: Int64s,
    back: Int64s,
    left: Int64s,
    room: Int64s,
    flow: Int64s,
    class_level: Int32s,
    broker_level: Int32s,
    queue: Int32s,
) -> bool:
    """Breadth first from classes with something left. True when a broker with room is reached."""
    classes = left.size
    class_level[:] = -1
    broker_level[:] = -1
    head = tail = 0
    for start in range(classes):
        if left[start] > 0:
            class_level[start] = 0
            queue[tail] = start
            tail += 1
    found = False
    while head < tail:
        node = queue[head]
        head += 1
        if node < classes:
            for arc in range(sources_from[node], sources_from[node + 1]):
                broker = sources[arc]
                if broker_level[broker] < 0:
                    broker_level[broker] = class_level[node] + 1
                    found = found or room[broker] > 0
                    queue[tail] = classes + broker
                    tail += 1
        else:
            broker = node - classes
            for i in range(back_from[broker], back_from[broker + 1]):
                other = owner[back[i]]
                if flow[back[i]] > 0 and class_level[other] < 0:
                    class_level[other] = broker_level[broker] + 1
                    queue[tail] = other
                    tail += 1
    return found


@inner
def _send(
    start: int,
    sources_from: Int64s,
    sources: Int32s,
    owner: Int32s,
    back_from: Int64s,
    back: Int64s,
    left: Int64s,
    room: Int64s,
    flow: Int64s,
    class_level: Int32s,
    broker_level: Int32s,
    class_at: Int64s,
    broker_at: Int64s,
    path: Int64s,
) -> int:
    """One path by depth-first search with current arcs; even steps of `path` go forward, odd ones hand back."""
    depth = 0
    node = start
    while True:
        if depth % 2 == 0:
            if class_at[node] == sources_from[node + 1]:
                if depth == 0:
                    return 0
                depth -= 1
                node = sources[path[depth]]
                broker_at[node] += 1
                continue
            arc = class_at[node]
            if broker_level[sources[arc]] != class_level[node] + 1:
                class_at[node] += 1
                continue
            path[depth] = arc
            depth += 1
            node = sources[arc]
            if room[node] > 0:
                break
        else:
            if broker_at[node] == back_from[node + 1]:
                depth -= 1
                node = owner[path[depth]]
                class_at[node] += 1
                continue
            arc = back[broker_at[node]]
            if flow[arc] == 0 or class_level[owner[arc]] != broker_level[node] + 1:
                broker_at[node] += 1
                continue
            path[depth] = arc
            depth += 1
            node = owner[arc]
    amount = min(left[start], room[node])
    for step in range(1, depth, 2):
        amount = min(amount, flow[path[step]])
    for step in range(depth):
        flow[path[step]] += amount if step % 2 == 0 else -amount
    left[start] -= amount
    room[node] -= amount
    return int(amount)
