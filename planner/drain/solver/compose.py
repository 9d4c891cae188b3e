"""The heart of the drain planner: play the drain forward and give each slot that comes free the log it suits best.

Who takes a log and who is read is decided at the moment its copy starts, so a target that is faster than foreseen
simply gets more; room (disk) and legality (racks, held replicas, named destinations) bound every choice.
"""

from typing import NamedTuple

import numpy as np

from planner.drain.model.compiled import compiled, inner
from planner.drain.model.state import Bools, Floats, Int32s
from planner.drain.solver.rates import NONE, InFlight, PortRates, arrive, depart, fair_rates, no_flight

LOOK_AHEAD = 16
"""Entries of one list that are passed over because a port of theirs is taken just now."""

_STEAL_AHEAD = 4
_PAIRS_AHEAD = 2
_MIXING = 0.02
_CROWDED = 1e6
_DONE = 1e-3
"""Bytes left that count as none."""

SAME_TIME = 1e-9
"""Ends closer than this, relative to the clock, are one event."""


class Cargo(NamedTuple):
    """N entries and the lists they wait in, best first.

    `key`: float64[N], lower starts earlier. `queue`: int32[N], the entries list by list; list l is
    `queue[begin[l]:begin[l + 1]]`, `member`: int32[N] says which. `reader`: int32[lists], the source a list is read
    from, NONE = chosen at the start of each copy. `also`, `also_begin`: per broker every entry it may serve, by key.
    `named`: int32[N, K], row of `may_take` that binds a copy, NONE = any. `pinned`: int32[N, K], the target fixed
    beforehand.
    """

    size: Floats
    copies: Int32s
    key: Floats
    queue: Int32s
    begin: Int32s
    member: Int32s
    reader: Int32s
    also: Int32s
    also_begin: Int32s
    kept: Int32s
    spare: Int32s
    named: Int32s
    may_take: Bools
    pinned: Int32s
    sources: Int32s
    leader: Int32s


class EntryCourse(NamedTuple):
    """What became of each entry: targets, source, turn (order of starting, NONE = never), seconds."""

    target: Int32s
    source: Int32s
    turn: Int32s
    started: Floats
    ended: Floats


class DispatchState(NamedTuple):
    """What the dispatcher remembers. `room`: bytes a target may still take; `rest_s`: seconds of its own ingress it
    is meant to take; `given_s`: seconds of its own egress a source has been asked for; `passed[t, l]`: entries of
    list l that target t never needs to look at again; `unread`: entries left per reader; `list_left` per list; `head`:
    first place of a list not yet started.
    """

    room: Floats
    rest_s: Floats
    given_s: Floats
    calm: Floats
    passed: Int32s
    also_passed: Int32s
    unread: Int32s
    list_left: Int32s
    head: Int32s
    look: Bools
    chosen: Int32s
    open_lists: Int32s


def compose(
    cargo: Cargo, ports: PortRates, flow_limit: float, toll: float, room: Floats, rest_s: Floats
) -> EntryCourse:
    """Play the drain. Entries that found no target keep `turn` NONE. `room` and `rest_s` are consumed.

    `toll`: bytes that every log counts on top of its own when targets are compared, so that small logs do not all
    end on the one target that lags (counts of replicas, and so of leaders, stay even).
    """
    entries, width = cargo.pinned.shape
    most = 1 + int(np.minimum(ports.slots_in[room > 0].astype(np.int64), entries).sum())
    flight = no_flight(min(most, entries * width + 1), ports.rack.size)
    course = EntryCourse(
        np.full((entries, width), NONE, np.int32),
        np.full(entries, NONE, np.int32),
        np.full(entries, NONE, np.int32),
        np.full(entries, np.inf),
        np.full(entries, np.inf),
    )
    state = _dispatch_state(cargo, ports, flow_limit, room, rest_s, width)
    _play(cargo, ports, state, flight, course, cargo.copies.copy(), float(flow_limit), float(toll))
    return course


def _dispatch_state(
    cargo: Cargo, ports: PortRates, flow_limit: float, room: Floats, rest_s: Floats, width: int
) -> DispatchState:
    brokers, lists = ports.rack.size, cargo.reader.size
    list_left = np.diff(cargo.begin).astype(np.int32)
    read = cargo.reader != NONE
    unread = np.bincount(cargo.reader[read], weights=list_left[read], minlength=brokers).astype(np.int32)
    return DispatchState(
        room,
        rest_s,
        np.zeros(brokers),
        np.maximum(1.0, np.floor(ports.egress / flow_limit + 1e-9)),
        np.tile(cargo.begin[:-1], (brokers, 1)),
        cargo.also_begin[:-1].copy(),
        unread,
        list_left,
        cargo.begin[:-1].copy(),
        room > 0,
        np.empty(width, np.int32),
        np.empty(lists, np.int32),
    )


