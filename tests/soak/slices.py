"""Soak, cut into slices of about four minutes by how long its tests took; a commit has one of them in `make test`.

Pure: what is cut comes from `durations.json`, which `make soak` writes. A slice is made of pieces: a test, or a file
whose tests go on from each other, or some parts of a sweep that is longer than a slice.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from math import ceil, isqrt

from tests.recorder import Selection
from tests.tries import goes_on

SLICE_S = 240.0
"""On two quiet cores; those that landings get take up to twice as long."""
ALONE_S = 720.0
"""A piece that cannot be cut and is longer than a slice has one of its own, up to here."""
PART_S = 120.0
"""About what a part of a sweep takes."""
WHOLE: Mapping[str, str] = {
    "tests/e2e/test_anomalies.py": "a broker needs half an hour of a real past before it is judged: 35 minutes",
    "tests/e2e/test_fifty_faults.py": "fifty faults on one cluster: 25 minutes",
}
"""Tests, or files, that only `make soak` runs, with the reason: they fit into no slice and cannot be cut."""

PAIRED = ("mutation", "sequences", "sim", "unit")
"""Folders whose tests run two at a time."""
PAIRED_BY_FILE = ("contract", "spark", "terraform", "portal", "postgres")
"""The same, the tests of a file one after the other. The rest have brokers: one test at a time."""
PAIRED_LANE, BY_FILE_LANE, ALONE = LANES = ("paired", "by-file", "alone")


@dataclass(frozen=True)
class Piece:
    """What is not divided further: tests of one file in their order. `rest`: also those of it that are not known yet.

    `part` of `of` is of a sweep, then it is one test.
    """

    file: str
    tests: tuple[str, ...]
    took_s: float
    rest: bool = False
    part: int = 0
    of: int = 1

    @property
    def lane(self) -> str:
        """How it may run: paired, paired by file, alone."""
        folder = _folder(self.file)
        return PAIRED_LANE if folder in PAIRED else BY_FILE_LANE if folder in PAIRED_BY_FILE else ALONE


@dataclass(frozen=True)
class Slice:
    """What one run takes of soak."""

    pieces: tuple[Piece, ...]

    @property
    def took_s(self) -> float:
        """About how long it takes on two cores: lanes one after the other."""
        return length_s(self.pieces)

    def lane(self, name: str) -> tuple[Piece, ...]:
        return tuple(p for p in self.pieces if p.lane == name)


def pieces_of(
    durations: Mapping[str, float], sweeps: Iterable[str], files: Iterable[str], guess_s: float
) -> list[Piece]:
    """The pieces of soak. `durations` by node id; `sweeps`: files whose long tests may be cut; `files`: those that have
    a soak test, known or not: what is not known yet is in the file's last piece, at `guess_s` if it is all there is."""
    can_cut = set(sweeps)
    by_file: dict[str, list[str]] = {file: [] for file in sorted(files)}
    for test in durations:
        file = test.partition("::")[0]
        if file in by_file and test not in WHOLE and file not in WHOLE:
            by_file[file].append(test)
    found = []
    for file, tests in by_file.items():
        if file in WHOLE:
            continue
        if goes_on(file) or not tests:
            runs = _clusters(tests, durations)
            found += [Piece(file, run, sum(durations[t] for t in run) or guess_s, rest=run is runs[-1]) for run in runs]
        elif _folder(file) in PAIRED_BY_FILE:
            found += _runs(file, tests, durations)
        else:
            for test in tests:
                found += _parts(file, test, durations[test], can_be_cut=file in can_cut, rest=test == tests[-1])
    return found


def cut(pieces: Sequence[Piece]) -> list[Slice]:
    """The pieces, each in exactly one slice, as evenly as they go. Always the same for the same pieces.

    How many slices there are is a prime: landings of as many commits each, however many, then walk through all of them.
    """
    ordered = sorted(pieces, key=lambda p: (-p.took_s, p.file, p.tests, p.part))
    # Alone every piece takes its seconds, whatever its lane: those that no slice takes have one each.
    long = [p for p in ordered if p.took_s > SLICE_S]
    others = ordered[len(long) :]
    least = len(long) + max(1, ceil(length_s(others) / SLICE_S))
    for number in (n for n in count(least) if is_prime(n)):
        bins = [_Bin() for _ in range(number - len(long))]
        for piece in others:
            min(bins, key=lambda b: b.length_with(piece)).add(piece)
        if all(b.length_s <= SLICE_S for b in bins):
            return [*(Slice((p,)) for p in long), *(Slice(tuple(b.pieces)) for b in bins)]
    raise AssertionError("a slice for each piece always fits")


