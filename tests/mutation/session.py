"""One target: its tests are collected once, and run in a fork for each of its mutants until one of them fails.

`python -m tests.mutation.session TARGET RESULTS` writes a line of JSON for each mutant. The tests run unchanged first,
in a fork too, so that nothing they leave behind hides a mutant: what fails then ends the run, and which functions each
of them calls says which tests a mutant can meet. Those run from the quickest to the longest.
"""

import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import asdict, dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple

import pytest
from hypothesis import settings

from tests.mutation.mutants import ROOT, Mutant, mutants_of
from tests.mutation.report import read
from tests.mutation.swap import function_of, is_of_a_constant, module_name, rebind, swap
from tests.mutation.targets import Target, targets

ANEW_S = 240.0
SLOWER, LEAST_S = 6.0, 5.0
"""A mutant has as many times what its tests take, and no less than that, before it is called hanging."""


@dataclass(frozen=True)
class Came:
    """What came of a mutant: killed, by which test; hung; survived; or not reached by any test."""

    outcome: str
    by: str = ""


@dataclass(frozen=True)
class Unchanged:
    """Of a test on unchanged code: how long it takes, and the functions it calls, as file and first line."""

    took_s: float
    called: frozenset[tuple[str, int]]


class Ran(NamedTuple):
    """The same as a fork tells it."""

    failed: bool
    took_s: float
    called: list[tuple[str, int]]


class Forks:
    """The plugin that runs mutants in place of the tests."""

    def __init__(self, mutants: Sequence[Mutant], results: Path, warm: str = "") -> None:
        self._mutants, self._results, self._warm = mutants, results, warm
        self.broken = ""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            self.broken = "the tests cannot be collected"
            return True
        try:
            known = unchanged(session.items, {str(ROOT / m.name.module) for m in self._mutants})
        except AssertionError as fault:
            self.broken = str(fault)
            return True
        for item in session.items:
            if item.nodeid == self._warm:
                failed(item, None)
        killers: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        for mutant in self._mutants:
            began, of_function = time.monotonic(), killers[mutant.name.module, mutant.name.function]
            came = judged(mutant, session.items, known, of_function)
            of_function[came.by] += 1
            write(self._results, mutant, came, time.monotonic() - began)
        return True


def main(name: str, results: Path, living: Path | None = None) -> str:
    """Runs the target; returns what is wrong with its tests, if anything. `living`: earlier results, of which only the
    survivors are tried again."""
    (target,) = [t for t in targets() if t.name == name]
    found = [m for m in mutants_of(target.modules) if meant(target, m)]
    if living is not None:
        killed = {r.name for r in read(living) if not r.lives}
        found = [m for m in found if m.name not in killed]
    arguments = ["-q", "-p", "no:cacheprovider", "-m", "not soak", *target.tests]
    # Before anything of ours is imported here: what a module says once is said anew in each of these forks.
    for mutant in found:
        if anew(mutant):
            began = time.monotonic()
            write(results, mutant, judged_anew(mutant, arguments), time.monotonic() - began)
    forks = Forks([m for m in found if not anew(m)], results, target.warm)
    code = pytest.main(arguments, plugins=[forks, SameExamples()])
    return forks.broken or ("" if code == pytest.ExitCode.OK else f"pytest ended with {code}")


def anew(mutant: Mutant) -> bool:
    """Whether everything has to be imported for it: it is in no function, and no constant of its module."""
    return not mutant.name.function and not is_of_a_constant(mutant)


def meant(target: Target, mutant: Mutant) -> bool:
    """Whether the target is narrowed to other functions than this one's."""
    return not target.only or mutant.name.function in target.only


def write(results: Path, mutant: Mutant, came: Came, took_s: float) -> None:
    """A line of its own, at once: who follows the file sees how far it is."""
    said = {"line": mutant.line, "operator": mutant.operator, "took_s": round(took_s, 2)}
    with results.open("a") as file:
        file.write(json.dumps({**asdict(mutant.name), **asdict(came), **said}) + "\n")


class SameExamples:
    """Hypothesis tries the same examples for each mutant, and keeps none for the next."""

    def pytest_configure(self) -> None:
        settings.register_profile("mutation", settings.get_profile("kedge"), derandomize=True, database=None)
        settings.load_profile("mutation")


def judged_anew(mutant: Mutant, arguments: Sequence[str]) -> Came:
    """Of a mutant outside of functions: a fork imports everything, and that module with the mutant in it."""

    def run(tell: Callable[[object], None]) -> None:
        sys.meta_path.insert(0, _Mutated(mutant))
        with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
            tell(int(pytest.main([*arguments, "-x"], plugins=[SameExamples()])))

    ended, told = forked(run, ANEW_S)
    if not ended:
        return Came("hung")
    if told and told[0] not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED):
        raise AssertionError(f"pytest ended with {told[0]} for {mutant.name}")
    return Came("survived") if told == [0] else Came("killed", "imported anew")


