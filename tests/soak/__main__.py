"""`make soak`: all of soak, slice by slice, then what fits into none. Killed, it goes on where it stopped.

What came of each test is kept in `.cache/soak/COMMIT.jsonl` the moment its call is over; the next run of the same
commit runs what is not there yet, or failed. In the end `docs/soak.md` and the durations are written.
"""

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from tests.environment import kept_bytecode
from tests.recorder import Result
from tests.soak import durations as book
from tests.soak.commit import tree
from tests.soak.lanes import calls
from tests.soak.page import Figures, page
from tests.soak.slices import Piece
from tests.tries import Ran, ran

PAGE = book.ROOT / "docs" / "soak.md"


@dataclass
class Kept:
    """The resume file: one line for each call of pytest that ended, with the name of its slice."""

    file: Path
    figures: list[Figures] = field(default_factory=list)

    @classmethod
    def of(cls, file: Path) -> "Kept":
        lines = file.read_text().splitlines() if file.exists() else []
        return cls(file, [figures for line in lines if (figures := _figures(line)) is not None])

    def add(self, figures: Figures) -> None:
        self.figures.append(figures)
        self.file.parent.mkdir(parents=True, exist_ok=True)
        # A line before it may have been cut short: this one begins where a line does.
        begun = self.file.exists() and not self.file.read_text().endswith("\n")
        with self.file.open("a") as file:
            file.write(("\n" if begun else "") + json.dumps(asdict(figures)) + "\n")

    def has(self, name: str) -> bool:
        """Whether that call ended, and well."""
        return any(f.name == name and f.ok for f in self.figures)

    def last(self) -> list[Figures]:
        """The newest of each call."""
        return list({f.name: f for f in self.figures}.values())


def main() -> int:
    """Exit status 1 when a test failed twice, or a call of pytest broke."""
    commit, known = tree(book.ROOT), book.read()
    kept = Kept.of(book.ROOT / ".cache" / "soak" / f"{commit}.jsonl")
    pieces = book.all_pieces(known)
    slices = [(str(n), s.pieces) for n, s in enumerate(book.all_slices(known), 1)]
    wholes = [(p.tests[0] if len(p.tests) == 1 else p.file, (p,)) for p in book.whole_pieces(known)]
    todo = [(name, p) for name, p in (*slices, *wholes)]
    print(f"soak of {commit[:21]}: {len(slices)} slices, {len(wholes)} longer ones; kept in {kept.file}", flush=True)
    for name, there in todo:
        _slice(name, there, pieces, kept, of=len(slices))
    PAGE.write_text(page(commit, datetime.now(UTC).date(), kept.last(), planned=_names(todo, pieces)))
    book.write(known.with_results(r for f in kept.last() for r in f.results))
    failed = [test for f in kept.last() for test in f.failed] + [f.name for f in kept.last() if f.broke]
    second = [r.test for f in kept.last() for r in f.second]
    print(f"second tries: {len(second)}" + "".join(f"\n  {test}" for test in second))
    print(f"failed: {len(failed)}" + "".join(f"\n  {test}" for test in failed) + f"\nwritten: {PAGE}")
    return 1 if failed else 0


def _slice(name: str, there: Sequence[Piece], pieces: Sequence[Piece], kept: Kept, *, of: int) -> None:
    for number, call in enumerate(calls(there, pieces), 1):
        called = f"{name}.{number}"
        if kept.has(called):
            continue
        print(f"\n== slice {name} of {of}, call {number} of {len(calls(there, pieces))}", flush=True)
        began = time.time()
        kept.add(_figures_of(called, ran(call.command, kept_bytecode(), selection=call.selection), began))


def _names(todo: Sequence[tuple[str, Sequence[Piece]]], pieces: Sequence[Piece]) -> list[str]:
    return [f"{name}.{n}" for name, there in todo for n, _ in enumerate(calls(there, pieces), 1)]


def _figures_of(name: str, came: Ran, began: float) -> Figures:
    again = {r.test for r in came.second}
    failed = [r.test for r in came.results if r.outcome == "failed" and r.test not in again]
    return Figures(
        name=name,
        at=datetime.fromtimestamp(began, UTC).isoformat(timespec="seconds"),
        code=came.code,
        took_s=round(came.took_s, 1),
        results=list(came.results),
        second=list(came.second),
        failed=failed,
    )


def _figures(line: str) -> Figures | None:
    """A line that was cut short is none."""
    try:
        told = json.loads(line)
    except ValueError:
        return None
    return Figures(**{**told, **{k: [Result(**r) for r in told[k]] for k in ("results", "second")}})


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\nstopped; make soak goes on where it was")
        sys.exit(130)
