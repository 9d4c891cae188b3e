"""Before and after the search: topics spread, and what was not needed taken back."""

import numpy as np

from planner.balance.gain import move, move_gain, racks_gained, turn, turn_gain, was_there
from planner.balance.kernels import kernel, part
from planner.balance.pick import TOPICS, best_moved
from planner.balance.scoreboard import Scoreboard
from planner.drain.model.state import NO_BROKER, Int64s


def mend_topics(scoreboard: Scoreboard, base: float, by_topic: Int64s, begin: Int64s) -> int:
    """Bring topics into their band, one at a time, by the moves that mend most per byte; how many were made.

    `by_topic`: rows sorted by topic, `begin`: int64[T + 1] where each topic starts there.
    """
    made, columns = 0, np.arange(scoreboard.replicas.shape[1])
    if scoreboard.topic_weight == 0.0:
        return 0
    racks = scoreboard.rack[scoreboard.takes]
    low, high = scoreboard.topic_band[:, racks, 0], scoreboard.topic_band[:, racks, 1]
    for t in range(len(begin) - 1):
        codes = (by_topic[begin[t] : begin[t + 1], None] * columns.size + columns).ravel()
        while True:
            count = scoreboard.spread[t, scoreboard.takes]
            if ((count >= low[t]) & (count <= high[t])).all() or not best_moved(scoreboard, codes, base, TOPICS):
                break
            made += 1
    return made


@kernel
def take_back(scoreboard: Scoreboard, order: Int64s, wanted_racks: Int64s, first: Int64s) -> int:
    """Undo what turned out not to be needed: moves (rows in `order`, largest log first), then changes of leader.

    `first`: int64[P], the broker that led at the start.
    """
    undone, width = 0, scoreboard.replicas.shape[1]
    for p in order:
        for i in range(width):
            b = scoreboard.replicas[p, i]
            if b == NO_BROKER or was_there(scoreboard.before, p, b):
                continue
            for k in range(width):
                home = scoreboard.before[p, k]
                if (
                    home == NO_BROKER
                    or was_there(scoreboard.replicas, p, home)
                    or scoreboard.many[home] >= scoreboard.on.shape[1]
                ):
                    continue
                spans = _racks(scoreboard, p) + racks_gained(scoreboard, p, i, home)
                kept = spans >= wanted_racks[p] or racks_gained(scoreboard, p, i, home) >= 0
                if kept and move_gain(scoreboard, p, i, home) > -1e-15:
                    move(scoreboard, p, i, home)
                    undone += 1
                    break
    for p in range(scoreboard.lead.shape[0]):
        if scoreboard.lead[p] >= 0 and scoreboard.replicas[p, scoreboard.lead[p]] != first[p]:
            for i in range(width):
                if scoreboard.replicas[p, i] == first[p] and turn_gain(scoreboard, p, i) > -1e-15:
                    turn(scoreboard, p, i)
                    break
    return undone


@part
def _racks(scoreboard: Scoreboard, p: int) -> int:
    found = 0
    for i in range(scoreboard.replicas.shape[1]):
        b = scoreboard.replicas[p, i]
        if b == NO_BROKER:
            continue
        new = 1
        for j in range(i):
            if (
                scoreboard.replicas[p, j] != NO_BROKER
                and scoreboard.rack[scoreboard.replicas[p, j]] == scoreboard.rack[b]
            ):
                new = 0
        found += new
    return found
