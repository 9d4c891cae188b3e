"""What one change is worth: how much the breaches of the goals shrink, exactly, before it is made.

The innermost kernels take the arrays they read, not the board: numba counts the references of every array of a tuple
at every call.
"""

from typing import cast

import numpy as np

from planner.balance.kernels import part
from planner.balance.scoreboard import CEILING, FOLLOWING, HARD, HIGH, LEADING, LOW, SCALE, WEIGHT, Scoreboard
from planner.drain.model.state import NO_BROKER, Floats, Int64s

ENOUGH = 1e-11
"""Breaches below this count as none: 2e-6 of the mean, squared."""

ILLEGAL = -1e300
"""The gain of what must not be done."""

FOLLOWER, LEADER, LEADERSHIP = cast(int, np.int64(0)), cast(int, np.int64(1)), cast(int, np.int64(2))
"""What is shifted: a replica that follows, one that leads, leadership alone."""


def breaches_of(board: Scoreboard) -> Floats:
    """float64[B, 8]: `breach` of every broker and figure."""
    edges, load = board.edges, board.load
    scale = edges[:, :, SCALE]
    over = np.maximum(np.maximum(load - edges[:, :, HIGH], edges[:, :, LOW] - load), 0.0) * scale
    above = np.maximum(load - edges[:, :, CEILING], 0.0) * scale
    broken: Floats = edges[:, :, WEIGHT] * over**2 + edges[:, :, HARD] * above**2
    return broken


@part
def breach(edges: Floats, b: int, figure: int, amount: float) -> float:
    """Squared distance from the band in units of the mean, weighed; a ceiling weighs far more."""
    over = max(amount - edges[b, figure, HIGH], edges[b, figure, LOW] - amount)
    if over <= 0.0:
        return 0.0
    scale = edges[b, figure, SCALE]
    total: float = edges[b, figure, WEIGHT] * (over * scale) ** 2
    if amount > edges[b, figure, CEILING]:
        total += edges[b, figure, HARD] * ((amount - edges[b, figure, CEILING]) * scale) ** 2
    return total


@part
def breaches(edges: Floats, load: Floats, b: int) -> float:
    """All figures of one broker together."""
    total = 0.0
    for figure in range(load.shape[1]):
        total += breach(edges, b, figure, load[b, figure])
    return total


@part
def shifted(weigh: Floats, edges: Floats, load: Floats, p: int, what: int, b: int, to: int) -> float:
    """How much the breaches of b and `to` shrink when this goes from one to the other.

    ILLEGAL where it would lift `to` over a hard ceiling and relieve nobody who is over it.
    """
    gain = 0.0
    for figure in range(load.shape[1]):
        amount = 0.0
        if what != LEADERSHIP:
            amount += weigh[p, FOLLOWING, figure]
        if what != FOLLOWER:
            amount += weigh[p, LEADING, figure]
        if amount != 0.0:
            here, there = load[b, figure], load[to, figure]
            if there + amount > edges[to, figure, CEILING] and amount > 0 and here <= edges[b, figure, CEILING]:
                return ILLEGAL
            gain += breach(edges, b, figure, here) - breach(edges, b, figure, here - amount)
            gain += breach(edges, to, figure, there) - breach(edges, to, figure, there + amount)
    return gain


@part
def alone(weigh: Floats, edges: Floats, load: Floats, p: int, what: int, b: int, sign: float) -> float:
    """What broker b wins by giving (-1) or getting (+1) this, whoever the other is."""
    gain = 0.0
    for figure in range(load.shape[1]):
        amount = weigh[p, FOLLOWING, figure]
        if what == LEADER:
            amount += weigh[p, LEADING, figure]
        if amount != 0.0:
            now = load[b, figure]
            gain += breach(edges, b, figure, now) - breach(edges, b, figure, now + sign * amount)
    return gain


@part
def fits(replicas: Int64s, rack: Int64s, p: int, column: int, to: int) -> bool:
    """Whether `to` may replace this replica: it holds none of the partition and no rack is lost."""
    was = replicas[p, column]
    lost, new = 1, 1
    for i in range(replicas.shape[1]):
        b = replicas[p, i]
        if b == to:
            return False
        if b == NO_BROKER or i == column:
            continue
        if rack[b] == rack[was]:
            lost = 0
        if rack[b] == rack[to]:
            new = 0
    return new >= lost


@part
def topic_breach(band: Int64s, topic: int, rack: int, count: int) -> float:
    """Replicas of the topic outside its band on one broker of that rack, squared. `band`: int64[T, R, 2]."""
    over = max(count - band[topic, rack, 1], band[topic, rack, 0] - count, 0)
    return float(over * over)


