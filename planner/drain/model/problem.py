"""Why a state or plan file is refused: every problem at once, each with its place in the file."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

_MOST_LINES = 20


class StateProblemKind(StrEnum):
    """SYNTAX: no JSON. SHAPE: a field is missing or of another type. FIGURE: NaN, negative, zero where that cannot
    be, too large. TWICE: named a second time. UNKNOWN: names something the file (or the state) does not have.
    CONTRADICTION: two fields exclude each other. REPAIR_FIRST: a partition that has to move is not fully in sync.
    """

    SYNTAX = "syntax"
    SHAPE = "shape"
    FIGURE = "figure"
    TWICE = "twice"
    UNKNOWN = "unknown"
    CONTRADICTION = "contradiction"
    REPAIR_FIRST = "repair-first"


@dataclass(frozen=True, slots=True)
class StateProblem:
    """`path`: where, as in `partitions[17].replicas[2]`; `message`: what is wrong and what is expected."""

    kind: StateProblemKind
    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


class DocumentRefused(ValueError):
    """A file that cannot be read as what it should be. `problems` has all of them, in file order."""

    def __init__(self, what: str, problems: Iterable[StateProblem]) -> None:
        self.problems = tuple(problems)
        lines = [f"{what} refused, {len(self.problems)} problem{'s' * (len(self.problems) != 1)}:"]
        lines += [f"  {problem}" for problem in self.problems[:_MOST_LINES]]
        if len(self.problems) > _MOST_LINES:
            lines.append(f"  and {len(self.problems) - _MOST_LINES} more")
        super().__init__("\n".join(lines))
