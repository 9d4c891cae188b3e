"""In which order logs ought to start: drained brokers smallest first, inside a broker the longest log first.

Shortest first is least for the sum of release times; longest first leaves small logs for the end, where all slots
have to fall silent together. A log that would be late that way starts early enough to be in time.
"""

from dataclasses import dataclass

import numpy as np

from planner.drain.model.state import NO_BROKER, ClusterState, Floats, Int32s, Int64s
from planner.drain.solver.demand import Demand
from planner.drain.solver.intake import Intake
from planner.drain.solver.level import level_for

MARGIN = 1.15
"""A log is meant to start when this many times its copying time is left: slots come free when they come free."""

WIDER_MARGINS = (1.4, 1.8, 2.5)
"""Tried in turn where long logs of late phases outlast everything else: brokers come free later, the end is earlier."""

READER_MARGIN = 4.0
"""The same where sources are the scarce side: a source that ends on a long log leaves its bandwidth unused."""


@dataclass(frozen=True, slots=True, eq=False)
class Phases:
    """Of each drained broker: when its phase begins and is due, s. `of_entry`: int64[N], the phase an entry is for.

    `rank`: int64[J], position in the release order.
    """

    begin_s: Floats
    due_s: Floats
    rank: Int64s
    of_entry: Int64s


def phases_of(
    state: ClusterState, demand: Demand, intake: Intake, room: Floats, *, stretch: float, slowest_bytes_per_s: float
) -> Phases:
    """`stretch`: how much longer than the targets the sources need. `slowest_bytes_per_s`: a flow among full slots."""
    drained = np.flatnonzero(state.brokers.must_empty)
    place = np.full(len(state.brokers) + 1, -1, dtype=np.int64)
    place[drained] = np.arange(drained.size)
    phase_of_copy = place[demand.leaves]
    entry, copy = np.nonzero(demand.leaves != NO_BROKER)
    which = phase_of_copy[entry, copy]
    held = np.bincount(which, weights=demand.size[entry], minlength=drained.size).astype(np.float64)
    longest = np.zeros(drained.size)
    np.maximum.at(longest, which, demand.size[entry])
    part = _parts(intake)
    home = np.full(drained.size, -1, dtype=np.int64)
    home[which] = part[intake.allowed.argmax(axis=1)][intake.copy_class] if entry.size else home[which]
    begin, due = np.zeros(drained.size), np.zeros(drained.size)
    part_of_broker = np.where(intake.group >= 0, part[intake.group], -2) if part.size else np.full(len(place) - 1, -2)
    for one in np.unique(home[home >= 0]):
        queue = np.flatnonzero(home == one)
        queue = queue[np.lexsort((queue, longest[queue], held[queue]))]
        members = np.flatnonzero(part_of_broker == one)
        taken_per_s = float(state.brokers.ingress_bytes_per_s[members].sum()) / stretch
        queue = soonest_free(queue, held, longest / slowest_bytes_per_s, max(taken_per_s, 1.0))
        total, before = 0.0, 0.0
        for j in queue:
            total += held[j]
            end = level_for(total * (1 - 1e-9), state.brokers.ingress_bytes_per_s[members], room[members]) * stretch
            begin[j], due[j] = before, end if np.isfinite(end) else before
            before = due[j]
    due = np.maximum(due, longest / slowest_bytes_per_s)
    ends = np.where(phase_of_copy >= 0, due[phase_of_copy], np.inf)
    first = ends.argmin(axis=1)
    rank = np.argsort(np.argsort(held, kind="stable"), kind="stable")
    return Phases(begin, due, rank, phase_of_copy[np.arange(len(demand)), first])


def soonest_free(queue: Int64s, held: Floats, longest_s: Floats, bytes_per_s: float) -> Int64s:
    """The order of brokers that frees them soonest on average: smallest first, but none that waits for a long log of
    its own anyway keeps others waiting. Neighbours change places until that helps no more.
    """
    order = queue.copy()
    for _ in range(order.size):
        before, swaps = 0.0, 0
        for n in range(order.size - 1):
            one, other = order[n], order[n + 1]
            both_s = (before + held[one] + held[other]) / bytes_per_s
            kept = max((before + held[one]) / bytes_per_s, longest_s[one]) + max(both_s, longest_s[other])
            swapped = max((before + held[other]) / bytes_per_s, longest_s[other]) + max(both_s, longest_s[one])
            if swapped < kept * (1 - 1e-9):
                order[n], order[n + 1] = other, one
                swaps += 1
            before += held[order[n]]
        if swaps == 0:
            break
    return order


def _parts(intake: Intake) -> Int64s:
    """int64[G]: groups that some class may choose between are one part; parts drain side by side."""
    groups = intake.allowed.shape[1]
    part = np.arange(groups)
    for row in intake.allowed:
        linked = np.unique(part[row])
        if linked.size > 1:
            part[np.isin(part, linked)] = linked[0]
    return part


def keys_of(demand: Demand, phases: Phases, slowest_bytes_per_s: float, margin: float) -> Floats:
    """float64[N]: when each entry ought to start, s; the cluster as a whole is the queue. `margin`: see MARGIN."""
    n = np.arange(len(demand))
    order = np.lexsort((n, -demand.size, phases.of_entry))
    phase = phases.of_entry[order]
    total = np.bincount(phase, weights=demand.size[order], minlength=phases.due_s.size)
    done = np.cumsum(demand.size[order]) - demand.size[order]
    opens = np.searchsorted(phase, np.arange(phases.due_s.size))
    done -= done[np.minimum(opens, len(demand) - 1)][phase]
    span = phases.due_s - phases.begin_s
    meant = phases.begin_s[phase] + span[phase] * done / np.maximum(total[phase], 1.0)
    latest = phases.due_s[phase] - margin * demand.size[order] / slowest_bytes_per_s
    key = np.empty(len(demand))
    key[order] = np.minimum(meant, latest)
    # copies of one entry need slots at several targets at once: they start while there are some
    return np.where(demand.copies > 1, np.minimum(key, 1e-6 * key), key)


def keys_by_reader(
    demand: Demand, phases: Phases, reader: Int32s, egress: Floats, slowest_bytes_per_s: float
) -> Floats:
    """float64[N]: when each entry ought to start where every source works off a queue of its own."""
    n = np.arange(len(demand))
    rank = phases.rank[phases.of_entry]
    order = np.lexsort((n, -demand.size, rank, reader))
    seconds = (demand.size * demand.copies / egress[reader])[order]
    end = np.cumsum(seconds)
    opens = np.flatnonzero(np.r_[True, reader[order][1:] != reader[order][:-1]])
    lengths = np.diff(np.r_[opens, order.size])
    end -= np.repeat((end - seconds)[opens], lengths)
    mark = reader[order].astype(np.int64) * (phases.rank.size + 1) + rank[order]
    last = np.flatnonzero(np.r_[mark[1:] != mark[:-1], True])
    due = np.repeat(end[last], np.diff(np.r_[-1, last]))
    needs = demand.size[order] / slowest_bytes_per_s
    key = np.empty(len(demand))
    key[order] = np.minimum(end - seconds, np.maximum(due, needs) - READER_MARGIN * needs)
    return key
