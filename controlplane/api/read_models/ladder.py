"""The ladder of the converger as people read it: a row a rung, made of the one table that decides. Pure."""

from dataclasses import dataclass

from controlplane.converger.ladder.rung import Begins, Phase, Rung
from controlplane.converger.ladder.rungs import LADDER


@dataclass(frozen=True, slots=True)
class LadderRow:
    """A rung, in the order in which they are asked; `waits_for` says what keeps it from beginning something."""

    number: int
    name: str
    looks_after: str
    begins: str
    waits_for: str
    why: str


_BEGINS = {
    Begins.NOTHING: "nothing voluntary",
    Begins.VOLUNTARY: "voluntary work",
    Begins.BOTH: "voluntary work and repairs",
}


def ladder_rows(ladder: tuple[Rung, ...] = LADDER) -> list[LadderRow]:
    """All rungs, numbered from 1 as in docs/architecture.md."""
    return [_row(number, rung) for number, rung in enumerate(ladder, 1)]


def _row(number: int, rung: Rung) -> LadderRow:
    name = rung.name.removesuffix("_step").replace("_", " ")
    return LadderRow(number, name, rung.looks_after, _BEGINS[rung.begins], _waits_for(rung), rung.why)


def _waits_for(rung: Rung) -> str:
    """The end of a pause, and for what is voluntary an open window, the end of a freeze and earlier stages; or ""."""
    if rung.phase is not Phase.NEXT:
        return ""
    if rung.begins is Begins.NOTHING:
        return "pauses"
    held = "pauses, windows, freezes" + (", earlier stages" if rung.of_spec else "")
    return f"{held}; repairs: pauses only" if rung.begins is Begins.BOTH else held
