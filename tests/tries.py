"""A failed test is run once more, alone. One that fails again fails the run; what needed its second try is told.

Alone: no other test of its stage beside it, in a process of its own, with those before it of the same file where they
go on from each other (`GO_ON`), as tests that share one living cluster do.
"""

import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.recorder import RECORD, SELECTION, Result, Selection, results

MOST = 8
"""More failed tests than that are no accident: they are not tried again."""
TESTS_FAILED = 1
"""What pytest ends with when it ran and some failed; anything else is no test's fault."""
GO_ON = ("agent", "boot", "contract", "e2e", "kafka", "portal", "story")
"""Folders in which the tests of one file may go on from where the one before it stopped."""

_NOT_ALONE = {"-n": 2, "--dist": 2, "--turn": 2}
"""Words that have tests run beside each other or leave some out, and how many words that is."""

Run = Callable[[Sequence[str], Mapping[str, str]], int]
"""A command and its environment -> exit status."""


@dataclass(frozen=True)
class Ran:
    """What came of a command. `second`: tests that passed at their second try, with why they failed at first."""

    code: int
    took_s: float
    results: tuple[Result, ...] = ()
    second: tuple[Result, ...] = ()
    root: str = ""
    """Where the node ids begin."""

    @property
    def failed(self) -> tuple[Result, ...]:
        return tuple(r for r in self.results if r.outcome == "failed")

    @property
    def may_be_accident(self) -> bool:
        """A few tests failed, and nothing else went wrong."""
        return self.code == TESTS_FAILED and 0 < len(self.failed) <= MOST


def run(command: Sequence[str], environment: Mapping[str, str]) -> int:
    return subprocess.run(command, check=False, env=dict(environment)).returncode


def ran(
    command: Sequence[str], environment: Mapping[str, str], *, selection: Selection | None = None, start: Run = run
) -> Ran:
    """Runs a command; of one of pytest, the tests that failed once more. `environment` is all it gets."""
    first = once(command, environment, selection=selection, start=start)
    if not first.may_be_accident:
        return first
    print(f"\n{len(first.failed)} failed; once more, alone: {', '.join(r.test for r in first.failed)}", flush=True)
    second = again(command, environment, first, start=start)
    good = {r.test for r in second.results if r.outcome == "passed"}
    mended = tuple(r for r in first.failed if r.test in good) if second.code == 0 else ()
    # Each of them has to be there, and well: one that was not run again has not passed.
    code = 0 if len(mended) == len(first.failed) else second.code or TESTS_FAILED
    return Ran(code, first.took_s + second.took_s, first.results, mended, first.root)


def once(
    command: Sequence[str], environment: Mapping[str, str], *, selection: Selection | None = None, start: Run = run
) -> Ran:
    """Runs a command, without a second try."""
    began = time.monotonic()
    if "pytest" not in command:
        return Ran(start(command, environment), time.monotonic() - began)
    with tempfile.TemporaryDirectory(prefix="kedge-tries-") as folder:
        code, root, first = _recorded(command, environment, selection, Path(folder), start)
    return Ran(code, time.monotonic() - began, tuple(first), root=root)


def again(command: Sequence[str], environment: Mapping[str, str], first: Ran, *, start: Run = run) -> Ran:
    """What failed of `first`, which that command ran, in a process of its own."""
    parts = {r.test: r.parts for r in first.results}
    wanted = Selection({test: parts[test] for test in together(first.failed, first.results)})
    return once(_alone(command, first.root, wanted.tests), environment, selection=wanted, start=start)


def together(failed: Iterable[Result], order: Sequence[Result]) -> list[str]:
    """Node ids that are run again for those that failed, in their order."""
    wanted: set[str] = set()
    for one in failed:
        file = one.test.partition("::")[0]
        until = next(at for at, r in enumerate(order) if r.test == one.test)
        before = {r.test for r in order[:until] if r.test.partition("::")[0] == file}
        wanted |= {one.test} | (before if goes_on(file) else set())
    return [r.test for r in order if r.test in wanted]


def goes_on(file: str) -> bool:
    """Whether a test of this file may need those before it."""
    return any(file.startswith(f"tests/{folder}/") for folder in GO_ON)


def _recorded(
    command: Sequence[str], environment: Mapping[str, str], selection: Selection | None, folder: Path, start: Run
) -> tuple[int, str, list[Result]]:
    more = {RECORD: str(folder / "record.jsonl")}
    if selection is not None:
        selection.write(folder / "selection.json")
        more[SELECTION] = str(folder / "selection.json")
    code = start((*command, "-p", "tests.recorder"), {**environment, **more})
    return code, *results(folder / "record.jsonl")


def _alone(command: Sequence[str], root: str, tests: Iterable[str]) -> tuple[str, ...]:
    """The same call of pytest, given the files of these tests alone, one after the other."""
    kept, words = [], iter(command)
    for word in words:
        if word in _NOT_ALONE:
            next(words)
        elif not (word.startswith(("tests/", "--junit-xml")) or (Path(word).is_absolute() and word != command[0])):
            kept.append(word)
    return (*kept, *dict.fromkeys(f"{root}/{test.partition('::')[0]}" for test in tests))
