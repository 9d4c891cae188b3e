"""One visit of a broker: what is tried for each of its replicas, and made."""

from planner.balance.gain import (
    ENOUGH,
    FOLLOWER,
    ILLEGAL,
    LEADER,
    LEADERSHIP,
    alone,
    breaches,
    fits,
    may_move,
    move,
    move_gain,
    shifted,
    topic_shifted,
    turn,
    was_there,
)  # fmt: skip
from planner.balance.kernels import kernel, part
from planner.balance.scoreboard import NONE, SCALE, WEIGHT, Scoreboard
from planner.drain.model.state import NO_BROKER, Floats, Int64s

SHORT = 24
"""Moves that are tried in one visit of a broker."""

KEEPING = 0.5
"""A visit goes on while changes are worth at least this part, a move per byte, of the best it made; so do changes of
leader before any visit."""

EVEN = 1e-3
"""Among targets that mend the same the emptier takes; far less than any breach."""


@kernel
def turned(scoreboard: Scoreboard, b: int, least: float, keeping: float) -> bool:
    """Make the changes of leader that concern broker b and mend more than `least`: all worth `keeping` of the best."""
    best = least
    for making in range(2):
        found = _turns(scoreboard, b, best, making == 1)
        if found == 0.0:
            return making == 1
        best = max(least, keeping * found)
    return True


@part
def _turns(scoreboard: Scoreboard, b: int, least: float, make: bool) -> float:
    """The largest gain above `least`; when they are made, each that is above it in its turn."""
    width, best = scoreboard.replicas.shape[1], 0.0
    weigh, edges, load, replicas, lead = (
        scoreboard.weigh,
        scoreboard.edges,
        scoreboard.load,
        scoreboard.replicas,
        scoreboard.lead,
    )
    able, takes, turnable = scoreboard.able, scoreboard.takes, scoreboard.turnable
    for n in range(scoreboard.many[b]):
        p, column = scoreboard.on[b, n] // width, scoreboard.on[b, n] % width
        if not turnable[p] or lead[p] < 0:
            continue
        for other in range(width):
            to, leader = replicas[p, other], lead[p]
            if to == NO_BROKER or other == leader or (leader != column and other != column):
                continue
            if able[p, other] and takes[to]:
                gain = shifted(weigh, edges, load, p, LEADERSHIP, replicas[p, leader], to)
                if gain > least:
                    best = max(best, gain)
                    if make:
                        turn(scoreboard, p, other)
    return best


@kernel
def given(scoreboard: Scoreboard, b: int, base: float, codes: Int64s, worth: Floats) -> bool:
    """Move replicas off b: those that relieve it most per byte, each to the target where that mends most.

    `codes`: int64[SHORT] of NO_BROKER and `worth`: float64[SHORT] of 0, to work in.
    """
    _shortlist(scoreboard, b, b, base, -1.0, codes, worth)
    width, first = scoreboard.replicas.shape[1], 0.0
    for n in range(SHORT):
        if codes[n] == NO_BROKER or breaches(scoreboard.edges, scoreboard.load, b) <= ENOUGH:
            break
        p, column = codes[n] // width, codes[n] % width
        price = base + _price(scoreboard, p, b)
        to, gain = _best_target(scoreboard, p, column, max(ENOUGH, KEEPING * first * price))
        if to != NO_BROKER:
            move(scoreboard, p, column, to)
            first = max(first, gain / price)
    return first > 0.0


@part
def _best_target(scoreboard: Scoreboard, p: int, column: int, least: float) -> tuple[int, float]:
    """Where this replica mends most, above `least`; the emptier of equals."""
    replicas, rack, before, takes, room = (
        scoreboard.replicas,
        scoreboard.rack,
        scoreboard.before,
        scoreboard.takes,
        scoreboard.room,
    )
    weigh, edges, load, spread, band = (
        scoreboard.weigh,
        scoreboard.edges,
        scoreboard.load,
        scoreboard.spread,
        scoreboard.topic_band,
    )
    b, t, size, topics = replicas[p, column], scoreboard.topic[p], scoreboard.size[p], scoreboard.topic_weight
    what = LEADER if scoreboard.lead[p] == column else FOLLOWER
    to, best = NONE, least
    for c in range(load.shape[0]):
        if not takes[c] or scoreboard.many[c] >= scoreboard.on.shape[1] or not fits(replicas, rack, p, column, c):
            continue
        if room[c] < size and not was_there(before, p, c):
            continue
        gain = shifted(weigh, edges, load, p, what, b, c)
        if gain == ILLEGAL:
            continue
        gain += topics * topic_shifted(band, rack, spread, t, b, c)
        if gain > best:
            gain -= EVEN * ENOUGH * _fill(edges, load, c)
        if gain > best:
            to, best = c, gain
    return to, best


@kernel
def taken(scoreboard: Scoreboard, b: int, base: float, donors: Int64s, codes: Int64s, worth: Floats) -> bool:
    """Move replicas onto b from `donors`; `codes`, `worth` as `given`."""
    for n in range(donors.shape[0]):
        _shortlist(scoreboard, donors[n], b, base, 1.0, codes, worth)
    width, first = scoreboard.replicas.shape[1], 0.0
    for n in range(SHORT):
        if codes[n] == NO_BROKER or breaches(scoreboard.edges, scoreboard.load, b) <= ENOUGH:
            break
        p, column = codes[n] // width, codes[n] % width
        price = base + _price(scoreboard, p, scoreboard.replicas[p, column])
        if may_move(scoreboard, p, column, b):
            gain = move_gain(scoreboard, p, column, b)
            if gain > max(ENOUGH, KEEPING * first * price):
                move(scoreboard, p, column, b)
                first = max(first, gain / price)
    return first > 0.0


@part
def _shortlist(
    scoreboard: Scoreboard, donor: int, b: int, base: float, sign: float, codes: Int64s, worth: Floats
) -> None:
    """Enter the donor's replicas by what b alone wins per byte; `codes` and `worth` (descending) are kept sorted."""
    width = scoreboard.replicas.shape[1]
    weigh, edges, load, before, lead, movable = (
        scoreboard.weigh, scoreboard.edges, scoreboard.load, scoreboard.before, scoreboard.lead, scoreboard.movable,
    )  # fmt: skip
    for n in range(scoreboard.many[donor]):
        code = scoreboard.on[donor, n]
        p, column = code // width, code % width
        if not movable[p]:
            continue
        price = base + (scoreboard.size[p] if was_there(before, p, donor) else 0.0)
        value = alone(weigh, edges, load, p, LEADER if lead[p] == column else FOLLOWER, b, sign) / price
        if value <= worth[SHORT - 1]:
            continue
        if sign > 0 and not may_move(scoreboard, p, column, b):
            continue
        at = SHORT - 1
        while at > 0 and worth[at - 1] < value:
            worth[at], codes[at] = worth[at - 1], codes[at - 1]
            at -= 1
        worth[at], codes[at] = value, code


@part
def _price(scoreboard: Scoreboard, p: int, b: int) -> float:
    """Bytes that taking the replica off b adds to the plan: none when it was brought there by the plan."""
    return scoreboard.size[p] if was_there(scoreboard.before, p, b) else 0.0


@part
def _fill(edges: Floats, load: Floats, b: int) -> float:
    """How full a broker is, all figures together: among equals the emptiest takes."""
    total = 0.0
    for figure in range(load.shape[1]):
        if edges[b, figure, WEIGHT] > 0:
            total += load[b, figure] * edges[b, figure, SCALE]
    return total
