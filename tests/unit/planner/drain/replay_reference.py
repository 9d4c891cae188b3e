"""The plan file's semantics once more, in slow plain Python with exact fractions: the oracle of the fast replay."""

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from planner.drain.model.plan import Schedule
from planner.drain.model.state import NO_BROKER, ClusterState


@dataclass
class Copy:
    entry: int
    source: int
    target: int
    left: Fraction
    rate: Fraction = Fraction(0)


@dataclass
class Times:
    start: dict[int, Fraction] = field(default_factory=dict)
    end: dict[int, Fraction] = field(default_factory=dict)


def reference(state: ClusterState, schedule: Schedule) -> Times:
    times, now = Times(), Fraction(0)
    flying: list[Copy] = []
    waiting = []
    for entry in range(len(schedule)):
        copies = copies_of(state, schedule, entry)
        if copies:
            waiting.append((entry, copies))
        else:
            times.start[entry] = times.end[entry] = now
    while waiting or flying:
        for item in list(waiting):
            entry, copies = item
            if all(_free(schedule, flying, c) for c in copies):
                waiting.remove(item)
                flying += copies
                times.start[entry] = now
        max_min(state, schedule, flying)
        moving = [c for c in flying if c.rate or not c.left]
        if not moving:
            break
        step = min(c.left / c.rate if c.left else Fraction(0) for c in moving)
        now += step
        for copy in flying:
            copy.left -= copy.rate * step
        done = {c.entry for c in flying if not c.left}
        flying = [c for c in flying if c.left]
        for entry in done - {c.entry for c in flying}:
            times.end[entry] = now
    return times


def copies_of(state: ClusterState, schedule: Schedule, entry: int) -> list[Copy]:
    row = int(schedule.row[entry])
    before = {b for b in state.partitions.replicas[row].tolist() if b != NO_BROKER}
    source = int(schedule.source[entry])
    source = int(state.partitions.leader[row]) if source == NO_BROKER else source
    added = [b for b in schedule.after[entry].tolist() if b != NO_BROKER and b not in before]
    return [Copy(entry, source, t, Fraction(int(state.partitions.size_bytes[row]))) for t in added]


def _free(schedule: Schedule, flying: list[Copy], copy: Copy) -> bool:
    taking = sum(c.target == copy.target for c in flying)
    giving = sum(c.source == copy.source for c in flying)
    return taking < schedule.slots_in[copy.target] and giving < schedule.slots_out[copy.source]


def max_min(state: ClusterState, schedule: Schedule, flying: list[Copy]) -> None:
    """Raise all rates together; whoever meets a full port or the cap stops there."""
    brokers = state.brokers
    room: dict[tuple[str, int], Fraction] = {}
    for side, rates, throttles in (
        ("in", brokers.ingress_bytes_per_s, schedule.throttle_in_bytes_per_s),
        ("out", brokers.egress_bytes_per_s, schedule.throttle_out_bytes_per_s),
    ):
        for row, rate in enumerate(np.minimum(rates, throttles).tolist()):
            room[side, row] = Fraction(rate)
    rising = list(flying)
    for copy in flying:
        copy.rate = Fraction(0)
    while rising:
        using: dict[tuple[str, int], int] = {}
        for copy in rising:
            for port in (("in", copy.target), ("out", copy.source)):
                using[port] = using.get(port, 0) + 1
        grow = min(room[port] / n for port, n in using.items())
        grow = min(grow, *(Fraction(state.flow_bytes_per_s) - c.rate for c in rising))
        for copy in rising:
            copy.rate += grow
        for port, n in using.items():
            room[port] -= grow * n
        rising = [
            c
            for c in rising
            if c.rate < state.flow_bytes_per_s and room["in", c.target] > 0 and room["out", c.source] > 0
        ]
