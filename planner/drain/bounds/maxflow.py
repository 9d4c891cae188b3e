"""Maximum flow from classes to brokers: Dinic's algorithm on integers, in numba."""

from typing import NamedTuple

import numpy as np

from planner.drain.model.compiled import compiled, inner
from planner.drain.model.state import Bools, Int32s, Int64s


def unmet_classes(sources_from: Int64s, sources: Int32s, supply: Int64s, capacity: Int64s) -> tuple[bool, Bools]:
    """Sends every class's supply to its brokers, none beyond its capacity. Returns whether all of it fits, and
    the brokers on the source side of the minimum cut: bool[B], those that nothing can be handed out of.

    CSR: class c may use brokers sources[sources_from[c] : sources_from[c + 1]].
    """
    back_from, back = _by_broker(sources, capacity.size)
    net = _Net(
        sources_from=sources_from,
        sources=sources,
        owner=np.repeat(np.arange(supply.size, dtype=np.int32), np.diff(sources_from)),
        back_from=back_from,
        back=back,
        left=supply.copy(),
        room=capacity.copy(),
        flow=np.zeros(sources.size, dtype=np.int64),
    )
    nodes = supply.size + capacity.size
    search = _FlowSearch(
        class_level=np.empty(supply.size, np.int32),
        broker_level=np.empty(capacity.size, np.int32),
        class_at=np.empty(supply.size, np.int64),
        broker_at=np.empty(capacity.size, np.int64),
        queue=np.empty(nodes, np.int32),
        path=np.empty(2 * nodes + 2, np.int64),
    )
    _dinic(net, search)
    return not net.left.any(), search.broker_level >= 0


class _Net(NamedTuple):
    """Classes, brokers and the arcs between them; `back` lists a broker's arcs. `left` and `room`: supply and capacity
    not used yet; `flow`: int64 per arc."""

    sources_from: Int64s
    sources: Int32s
    owner: Int32s
    back_from: Int64s
    back: Int64s
    left: Int64s
    room: Int64s
    flow: Int64s


class _FlowSearch(NamedTuple):
    """Levels of the breadth-first search (-1: not reached), current arcs and the path of the depth-first one."""

    class_level: Int32s
    broker_level: Int32s
    class_at: Int64s
    broker_at: Int64s
    queue: Int32s
    path: Int64s


def _by_broker(sources: Int32s, brokers: int) -> tuple[Int64s, Int64s]:
    """CSR the other way round: the arcs that end in each broker."""
    order = np.argsort(sources, kind="stable").astype(np.int64)
    return np.concatenate([[0], np.cumsum(np.bincount(sources, minlength=brokers))]).astype(np.int64), order


@compiled
def _dinic(net: _Net, search: _FlowSearch) -> None:
    """Blocking flows over shortest residual paths until none is left. Works on `left`, `room` and `flow` in place."""
    while _levels(net, search):
        search.class_at[:] = net.sources_from[:-1]
        search.broker_at[:] = net.back_from[:-1]
        for start in range(net.left.size):
            while net.left[start] > 0 and search.class_level[start] == 0:
                if _send(start, net, search) == 0:
                    break


@inner
def _levels(net: _Net, search: _FlowSearch) -> bool:
    """Breadth first from classes with something left. True when a broker with room is reached."""
    class_level, broker_level, queue = search.class_level, search.broker_level, search.queue
    classes = net.left.size
    class_level[:] = -1
    broker_level[:] = -1
    head = tail = 0
    for start in range(classes):
        if net.left[start] > 0:
            class_level[start] = 0
            queue[tail] = start
            tail += 1
    found = False
    while head < tail:
        node = queue[head]
        head += 1
        if node < classes:
            for arc in range(net.sources_from[node], net.sources_from[node + 1]):
                broker = net.sources[arc]
                if broker_level[broker] < 0:
                    broker_level[broker] = class_level[node] + 1
                    found = found or net.room[broker] > 0
                    queue[tail] = classes + broker
                    tail += 1
        else:
            broker = node - classes
            for i in range(net.back_from[broker], net.back_from[broker + 1]):
                other = net.owner[net.back[i]]
                if net.flow[net.back[i]] > 0 and class_level[other] < 0:
                    class_level[other] = broker_level[broker] + 1
                    queue[tail] = other
                    tail += 1
    return found


@inner
def _send(start: int, net: _Net, search: _FlowSearch) -> int:
    """One path by depth-first search with current arcs; even steps of `path` go forward, odd ones hand back."""
    class_level, broker_level, path = search.class_level, search.broker_level, search.path
    class_at, broker_at = search.class_at, search.broker_at
    depth = 0
    node = start
    while True:
        if depth % 2 == 0:
            if class_at[node] == net.sources_from[node + 1]:
                if depth == 0:
                    return 0
                depth -= 1
                node = net.sources[path[depth]]
                broker_at[node] += 1
                continue
            arc = class_at[node]
            if broker_level[net.sources[arc]] != class_level[node] + 1:
                class_at[node] += 1
                continue
            path[depth] = arc
            depth += 1
            node = net.sources[arc]
            if net.room[node] > 0:
                break
        else:
            if broker_at[node] == net.back_from[node + 1]:
                depth -= 1
                node = net.owner[path[depth]]
                class_at[node] += 1
                continue
            arc = net.back[broker_at[node]]
            if net.flow[arc] == 0 or class_level[net.owner[arc]] != broker_level[node] + 1:
                broker_at[node] += 1
                continue
            path[depth] = arc
            depth += 1
            node = net.owner[arc]
    amount = min(net.left[start], net.room[node])
    for step in range(1, depth, 2):
        amount = min(amount, net.flow[path[step]])
    for step in range(depth):
        net.flow[path[step]] += amount if step % 2 == 0 else -amount
    net.left[start] -= amount
    net.room[node] -= amount
    return int(amount)
