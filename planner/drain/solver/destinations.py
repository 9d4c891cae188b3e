"""Destinations that were named and may not take what is sent to them, and who could take it instead."""

from collections.abc import Sequence

import numpy as np

from planner.drain.model.state import ClusterState, Floats
from planner.drain.solver.infeasible import Obstacle, partitions_named
from planner.drain.solver.unplaced import Unplaced, places, rows_of
from planner.quantities import named

_MOST_NAMED = 3


def wrong_destinations(state: ClusterState, entries: Sequence[Unplaced], left: Floats) -> tuple[Obstacle, ...]:
    """One reason for each drained broker. `left`: float64[B], bytes each broker may still take."""
    sent: dict[int, list[Unplaced]] = {}
    for entry in entries:
        for home in _to_blame(entry, left):
            sent.setdefault(home, []).append(entry)
    return tuple(_reason(state, home, found, left) for home, found in sorted(sent.items()))


def others_have_room(state: ClusterState, entry: Unplaced, left: Floats) -> bool:
    """Whether it could be placed if it were sent nowhere."""
    return places(state, entry, np.broadcast_to(entry.legal & (left >= entry.size), entry.allowed.shape)) is not None


def _to_blame(entry: Unplaced, left: Floats) -> list[int]:
    """The drained brokers whose destinations cannot take their copy; all that are bound where they fail together."""
    bound = [(home, row) for home, row, sent in zip(entry.homes, entry.allowed, entry.sent, strict=True) if sent]
    closed = [home for home, row in bound if not (row & (left >= entry.size)).any()]
    return closed or [home for home, _ in bound]


def _reason(state: ClusterState, home: int, entries: Sequence[Unplaced], left: Floats) -> Obstacle:
    ids, rows = state.brokers.id, rows_of(entries)
    source = int(ids[home])
    movable = [entry for entry in entries if others_have_room(state, entry, left)]
    others = _could_take(state, home, movable, left) if movable else []
    causes = [_cause(state, to, entries, left) for to in state.destinations[home][:_MOST_NAMED]]
    more = len(state.destinations[home]) - len(causes)
    why = "; ".join(causes) + (f"; nor can {more} more" if more > 0 else "")
    message = f"{partitions_named(state, rows)} cannot go where broker {source} is sent: {why}"
    if len(movable) < len(entries):
        which = _some(len(entries) - len(movable), len(entries))
        message += f"; nor have others room for {which} below the limit of {state.disk_limit:.0%}"
    widen = ((source, tuple(int(ids[b]) for b in others)),) if others else ()
    add = f"broker {named([int(ids[b]) for b in others])}" if others else "another broker"
    return Obstacle("destination", message, rows, f"add {add} to the destinations of broker {source}", widen)


def _cause(state: ClusterState, to: int, entries: Sequence[Unplaced], left: Floats) -> str:
    """What keeps one destination from taking them."""
    broker, rack = int(state.brokers.id[to]), state.brokers.racks[int(state.brokers.rack[to])]
    count = len(entries)
    holds = sum(to in entry.kept for entry in entries)
    beside = sum(to not in entry.kept and not entry.legal[to] and entry.spare == 0 for entry in entries)
    full = sum(bool(entry.legal[to]) and left[to] < entry.size for entry in entries)
    causes = [
        f"{broker} holds {_some(holds, count)} already" if holds else "",
        f"{broker} is in rack {rack}, which has a replica of {_some(beside, count)} already" if beside else "",
        f"{broker} has no room for {_some(full, count)} below the limit of {state.disk_limit:.0%}" if full else "",
    ]
    return ", ".join(part for part in causes if part) or f"{broker} takes another copy of them"


def _some(count: int, of: int) -> str:
    if count < of:
        return f"{count} of them"
    return "them" if of > 1 else "it"


def _could_take(state: ClusterState, home: int, entries: Sequence[Unplaced], left: Floats) -> list[int]:
    """Few brokers that together could take all of them: who takes the most first, one of the same rack before."""
    open_ = list(entries)
    chosen: list[int] = []
    rack, to = state.brokers.rack, state.destinations[home]
    while open_ and len(chosen) < _MOST_NAMED:
        able = np.sum([entry.legal & (left >= entry.size) for entry in open_], axis=0)
        able[[*to, *chosen]] = 0
        if not able.any():
            break
        best = int(np.lexsort((np.arange(able.size), rack != rack[home], -able))[0])
        chosen.append(best)
        open_ = [entry for entry in open_ if not (entry.legal[best] and left[best] >= entry.size)]
    return sorted(chosen)
