"""Two changes at once, for when no single one helps: leaderships that swap brokers, replicas that do."""

import numpy as np

from planner.balance.gain import (
    ENOUGH,
    ILLEGAL,
    LEADERSHIP,
    breaches,
    breaches_of,
    may_move,
    move,
    move_gain,
    shifted,
    turn,
    turn_gain,
)  # fmt: skip
from planner.balance.kernels import kernel, part
from planner.balance.scoreboard import FOLLOWING, HIGH, LEADING, Scoreboard
from planner.drain.model.state import Bools, Int64s

EXCHANGED = 48
"""Replicas of each side that are tried against each other when no single change helps."""


@kernel
def trade_leadership(scoreboard: Scoreboard, stuck: Bools) -> bool:
    """One partition's leadership leaves a broker for another one, and a second comes back from there."""
    width, made = scoreboard.replicas.shape[1], False
    for b in range(scoreboard.load.shape[0]):
        if not stuck[b]:
            continue
        for n in range(scoreboard.many[b]):
            p, column = scoreboard.on[b, n] // width, scoreboard.on[b, n] % width
            if scoreboard.lead[p] != column:
                continue
            for other in range(width):
                first = turn_gain(scoreboard, p, other)
                if first == ILLEGAL:
                    continue
                c = scoreboard.replicas[p, other]
                turn(scoreboard, p, other)
                if _led_back(scoreboard, b, c, p, first):
                    made = True
                    break
                turn(scoreboard, p, column)
            if breaches(scoreboard.edges, scoreboard.load, b) <= ENOUGH:
                break
    return made


@part
def _led_back(scoreboard: Scoreboard, b: int, c: int, but: int, first: float) -> bool:
    """Give b the leadership of another partition of c's, if that and `first` together help."""
    width = scoreboard.replicas.shape[1]
    weigh, edges, load, replicas, lead = (
        scoreboard.weigh,
        scoreboard.edges,
        scoreboard.load,
        scoreboard.replicas,
        scoreboard.lead,
    )
    for n in range(scoreboard.many[b]):
        q, place = scoreboard.on[b, n] // width, scoreboard.on[b, n] % width
        if q == but or lead[q] < 0 or lead[q] == place or replicas[q, lead[q]] != c:
            continue
        if scoreboard.turnable[q] and scoreboard.able[q, place] and scoreboard.takes[b]:
            second = shifted(weigh, edges, load, q, LEADERSHIP, c, b)
            if second > ILLEGAL and first + second > ENOUGH:
                turn(scoreboard, q, place)
                return True
    return False


def exchange(scoreboard: Scoreboard, stuck: Bools) -> bool:
    """Two replicas change places where no single move helps; the first pair found that does."""
    for b in np.flatnonzero(stuck & scoreboard.takes).tolist():
        figure = int(breaches_of(scoreboard)[b].argmax())
        over = bool(scoreboard.load[b, figure] > scoreboard.edges[b, figure, HIGH])
        mine = _extremes(scoreboard, b, figure, over)
        for c in np.flatnonzero(scoreboard.takes).tolist():
            if c != b and swapped(scoreboard, b, c, mine, _extremes(scoreboard, c, figure, not over)):
                return True
    return False


@kernel
def swapped(scoreboard: Scoreboard, b: int, c: int, mine: Int64s, theirs: Int64s) -> bool:
    """Make the first exchange of one of b's replicas for one of c's that helps. `mine`, `theirs`: codes."""
    width = scoreboard.replicas.shape[1]
    for x in range(mine.shape[0]):
        p, column = mine[x] // width, mine[x] % width
        if not may_move(scoreboard, p, column, c):
            continue
        first = move_gain(scoreboard, p, column, c)
        if first == ILLEGAL:
            continue
        move(scoreboard, p, column, c)
        for y in range(theirs.shape[0]):
            q, place = theirs[y] // width, theirs[y] % width
            if q == p or not may_move(scoreboard, q, place, b):
                continue
            second = move_gain(scoreboard, q, place, b)
            if second > ILLEGAL and first + second > ENOUGH:
                move(scoreboard, q, place, b)
                return True
        move(scoreboard, p, column, b)
    return False


def _extremes(scoreboard: Scoreboard, b: int, figure: int, largest: bool) -> Int64s:
    """At most EXCHANGED movable replicas of b, those with most or least of the figure; ties by code."""
    codes = np.sort(scoreboard.on[b, : scoreboard.many[b]])
    row, column = np.divmod(codes, scoreboard.replicas.shape[1])
    kept = scoreboard.movable[row]
    codes, row, column = codes[kept], row[kept], column[kept]
    amount = scoreboard.weigh[row, FOLLOWING, figure] + scoreboard.weigh[row, LEADING, figure] * (
        scoreboard.lead[row] == column
    )
    chosen: Int64s = codes[np.argsort(-amount if largest else amount, kind="stable")[:EXCHANGED]]
    return chosen
