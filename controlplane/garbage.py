"""Keeps the garbage collector's walks short in a server that remembers a fleet.

CPython stops every thread while it walks all that has lived for a while. With the metadata of a million partitions that
takes 0.5 to 1 s, some times a minute, and pages stand still for so long. What outlives a walk here is nearly all views,
partitions and names: immutable, in no cycle, freed by their reference counts. So survivors are frozen
(`gc.freeze`: they are freed as ever, and walked no more) whenever there are many of them. A cycle that was in use at
that moment, and is let go of later, stays: once half as much again is frozen as a walk of everything left, everything
is walked once more.
"""

import gc
from collections.abc import Mapping
from typing import Any, Final

MANY: Final = 100_000
"""Survivors that are walked in about 20 ms."""
_OLDEST: Final = 2
_GROWN: Final = 1.5


class ShortWalks:
    """A callback of `gc.callbacks`; see the module. One in a process."""

    def __init__(self, many: int = MANY) -> None:
        self._many = many
        self._left = 0
        """Frozen after the last walk of everything."""
        self._walks_all = True

    def __call__(self, phase: str, info: Mapping[str, Any]) -> None:
        """After a walk of the oldest generation: nothing is walked in here, the collector is not reentrant."""
        if phase != "stop" or info["generation"] != _OLDEST:
            return
        if len(gc.get_objects(_OLDEST)) < self._many:
            return
        gc.freeze()
        frozen = gc.get_freeze_count()
        if self._walks_all:
            self._left, self._walks_all = frozen, False
        elif frozen > self._left * _GROWN + self._many:
            gc.unfreeze()
            self._walks_all = True


def shorten_walks(many: int = MANY) -> ShortWalks:
    """From now on, for this process. The answer is what to take out of `gc.callbacks` to end it."""
    callback = ShortWalks(many)
    gc.callbacks.append(callback)
    return callback
