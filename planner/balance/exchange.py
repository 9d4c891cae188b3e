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
def trade_leadership(board: Scoreboard, stuck: Bools) -> bool:
    """One partition's leadership leaves a broker for another one, and a second comes back from there."""
    width, made = board.replicas.shape[1], False
    for b in range(board.load.shape[0]):
        if not stuck[b]:
            continue
        for n in range(board.many[b]):
            p, column = board.on[b, n] // width, board.on[b, n] % width
            if board.lead[p] != column:
                continue
            for other in range(width):
                first = turn_gain(board, p, other)
                if first == ILLEGAL:
                    continue
                c = board.replicas[p, other]
                turn(board, p, other)
                if _led_back(board, b, c, p, first):
                    made = True
                    break
                turn(board, p, column)
            if breaches(board.edges, board.load, b) <= ENOUGH:
                break
    return made


@part
def _led_back(board: Scoreboard, b: int, c: int, but: int, first: float) -> bool:
    """Give b the leadership of another partition of c's, if that and `first` together help."""
    width = board.replicas.shape[1]
    weigh, edges, load, replicas, lead = board.weigh, board.edges, board.load, board.replicas, board.lead
    for n in range(board.many[b]):
        q, place = board.on[b, n] // width, board.on[b, n] % width
        if q == but or lead[q] < 0 or lead[q] == place or replicas[q, lead[q]] != c:
            continue
        if board.turnable[q] and board.able[q, place] and board.takes[b]:
            second = shifted(weigh, edges, load, q, LEADERSHIP, c, b)
            if second > ILLEGAL and first + second > ENOUGH:
                turn(board, q, place)
                return True
    return False


def exchange(board: Scoreboard, stuck: Bools) -> bool:
    """Two replicas change places where no single move helps; the first pair found that does."""
    for b in np.flatnonzero(stuck & board.takes).tolist():
        figure = int(breaches_of(board)[b].argmax())
        over = bool(board.load[b, figure] > board.edges[b, figure, HIGH])
        mine = _extremes(board, b, figure, over)
        for c in np.flatnonzero(board.takes).tolist():
            if c != b and swapped(board, b, c, mine, _extremes(board, c, figure, not over)):
                return True
    return False


@kernel
def swapped(board: Scoreboard, b: int, c: int, mine: Int64s, theirs: Int64s) -> bool:
    """Make the first exchange of one of b's replicas for one of c's that helps. `mine`, `theirs`: codes."""
    width = board.replicas.shape[1]
    for x in range(mine.shape[0]):
        p, column = mine[x] // width, mine[x] % width
        if not may_move(board, p, column, c):
            continue
        first = move_gain(board, p, column, c)
        if first == ILLEGAL:
            continue
        move(board, p, column, c)
        for y in range(theirs.shape[0]):
            q, place = theirs[y] // width, theirs[y] % width
            if q == p or not may_move(board, q, place, b):
                continue
            second = move_gain(board, q, place, b)
            if second > ILLEGAL and first + second > ENOUGH:
                move(board, q, place, b)
                return True
        move(board, p, column, b)
    return False


def _extremes(board: Scoreboard, b: int, figure: int, largest: bool) -> Int64s:
    """At most EXCHANGED movable replicas of b, those with most or least of the figure; ties by code."""
    codes = np.sort(board.on[b, : board.many[b]])
    row, column = np.divmod(codes, board.replicas.shape[1])
    kept = board.movable[row]
    codes, row, column = codes[kept], row[kept], column[kept]
    amount = board.weigh[row, FOLLOWING, figure] + board.weigh[row, LEADING, figure] * (board.lead[row] == column)
    chosen: Int64s = codes[np.argsort(-amount if largest else amount, kind="stable")[:EXCHANGED]]
    return chosen
