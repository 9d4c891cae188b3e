"""One pass of the planner at one disk level: keys, slots, pins and readers, then the drain played forward."""

from dataclasses import dataclass

import numpy as np

from planner.drain.model.state import ClusterState, Floats, Int32s, Int64s
from planner.drain.solver.compose import Cargo, EntryCourse, compose
from planner.drain.solver.demand import Demand
from planner.drain.solver.intake import Intake, Least, filled, room_at, takers
from planner.drain.solver.rates import NONE, PortRates
from planner.drain.solver.readers import spread_readers
from planner.drain.solver.sequence import MARGIN, Phases, keys_by_reader, keys_of, phases_of
from planner.drain.solver.slots import (
    CRITICAL_KEY,
    NO_EXTRA,
    Extra,
    Slots,
    critical_entries,
    least_slots,
    pin_critical,
    slots_for,
)

SCARCE = 0.75
"""Reading is planned like writing when the sources need more than this share of the targets' time."""

TOLL = 0.2
"""What a log counts beside its bytes when targets are compared, as a share of the mean log."""

URGENT_KEY = -1e9


@dataclass(frozen=True, slots=True, eq=False)
class Attempt:
    """What one pass made of the demand. `makespan_s` covers the entries that found targets."""

    course: EntryCourse
    slots: Slots
    phases: Phases

    @property
    def unplaced(self) -> Int64s:
        missing: Int64s = np.flatnonzero(self.course.turn == NONE)
        return missing

    @property
    def makespan_s(self) -> float:
        placed = self.course.turn != NONE
        return float(self.course.ended[placed].max(initial=0.0))


def attempt(
    state: ClusterState,
    demand: Demand,
    intake: Intake,
    least: Least,
    *,
    level: float,
    urgent: Int64s,
    extra: Extra = NO_EXTRA,
    margin: float = MARGIN,
) -> Attempt:
    """Targets are filled to `level` at most (a fraction of their disks). `urgent` entries start before all others."""
    brokers, flow = state.brokers, state.flow_bytes_per_s
    ingress, egress = brokers.ingress_bytes_per_s, brokers.egress_bytes_per_s
    room = room_at(state, intake, level)
    fill_s, busy_s = filled(state, intake, room)
    if not np.isfinite(fill_s):
        fill_s, busy_s = least.makespan_s, room / np.maximum(ingress, 1.0)
    scarce = least.egress_s > SCARCE * fill_s
    slots = slots_for(demand, ingress, egress, takers(intake), flow, reading_is_scarce=scarce, extra=extra)
    phases = phases_of(
        state,
        demand,
        intake,
        room,
        stretch=max(1.0, least.egress_s / max(fill_s, 1e-9)),
        slowest_bytes_per_s=slots.slowest_bytes_per_s,
    )
    critical = critical_entries(demand, slots, least_s=least.makespan_s, filling_s=fill_s)
    calm = least_slots(ingress, flow)
    pinned = pin_critical(demand, intake, critical, calm, busy_s, room)
    into = np.where(np.isin(np.arange(calm.size), pinned), calm, slots.into).astype(np.int32)
    out = slots.out
    if scarce:
        reader, quiet = _readers(demand, critical, egress, flow)
        out = np.where(quiet, np.minimum(out, least_slots(egress, flow)), out).astype(np.int32)
        key = keys_by_reader(demand, phases, reader, egress, slots.slowest_bytes_per_s)
    else:
        reader = np.full(len(demand), NONE, np.int32)
        key = keys_of(demand, phases, slots.slowest_bytes_per_s, margin)
    key[critical] += CRITICAL_KEY
    key[urgent] += URGENT_KEY
    slots = Slots(into, out, slots.slowest_bytes_per_s)
    cargo = _cargo(demand, intake, key, reader, pinned, critical)
    ports = PortRates(egress, ingress, out, into, brokers.rack)
    return Attempt(
        compose(cargo, ports, flow, TOLL * float(demand.size.mean()), room.copy(), busy_s.copy()), slots, phases
    )


def _readers(demand: Demand, critical: Int64s, egress: Floats, flow: float) -> tuple[Int32s, np.ndarray]:
    """int32[N] sources, and bool[B]: those that serve a critical log and therefore few others beside it."""
    amount = demand.size * demand.copies
    order = np.lexsort((np.arange(len(demand)), -amount)).astype(np.int64)
    reader = np.full(len(demand), NONE, np.int32)
    spread_readers(amount, demand.sources, egress, order, reader)
    quiet = np.zeros(egress.size, dtype=np.bool_)
    if critical.size:
        quiet[reader[critical]] = True
        sources = demand.sources.copy()
        sources[critical] = NONE
        sources[critical, 0] = reader[critical]
        reachable = np.where(quiet, np.minimum(egress, least_slots(egress, flow) * flow), egress)
        spread_readers(amount, sources, reachable, order, reader)
    return reader, quiet


def _cargo(demand: Demand, intake: Intake, key: Floats, reader: Int32s, pinned: Int32s, critical: Int64s) -> Cargo:
    entries = np.arange(len(demand))
    scarce = bool((reader != NONE).any())
    member = _members(demand, intake, reader)
    queue = np.lexsort((entries, key, member)).astype(np.int32)
    lists = int(member.max()) + 1
    reader_of_list = np.full(lists, NONE, np.int32)
    reader_of_list[member] = reader
    brokers = intake.group.size
    also, also_begin = np.zeros(0, np.int32), np.zeros(brokers + 1, np.int32)
    if scarce:
        entry, column = np.nonzero(demand.sources != NONE)
        free = ~np.isin(entry, critical)
        entry, source = entry[free], demand.sources[entry[free], column[free]]
        also = entry[np.lexsort((entry, key[entry], source))].astype(np.int32)
        also_begin[1:] = np.cumsum(np.bincount(source, minlength=brokers))
    begin = np.zeros(lists + 1, np.int32)
    begin[1:] = np.cumsum(np.bincount(member, minlength=lists))
    return Cargo(
        size=demand.size,
        copies=demand.copies,
        key=key,
        queue=queue,
        begin=begin,
        member=member,
        reader=reader_of_list,
        also=also,
        also_begin=also_begin,
        kept=demand.kept,
        spare=demand.spare,
        named=intake.named,
        may_take=intake.may_take if intake.may_take.size else np.zeros((1, brokers), dtype=np.bool_),
        pinned=pinned,
        sources=demand.sources,
        leader=demand.leader,
    )


def _members(demand: Demand, intake: Intake, reader: Int32s) -> Int32s:
    """int32[N]: the list an entry waits in: its source's, or that of the entries that may go to the same targets."""
    if (reader != NONE).any():
        kinds = reader[:, None].astype(np.int64)
    else:
        kinds = np.full(demand.leaves.shape, -1, dtype=np.int64)
        kinds[np.nonzero(demand.leaves >= 0)] = intake.copy_class
    _, member = np.unique(kinds, axis=0, return_inverse=True)
    return member.ravel().astype(np.int32)
