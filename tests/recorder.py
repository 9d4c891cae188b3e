"""A plugin of pytest (`-p tests.recorder`): what came of each test, on record the moment it is over; and which are run.

`KEDGE_RECORD`: a file that gets one JSON line for each test that ended, and first one that says where node ids begin.
`KEDGE_SELECTION`: a file that says which of the collected tests run (`Selection`), of a sweep perhaps some parts only.
"""

import json
import os
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.sim.sweep import Cut, cut_to
from tests.waiting import PATIENCE

RECORD, SELECTION = "KEDGE_RECORD", "KEDGE_SELECTION"
WORDS = 600
"""Characters that are kept of why a test failed: a sweep names each case in a line."""
CPU, PARTS = "kedge-cpu-s", "kedge-parts"
"""What reports carry: processor seconds of the test with its fixtures, and the parts of its sweep that it had."""
CRASHED = "???"
"""What pytest-xdist calls the phase in which a worker went down."""


@dataclass(frozen=True)
class Selection:
    """Node id -> parts of its sweep (`0,3/7`), "" for all of it. Of a file in `rest_of` also what `listed` has not.

    `sweeps`: the parts that every sweep has whose test names none, `""` for all of it. `patience`: how many times as
    long as it says a test may take before it is ended, where others run beside it.
    """

    tests: Mapping[str, str]
    rest_of: frozenset[str] = frozenset()
    listed: frozenset[str] = frozenset()
    sweeps: str = ""
    patience: float = 1

    def has(self, test: str) -> bool:
        return test in self.tests or (test not in self.listed and test.partition("::")[0] in self.rest_of)

    def write(self, file: Path) -> None:
        rest = {"rest_of": sorted(self.rest_of), "listed": sorted(self.listed)}
        how = {"sweeps": self.sweeps, "patience": self.patience}
        file.write_text(json.dumps({"tests": dict(self.tests), **rest, **how}))

    @classmethod
    def read(cls, file: Path) -> "Selection":
        kept = json.loads(file.read_text())
        listed = frozenset(kept["rest_of"]), frozenset(kept["listed"])
        return cls(kept["tests"], *listed, kept["sweeps"], kept["patience"])


@dataclass(frozen=True)
class Result:
    """What came of a test. `outcome`: passed, failed or skipped; `why` in one line. Seconds with its fixtures.

    `parts` of its sweep that it had, "" for all. `cpu_s`: of its process and those that it waited for, 0 if unknown; a
    broker's are not among them.
    """

    test: str
    outcome: str
    took_s: float
    why: str = ""
    parts: str = ""
    cpu_s: float = 0.0


def results(file: Path) -> tuple[str, list[Result]]:
    """Where the node ids of a record begin, and its results in their order. A last line that was cut short is none."""
    root, found = "", []
    for line in file.read_text().splitlines() if file.exists() else []:
        try:
            told = json.loads(line)
        except ValueError:
            continue
        if "root" in told:
            root = str(told["root"])
        else:
            found.append(Result(**told))
    return root, found


def pytest_configure(config: pytest.Config) -> None:
    selection = os.environ.get(SELECTION)
    chosen = Selection.read(Path(selection)) if selection else None
    if chosen is not None:
        config.pluginmanager.register(_Selector(chosen), "kedge-selector")
        os.environ[PATIENCE] = str(chosen.patience)
    record = os.environ.get(RECORD)
    if record:
        config.pluginmanager.register(_Clock(), "kedge-clock")
    if record and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Recorder(config, Path(record)), "kedge-recorder")


class _Selector:
    def __init__(self, selection: Selection) -> None:
        self._selection = selection

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        others = [item for item in items if not self._selection.has(item.nodeid)]
        items[:] = [item for item in items if self._selection.has(item.nodeid)]
        config.hook.pytest_deselected(items=others)
        if self._selection.patience != 1:
            for item in items:
                _wait_longer(item, self._selection.patience)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        own = self._selection.tests.get(item.nodeid, "")
        parts = own or self._selection.sweeps
        if not parts:
            return (yield)
        numbers, _, of = parts.partition("/")
        with cut_to(Cut(frozenset(map(int, numbers.split(","))), int(of))) as cut:
            try:
                outcome = yield
            finally:
                if own or cut.swept:
                    item.user_properties.append((PARTS, parts))
        assert cut.swept or not own, "it was to be cut, and has no sweep: name it in WHOLE of tests/soak/slices.py"
        return outcome


def _wait_longer(item: pytest.Item, times: float) -> None:
    """pytest-timeout goes by the marker nearest to the test, else by the settings. Those of the test itself wait as
    ever, as what it claims does not change, but for limits that claim nothing (`tests.waiting.patient`)."""
    marker = item.get_closest_marker("timeout")
    words = dict(marker.kwargs) if marker else {}
    told_s = marker.args[0] if marker and marker.args else words.pop("timeout", item.config.getini("timeout"))
    if told_s:
        item.add_marker(pytest.mark.timeout(float(told_s) * times, **words), append=False)


class _Clock:
    """Processor time, in the process that runs the test: its reports carry it to the one that records."""

    _began_s: float = 0.0

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self) -> None:
        self._began_s = _cpu_s()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.when == "teardown":
            report.user_properties.append((CPU, round(_cpu_s() - self._began_s, 2)))
        return report


def _cpu_s() -> float:
    """Of this process and of its children that ended."""
    return sum(os.times()[:4])


@dataclass(eq=False)  # pluggy keeps plugins in sets
class _Recorder:
    config: pytest.Config
    file: Path
    _seconds: dict[str, float] = field(default_factory=dict)
    _failed: dict[str, str] = field(default_factory=dict)
    _skipped: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._write({"root": str(self.config.rootpath)})

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        test = report.nodeid
        self._seconds[test] = self._seconds.get(test, 0.0) + getattr(report, "duration", 0.0)
        if report.failed and test not in self._failed:
            self._failed[test] = _why(report)
            self._say(f"\nFAILED {test}: {self._failed[test]}")
        if report.skipped:
            self._skipped.add(test)
        if report.when in ("teardown", CRASHED):
            self._end(test, dict(report.user_properties))

    def _end(self, test: str, carried: Mapping[str, object]) -> None:
        outcome = "failed" if test in self._failed else "skipped" if test in self._skipped else "passed"
        told: dict[str, Any] = {"test": test, "outcome": outcome, "took_s": round(self._seconds.pop(test), 2)}
        more = {"parts": carried.get(PARTS, ""), "cpu_s": carried.get(CPU, 0.0)}
        self._write({**told, "why": self._failed.pop(test, ""), **more})
        self._skipped.discard(test)

    def _write(self, line: Mapping[str, object]) -> None:
        with self.file.open("a") as file:
            file.write(json.dumps(line) + "\n")

    def _say(self, words: str) -> None:
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            reporter.write_line(words)
            reporter.flush()


def _why(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    words = crash.message if crash is not None else str(report.longrepr)
    return "; ".join(line.strip() for line in words.splitlines() if line.strip())[:WORDS] or "it says nothing more"