@compiled
def _play(
    cargo: Cargo,
    ports: PortRates,
    state: DispatchState,
    flight: InFlight,
    course: EntryCourse,
    open_copies: Int32s,
    flow_limit: float,
    toll: float,
) -> None:
    turn, flying, now = 0, 0, 0.0
    while True:
        turn, flying = _dispatch(cargo, ports, state, flight, course, turn, flying, now, toll)
        if flying == 0:
            return
        fair_rates(flight, flying, ports, flow_limit)
        step = np.inf
        for a in range(flying):
            f = flight.active[a]
            if flight.rate[f] > 0:
                step = min(step, flight.rest[f] / flight.rate[f])
        if step == np.inf:
            return
        now += step
        flying = _arrivals(state, flight, course, open_copies, flying, now, step)


@inner
def _arrivals(
    state: DispatchState,
    flight: InFlight,
    course: EntryCourse,
    open_copies: Int32s,
    flying: int,
    now: float,
    step: float,
) -> int:
    """Every copy goes on for `step` seconds; how many are in the air then."""
    place = 0
    while place < flying:
        f = flight.active[place]
        flight.rest[f] -= flight.rate[f] * step
        if flight.rest[f] > flight.rate[f] * now * SAME_TIME + _DONE:
            place += 1
            continue
        arrive(flight, flying, place)
        flying -= 1
        entry = flight.entry[f]
        state.look[flight.target[f]] = True
        open_copies[entry] -= 1
        if open_copies[entry] == 0:
            course.ended[entry] = now
    return flying


@inner
def _dispatch(
    cargo: Cargo,
    ports: PortRates,
    state: DispatchState,
    flight: InFlight,
    course: EntryCourse,
    turn: int,
    flying: int,
    now: float,
    toll: float,
) -> tuple[int, int]:
    """Start whatever can start. A target is looked at again when a slot of its came free or a source held it up."""
    brokers = ports.rack.shape[0]
    while True:
        n_lists, some_busy, least = _open_lists(cargo, ports, state, flight, course)
        best, best_key = NONE, np.inf
        for t in range(brokers):
            if not state.look[t] or flight.count_in[t] >= ports.slots_in[t]:
                continue
            waits = some_busy
            for n in range(n_lists):
                found, blocked = _first_for(t, state.open_lists[n], best_key, cargo, ports, state, flight, course)
                waits = waits or blocked
                if found != NONE:
                    best, best_key = found, cargo.key[found]
            state.look[t] = waits
            if best_key <= least:
                break
        source = NONE
        if best == NONE:
            best, source = _stolen(cargo, ports, state, flight, course)
        if best == NONE:
            return turn, flying
        if source == NONE:
            source = _source_for(best, cargo, ports, state, flight)
        _targets_for(best, cargo, ports, state, flight)
        which = cargo.member[best]
        state.list_left[which] -= 1
        if cargo.reader[which] != NONE:
            state.unread[cargo.reader[which]] -= 1
        course.turn[best], course.source[best] = turn, source
        course.started[best], course.ended[best] = now, now
        state.given_s[source] += cargo.copies[best] * cargo.size[best] / ports.egress[source]
        for copy in range(cargo.copies[best]):
            t = state.chosen[copy]
            course.target[best, copy] = t
            state.room[t] -= cargo.size[best]
            state.rest_s[t] -= (cargo.size[best] + toll) / ports.ingress[t]
            depart(flight, flying, best, source, t, cargo.size[best])
            flying += 1
        turn += 1


@inner
def _open_lists(
    cargo: Cargo, ports: PortRates, state: DispatchState, flight: InFlight, course: EntryCourse
) -> tuple[int, bool, float]:
    """How many lists can be read from now, whether others wait for their reader, the least key that may start."""
    n, some_busy, least = 0, False, np.inf
    for which in range(cargo.reader.shape[0]):
        if state.list_left[which] == 0:
            continue
        reader = cargo.reader[which]
        if reader != NONE and flight.count_out[reader] >= ports.slots_out[reader]:
            some_busy = True
            continue
        state.open_lists[n] = which
        n += 1
        while course.turn[cargo.queue[state.head[which]]] != NONE:
            state.head[which] += 1
        least = min(least, cargo.key[cargo.queue[state.head[which]]])
    return n, some_busy, least


@inner
def _first_for(
    t: int,
    which: int,
    best_key: float,
    cargo: Cargo,
    ports: PortRates,
    state: DispatchState,
    flight: InFlight,
    course: EntryCourse,
) -> tuple[int, bool]:
    """The first entry of the list that can start with target `t`, if better than `best_key`.

    And whether `t` has to be asked again at the next event: it does when an entry it could have taken was beaten or
    held up by a source; an entry held up by another target is found when that one comes free.
    """
    end, place = cargo.begin[which + 1], state.passed[t, which]
    while place < end and (
        course.turn[cargo.queue[place]] != NONE
        or state.room[t] < cargo.size[cargo.queue[place]]
        or _never(cargo.queue[place], t, cargo, ports, state)
    ):
        place += 1
    state.passed[t, which] = place
    looked, no_pair, again = 0, 0, False
    while place < end and looked < LOOK_AHEAD and no_pair < _PAIRS_AHEAD:
        entry = cargo.queue[place]
        if (
            course.turn[entry] == NONE
            and state.room[t] >= cargo.size[entry]
            and not _never(entry, t, cargo, ports, state)
        ):
            if cargo.key[entry] >= best_key:
                return NONE, True
            if _source_for(entry, cargo, ports, state, flight) == NONE:
                again = True
            elif cargo.copies[entry] == 1 or _targets_for(entry, cargo, ports, state, flight):
                return entry, True
            else:
                no_pair += 1
            looked += 1
        place += 1
    return NONE, again


