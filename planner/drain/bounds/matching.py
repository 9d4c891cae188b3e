"""The smallest largest load when everything has one of its brokers to choose: max-flow by augmenting paths."""

import numpy as np

from planner.drain.model.compiled import compiled
from planner.drain.model.state import NO_BROKER, Bools, Int32s, Int64s


def least_largest_load(candidates: Int32s, pools: Bools, pool_of: Int32s, able: Bools) -> int:
    """`candidates`: int32[P, W], padded with NO_BROKER. `pools`: bool[K, B], `pool_of`: int32[P]: more candidates of a
    partition, NO_BROKER = none. A partition without any candidate is left out. Returns 0 for no partitions.

    Greedy first; then, while some broker is over k = ceil(P / able), partitions are handed on along shortest
    augmenting paths. No path: the brokers reached from the overloaded ones can pass nothing out, so k is too small
    (the min cut) and grows to what this set must bear.
    """
    has_any = (candidates != NO_BROKER).any(axis=1) | (pool_of != NO_BROKER)
    if not has_any.any():
        return 0
    k = -(-int(has_any.sum()) // int(able.sum()))
    led, load = _greedy(candidates, pools, pool_of, able.size, k)
    while int(load.max()) > k:
        if _hand_on(candidates, pools, pool_of, led, load, k):
            continue
        reached = _reached(candidates, pools, pool_of, led, load, k)
        k = max(k + 1, -(-int(load[reached].sum()) // int(reached.sum())))
    return k


@compiled
def _greedy(candidates: Int32s, pools: Bools, pool_of: Int32s, brokers: int, enough: int) -> tuple[Int32s, Int64s]:
    """Least loaded candidate each, then handed over again while that evens out; `enough` needs no more."""
    led = np.full(len(candidates), -1, np.int32)
    load = np.zeros(brokers, np.int64)
    for _ in range(12):
        changed = 0
        for row in range(len(candidates)):
            best = led[row]
            for column in range(candidates.shape[1]):
                broker = candidates[row, column]
                if broker >= 0 and (best < 0 or load[broker] + (best == led[row] and best >= 0) < load[best]):
                    best = broker
            if pool_of[row] >= 0:
                for broker in range(brokers):
                    if pools[pool_of[row], broker] and (
                        best < 0 or load[broker] + (best == led[row] and best >= 0) < load[best]
                    ):
                        best = broker
            if best != led[row]:
                if led[row] >= 0:
                    load[led[row]] -= 1
                load[best] += 1
                led[row] = best
                changed += 1
        most = 0
        for broker in range(brokers):
            most = max(most, load[broker])
        if changed == 0 or most <= enough:
            break
    return led, load


@compiled
def _search(
    candidates: Int32s, pools: Bools, pool_of: Int32s, led: Int32s, load: Int64s, k: int
) -> tuple[Bools, Int32s, int]:
    """Breadth first from brokers over k: which brokers can be reached by handing partitions on, through which
    partition each was reached, and the first one found below k (-1: none).
    """
    brokers = load.size
    reached = load > k
    through = np.full(brokers, -1, np.int32)
    frontier = reached.copy()
    while frontier.any():
        following = np.zeros(brokers, np.bool_)
        for row in range(len(candidates)):
            if led[row] < 0 or not frontier[led[row]]:
                continue
            for column in range(candidates.shape[1]):
                broker = candidates[row, column]
                if broker >= 0 and not reached[broker]:
                    reached[broker] = following[broker] = True
                    through[broker] = row
            if pool_of[row] >= 0:
                for broker in range(brokers):
                    if pools[pool_of[row], broker] and not reached[broker]:
                        reached[broker] = following[broker] = True
                        through[broker] = row
        for broker in range(brokers):
            if following[broker] and load[broker] < k:
                return reached, through, broker
        frontier = following
    return reached, through, -1


@compiled
def _hand_on(candidates: Int32s, pools: Bools, pool_of: Int32s, led: Int32s, load: Int64s, k: int) -> bool:
    """One augmenting path: from a broker over k to one below it. False when there is none."""
    _, through, broker = _search(candidates, pools, pool_of, led, load, k)
    if broker < 0:
        return False
    load[broker] += 1
    while through[broker] >= 0:
        row = through[broker]
        giver = led[row]
        led[row] = broker
        broker = giver
    load[broker] -= 1
    return True


def _reached(candidates: Int32s, pools: Bools, pool_of: Int32s, led: Int32s, load: Int64s, k: int) -> Bools:
    return _search(candidates, pools, pool_of, led, load, k)[0]
