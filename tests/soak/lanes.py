"""The calls of pytest for pieces of soak: one for each lane, after each other."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tests.recorder import Selection
from tests.soak.slices import ALONE, BY_FILE_LANE, PAIRED_LANE, Piece, selection_of

PYTEST = (sys.executable, "-m", "pytest", "-q", "-m", "soak")
LANES: Mapping[str, tuple[str, ...]] = {
    PAIRED_LANE: ("-n", "2"),
    BY_FILE_LANE: ("-n", "2", "--dist", "loadfile"),
    ALONE: (),
}


@dataclass(frozen=True)
class Call:
    lane: str
    command: tuple[str, ...]
    selection: Selection


def calls(pieces: Sequence[Piece], everything: Iterable[Piece]) -> list[Call]:
    """What runs these pieces; `everything`: all there are, so that a new test runs in one place only."""
    others = list(everything)
    found = []
    for lane, beside in LANES.items():
        there = [p for p in pieces if p.lane == lane]
        if there:
            files = tuple(dict.fromkeys(p.file for p in there))
            found.append(Call(lane, (*PYTEST, *beside, *files), selection_of(there, others)))
    return found
