"""Which member in sync is read when reading is as scarce as writing: the least busiest source, in whole logs."""

import numpy as np

from planner.drain.model.compiled import compiled
from planner.drain.model.state import Floats, Int32s, Int64s
from planner.drain.solver.rates import NONE

SWEEPS = 40


@compiled
def spread_readers(amount: Floats, sources: Int32s, egress: Floats, order: Int64s, reader: Int32s) -> None:
    """Fill `reader`: largest first to the source that ends earliest, then single moves until none helps.

    Each move lowers the pair's later end, so the sum of squared loads falls and the sweeps end (LPT, local search).
    """
    load = np.zeros(egress.shape[0])
    reader[:] = NONE
    for _sweep in range(SWEEPS):
        moved = 0
        for n in range(order.shape[0]):
            i = order[n]
            old = reader[i]
            if old != NONE:
                load[old] -= amount[i]
            best = old
            least = (load[old] + amount[i]) / egress[old] - 1e-9 if old != NONE else np.inf
            for k in range(sources.shape[1]):
                s = sources[i, k]
                if s == NONE:
                    break
                ends = (load[s] + amount[i]) / egress[s]
                if ends < least:
                    best, least = s, ends
            if best != NONE:
                load[best] += amount[i]
            if best != old:
                reader[i] = best
                moved += 1
        if moved == 0:
            return
