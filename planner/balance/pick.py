"""The best single move among many replicas and all their targets."""

from typing import cast

import numpy as np

from planner.balance.board import NONE, Board
from planner.balance.gain import ENOUGH, ILLEGAL, bytes_more, may_move, move, move_gain, racks_gained, topic_breach
from planner.balance.kernels import kernel, part
from planner.drain.model.state import NOBODY, Int64s

ANY, TOPICS, RACKS = cast(int, np.int64(0)), cast(int, np.int64(1)), cast(int, np.int64(2))
"""What a move must mend: whatever there is, its topic's band, or the racks of its list (whatever the price)."""


def racks_mended(board: Board, order: Int64s, short: Int64s) -> int:
    """Spread lists of `order` by `short[p]` more racks, or until no target is left; how many moves it took."""
    made, columns = 0, np.arange(board.replicas.shape[1])
    for p in order.tolist():
        for _ in range(int(short[p])):
            if not best_moved(board, p * columns.size + columns, NONE, 0.0, RACKS):
                break
            made += 1
    return made


@kernel
def best_moved(board: Board, codes: Int64s, b: int, base: float, wanted: int) -> bool:
    """Make the best move per byte among these replicas; false where none helps.

    `b`: the broker that has to gain a replica or lose one; NOBODY where all may. `wanted`: ANY, TOPICS or RACKS.
    """
    width, brokers = board.replicas.shape[1], board.load.shape[0]
    chosen, to, best = NONE, NONE, ILLEGAL if wanted == RACKS else 0.0
    for n in range(codes.shape[0]):
        p, column = codes[n] // width, codes[n] % width
        donor = board.replicas[p, column]
        if donor == NOBODY or not board.movable[p]:
            continue
        everywhere = b in (NOBODY, donor)
        for c in range(0 if everywhere else b, brokers if everywhere else b + 1):
            if wanted == TOPICS and not _evens(board.topic_band, board.spread, board.topic[p], donor, c):
                continue
            if wanted == RACKS and racks_gained(board, p, column, c) <= 0:
                continue
            if not may_move(board, p, column, c):
                continue
            worth = move_gain(board, p, column, c)
            if wanted != RACKS:
                if worth <= ENOUGH:
                    continue
                worth /= base + max(bytes_more(board, p, column, c), 0.0)
            if worth > best:
                chosen, to, best = codes[n], c, worth
    if chosen == NOBODY:
        return False
    move(board, chosen // width, chosen % width, to)
    return True


@part
def _evens(band: Int64s, spread: Int64s, t: int, b: int, c: int) -> bool:
    """Whether the topic's breaches shrink when one of its replicas goes from b to c."""
    here, there = spread[t, b], spread[t, c]
    now = topic_breach(band, t, here) + topic_breach(band, t, there)
    return now > 0.0 and now > topic_breach(band, t, here - 1) + topic_breach(band, t, there + 1)
