"""Water filling: how much each rack takes so that all are done at the same, earliest time.

A group is a set of targets that are alike to every partition (a rack, or what `destinations` make of it); a class is
a set of copies that may go to the same groups. In `level` seconds a target takes at most `level` x its ingress and
never more than its room (L2a and L3 of the published bounds are this one formula).
"""

import numpy as np

from planner.drain.model.compiled import compiled, inner, inner_making_arrays
from planner.drain.model.state import Bools, Floats, Int32s

SWEEPS = 60
HALVINGS = 48


@inner
def takes(level: float, ingress: Floats, room: Floats) -> float:
    """Bytes that targets take in `level` seconds."""
    total = 0.0
    for t in range(ingress.shape[0]):
        total += min(level * ingress[t], room[t])
    return total


@compiled
def level_for(amount: float, ingress: Floats, room: Floats) -> float:
    """The earliest time at which the targets have taken `amount` bytes; inf when they never can."""
    if amount <= 0:
        return 0.0
    high = 0.0
    total = 0.0
    for t in range(ingress.shape[0]):
        total += room[t]
        if ingress[t] > 0 and room[t] > 0:
            high = max(high, room[t] / ingress[t])
    if total < amount:
        return np.inf
    low = 0.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if takes(middle, ingress, room) >= amount:
            high = middle
        else:
            low = middle
    return high


@compiled
def share_out(
    amount: Floats, most_each: Floats, allowed: Bools, group: Int32s, ingress: Floats, room: Floats, share: Floats
) -> float:  # fmt: skip
    """Fill `share[c, g]` (bytes of class c into group g) so that the last group is done earliest; that time in s.

    `group`: int32[B], -1 for brokers that take nothing. inf when some class has no room. Coordinate descent: each
    class in turn levels the groups it may use; the fixed point is the lexicographic optimum (Fujishige 1980).
    """
    classes, groups = allowed.shape
    brokers = group.shape[0]
    load = np.zeros(groups)
    share[:] = 0.0
    now = np.zeros(groups)
    whole = _sum(amount)
    most = 1.0
    for b in range(brokers):
        if group[b] >= 0 and ingress[b] > 0 and room[b] > 0:
            most = max(most, room[b] / ingress[b])
    for _sweep in range(SWEEPS):
        moved = 0.0
        for c in range(classes):
            for g in range(groups):
                load[g] -= share[c, g]
            # past `most` every disk is full: the overflow zone lets a later sweep make way for a narrower class
            low, high = 0.0, 3.0 * most
            for turn in range(HALVINGS + 1):
                middle = high if turn == HALVINGS else (low + high) / 2
                now[:] = 0.0
                for b in range(brokers):
                    g = group[b]
                    if g >= 0 and allowed[c, g]:
                        now[g] += min(middle * ingress[b], room[b]) + max(0.0, middle - most) * ingress[b]
                total = 0.0
                for g in range(groups):
                    if allowed[c, g]:
                        total += min(most_each[c], max(0.0, now[g] - load[g]))
                if total >= amount[c]:
                    high = middle
                else:
                    low = middle
            scale = amount[c] / total if total > 0 else 0.0
            for g in range(groups):
                new = min(most_each[c], max(0.0, now[g] - load[g])) * scale if allowed[c, g] else 0.0
                moved += abs(new - share[c, g])
                share[c, g] = new
                load[g] += new
        if moved <= 1e-7 * whole:
            break
    return _latest(load, group, ingress, room)


@inner
def _sum(amount: Floats) -> float:
    whole = 0.0
    for i in range(amount.size):
        whole += amount[i]
    return whole


@inner_making_arrays
def _latest(load: Floats, group: Int32s, ingress: Floats, room: Floats) -> float:
    latest = 0.0
    for g in range(load.shape[0]):
        members = np.flatnonzero(group == g)
        latest = max(latest, level_for(load[g] * (1 - 1e-9), ingress[members], room[members]))
    return latest


@compiled
def level_reads(
    amount: Floats, sources: Int32s, egress: Floats, load: Floats, sweeps: int
) -> float:  # fmt: skip
    """Fractional min-max reading: each entry spreads its bytes over the members it may be read from (L2b).

    Fills `load` (bytes per broker); the time of the busiest source in s. Sweeps over single entries.
    """
    entries, width = sources.shape
    part = np.zeros((entries, width))
    load[:] = 0.0
    order = np.zeros(width, np.int32)
    whole = _sum(amount)
    for _sweep in range(sweeps):
        moved = 0.0
        for i in range(entries):
            n = 0
            while n < width and sources[i, n] >= 0:
                load[sources[i, n]] -= part[i, n]
                n += 1
            if n == 0:
                continue
            # level of the cheapest members: sort by load / egress, fill up
            for a in range(n):
                order[a] = a
            for a in range(1, n):
                b = a
                while b > 0 and (
                    load[sources[i, order[b]]] / egress[sources[i, order[b]]]
                    < load[sources[i, order[b - 1]]] / egress[sources[i, order[b - 1]]]
                ):
                    order[b], order[b - 1] = order[b - 1], order[b]
                    b -= 1
            bytes_sum, rate_sum, height = amount[i], 0.0, 0.0
            for a in range(n):
                s = sources[i, order[a]]
                if a > 0 and height <= load[s] / egress[s]:
                    break
                bytes_sum += load[s]
                rate_sum += egress[s]
                height = bytes_sum / rate_sum
            for a in range(n):
                s = sources[i, a]
                new = max(0.0, height * egress[s] - load[s])
                moved += abs(new - part[i, a])
                part[i, a] = new
                load[s] += new
        if moved <= 1e-6 * whole:
            break
    worst = 0.0
    for b in range(egress.shape[0]):
        if load[b] > 0:
            worst = max(worst, load[b] / egress[b])
    return worst