class _Mutated(MetaPathFinder):
    """Finds the module of one mutant, with it."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        if fullname != module_name(self._mutant.name.module):
            return None
        file = str(ROOT / self._mutant.name.module)
        return spec_from_file_location(fullname, file, loader=_Loader(fullname, file, self._mutant.source()))


class _Loader(SourceFileLoader):
    def __init__(self, name: str, file: str, source: str) -> None:
        super().__init__(name, file)
        self._source = source

    def get_code(self, fullname: str) -> CodeType:
        return compile(self._source, self.path, "exec", dont_inherit=True)


def judged(mutant: Mutant, items: Sequence[pytest.Item], known: Sequence[Unchanged], killers: Counter[str]) -> Came:
    """Runs the tests that can meet this mutant, in a fork: the quickest first, the more so the more others of its
    function it noticed."""
    order = list(range(len(items)))
    if mutant.name.function:
        code = function_of(mutant.name.module, mutant.name.function).__code__
        order = [n for n in order if (code.co_filename, code.co_firstlineno) in known[n].called]
    if not order:
        return Came("not reached")
    order.sort(key=lambda n: known[n].took_s / (1 + killers[items[n].nodeid]))
    patience_s = LEAST_S + SLOWER * sum(known[n].took_s for n in order)

    def run(tell: Callable[[object], None]) -> None:
        if mutant.name.function:
            swap(mutant)
        else:
            rebind(mutant)
        for at, n in enumerate(order):
            following = items[order[at + 1]] if at + 1 < len(order) else None
            if failed(items[n], following):
                tell(items[n].nodeid)
                return
        tell("")

    ended, told = forked(run, patience_s)
    if not ended:
        return Came("hung")
    if not told:
        return Came("killed", "the process died")
    return Came("killed", str(told[0])) if told[0] else Came("survived")


def unchanged(items: Sequence[pytest.Item], files: set[str]) -> list[Unchanged]:
    """Raises `AssertionError` with the tests that fail on unchanged code."""

    def run(tell: Callable[[object], None]) -> None:
        for at, item in enumerate(items):
            called: set[tuple[str, int]] = set()

            def look(frame: FrameType, event: str, argument: object, called: set[tuple[str, int]] = called) -> None:
                if event == "call" and frame.f_code.co_filename in files:
                    called.add((frame.f_code.co_filename, frame.f_code.co_firstlineno))

            began = time.monotonic()
            sys.setprofile(look)
            threading.setprofile(look)
            try:
                bad = failed(item, items[at + 1] if at + 1 < len(items) else None)
            finally:
                sys.setprofile(None)
                threading.setprofile(None)
            tell([bad, time.monotonic() - began, sorted(called)])

    _, told = forked(run, 900.0)
    rows = [Ran(*row) for row in told if isinstance(row, list)]
    assert len(rows) == len(items), f"the tests on unchanged code ended after {len(rows)} of {len(items)}"
    bad = [item.nodeid for item, row in zip(items, rows, strict=True) if row.failed]
    assert not bad, f"these fail on unchanged code: {', '.join(bad)}"
    return [Unchanged(row.took_s, frozenset((f, n) for f, n in row.called)) for row in rows]


def failed(item: pytest.Item, following: pytest.Item | None) -> bool:
    """Runs one test, with what it needs set up and taken down."""
    from _pytest.runner import runtestprotocol

    return any(report.failed for report in runtestprotocol(item, log=False, nextitem=following))


def forked(run: Callable[[Callable[[object], None]], None], patience_s: float) -> tuple[bool, list[object]]:
    """Whether it ended by itself in that time, and what it told, a value at a time. It is a group of its own, and all
    it started ends with it."""
    with tempfile.TemporaryFile("w+") as told:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.setsid()

                def tell(value: object) -> None:
                    told.write(json.dumps(value) + "\n")
                    told.flush()

                run(tell)
                code = 0
            finally:
                os._exit(code)
        until, pid = time.monotonic() + patience_s, 0
        pause_s = 0.002
        while pid == 0 and time.monotonic() < until:
            pid, _ = os.waitpid(child, os.WNOHANG)
            if pid == 0:
                time.sleep(pause_s)
                pause_s = min(pause_s * 1.3, 0.05)
        _end(child, waited=pid != 0)
        told.seek(0)
        return pid != 0, [json.loads(line) for line in told.read().splitlines()]


def _end(child: int, *, waited: bool) -> None:
    # None of them is left where all ended by themselves.
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if not waited:
        # One that never got the processor has not made its group yet.
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


if __name__ == "__main__":
    wrong = main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]) if sys.argv[3:] else None)
    sys.exit(f"{sys.argv[1]}: {wrong}" if wrong else 0)