def length_s(pieces: Iterable[Piece]) -> float:
    """Seconds on two cores: what runs in pairs takes half its sum, and never less than its longest."""
    filled = _Bin()
    for piece in pieces:
        filled.add(piece)
    return filled.length_s


class _Bin:
    """Pieces, and how long they take, known without another look at all of them."""

    def __init__(self) -> None:
        self.pieces: list[Piece] = []
        self._sum_s = dict.fromkeys(LANES, 0.0)
        self._longest_s = dict.fromkeys(LANES, 0.0)
        self._of_file_s: dict[str, float] = {}

    @property
    def length_s(self) -> float:
        return sum(self._lane_s(lane, 0.0, 0.0) for lane in LANES)

    def length_with(self, piece: Piece) -> float:
        one_s = self._in_a_row_s(piece)
        return sum(self._lane_s(lane, *((piece.took_s, one_s) if lane == piece.lane else (0.0, 0.0))) for lane in LANES)

    def add(self, piece: Piece) -> None:
        self.pieces.append(piece)
        self._longest_s[piece.lane] = max(self._longest_s[piece.lane], self._in_a_row_s(piece))
        self._of_file_s[piece.file] = self._of_file_s.get(piece.file, 0.0) + piece.took_s
        self._sum_s[piece.lane] += piece.took_s

    def _in_a_row_s(self, piece: Piece) -> float:
        """What runs one after the other with it: of a lane by file all that is there of its file."""
        return piece.took_s + (self._of_file_s.get(piece.file, 0.0) if piece.lane == BY_FILE_LANE else 0.0)

    def _lane_s(self, lane: str, more_s: float, in_a_row_s: float) -> float:
        total_s = self._sum_s[lane] + more_s
        return total_s if lane == ALONE else max(total_s / 2, self._longest_s[lane], in_a_row_s)


def selection_of(pieces: Iterable[Piece], everything: Iterable[Piece]) -> Selection:
    """What pytest runs for these pieces; `everything` says which tests have a place elsewhere."""
    tests: dict[str, str] = {}
    parts: dict[str, tuple[list[int], int]] = {}
    there = list(pieces)
    for piece in there:
        for test in piece.tests:
            if piece.of == 1:
                tests[test] = ""
            else:
                parts.setdefault(test, ([], piece.of))[0].append(piece.part)
    tests |= {test: f"{','.join(map(str, sorted(at)))}/{of}" for test, (at, of) in parts.items()}
    rest = frozenset(p.file for p in there if p.rest)
    listed = frozenset(t for p in everything if p.file in rest for t in p.tests)
    return Selection(tests, rest, listed | frozenset(t for t in WHOLE if t.partition("::")[0] in rest))


def is_prime(number: int) -> bool:
    return number > 1 and all(number % d for d in range(2, isqrt(number) + 1))


def _folder(file: str) -> str:
    """The first one below `tests`."""
    return file.split("/")[1]


def _clusters(tests: Sequence[str], durations: Mapping[str, float]) -> list[tuple[str, ...]]:
    """Tests that go on from each other. Of a file longer than a slice those of one parameter of all its tests are
    apart: each has a cluster of its own."""
    by_parameter: dict[str, list[str]] = {}
    for test in tests:
        by_parameter.setdefault(test.partition("[")[2], []).append(test)
    if sum(durations[t] for t in tests) <= SLICE_S or "" in by_parameter:
        return [tuple(tests)]
    return [tuple(group) for group in by_parameter.values()]


def _runs(file: str, tests: Sequence[str], durations: Mapping[str, float]) -> list[Piece]:
    """A file's tests, as many after each other as a slice takes: they share what is dear to make, and no more."""
    runs: list[list[str]] = [[]]
    for test in tests:
        if runs[-1] and sum(durations[t] for t in runs[-1]) + durations[test] > SLICE_S:
            runs.append([])
        runs[-1].append(test)
    return [Piece(file, tuple(run), sum(durations[t] for t in run), rest=run is runs[-1]) for run in runs]


def _parts(file: str, test: str, took_s: float, *, can_be_cut: bool, rest: bool) -> list[Piece]:
    of = ceil(took_s / PART_S) if can_be_cut and took_s > SLICE_S else 1
    return [Piece(file, (test,), took_s / of, rest and at == of - 1, at, of) for at in range(of)]
