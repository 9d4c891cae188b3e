"""Max-min fair rates of the copies in flight: progressive filling over the two sides of every broker.

A *node* is one side of a broker: 0 .. B-1 take (ingress), B .. 2B-1 give (egress). Every copy crosses one node of
each kind and is capped at `flow_cap` besides. All arrays live in one `Flight`; kernels change them in place.
"""

from typing import NamedTuple

import numpy as np

from planner.drain.model.compiled import inner
from planner.drain.model.state import Bools, Floats, Int32s


class Flight(NamedTuple):
    """C copies over 2B nodes.

    `nodes`: int32[C, 2], the taking and the giving node. `head`: int32[2B], `following`, `preceding`: int32[C, 2]:
    a linked list of copies in flight per node. `crossing`: int32[2B], its length. `active`: int32[C], the copies in
    flight, the first `active_count[0]` are valid; `place`: where in it a copy stands. `rate`: bytes/s per copy.
    `room` to `heap_node` are scratch of `fill`.
    """

    nodes: Int32s
    capacity: Floats
    flow_cap: float
    head: Int32s
    following: Int32s
    preceding: Int32s
    crossing: Int32s
    active: Int32s
    active_count: Int32s
    place: Int32s
    rate: Floats
    fixed: Bools
    room: Floats
    open_count: Int32s
    heap_key: Floats
    heap_node: Int32s


def empty_flight(nodes: Int32s, capacity: Floats, flow_cap: float) -> Flight:
    """Nothing in flight yet. `capacity`: float64[2B]."""
    copies, width = len(nodes), capacity.size
    return Flight(
        nodes=nodes,
        capacity=capacity,
        flow_cap=flow_cap,
        head=np.full(width, -1, np.int32),
        following=np.full((copies, 2), -1, np.int32),
        preceding=np.full((copies, 2), -1, np.int32),
        crossing=np.zeros(width, np.int32),
        active=np.zeros(copies, np.int32),
        active_count=np.zeros(1, np.int32),
        place=np.full(copies, -1, np.int32),
        rate=np.zeros(copies),
        fixed=np.zeros(copies, np.bool_),
        room=np.zeros(width),
        open_count=np.zeros(width, np.int32),
        heap_key=np.zeros(width + 1),
        heap_node=np.zeros(width + 1, np.int32),
    )


@inner
def add(flight: Flight, copy: int) -> None:
    for side in range(2):
        node = flight.nodes[copy, side]
        first = flight.head[node]
        flight.following[copy, side] = first
        flight.preceding[copy, side] = -1
        if first >= 0:
            flight.preceding[first, side] = copy
        flight.head[node] = copy
        flight.crossing[node] += 1
    flight.active[flight.active_count[0]] = copy
    flight.place[copy] = flight.active_count[0]
    flight.active_count[0] += 1


@inner
def remove(flight: Flight, copy: int) -> None:
    for side in range(2):
        node = flight.nodes[copy, side]
        before, behind = flight.preceding[copy, side], flight.following[copy, side]
        if before >= 0:
            flight.following[before, side] = behind
        else:
            flight.head[node] = behind
        if behind >= 0:
            flight.preceding[behind, side] = before
        flight.crossing[node] -= 1
    flight.active_count[0] -= 1
    last = flight.active[flight.active_count[0]]
    flight.active[flight.place[copy]] = last
    flight.place[last] = flight.place[copy]
    flight.place[copy] = -1


@inner
def fill(flight: Flight) -> None:
    """Writes the rate of every copy in flight: the max-min fair allocation.

    Progressive filling (Bertsekas, Gallager: Data Networks, 6.5.2): the node with the smallest share, room / open
    copies, is a bottleneck; its copies get that share and take it from the room of their other node. Shares only
    grow, so an outdated heap key is a lower bound and is looked at again when popped. A node whose share reaches
    `flow_cap` can never be a bottleneck and stays out of the heap.
    """
    for i in range(flight.active_count[0]):
        flight.fixed[flight.active[i]] = False
        flight.rate[flight.active[i]] = flight.flow_cap
    waiting = 0
    for node in range(flight.head.size):
        open_copies = flight.crossing[node]
        flight.room[node] = flight.capacity[node]
        flight.open_count[node] = open_copies
        if open_copies > 0 and flight.capacity[node] < flight.flow_cap * open_copies:
            _push(flight, waiting, flight.capacity[node] / open_copies, node)
            waiting += 1
    while waiting > 0:
        key, node = flight.heap_key[0], flight.heap_node[0]
        waiting -= 1
        _drop_first(flight, waiting)
        if flight.open_count[node] == 0:
            continue
        share = max(flight.room[node], 0.0) / flight.open_count[node]
        if share <= key:
            _fix(flight, node, share)
        elif share < flight.flow_cap:
            _push(flight, waiting, share, node)
            waiting += 1


@inner
def _fix(flight: Flight, node: int, share: float) -> None:
    side = 0 if node < flight.head.size // 2 else 1
    copy = flight.head[node]
    while copy >= 0:
        if not flight.fixed[copy]:
            flight.fixed[copy] = True
            flight.rate[copy] = share
            for each in range(2):
                other = flight.nodes[copy, each]
                flight.room[other] -= share
                flight.open_count[other] -= 1
        copy = flight.following[copy, side]


@inner
def _push(flight: Flight, count: int, key: float, node: int) -> None:
    keys, nodes = flight.heap_key, flight.heap_node
    at = count
    while at > 0:
        parent = (at - 1) >> 1
        if keys[parent] <= key:
            break
        keys[at] = keys[parent]
        nodes[at] = nodes[parent]
        at = parent
    keys[at] = key
    nodes[at] = node


@inner
def _drop_first(flight: Flight, count: int) -> None:
    """Takes the root out; `count` is how many stay."""
    keys, nodes = flight.heap_key, flight.heap_node
    last_key, last_node = keys[count], nodes[count]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= count:
            break
        if child + 1 < count and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= last_key:
            break
        keys[at] = keys[child]
        nodes[at] = nodes[child]
        at = child
    keys[at] = last_key
    nodes[at] = last_node
