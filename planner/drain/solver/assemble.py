"""From a played drain to the schedule that is executed: replica lists, leaders, throttles, checkpoints."""

import numpy as np

from planner.drain.model.plan import UNLIMITED_SLOTS, Schedule
from planner.drain.model.state import NO_BROKER, Bools, ClusterState, Floats, Int32s, Int64s
from planner.drain.solver.attempt import Attempt
from planner.drain.solver.demand import Demand
from planner.drain.solver.leaders import order_leaders

ENTRIES_PER_REQUEST = 10_000
"""Kafka applies at most so many records of one request (KAFKA-14996)."""

WRITES_UNKNOWN = "write rates of {count} moved partitions are unknown: in-sync traffic counts nothing in the throttles"


def assembled(state: ClusterState, demand: Demand, played: Attempt, assumptions: tuple[str, ...]) -> Schedule:
    """Entries in the order they started, then the order-only entries that even out the leaders."""
    course = played.course
    order = np.argsort(course.turn, kind="stable")
    order = order[course.turn[order] != NO_BROKER]
    row = demand.row[order]
    led = order_leaders(state, row, _after(state, demand, course.target, order), pinned=_left_behind(state, row))
    extra = led.extra_row.size
    into, out = _throttles(state, demand, played, order)
    unknown = int(np.isnan(state.partitions.write_bytes_per_s[row]).sum())
    return Schedule(
        row=np.concatenate([row, led.extra_row]),
        after=np.ascontiguousarray(np.concatenate([led.after, led.extra_after])),
        source=np.concatenate([course.source[order], np.full(extra, NO_BROKER, np.int32)]),
        slots_in=_only(played.slots.into, course.target[order], UNLIMITED_SLOTS),
        slots_out=_only(played.slots.out, course.source[order], UNLIMITED_SLOTS),
        throttle_in_bytes_per_s=into,
        throttle_out_bytes_per_s=out,
        checkpoints=checkpoints_of(played.phases.of_entry[order], extra),
        assumptions=(*assumptions, WRITES_UNKNOWN.format(count=unknown)) if unknown else assumptions,
    )


def nothing_to_do(state: ClusterState, assumptions: tuple[str, ...]) -> Schedule:
    brokers, width = len(state.brokers), state.partitions.replicas.shape[1]
    none = np.zeros(0, np.int32)
    return Schedule(
        row=none,
        after=np.zeros((0, width), np.int32),
        source=none,
        slots_in=np.full(brokers, UNLIMITED_SLOTS, np.int32),
        slots_out=np.full(brokers, UNLIMITED_SLOTS, np.int32),
        throttle_in_bytes_per_s=np.full(brokers, np.inf),
        throttle_out_bytes_per_s=np.full(brokers, np.inf),
        checkpoints=(),
        assumptions=assumptions,
    )


def _left_behind(state: ClusterState, row: Int32s) -> Bools:
    """bool[P]: partitions that stay on a drained broker. No entry may name them, also none that only reorders (H1)."""
    held: Bools = np.asarray(np.append(state.brokers.must_empty, False)[state.partitions.replicas].any(axis=1))
    held[row] = False
    return held


def _after(state: ClusterState, demand: Demand, target: Int32s, order: Int64s) -> Int32s:
    """int32[M, W]: each drained replica's place in the list goes to its target."""
    after = state.partitions.replicas[demand.row[order]].copy()
    leaving = np.append(state.brokers.must_empty, False)[after]
    entry, _ = np.nonzero(leaving)
    nth = leaving.cumsum(axis=1)[leaving] - 1
    after[leaving] = target[order][entry, nth]
    return after


def _only(slots: Int32s, used: Int32s, other: int) -> Int32s:
    """`slots` of the brokers that take part, `other` for the rest."""
    part = np.isin(np.arange(slots.size), used)
    return np.where(part, slots, other).astype(np.int32)


def checkpoints_of(phase: Int64s, extra: int) -> tuple[int, ...]:
    """Where the last entry of a broker stands, never more than one request apart, and the end."""
    total = phase.size + extra
    if total == 0:
        return ()
    last = np.zeros(int(phase.max(initial=-1)) + 1, dtype=np.int64)
    np.maximum.at(last, phase, np.arange(1, phase.size + 1))
    ends = sorted({int(n) for n in last if n > 0} | {total})
    spread: list[int] = []
    before = 0
    for end in ends:
        spread.extend(range(before + ENTRIES_PER_REQUEST, end, ENTRIES_PER_REQUEST))
        spread.append(end)
        before = end
    return tuple(spread)


def _throttles(state: ClusterState, demand: Demand, played: Attempt, order: Int64s) -> tuple[Floats, Floats]:
    """Rates per broker and direction: the most its copies can use at once plus what in-sync traffic is charged.

    Kafka charges in-sync followers of a listed partition to the same quota but never delays them
    (KafkaApis.sizeOfThrottledPartitions): a rate that leaves copies their full share above that charge can neither
    slow the plan nor starve it (H9). Brokers without a part have no throttle.
    """
    course, flow = played.course, state.flow_bytes_per_s
    write = np.nan_to_num(state.partitions.write_bytes_per_s[demand.row[order]])
    followers = np.maximum(state.partitions.in_sync[demand.row[order]].sum(axis=1) - 1, 0) + demand.copies[order]
    source, start, end = course.source[order], course.started[order], course.ended[order]
    entry, copy = np.nonzero(course.target[order] != NO_BROKER)
    target = course.target[order][entry, copy]
    brokers = len(state.brokers)
    out_flows = peak_of(source, start, end, demand.copies[order].astype(np.float64), brokers)
    out_charge = peak_of(source, start, end, write * followers, brokers)
    in_flows = peak_of(target, start[entry], end[entry], np.ones(entry.size), brokers)
    in_charge = peak_of(target, start[entry], end[entry], write[entry], brokers)
    into = np.minimum(state.brokers.ingress_bytes_per_s, in_flows * flow) + in_charge
    out = np.minimum(state.brokers.egress_bytes_per_s, out_flows * flow) + out_charge
    return np.where(in_flows > 0, into, np.inf), np.where(out_flows > 0, out, np.inf)


def peak_of(broker: Int32s, start: Floats, end: Floats, amount: Floats, brokers: int) -> Floats:
    """float64[B]: the largest sum of `amount` over intervals open at once on each broker; ends count as open."""
    who = np.concatenate([broker, broker])
    order = np.lexsort((np.repeat([0, 1], broker.size), np.concatenate([start, end]), who))
    change = np.concatenate([amount, -amount])[order]
    level = np.cumsum(change)
    who = who[order]
    peak = np.zeros(brokers)
    if who.size:
        first = np.flatnonzero(np.r_[True, who[1:] != who[:-1]])
        level -= np.repeat((level - change)[first], np.diff(np.r_[first, who.size]))
        np.maximum.at(peak, who, level)
    return peak
