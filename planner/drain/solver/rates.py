"""Max-min fair rates of the copies in flight: what fetchers settle at when nothing but ports limits them.

A port is a broker in one direction; a flow uses one source port and one target port and never exceeds the rate one
partition's fetch reaches. Progressive filling (Bertsekas and Gallager, Data Networks, 6.5.2).
"""

from typing import NamedTuple

import numpy as np

from planner.drain.model.compiled import inner
from planner.drain.model.state import Floats, Int32s

NONE = -1


class PortRates(NamedTuple):
    """Both directions of B brokers: bytes/s and slots."""

    egress: Floats
    ingress: Floats
    slots_out: Int32s
    slots_in: Int32s
    rack: Int32s


class InFlight(NamedTuple):
    """Copies in the air, each at a place of its own; every port chains the flows that use it."""

    source: Int32s
    target: Int32s
    entry: Int32s
    rest: Floats
    rate: Floats
    free: Int32s
    first_out: Int32s
    after_out: Int32s
    before_out: Int32s
    first_in: Int32s
    after_in: Int32s
    before_in: Int32s
    count_out: Int32s
    count_in: Int32s
    active: Int32s
    ports_left: Floats
    ports_open: Int32s
    heap_share: Floats
    heap_port: Int32s


def no_flight(most: int, brokers: int) -> InFlight:
    """Room for `most` copies at once."""
    return InFlight(
        np.empty(most, np.int32),
        np.empty(most, np.int32),
        np.empty(most, np.int32),
        np.empty(most),
        np.zeros(most),
        np.arange(most - 1, -1, -1, dtype=np.int32),
        np.full(brokers, NONE, np.int32),
        np.empty(most, np.int32),
        np.empty(most, np.int32),
        np.full(brokers, NONE, np.int32),
        np.empty(most, np.int32),
        np.empty(most, np.int32),
        np.zeros(brokers, np.int32),
        np.zeros(brokers, np.int32),
        np.empty(most, np.int32),
        np.empty(2 * brokers),
        np.empty(2 * brokers, np.int32),
        np.empty(2 * brokers),
        np.empty(2 * brokers, np.int32),
    )


@inner
def depart(flight: InFlight, flying: int, entry: int, source: int, target: int, size: float) -> None:
    """One more copy in the air; `flying` before it."""
    f = flight.free[flight.free.shape[0] - 1 - flying]
    flight.source[f], flight.target[f], flight.entry[f], flight.rest[f] = source, target, entry, size
    _link(f, source, flight.first_out, flight.after_out, flight.before_out)
    _link(f, target, flight.first_in, flight.after_in, flight.before_in)
    flight.count_out[source] += 1
    flight.count_in[target] += 1
    flight.active[flying] = f


@inner
def arrive(flight: InFlight, flying: int, place: int) -> None:
    """The copy at `active[place]` is done; `flying` counts it still."""
    f = flight.active[place]
    source, target = flight.source[f], flight.target[f]
    _unlink(f, source, flight.first_out, flight.after_out, flight.before_out)
    _unlink(f, target, flight.first_in, flight.after_in, flight.before_in)
    flight.count_out[source] -= 1
    flight.count_in[target] -= 1
    flight.active[place] = flight.active[flying - 1]
    flight.free[flight.free.shape[0] - flying] = f


@inner
def _link(flow: int, port: int, first: Int32s, after: Int32s, before: Int32s) -> None:
    head = first[port]
    after[flow] = head
    before[flow] = NONE
    if head != NONE:
        before[head] = flow
    first[port] = flow


@inner
def _unlink(flow: int, port: int, first: Int32s, after: Int32s, before: Int32s) -> None:
    ahead, behind = before[flow], after[flow]
    if ahead == NONE:
        first[port] = behind
    else:
        after[ahead] = behind
    if behind != NONE:
        before[behind] = ahead


@inner
def fair_rates(flight: InFlight, flying: int, ports: PortRates, flow_limit: float) -> None:
    """Fill `flight.rate`. Ports 0 .. B-1 of the scratch arrays are sources, B .. 2B-1 targets.

    A port that could give all its flows the limit can never be the bottleneck of any: it is left out at once. The
    others wait in a heap by what each of their flows would get; that only grows while others settle, so a port whose
    share has grown since it was pushed goes back.
    """
    left, waiting = flight.ports_left, flight.ports_open
    brokers = ports.egress.shape[0]
    for a in range(flying):
        flight.rate[flight.active[a]] = -1.0
    n = 0
    for b in range(brokers):
        left[b], waiting[b] = ports.egress[b], flight.count_out[b]
        left[brokers + b], waiting[brokers + b] = ports.ingress[b], flight.count_in[b]
    for p in range(2 * brokers):
        if waiting[p] > 0 and left[p] < flow_limit * waiting[p]:
            _push(flight, n, left[p] / waiting[p], p)
            n += 1
    while n > 0:
        pushed, p = flight.heap_share[0], flight.heap_port[0]
        n -= 1
        _drop_first(flight, n)
        if waiting[p] == 0:
            continue
        share = max(left[p], 0.0) / waiting[p]
        if share <= pushed * (1 + 1e-12):
            _settle(flight, p, brokers, share)
        elif share < flow_limit:
            _push(flight, n, share, p)
            n += 1
    for a in range(flying):
        if flight.rate[flight.active[a]] < 0:
            flight.rate[flight.active[a]] = flow_limit


@inner
def _settle(flight: InFlight, port: int, brokers: int, share: float) -> None:
    """Every flow of the port that has no rate yet gets `share`."""
    left, waiting = flight.ports_left, flight.ports_open
    outward = port < brokers
    flow = flight.first_out[port] if outward else flight.first_in[port - brokers]
    while flow != NONE:
        if flight.rate[flow] < 0:
            flight.rate[flow] = share
            other = brokers + flight.target[flow] if outward else flight.source[flow]
            left[other] -= share
            waiting[other] -= 1
        flow = flight.after_out[flow] if outward else flight.after_in[flow]
    waiting[port] = 0


@inner
def _push(flight: InFlight, count: int, share: float, port: int) -> None:
    """One more port in the heap; `count` before it."""
    shares, ports = flight.heap_share, flight.heap_port
    at = count
    while at > 0 and shares[(at - 1) >> 1] > share:
        shares[at], ports[at] = shares[(at - 1) >> 1], ports[(at - 1) >> 1]
        at = (at - 1) >> 1
    shares[at], ports[at] = share, port


@inner
def _drop_first(flight: InFlight, count: int) -> None:
    """Take the least out of the heap; `count` ports stay."""
    shares, ports = flight.heap_share, flight.heap_port
    share, port = shares[count], ports[count]
    at, child = 0, 1
    while child < count:
        if child + 1 < count and shares[child + 1] < shares[child]:
            child += 1
        if shares[child] >= share:
            break
        shares[at], ports[at] = shares[child], ports[child]
        at, child = child, 2 * child + 1
    shares[at], ports[at] = share, port
