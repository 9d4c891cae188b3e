"""Which part of every sweep a whole soak runs: every seventh of its seeds or crash points, another seventh for each
commit. Every kind of sweep is in every soak; after as many landings all seeds and points were.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.soak.commit import turn
from tests.turns import Turn

TURNS = 7
"""A prime: landings of as many commits each, however many, then walk through all turns."""
SWEEPS = "SWEEPS"
"""In place of the commit's own turn: `all`, or one as `3/7`."""
ALL = Turn(1, 1)


@dataclass(frozen=True)
class Chosen:
    """A turn, and what chose it."""

    turn: Turn
    why: str

    @property
    def parts(self) -> str:
        """For `tests.recorder.Selection`: "" is all of every sweep."""
        return "" if self.turn.of == 1 else f"{self.turn.number - 1}/{self.turn.of}"

    def __str__(self) -> str:
        return f"all of every sweep ({self.why})" if self.turn.of == 1 else f"turn {self.turn} of sweeps ({self.why})"


def chosen(root: Path, named: str | None = None) -> Chosen:
    """The turn of this checkout, or the one that `named`, else the environment's `SWEEPS`, asks for."""
    asked = os.environ.get(SWEEPS, "") if named is None else named
    if not asked:
        number, why = turn(root)
        return Chosen(Turn(number % TURNS + 1, TURNS), f"number {number}, {why}")
    if asked == "all":
        return Chosen(ALL, f"{SWEEPS}=all")
    try:
        return Chosen(Turn.read(asked), f"{SWEEPS}={asked}")
    except pytest.UsageError:
        raise SystemExit(f"{SWEEPS}={asked}: say all, or which of how many turns, as 3/{TURNS}") from None
