"""The best moves among many replicas and all their targets."""

from typing import cast

import numpy as np

from planner.balance.gain import (
    ENOUGH,
    ILLEGAL,
    breaches,
    bytes_more,
    may_move,
    move,
    move_gain,
    racks_gained,
    topic_breach,
)
from planner.balance.kernels import kernel, part
from planner.balance.scoreboard import NONE, Scoreboard
from planner.drain.model.state import NO_BROKER, Floats, Int64s

TOPICS, RACKS = cast(int, np.int64(0)), cast(int, np.int64(1))
"""What a move must mend: its topic's band, or the racks of its list (whatever the price)."""


def racks_mended(scoreboard: Scoreboard, order: Int64s, short: Int64s) -> int:
    """Spread lists of `order` by `short[p]` more racks, or until no target is left; how many moves it took."""
    made, columns = 0, np.arange(scoreboard.replicas.shape[1])
    for p in order.tolist():
        for _ in range(int(short[p])):
            if not best_moved(scoreboard, p * columns.size + columns, 0.0, RACKS):
                break
            made += 1
    return made


@kernel
def best_moved(scoreboard: Scoreboard, codes: Int64s, base: float, wanted: int) -> bool:
    """Make the best move per byte among these replicas; false where none helps. `wanted`: TOPICS or RACKS."""
    width, brokers = scoreboard.replicas.shape[1], scoreboard.load.shape[0]
    chosen, to, best = NONE, NONE, ILLEGAL if wanted == RACKS else 0.0
    for n in range(codes.shape[0]):
        p, column = codes[n] // width, codes[n] % width
        donor = scoreboard.replicas[p, column]
        if donor == NO_BROKER or not scoreboard.movable[p]:
            continue
        for c in range(brokers):
            if wanted == TOPICS and not _evens(
                scoreboard.topic_band, scoreboard.rack, scoreboard.spread, scoreboard.topic[p], donor, c
            ):
                continue
            if wanted == RACKS and racks_gained(scoreboard, p, column, c) <= 0:
                continue
            if not may_move(scoreboard, p, column, c):
                continue
            worth = move_gain(scoreboard, p, column, c) if wanted == RACKS else _worth(scoreboard, p, column, c, base)
            if worth > best:
                chosen, to, best = codes[n], c, worth
    if chosen == NO_BROKER:
        return False
    move(scoreboard, chosen // width, chosen % width, to)
    return True


def best_made(scoreboard: Scoreboard, codes: Int64s, b: int, base: float, keeping: float) -> bool:
    """Make the best moves per byte of these replicas out of or into b, each while it is still worth `keeping` of the
    best; false where none helps.
    """
    to, worth = np.full(codes.size, NO_BROKER, dtype=np.int64), np.zeros(codes.size)
    valued(scoreboard, codes, b, base, to, worth)
    first = float(worth.max(initial=0.0))
    good = np.flatnonzero((worth > 0.0) & (worth >= keeping * first))
    best = good[np.argsort(-worth[good], kind="stable")]
    made_in_turn(scoreboard, codes[best], to[best], b, base, keeping * first)
    return first > 0.0


@kernel
def valued(scoreboard: Scoreboard, codes: Int64s, b: int, base: float, to: Int64s, worth: Floats) -> None:
    """Write the best target of each replica and what that move is worth; 0 stays where none helps."""
    width, brokers = scoreboard.replicas.shape[1], scoreboard.load.shape[0]
    for n in range(codes.shape[0]):
        p, column = codes[n] // width, codes[n] % width
        leaves = scoreboard.replicas[p, column] == b
        for c in range(0 if leaves else b, brokers if leaves else b + 1):
            value = _worth(scoreboard, p, column, c, base)
            if value > worth[n]:
                worth[n], to[n] = value, c


@kernel
def made_in_turn(scoreboard: Scoreboard, codes: Int64s, to: Int64s, b: int, base: float, least: float) -> None:
    """Make each move that is still worth `least` in its turn, until b is mended."""
    width = scoreboard.replicas.shape[1]
    for n in range(codes.shape[0]):
        if breaches(scoreboard.edges, scoreboard.load, b) <= ENOUGH:
            break
        p, column = codes[n] // width, codes[n] % width
        if _worth(scoreboard, p, column, to[n], base) >= least:
            move(scoreboard, p, column, to[n])


@part
def _worth(scoreboard: Scoreboard, p: int, column: int, to: int, base: float) -> float:
    """What this move mends for each byte it adds; 0 where it may not be or does not help."""
    if not may_move(scoreboard, p, column, to):
        return 0.0
    gain = move_gain(scoreboard, p, column, to)
    if gain <= ENOUGH:
        return 0.0
    worth: float = gain / (base + max(bytes_more(scoreboard, p, column, to), 0.0))
    return worth


@part
def _evens(band: Int64s, rack: Int64s, spread: Int64s, t: int, b: int, c: int) -> bool:
    """Whether the topic's breaches shrink when one of its replicas goes from b to c."""
    here, there = spread[t, b], spread[t, c]
    now = topic_breach(band, t, rack[b], here) + topic_breach(band, t, rack[c], there)
    return now > 0.0 and now > topic_breach(band, t, rack[b], here - 1) + topic_breach(band, t, rack[c], there + 1)