@inner
def _never(entry: int, t: int, cargo: Cargo, ports: PortRates, state: DispatchState) -> bool:
    """Whether target `t` can take no copy of the entry, now or later (its room only shrinks)."""
    if state.room[t] < cargo.size[entry]:
        return True
    for i in range(cargo.kept.shape[1]):
        b = cargo.kept[entry, i]
        if b == NONE:
            break
        if b == t or (ports.rack[b] == ports.rack[t] and cargo.spare[entry] == 0):
            return True
    for copy in range(cargo.copies[entry]):
        pin, who = cargo.pinned[entry, copy], cargo.named[entry, copy]
        if (pin in (NONE, t)) and (who == NONE or cargo.may_take[who, t]):
            return False
    return True


@inner
def _bound_to(entry: int, copy: int, t: int, cargo: Cargo) -> bool:
    """Whether neither a pin nor a named destination keeps this copy from `t`."""
    pin, who = cargo.pinned[entry, copy], cargo.named[entry, copy]
    return bool((pin in (NONE, t)) and (who == NONE or cargo.may_take[who, t]))


@inner
def _rack_met(entry: int, chosen: int, t: int, cargo: Cargo, ports: PortRates, state: DispatchState) -> int:
    """1 when t's rack holds a replica that stays or one of the first `chosen` targets, 2 when the very broker does."""
    met = 0
    for i in range(cargo.kept.shape[1]):
        b = cargo.kept[entry, i]
        if b == NONE:
            break
        if b == t:
            return 2
        if ports.rack[b] == ports.rack[t]:
            met = 1
    for i in range(chosen):
        if state.chosen[i] == t:
            return 2
        if ports.rack[state.chosen[i]] == ports.rack[t]:
            met = 1
    return met


@inner
def _targets_for(entry: int, cargo: Cargo, ports: PortRates, state: DispatchState, flight: InFlight) -> bool:
    """Fill `state.chosen` with an open target per copy: legal, with room, the one with most of its time left."""
    spent = 0
    for copy in range(cargo.copies[entry]):
        best, best_met, most = NONE, 0, -np.inf
        for t in range(ports.rack.shape[0]):
            if flight.count_in[t] >= ports.slots_in[t] or state.room[t] < cargo.size[entry]:
                continue
            left = state.rest_s[t]
            if cargo.copies[entry] > 1:
                # the same brokers must not always meet: closed circles of replicas cannot share out their leaders
                left *= 1.0 + _MIXING * ((entry * 7919 + t * 104_729) % 1009) / 1009
            if left <= most or not _bound_to(entry, copy, t, cargo):
                continue
            met = _rack_met(entry, copy, t, cargo, ports, state)
            if met < 2 and spent + met <= cargo.spare[entry]:
                best, best_met, most = t, met, left
        if best == NONE:
            return False
        state.chosen[copy] = best
        spent += best_met
    return True


@inner
def _source_for(entry: int, cargo: Cargo, ports: PortRates, state: DispatchState, flight: InFlight) -> int:
    """The reader of the list; where it has none the least crowded member with a free slot, the leader on a tie."""
    s = cargo.reader[cargo.member[entry]]
    if s != NONE:
        return s if flight.count_out[s] < ports.slots_out[s] else NONE
    best, best_score = NONE, np.inf
    for i in range(cargo.sources.shape[1]):
        s = cargo.sources[entry, i]
        if s == NONE:
            break
        if flight.count_out[s] < ports.slots_out[s]:
            crowd = max(0.0, flight.count_out[s] + cargo.copies[entry] - state.calm[s])
            score = crowd * _CROWDED + state.given_s[s] + (0.0 if s == cargo.leader[entry] else 30.0)
            if score < best_score:
                best, best_score = s, score
    return best


@inner
def _stolen(
    cargo: Cargo, ports: PortRates, state: DispatchState, flight: InFlight, course: EntryCourse
) -> tuple[int, int]:
    """An entry whose reader is busy, and a member in sync that has nothing of its own left to serve."""
    for s in range(ports.rack.shape[0]):
        end, place = cargo.also_begin[s + 1], state.also_passed[s]
        if place == end or state.unread[s] > 0 or flight.count_out[s] >= ports.slots_out[s]:
            continue
        while place < end and course.turn[cargo.also[place]] != NONE:
            place += 1
        state.also_passed[s] = place
        looked = 0
        while place < end and looked < _STEAL_AHEAD:
            entry = cargo.also[place]
            place += 1
            if course.turn[entry] == NONE:
                if _targets_for(entry, cargo, ports, state, flight):
                    return entry, s
                looked += 1
    return NONE, NONE
