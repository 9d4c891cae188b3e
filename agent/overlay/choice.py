"""Which of the paths to a node is taken: probes in, the chosen path out. Pure.

An interface of WireGuard never loses its carrier: only probes tell. A path is up with its first answer and down after
three probes without one. A better one has to be steady before it is taken, so that one that comes and goes moves
nothing; a path that loses much is taken where no other is better.

Where the peer's agent ends all its paths seem down, while traffic goes on: the one in use stays, and as that agent is
back it is known again before another one has answered twice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

MISSED = 3
"""Probes without an answer, one after another: the path is down."""
STEADY_S = 5.0
"""So long a better path answers every probe before it is taken."""
CONFIRMED = 2
"""Answers that another path has given before it is taken for one that is down."""
WINDOW = 40
"""Probes that are remembered, at most: of the time since the path came up."""
LOSSY, CLEAN = 4, 1
"""Lost ones of those: from so many on a path is lossy, with so few it is not any more. Between them it stays as it was:
a path at the edge would else be left and taken again with every probe."""


@dataclass(frozen=True, slots=True)
class PathState:
    """What probes have told of one path. `steady_since_s`: since when every probe was answered. `rtt_s`: of the last
    answer, None before any."""

    answers: tuple[bool, ...] = ()
    missed: int = 0
    is_up: bool = False
    is_lossy: bool = False
    steady_since_s: float = 0.0
    rtt_s: float | None = None

    @property
    def is_down(self) -> bool:
        """Not the same as not up: of a path that was not probed yet nobody knows."""
        return self.missed >= MISSED

    @property
    def lost(self) -> int:
        """Probes without an answer, of the last `WINDOW`."""
        return self.answers.count(False)


def answered(path: PathState, rtt_s: float, now_s: float) -> PathState:
    """A probe came back."""
    if not path.is_up:
        return PathState(answers=(True,), is_up=True, steady_since_s=now_s, rtt_s=rtt_s)
    return _counted(path, True, missed=0, steady_since_s=now_s if path.missed else path.steady_since_s, rtt_s=rtt_s)


def missed(path: PathState) -> PathState:
    """A probe did not come back in time."""
    return _counted(path, False, missed=path.missed + 1, is_up=path.is_up and path.missed + 1 < MISSED)


def _counted(path: PathState, came_back: bool, **changes: Any) -> PathState:
    answers = (*path.answers, came_back)[-WINDOW:]
    lost = answers.count(False)
    return replace(path, answers=answers, is_lossy=lost >= LOSSY or (path.is_lossy and lost > CLEAN), **changes)


@dataclass(frozen=True, slots=True)
class Choice:
    """The paths to one node, by their names, and the one in use since `since_s`. `path` is "" before any was taken; it
    stays where none is up: nothing is better than it, and it may come back first."""

    paths: Mapping[str, PathState] = field(default_factory=dict)
    path: str = ""
    since_s: float = 0.0

    @property
    def is_lost(self) -> bool:
        """Whether the path in use is down, or none is in use."""
        return not self.path or self.paths.get(self.path, PathState()).is_down


def choose(choice: Choice, order: Sequence[str], now_s: float) -> Choice:
    """The choice by what its paths are now. `order`: names of paths, the preferred one first."""
    up = [name for name in order if name in choice.paths and choice.paths[name].is_up]
    if not up:
        return choice
    best = min(up, key=lambda name: (choice.paths[name].is_lossy, order.index(name)))
    if best == choice.path or not _is_good(choice.paths[best], choice.is_lost, now_s):
        return choice
    return replace(choice, path=best, since_s=now_s)


def _is_good(path: PathState, is_needed: bool, now_s: float) -> bool:
    if is_needed:
        return path.answers.count(True) >= CONFIRMED
    return not path.missed and now_s - path.steady_since_s >= STEADY_S
