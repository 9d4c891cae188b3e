"""What one change is worth: how much the breaches of the goals shrink, exactly, before it is made.

The innermost kernels take the arrays they read, no tuple: numba counts the references of every array of a tuple
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


def breaches_of(scoreboard: Scoreboard) -> Floats:
    """float64[B, 8]: `breach` of every broker and figure."""
    edges, load = scoreboard.edges, scoreboard.load
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
def racks_gained(scoreboard: Scoreboard, p: int, column: int, to: int) -> int:
    """Distinct racks of the list after replacing the replica in `column` by `to`, less those now: -1, 0 or 1."""
    was, now = scoreboard.replicas[p, column], to
    lost, new = 1, 1
    for i in range(scoreboard.replicas.shape[1]):
        b = scoreboard.replicas[p, i]
        if b == NO_BROKER or i == column:
            continue
        if scoreboard.rack[b] == scoreboard.rack[was]:
            lost = 0
        if scoreboard.rack[b] == scoreboard.rack[now]:
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
def may_move(scoreboard: Scoreboard, p: int, column: int, to: int) -> bool:
    """Whether this replica may go to `to`: another broker, no rack lost, and room for it whatever the order."""
    if not scoreboard.movable[p] or not scoreboard.takes[to] or scoreboard.many[to] >= scoreboard.on.shape[1]:
        return False
    if scoreboard.room[to] < scoreboard.size[p] and not was_there(scoreboard.before, p, to):
        return False
    return fits(scoreboard.replicas, scoreboard.rack, p, column, to)


@part
def move_gain(scoreboard: Scoreboard, p: int, column: int, to: int) -> float:
    """How much the breaches shrink when this replica (leading or not) goes to `to`.

    ILLEGAL where it would lift `to` over a hard ceiling and relieve nobody who is over it.
    """
    b = scoreboard.replicas[p, column]
    what = LEADER if scoreboard.lead[p] == column else FOLLOWER
    gain = shifted(scoreboard.weigh, scoreboard.edges, scoreboard.load, p, what, b, to)
    if gain > ILLEGAL and scoreboard.topic_weight > 0:
        gain += scoreboard.topic_weight * topic_shifted(
            scoreboard.topic_band, scoreboard.rack, scoreboard.spread, scoreboard.topic[p], b, to
        )
    return gain


@part
def turn_gain(scoreboard: Scoreboard, p: int, column: int) -> float:
    """How much the breaches shrink when the replica in `column` leads instead; ILLEGAL where it cannot."""
    lead = scoreboard.lead[p]
    if lead < 0 or lead == column or not scoreboard.turnable[p]:
        return ILLEGAL
    b, to = scoreboard.replicas[p, lead], scoreboard.replicas[p, column]
    if to == NO_BROKER or not scoreboard.able[p, column] or not scoreboard.takes[to]:
        return ILLEGAL
    return shifted(scoreboard.weigh, scoreboard.edges, scoreboard.load, p, LEADERSHIP, b, to)


@part
def move(scoreboard: Scoreboard, p: int, column: int, to: int) -> None:
    """Make the change. The copy counts on the target's disk at once and on the old one's until the end."""
    width = scoreboard.replicas.shape[1]
    b = scoreboard.replicas[p, column]
    leads = scoreboard.lead[p] == column
    for figure in range(scoreboard.load.shape[1]):
        amount = scoreboard.weigh[p, FOLLOWING, figure]
        if leads:
            amount += scoreboard.weigh[p, LEADING, figure]
        scoreboard.load[b, figure] -= amount
        scoreboard.load[to, figure] += amount
    if not was_there(scoreboard.before, p, to):
        scoreboard.room[to] -= scoreboard.size[p]
    if not was_there(scoreboard.before, p, b):
        scoreboard.room[b] += scoreboard.size[p]
    t = scoreboard.topic[p]
    scoreboard.spread[t, b] -= 1
    scoreboard.spread[t, to] += 1
    scoreboard.many[b] -= 1
    last = scoreboard.on[b, scoreboard.many[b]]
    scoreboard.on[b, scoreboard.place[p, column]] = last
    scoreboard.place[last // width, last % width] = scoreboard.place[p, column]
    scoreboard.on[to, scoreboard.many[to]] = p * width + column
    scoreboard.place[p, column] = scoreboard.many[to]
    scoreboard.many[to] += 1
    scoreboard.replicas[p, column] = to
    scoreboard.able[p, column] = True


@part
def turn(scoreboard: Scoreboard, p: int, column: int) -> None:
    """The replica in `column` leads from now on."""
    b, to = scoreboard.replicas[p, scoreboard.lead[p]], scoreboard.replicas[p, column]
    for figure in range(scoreboard.load.shape[1]):
        amount = scoreboard.weigh[p, LEADING, figure]
        scoreboard.load[b, figure] -= amount
        scoreboard.load[to, figure] += amount
    scoreboard.lead[p] = column


@part
def bytes_more(scoreboard: Scoreboard, p: int, column: int, to: int) -> float:
    """Bytes the move adds to the plan: 0 for a replica that is moved anyway, less when it goes home."""
    more = 0.0
    if not was_there(scoreboard.before, p, to):
        more += scoreboard.size[p]
    if not was_there(scoreboard.before, p, scoreboard.replicas[p, column]):
        more -= scoreboard.size[p]
    return more