@part
def topic_shifted(band: Int64s, rack: Int64s, spread: Int64s, topic: int, b: int, to: int) -> float:
    """How much the breaches of the topic shrink when one of its replicas goes from b to `to`."""
    here, there = spread[topic, b], spread[topic, to]
    gain = topic_breach(band, topic, rack[b], here) - topic_breach(band, topic, rack[b], here - 1)
    return gain + topic_breach(band, topic, rack[to], there) - topic_breach(band, topic, rack[to], there + 1)


@part
def racks_gained(board: Scoreboard, p: int, column: int, to: int) -> int:
    """Distinct racks of the list after replacing the replica in `column` by `to`, less those now: -1, 0 or 1."""
    was, now = board.replicas[p, column], to
    lost, new = 1, 1
    for i in range(board.replicas.shape[1]):
        b = board.replicas[p, i]
        if b == NO_BROKER or i == column:
            continue
        if board.rack[b] == board.rack[was]:
            lost = 0
        if board.rack[b] == board.rack[now]:
            new = 0
    return new - lost


@part
def was_there(lists: Int64s, p: int, b: int) -> bool:
    """Whether broker b stands in this list."""
    found = False
    for i in range(lists.shape[1]):
        found = found or lists[p, i] == b
    return found


@part
def may_move(board: Scoreboard, p: int, column: int, to: int) -> bool:
    """Whether this replica may go to `to`: another broker, no rack lost, and room for it whatever the order."""
    if not board.movable[p] or not board.takes[to] or board.many[to] >= board.on.shape[1]:
        return False
    if board.room[to] < board.size[p] and not was_there(board.before, p, to):
        return False
    return fits(board.replicas, board.rack, p, column, to)


@part
def move_gain(board: Scoreboard, p: int, column: int, to: int) -> float:
    """How much the breaches shrink when this replica (leading or not) goes to `to`.

    ILLEGAL where it would lift `to` over a hard ceiling and relieve nobody who is over it.
    """
    b = board.replicas[p, column]
    what = LEADER if board.lead[p] == column else FOLLOWER
    gain = shifted(board.weigh, board.edges, board.load, p, what, b, to)
    if gain > ILLEGAL and board.topic_weight > 0:
        gain += board.topic_weight * topic_shifted(board.topic_band, board.rack, board.spread, board.topic[p], b, to)
    return gain


@part
def turn_gain(board: Scoreboard, p: int, column: int) -> float:
    """How much the breaches shrink when the replica in `column` leads instead; ILLEGAL where it cannot."""
    lead = board.lead[p]
    if lead < 0 or lead == column or not board.turnable[p]:
        return ILLEGAL
    b, to = board.replicas[p, lead], board.replicas[p, column]
    if to == NO_BROKER or not board.able[p, column] or not board.takes[to]:
        return ILLEGAL
    return shifted(board.weigh, board.edges, board.load, p, LEADERSHIP, b, to)


@part
def move(board: Scoreboard, p: int, column: int, to: int) -> None:
    """Make the change. The copy counts on the target's disk at once and on the old one's until the end."""
    width = board.replicas.shape[1]
    b = board.replicas[p, column]
    leads = board.lead[p] == column
    for figure in range(board.load.shape[1]):
        amount = board.weigh[p, FOLLOWING, figure]
        if leads:
            amount += board.weigh[p, LEADING, figure]
        board.load[b, figure] -= amount
        board.load[to, figure] += amount
    if not was_there(board.before, p, to):
        board.room[to] -= board.size[p]
    if not was_there(board.before, p, b):
        board.room[b] += board.size[p]
    t = board.topic[p]
    board.spread[t, b] -= 1
    board.spread[t, to] += 1
    board.many[b] -= 1
    last = board.on[b, board.many[b]]
    board.on[b, board.place[p, column]] = last
    board.place[last // width, last % width] = board.place[p, column]
    board.on[to, board.many[to]] = p * width + column
    board.place[p, column] = board.many[to]
    board.many[to] += 1
    board.replicas[p, column] = to
    board.able[p, column] = True


@part
def turn(board: Scoreboard, p: int, column: int) -> None:
    """The replica in `column` leads from now on."""
    b, to = board.replicas[p, board.lead[p]], board.replicas[p, column]
    for figure in range(board.load.shape[1]):
        amount = board.weigh[p, LEADING, figure]
        board.load[b, figure] -= amount
        board.load[to, figure] += amount
    board.lead[p] = column


@part
def bytes_more(board: Scoreboard, p: int, column: int, to: int) -> float:
    """Bytes the move adds to the plan: 0 for a replica that is moved anyway, less when it goes home."""
    more = 0.0
    if not was_there(board.before, p, to):
        more += board.size[p]
    if not was_there(board.before, p, board.replicas[p, column]):
        more -= board.size[p]
    return more
