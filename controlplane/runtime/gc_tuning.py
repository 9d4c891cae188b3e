"""Keeps the garbage collector's walks short in a server that remembers a fleet.

CPython stops every thread while it walks what has lived for a while, and pages stand still for so long: 0.5 to 1 s,
some times a minute, with the metadata of a million partitions. What outlives a walk here is nearly all views,
partitions and names: immutable, in no cycle, freed by their reference counts. So what outlived a walk is frozen
(`gc.freeze`: it is freed as ever, and walked no more), and walks come early, while there is little to walk.

A cycle that was in use at a walk and is let go of later stays. So once an hour it is looked how much is frozen, and
where that has grown by a quarter since everything was last walked, everything is walked once more.
"""

import gc
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

EARLY: Final = 3
"""Collections of the middle generation, of 7,000 new objects each, between two walks of the oldest; 10 by default."""
COUNTED_EVERY_S: Final = 3600.0
_OLDEST: Final = 2
_GROWN: Final = 1.25


class ShortWalks:
    """A callback of `gc.callbacks`; see the module. One in a process, between `begin` and `end`."""

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self._counted_at_s = clock_s()
        self._left: int | None = None
        """Frozen after everything was last walked, or when it was counted for the first time."""
        self._walks_all = False
        self._thresholds = gc.get_threshold()

    def begin(self) -> "ShortWalks":
        """From now on: what is there already is walked once, now."""
        gc.set_threshold(*self._thresholds[:2], EARLY)
        gc.callbacks.append(self)
        gc.collect()
        gc.collect()  # of nothing: CPython puts the next one off until there is a quarter more than this one left
        return self

    def end(self) -> None:
        """As it was before: all is walked again."""
        gc.callbacks.remove(self)
        gc.set_threshold(*self._thresholds)
        gc.unfreeze()

    def __call__(self, phase: str, info: Mapping[str, Any]) -> None:
        """After a walk of the oldest generation: nothing is walked in here, the collector is not reentrant."""
        if phase != "stop" or info["generation"] != _OLDEST:
            return
        gc.freeze()
        now_s = self._clock_s()
        if not self._walks_all and now_s - self._counted_at_s < COUNTED_EVERY_S:
            return
        self._counted_at_s = now_s
        frozen = gc.get_freeze_count()  # goes through them all: 20 ms for 2.4 million
        if self._walks_all or self._left is None:
            self._left, self._walks_all = frozen, False
        elif frozen > self._left * _GROWN:
            gc.unfreeze()
            self._walks_all = True
