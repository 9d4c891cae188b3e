"""The search: from the worst broker outward, the change that mends most per byte, until nothing is broken.

Leadership costs no bytes and is tried first. A replica that was moved already may be moved on for nothing. Every
change shrinks the total breach, so the search ends; and a cluster in which every band holds is left alone.
"""

import numpy as np

from planner.balance.exchange import exchange, trade_leadership
from planner.balance.gain import ENOUGH, breaches_of
from planner.balance.loads import Figure
from planner.balance.pick import best_made
from planner.balance.scoreboard import HIGH, LOW, SCALE, Scoreboard
from planner.balance.visit import KEEPING, SHORT, given, taken, turned
from planner.drain.model.state import NO_BROKER, Bools, Floats, Int64s

DONORS = 4
"""Brokers of its own rack, and as many of all others, that are asked first for a replica a broker lacks; all of them
before it is given up. A list that spans all racks can only be taken over within a rack."""

WORTH_A_TURN = 0.02
"""A change of leader comes before a move when it mends at least this part of a broker's breach."""

MOST_EVALUATIONS = 30_000_000_000
"""Of the dear tries, trades of leadership and visits of every pair, a search makes no more than about this many looks
at a replica, a minute of them at most. They grow with the square of a broker's replicas: 10,000 partitions on 25
brokers are within it, 100,000 would take hours. What is left out of band then is in the report. Evaluations, not
seconds: the same question has the same answer on every machine."""

EVALUATIONS_OF_A_REPLICA = 20
"""What a replica costs in a wide visit, measured in looks of a trade."""

FIRST_LED = int(Figure.NIC_OUT)


def improve(scoreboard: Scoreboard, base: float, most_steps: int) -> bool:
    """Change the scoreboard until no broker is out of band or nothing helps; false when it was given up before that.

    `base`: bytes added to every move's price, so that bytes count but a crowd of tiny moves is not free.
    A broker no wide visit could help is tired: it is asked again when nobody else can be helped.
    """
    stuck = np.zeros(len(scoreboard.load), dtype=np.bool_)
    tired, changed = stuck.copy(), False
    steps, wide, evaluations = 0, False, 0
    while steps < most_steps:
        broken = breaches_of(scoreboard)
        total = broken.sum(axis=1)
        worst = np.where(stuck | tired if wide else stuck, 0.0, total)
        b = int(worst.argmax())
        if worst[b] > ENOUGH:
            evaluations += _evaluations_of_a_wide_visit(scoreboard) if wide else 0
            if not _mended(scoreboard, b, broken, base, wide):
                stuck[b], tired[b] = True, tired[b] or wide
                continue
            if not wide:
                steps += 1
                continue
            changed = True
        elif total.max(initial=0.0) <= ENOUGH:
            return True
        elif evaluations > MOST_EVALUATIONS:
            return False
        else:
            trading = (total > ENOUGH) & (broken[:, FIRST_LED:].sum(axis=1) > ENOUGH)
            evaluations += _evaluations_of_a_trade(scoreboard, trading)
            if trade_leadership(scoreboard, trading):
                steps += 1
                stuck[:] = False
                continue
            if wide and changed:
                stuck[:], tired[:], changed = False, False, False
                continue
            if wide and not exchange(scoreboard, total > ENOUGH):
                return True
        steps += 1
        wide = not wide
        stuck[:] = False
    return False


def _evaluations_of_a_wide_visit(scoreboard: Scoreboard) -> int:
    return EVALUATIONS_OF_A_REPLICA * int(scoreboard.many.sum())


def _evaluations_of_a_trade(scoreboard: Scoreboard, stuck: Bools) -> int:
    """Each partition it leads against each it holds."""
    return int((scoreboard.many[stuck].astype(np.int64) ** 2).sum())


def _mended(scoreboard: Scoreboard, b: int, broken: Floats, base: float, wide: bool) -> bool:
    """One visit of broker b: whatever mends the larger part of its breach first."""
    led, total = float(broken[b, FIRST_LED:].sum()), float(broken[b].sum())
    if led > ENOUGH and 2 * led >= total and turn_at(scoreboard, b, WORTH_A_TURN * led):
        return True
    return move_at(scoreboard, b, broken, base, wide) or (led > ENOUGH and turn_at(scoreboard, b, 0.0))


def turn_at(scoreboard: Scoreboard, b: int, least: float) -> bool:
    """Changes of leader that concern broker b and mend at least this much: the best, and all nearly as good."""
    return bool(turned(scoreboard, b, max(ENOUGH, least), KEEPING))


def move_at(scoreboard: Scoreboard, b: int, broken: Floats, base: float, wide: bool) -> bool:
    """The best moves out of or into broker b per byte, if any help. `wide`: every replica and target is looked at."""
    if wide:
        return best_made(scoreboard, codes_near(scoreboard, b), b, base, KEEPING)
    high = scoreboard.load[b] > scoreboard.edges[b, :, HIGH]
    over, under = float(broken[b, high].sum()), float(broken[b, ~high].sum())
    if over >= under:
        return _give(scoreboard, b, base) or (under > ENOUGH and _take(scoreboard, b, base))
    return _take(scoreboard, b, base) or (over > ENOUGH and _give(scoreboard, b, base))


def codes_near(scoreboard: Scoreboard, b: int) -> Int64s:
    """Replicas that could leave b or, where it takes any, come to it."""
    if not scoreboard.takes[b]:
        return scoreboard.on[b, : scoreboard.many[b]].copy()
    return scoreboard.on[np.arange(scoreboard.on.shape[1]) < scoreboard.many[:, None]]


def _give(scoreboard: Scoreboard, b: int, base: float) -> bool:
    return bool(given(scoreboard, b, base, np.full(SHORT, NO_BROKER, dtype=np.int64), np.zeros(SHORT)))


def _take(scoreboard: Scoreboard, b: int, base: float) -> bool:
    if not scoreboard.takes[b]:
        return False
    asked = _donors(scoreboard, b)
    near = asked[scoreboard.rack[asked] == scoreboard.rack[b]][:DONORS]
    donors = np.concatenate([near, asked[~np.isin(asked, near)][:DONORS]])
    return bool(taken(scoreboard, b, base, donors, np.full(SHORT, NO_BROKER, dtype=np.int64), np.zeros(SHORT)))


def _donors(scoreboard: Scoreboard, to: int) -> Int64s:
    """Everyone else, who has most of what `to` lacks first."""
    scale = scoreboard.edges[:, :, SCALE]
    lack = np.maximum(scoreboard.edges[to, :, LOW] - scoreboard.load[to], 0.0) * scale[to]
    score = (scoreboard.load * scale) @ lack + breaches_of(scoreboard).sum(axis=1)
    order: Int64s = np.argsort(-score, kind="stable").astype(np.int64)
    others: Int64s = order[order != to]
    return others
