"""Where in the file each part of a document stands, so that every problem points at the very line."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from events.spec.problems import Path, Problem, ProblemKind, show_path


@dataclass(frozen=True, slots=True)
class FileMark:
    """A place in a file; both count from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Positions:
    """Marks of one document by path. Empty for a document that did not come from a file."""

    file: str = ""
    keys: Mapping[Path, FileMark] = field(default_factory=dict)
    values: Mapping[Path, FileMark] = field(default_factory=dict)

    def at(self, path: Path, *, key: bool = False) -> FileMark:
        """Mark of the value at a path, or of its key; what the file does not have is found at its nearest parent."""
        first = self.keys if key else self.values
        if path in first:
            return first[path]
        for length in range(len(path), 0, -1):
            near = path[:length]
            mark = self.keys.get(near) or self.values.get(near)
            if mark is not None:
                return mark
        return self.values.get((), FileMark(0, 0))

    def problem(self, kind: ProblemKind, path: Path, message: str, fix: str, *, key: bool = False) -> Problem:
        """A problem of that kind at that path."""
        mark = self.at(path, key=key)
        return Problem(self.file, mark.line, mark.column, kind.code, message, fix, show_path(path), kind.severity)


NOWHERE = Positions()
