"""From goals to new lists: the search, run in the order that keeps hard before soft."""

import numpy as np

from planner.balance.limits import HARD_WEIGHT, BalanceLimits
from planner.balance.loads import Loads
from planner.balance.mend import mend_topics, take_back
from planner.balance.pick import racks_mended
from planner.balance.scoreboard import Scoreboard, scoreboard_of
from planner.balance.search import improve
from planner.drain.model.state import NO_BROKER, Bools, ClusterState, Floats, Int32s, Int64s

TINY = 0.02
"""Every move costs this much of a mean log on top of its bytes, so that a crowd of tiny logs is no bargain."""

ROUNDS = 3
"""Topics and brokers mend each other's breaches this often at most."""


def settled(state: ClusterState, loads: Loads, limits: BalanceLimits, *, takes: Bools, excluded: Bools) -> Scoreboard:
    """The scoreboard after the search. Deterministic: same state, same goals, same lists."""
    scoreboard = scoreboard_of(state, loads, limits, hard_weight=HARD_WEIGHT, takes=takes, excluded=excluded)
    if not len(state.partitions) or not takes.any():
        return scoreboard
    led_first = leaders_on(scoreboard)
    size = scoreboard.size
    base = max(TINY * float(size.mean()), 1.0)
    racks = int(np.unique(state.brokers.rack[state.brokers.may_receive]).size)
    wanted = racks_wanted(scoreboard, racks, limits.racks_kept)
    if limits.racks_kept:
        short = wanted - racks_spanned(scoreboard)
        order = smallest_first(size, scoreboard.movable & (short > 0))
        racks_mended(scoreboard, order, short)
    by_topic = np.argsort(scoreboard.topic, kind="stable").astype(np.int64)
    begin = np.searchsorted(scoreboard.topic[by_topic], np.arange(len(state.partitions.topics) + 1)).astype(np.int64)
    most = 4 * int(scoreboard.many.sum()) + 1000
    for _ in range(ROUNDS):
        lists, lead = scoreboard.replicas.copy(), scoreboard.lead.copy()
        mend_topics(scoreboard, base, by_topic, begin)
        through = improve(scoreboard, base, most)
        if np.array_equal(lists, scoreboard.replicas) and np.array_equal(lead, scoreboard.lead):
            break
        moved = (scoreboard.replicas != scoreboard.before).any(axis=1)
        take_back(scoreboard, smallest_first(size, moved)[::-1].copy(), wanted, led_first)
        if not through:
            break
    return scoreboard


def leaders_on(scoreboard: Scoreboard) -> Int64s:
    """int64[P]: the broker that leads each partition, NO_BROKER where none can."""
    rows = np.arange(scoreboard.lead.size)
    leader: Int64s = np.where(scoreboard.lead == NO_BROKER, NO_BROKER, scoreboard.replicas[rows, scoreboard.lead])
    return leader


def lists_after(scoreboard: Scoreboard, led_first: Int32s) -> Int32s:
    """int32[P, W]: the new lists, who leads in front, the others in the order they had.

    `led_first`: int32[P], who led on the board at the start; a list whose members and leader are the same stays as it
    is, also where its first replica cannot lead just now.
    """
    follows = scoreboard.replicas != leaders_on(scoreboard)[:, None]
    follows[scoreboard.lead == NO_BROKER] = True
    order = np.argsort(follows, axis=1, kind="stable")
    lists = np.take_along_axis(scoreboard.replicas, order, axis=1)
    same = (scoreboard.replicas == scoreboard.before).all(axis=1) & (leaders_on(scoreboard) == led_first)
    return np.where(same[:, None], scoreboard.before, lists).astype(np.int32)


def racks_wanted(scoreboard: Scoreboard, racks_left: int, spread: bool) -> Int64s:
    """int64[P]: distinct racks each list is to span: as many as it can with the goal, else what it spans now."""
    now = racks_spanned(scoreboard)
    if not spread:
        return now
    held = (scoreboard.before != NO_BROKER).sum(axis=1)
    wanted: Int64s = np.maximum(now, np.minimum(held, racks_left)).astype(np.int64)
    return wanted


def racks_spanned(scoreboard: Scoreboard) -> Int64s:
    """int64[P]: distinct racks of each list before anything moved."""
    codes = np.sort(np.where(scoreboard.before == NO_BROKER, -1, scoreboard.rack[scoreboard.before]), axis=1)
    fresh = codes >= 0
    fresh[:, 1:] &= codes[:, 1:] != codes[:, :-1]
    now: Int64s = fresh.sum(axis=1).astype(np.int64)
    return now


def smallest_first(size: Floats, chosen: Bools) -> Int64s:
    rows = np.flatnonzero(chosen)
    return rows[np.argsort(size[rows], kind="stable")].astype(np.int64)
