"""How long the tests of soak take, as `make soak` measured it (`durations.json`), and which files have some."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.recorder import Result
from tests.soak.slices import PAIRED, WHOLE, Piece, Slice, cut, pieces_of

ROOT = Path(__file__).parents[2]
FILE = Path(__file__).with_name("durations.json")
GUESS_S = 120.0
"""Of a file with soak tests of which nothing is known yet."""

_MARK, _SWEEP = re.compile(r"mark\.soak\b"), re.compile(r"\b(?:sweep|chosen)\(|\bat_every_single_point\(")


@dataclass(frozen=True)
class Durations:
    """Seconds by node id, in the order in which pytest collects them. `estimated`: never measured whole, and from what
    they are; `make soak` replaces them one by one."""

    measured: Mapping[str, float]
    estimated: Mapping[str, float]
    source: str = ""

    @property
    def all(self) -> dict[str, float]:
        return {**self.estimated, **self.measured}

    def with_results(self, results: Iterable[Result]) -> "Durations":
        """What a soak measured in place of what is there; of what needs only a processor the processor's time, as it
        ran behind the rest. A cut sweep that has not had all its parts stays an estimate: the others take as long."""
        took: defaultdict[str, float] = defaultdict(float)
        parts: defaultdict[str, set[str]] = defaultdict(set)
        of: dict[str, int] = {}
        for result in results:
            if result.outcome != "passed":
                continue
            numbers, _, whole = result.parts.partition("/")
            only_processor = result.cpu_s and _folder(result.test) in PAIRED
            took[result.test] += result.cpu_s if only_processor else result.took_s
            parts[result.test] |= set(numbers.split(","))
            of[result.test] = int(whole or 1)
        full = {test: round(s, 1) for test, s in took.items() if len(parts[test]) == of[test]}
        scaled = {t: round(s * of[t] / len(parts[t]), 1) for t, s in took.items() if t not in full}
        order = dict.fromkeys([*self.all, *took])
        measured = {t: full.get(t, self.measured.get(t)) for t in order}
        known = {t: s for t, s in measured.items() if s is not None}
        estimated = {**self.estimated, **scaled}
        return Durations(known, {t: estimated[t] for t in order if t not in known}, self.source)


def read(file: Path = FILE) -> Durations:
    kept = json.loads(file.read_text())
    return Durations(kept["measured_s"], kept["estimated_s"], kept["estimates_are"])


def write(durations: Durations, file: Path = FILE) -> None:
    kept = {
        "estimates_are": durations.source,
        "measured_s": dict(durations.measured),
        "estimated_s": dict(durations.estimated),
    }
    file.write_text(json.dumps(kept, indent=1) + "\n")


def files_of_soak(root: Path = ROOT) -> list[str]:
    """Test files that mark something `soak`, known by their text: to collect all of `tests/` takes minutes."""
    return sorted(str(f.relative_to(root)) for f in root.glob("tests/**/test_*.py") if _MARK.search(f.read_text()))


def has_sweep(file: Path) -> bool:
    """Whether a test of it may be cut, by its text."""
    return bool(_SWEEP.search(file.read_text()))


def all_pieces(durations: Durations, root: Path = ROOT) -> list[Piece]:
    """The pieces of soak but for `WHOLE`."""
    files = [f for f in files_of_soak(root) if "tests/unit/workshop/" not in f]
    sweeps = [f for f in files if has_sweep(root / f)]
    return pieces_of(durations.all, sweeps, files, GUESS_S)


def all_slices(durations: Durations | None = None, root: Path = ROOT) -> list[Slice]:
    """The slices of this checkout."""
    return cut(all_pieces(durations or read(), root))


def whole_pieces(durations: Durations) -> list[Piece]:
    """Those that only `make soak` runs, each by itself."""
    known = durations.all
    named = {name: [t for t in known if name in (t, t.partition("::")[0])] for name in WHOLE}
    return [
        Piece(name.partition("::")[0], tuple(tests), sum(known[t] for t in tests) or GUESS_S)
        for name, tests in named.items()
    ]


def _folder(test: str) -> str:
    """The first one below `tests`, "" for none."""
    return [*test.split("/"), ""][1]
