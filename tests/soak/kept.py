"""The resume file of a whole soak: one line for each call of pytest that ended, on disk before the next one begins."""

import json
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path
from threading import Lock

from tests.recorder import Result
from tests.soak.page import Figures, standings
from tests.soak.sweeps import Chosen
from tests.turns import Turn


@dataclass
class Kept:
    """`sweeps`: the turn that the first run of it had; one that goes on keeps it, whatever was committed since."""

    file: Path
    sweeps: Chosen
    figures: list[Figures] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock, repr=False, compare=False)

    @classmethod
    def of(cls, file: Path, sweeps: Chosen, begun: Path | None = None) -> "Kept":
        """What is on disk; `sweeps` is of a file that is not there yet, which begins as a copy of `begun`, if that is
        there: a resume file from another machine."""
        if begun and begun.exists() and not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(begun, file)
        lines = file.read_text().splitlines() if file.exists() else []
        told = [line for line in map(_read, lines) if line is not None]
        began = next((line for line in told if isinstance(line, Chosen)), None)
        return cls(file, began or sweeps, [line for line in told if isinstance(line, Figures)])

    def add(self, figures: Figures) -> None:
        with self._lock:
            if not self.figures:
                self._write({"sweeps": str(self.sweeps.turn), "why": self.sweeps.why})
            self.figures.append(figures)
            self._write(asdict(figures))

    def done(self) -> set[str]:
        """Files of which everything passed, or was skipped, at the first try or the second."""
        return {name for name, stand in standings(self.figures).items() if stand.ok}

    def _write(self, line: dict[str, object]) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        # A line before it may have been cut short: this one begins where a line does.
        begun = self.file.exists() and not self.file.read_text().endswith("\n")
        with self.file.open("a") as file:
            file.write(("\n" if begun else "") + json.dumps(line) + "\n")


def _read(line: str) -> Figures | Chosen | None:
    """A line that was cut short is none."""
    try:
        told = json.loads(line)
    except ValueError:
        return None
    if "sweeps" in told:
        return Chosen(Turn.read(told["sweeps"]), told["why"])
    return Figures(**{**told, "results": [Result(**r) for r in told["results"]]})
