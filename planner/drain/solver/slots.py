"""How many copies at once: enough to fill a broker's bandwidth, few enough that the longest log is not starved."""

from dataclasses import dataclass

import numpy as np

from planner.drain.model.state import Bools, Floats, Int32s, Int64s
from planner.drain.solver.demand import Demand
from planner.drain.solver.intake import Intake

NEARLY = 1.03
"""A log is critical when copying it at the rate of a full broker takes longer than this many times the least
makespan, and longer than the targets need anyway."""

CRITICAL_KEY = -1e8
MOST = 2**20
"""Slots of one broker at most: more than it has flows mean nothing, and the number has to stay a whole one."""

WIDE = 1.5
"""Mean copies per entry above which entries wait for several targets at once and need slots to spare."""


@dataclass(frozen=True, slots=True)
class Extra:
    """Slots beside the full ones. With more out, a source stays busy when a target slows one of its flows down."""

    times_in: int = 1
    times_out: int = 1
    more_in: int = 0
    more_out: int = 0


NO_EXTRA = Extra()

FEW = 1000
FOR_FEW = (Extra(2, 1), Extra(1, 2), Extra(2, 2), Extra(4, 4), Extra(16, 16))
"""Where entries copy several replicas or sources differ, one flow alone seldom gets all of its target."""


@dataclass(frozen=True, slots=True, eq=False)
class Slots:
    """int32[B] each way, and the rate in bytes/s of one flow where all slots of a broker are taken."""

    into: Int32s
    out: Int32s
    slowest_bytes_per_s: float


def least_slots(bytes_per_s: Floats, flow_bytes_per_s: float) -> Int32s:
    """Flows that each reach the limit of one fetch: floor(B / x), at least 1."""
    return np.clip(np.floor(bytes_per_s / flow_bytes_per_s + 1e-9), 1, MOST).astype(np.int32)


def full_slots(bytes_per_s: Floats, flow_bytes_per_s: float) -> Int32s:
    """Flows that fill the broker: ceil(B / x), at least 1."""
    return np.clip(np.ceil(bytes_per_s / flow_bytes_per_s - 1e-9), 1, MOST).astype(np.int32)


def slots_for(
    demand: Demand,
    ingress: Floats,
    egress: Floats,
    may_take: Bools,
    flow: float,
    *,
    reading_is_scarce: bool,
    extra: "Extra",
) -> Slots:
    """`extra` counts where reading is scarce or entries wait for several targets at once. The slowest flow is one
    between brokers that may take and give: of a dead broker no bandwidth need be known, and none is looked at.
    """
    into = full_slots(ingress, flow)
    out = full_slots(egress, flow) if reading_is_scarce else least_slots(egress, flow)
    if reading_is_scarce:
        into, out = np.maximum(1, into + extra.more_in), np.maximum(1, out + extra.more_out)
    may_give = np.isin(np.arange(egress.size), demand.sources)
    taken, given = (ingress / into)[may_take], (egress / out)[may_give]
    slowest = min(flow, float(taken.min(initial=flow)), float(given.min(initial=flow)))
    into, out = into * extra.times_in, out * extra.times_out
    return Slots(into.astype(np.int32), out.astype(np.int32), slowest)


def extras_for(demand: Demand, *, reading_counts: bool) -> tuple[Extra, ...]:
    """The few slot numbers worth a try, the likeliest first. Of few entries each counts, and all are tried."""
    few = FOR_FEW if len(demand) <= FEW else ()
    if wide(demand):
        return Extra(4, 2), Extra(4, 4), *few
    if reading_counts:
        return NO_EXTRA, Extra(more_out=1), Extra(more_in=1, more_out=1), Extra(more_in=-1), *few
    return NO_EXTRA, *few


def wide(demand: Demand) -> bool:
    """Whether most entries copy several replicas at once."""
    return bool(demand.copies.mean() > WIDE)


def critical_entries(demand: Demand, slots: Slots, *, least_s: float, filling_s: float) -> Int64s:
    """Entries that a full broker would make late, longest first."""
    late = np.flatnonzero(demand.size / slots.slowest_bytes_per_s > max(filling_s, NEARLY * least_s))
    return late[np.argsort(-demand.size[late], kind="stable")]


def pin_critical(
    demand: Demand, intake: Intake, critical: Int64s, calm: Int32s, time_s: Floats, room: Floats
) -> Int32s:
    """int32[N, K]: the target of each critical single copy; few targets share them and keep slots few (`calm`)."""
    pinned = np.full(demand.leaves.shape, -1, dtype=np.int32)
    taken = np.zeros(calm.size, dtype=np.int64)
    left = room.copy()
    class_of = np.full(len(demand), -1, dtype=np.int64)
    class_of[np.nonzero(demand.leaves >= 0)[0]] = intake.copy_class
    for i in critical:
        if demand.copies[i] != 1:
            continue
        fits = (intake.group >= 0) & (taken < calm) & (left >= demand.size[i])
        fits &= intake.allowed[class_of[i]][intake.group] & ~np.isin(np.arange(calm.size), demand.kept[i])
        choice = np.flatnonzero(fits)
        if choice.size:
            best = choice[np.lexsort((choice, -time_s[choice], taken[choice] == 0))[0]]
            pinned[i, 0] = best
            taken[best] += 1
            left[best] -= demand.size[i]
    return pinned
