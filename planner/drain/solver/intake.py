"""How early the targets can take everything, and how evenly their disks can end: the solver's own L2 and L3.

The judge has bounds of its own (planner.drain.bounds); this duplication is the price of its independence.
"""

from dataclasses import dataclass, replace

import numpy as np

from planner.drain.model.state import NO_BROKER, Bools, ClusterState, Floats, Int32s, Int64s
from planner.drain.solver.demand import Demand
from planner.drain.solver.level import level_for, level_reads, share_out

DISK_AT = 1.05
"""The disk level is the least one reachable within this many times the least makespan."""

_EGRESS_SWEEPS = 60
_DISK_HALVINGS = 30


@dataclass(frozen=True, slots=True, eq=False)
class Intake:
    """Who may take what. Groups are sets of targets alike to every copy, classes sets of copies alike to every group.

    `group`: int32[B], -1 takes nothing. `amount`, `most_each`: float64[C] bytes of a class, and how many of them one
    group may take at most. `allowed`: bool[C, G]. `used`: float64[B] bytes held now. `named`: int32[N, K] row of
    `may_take` (bool[D, B]) binding a copy, -1 = any target.
    """

    group: Int32s
    copy_class: Int64s
    amount: Floats
    most_each: Floats
    allowed: Bools
    used: Floats
    named: Int32s
    may_take: Bools


@dataclass(frozen=True, slots=True, eq=False)
class Least:
    """The solver's own bounds: seconds for the targets, the sources and the longest log; the fill that goes with it."""

    ingress_s: float
    egress_s: float
    longest_s: float
    fill: float

    @property
    def makespan_s(self) -> float:
        return max(self.ingress_s, self.egress_s, self.longest_s)


def intake_of(state: ClusterState, demand: Demand) -> Intake:
    brokers = state.brokers
    may_take = np.zeros((len(state.destinations), len(brokers)), dtype=np.bool_)
    drained = {row: n for n, row in enumerate(sorted(state.destinations))}
    binds = np.full(len(brokers) + 1, -1, dtype=np.int32)
    for row, n in drained.items():
        may_take[n, list(state.destinations[row])] = True
        binds[row] = n
    named: Int32s = np.where(demand.leaves != NO_BROKER, binds[demand.leaves], -1).astype(np.int32)
    may = brokers.may_receive
    kinds = np.column_stack([brokers.rack, may_take.T]).astype(np.int64)
    _, group = np.unique(kinds, axis=0, return_inverse=True)
    taking: Int32s = np.where(may, group.ravel(), -1).astype(np.int32)
    return _classed(state, demand, taking, named, may_take)


def _classed(state: ClusterState, demand: Demand, group: Int32s, named: Int32s, may_take: Bools) -> Intake:
    rack = state.brokers.rack
    racks = np.sort(np.where(demand.kept != NO_BROKER, rack[demand.kept], -1), axis=1)
    entry, copy = np.nonzero(demand.leaves != NO_BROKER)
    key = np.column_stack([racks[entry], demand.spare[entry] > 0, demand.copies[entry], named[entry, copy]])
    kinds, first, of_copy = np.unique(key, axis=0, return_index=True, return_inverse=True)
    of_copy = of_copy.ravel()
    amount: Floats = np.bincount(of_copy, weights=demand.size[entry], minlength=len(kinds)).astype(np.float64)
    pairs = np.unique(of_copy.astype(np.int64) * max(1, len(demand)) + entry)
    once = np.bincount(
        pairs // max(1, len(demand)), weights=demand.size[pairs % max(1, len(demand))], minlength=len(kinds)
    )
    groups = int(group.max(initial=-1)) + 1
    allowed = np.zeros((len(kinds), groups), dtype=np.bool_)
    for c, example in enumerate(first):
        i, who = entry[example], named[entry[example], copy[example]]
        fits = group >= 0
        if who >= 0:
            fits &= may_take[who]
        if demand.spare[i] == 0:
            fits &= ~np.isin(rack, racks[i][racks[i] >= 0])
        allowed[c, np.unique(group[fits])] = True
    return Intake(
        group=group,
        copy_class=of_copy.astype(np.int64),
        amount=amount,
        most_each=np.where(kinds[:, -3] > 0, amount, once),
        allowed=allowed,
        used=used_bytes(state),
        named=named,
        may_take=may_take,
    )


def takers(intake: Intake) -> Bools:
    """bool[B]: who may take any copy of this drain: others have no part in it, however slow they are."""
    may: Bools = (intake.group >= 0) & np.append(intake.allowed.any(axis=0), False)[intake.group]
    return may


def used_bytes(state: ClusterState) -> Floats:
    """float64[B]: bytes of all replicas a broker holds now."""
    used = np.zeros(len(state.brokers))
    size = state.partitions.size_bytes.astype(np.float64)
    for column in state.partitions.replicas.T:
        held = column != NO_BROKER
        used += np.bincount(column[held], weights=size[held], minlength=used.size)
    return used


def least_of(state: ClusterState, demand: Demand, intake: Intake) -> Least:
    brokers = state.brokers
    endless = np.where(brokers.may_receive, 3 * demand.copied_bytes + 1.0, 0.0)
    reads = np.zeros(len(brokers))
    least = Least(
        ingress_s=filled(state, intake, endless)[0],
        egress_s=level_reads(
            demand.size * demand.copies, demand.sources, brokers.egress_bytes_per_s, reads, _EGRESS_SWEEPS
        ),
        longest_s=float(demand.size.max(initial=0.0)) / state.flow_bytes_per_s,
        fill=state.disk_limit,
    )
    return replace(least, fill=_least_fill(state, intake, DISK_AT * least.makespan_s))


def _least_fill(state: ClusterState, intake: Intake, within_s: float) -> float:
    """L3: the smallest largest fill reachable in `within_s`; the disk limit when none is below it."""
    brokers = state.brokers
    may = brokers.may_receive
    fill = intake.used / np.maximum(brokers.disk_bytes, 1)
    fullest = float(fill[may].max(initial=0.0))
    amount = float(intake.amount.sum())

    def time_at(level: float, exact: bool) -> float:
        room = np.minimum(room_at(state, intake, level), within_s * brokers.ingress_bytes_per_s)
        if exact:
            return filled(state, intake, room)[0]
        return level_for(amount, brokers.ingress_bytes_per_s[may], room[may])

    low = fullest
    for exact in (False, True):
        high = max(state.disk_limit, low)
        if time_at(low, exact) <= within_s * (1 + 1e-7):
            continue
        for _ in range(_DISK_HALVINGS):
            middle = (low + high) / 2
            if time_at(middle, exact) <= within_s * (1 + 1e-7):
                high = middle
            else:
                low = middle
        low = high
    return low


def room_at(state: ClusterState, intake: Intake, level: float) -> Floats:
    """float64[B]: bytes each target takes until its disk is filled to `level`.

    A full disk still has room for an empty log; -1 where a broker may receive nothing, not even that.
    """
    brokers = state.brokers
    room: Floats = np.where(brokers.may_receive, np.maximum(0.5, level * brokers.disk_bytes - intake.used), -1.0)
    return room


def filled(state: ClusterState, intake: Intake, room: Floats) -> tuple[float, Floats]:
    """The time of the last target when all classes are levelled, and seconds each target is busy: float64[B]."""
    ingress = state.brokers.ingress_bytes_per_s
    share = np.zeros(intake.allowed.shape)
    time = share_out(intake.amount, intake.most_each, intake.allowed, intake.group, ingress, room, share)
    busy = np.zeros(len(state.brokers))
    if np.isfinite(time):
        for g, load in enumerate(share.sum(axis=0)):
            members = np.flatnonzero(intake.group == g)
            level = level_for(load * (1 - 1e-12), ingress[members], room[members])
            busy[members] = np.minimum(level, room[members] / np.maximum(ingress[members], 1.0))
    return float(time), busy
