"""`make test`: the stages one after the other, each with its time budget; at the end what they and the areas took.

`python -m tests.stages [NAME ...]` runs only those named. A stage that fails does not hide the ones after it. A failed
test is run once more, alone (`tests/tries.py`): what passed then is told at the end, under "second tries". Stages that
need nothing but a processor run behind those that wait for brokers, and give way to them (`GROUPS`). Long stages take
turns: one turn is the commit's own, the others run at the end as long as there is time (`ALL_S`); what was not run is
told. Named stages run whole.
"""

import re
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from tests.behind import Behind
from tests.environment import kept_bytecode
from tests.recorder import Result, Selection
from tests.shares import durations_by_area, split, table
from tests.soak.commit import SLICE, chosen, turn
from tests.soak.durations import ROOT, all_pieces, all_slices, read
from tests.soak.lanes import calls
from tests.tries import Ran, Run, ran, run
from tests.turns import Turn

PYTEST = (sys.executable, "-m", "pytest", "-q", "-m", "not soak")
BROKERS_ALONE = "not soak and kafka"
SOAK_SLICE = "soak slice"
ALL_S = 3_000
"""After so many seconds nothing more is begun that has its turn another time: on a new machine 65 minutes in all."""
BY_FILE = ("-n", "2", "--dist", "loadfile")


@dataclass(frozen=True)
class Stage:
    """Commands that belong together. `budget_s` is on 2 quiet cores. `turns`: of how many the files take turns, or the
    turn that this is."""

    name: str
    budget_s: int
    commands: tuple[tuple[str, ...], ...]
    turns: int = 1
    turn: Turn | None = None

    def taking(self, number: int) -> "Stage":
        """A turn of it, from 0."""
        if self.turns == 1:
            return self
        turn = Turn(number % self.turns + 1, self.turns)
        commands = tuple((*command, *turn.words) for command in self.commands)
        return replace(self, budget_s=self.budget_s // self.turns, commands=commands, turn=turn)

    def __str__(self) -> str:
        return f"{self.name} {self.turn}" if self.turn else self.name


STAGES = (
    Stage(
        "lint",
        60,
        (
            (sys.executable, "-m", "ruff", "check", "--quiet", "."),
            (sys.executable, "-m", "ruff", "format", "--quiet", "--check", "."),
            (sys.executable, "-m", "mypy"),
            ("lint-imports", "--no-cache"),
        ),
    ),
    Stage("gates", 45, ((sys.executable, "-m", "tests.gates.scanners"), (*PYTEST, "tests/gates"))),
    Stage("unit", 290, ((*PYTEST, "-n", "2", "tests/unit", "-m", "not soak and not kafka"),)),
    # By file: the tests of one fake may go on from where the one before it stopped.
    Stage("contract", 240, ((*PYTEST, *BY_FILE, "tests/contract", "tests/postgres", "-m", "not soak and not kafka"),)),
    Stage("sequences", 60, ((*PYTEST, "-n", "2", "tests/sequences", "tests/mutation"),)),
    Stage("simulator", 270, ((*PYTEST, "-n", "2", "tests/sim"),), turns=2),
    # By file: the tests of one share what `init` made.
    Stage("terraform", 390, ((*PYTEST, *BY_FILE, "tests/terraform"),), turns=2),
    # By file: the tests of one share what a job wrote. A session for each of the two.
    Stage("spark", 250, ((*PYTEST, *BY_FILE, "tests/spark"),)),
    Stage(
        "kafka",
        390,
        (
            (*PYTEST, "tests/kafka", "tests/agent"),
            (*PYTEST, "tests/contract", "-m", BROKERS_ALONE),
        ),
        turns=2,
    ),
    # Needs root: namespaces, loop devices, mounts. Four machines are booted, two of them for a whole cluster.
    Stage("boot", 150, ((*PYTEST, "tests/boot"),)),
    # A Chromium and portals of its own for each of the two.
    Stage("portal", 150, ((*PYTEST, *BY_FILE, "tests/portal"),)),
    # One cluster at a time: two of them, with their Spark, are more than 2 cores can keep to deadlines.
    Stage("end to end", 660, ((*PYTEST, "tests/e2e"),), turns=3),
    # What Kedge exists for, under one producer and one audit; then the README's demo, with less data.
    Stage("story", 520, ((*PYTEST, "tests/story"),)),
    # What it runs is the commit's own: see `tests/soak`.
    Stage(SOAK_SLICE, 420, ()),
)


@dataclass(frozen=True)
class Group:
    """Stages in front, one after the other, and those behind them, one after the other at the same time."""

    front: tuple[Stage, ...]
    behind: tuple[Stage, ...] = ()

    @property
    def budget_s(self) -> int:
        """By the clock on the wall: who is behind takes a third of two cores from who waits for brokers."""
        front_s, behind_s = (sum(s.budget_s for s in lane) for lane in (self.front, self.behind))
        return front_s + max(0, behind_s - front_s // 3)


GROUPS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("lint",), ("gates",)),
    (("contract", "terraform", "spark", "portal"), ()),
    (("kafka", "boot", "end to end", "story", SOAK_SLICE), ("unit", "sequences", "simulator")),
)
"""Names of the stages in front, and of those behind them. Tests with a clock or a browser have nobody behind them but
those with brokers, whose waits are generous."""


@dataclass(frozen=True)
class Outcome:
    """What came of a stage."""

    stage: Stage
    took_s: float
    ok: bool
    second: tuple[Result, ...] = ()


def main(names: list[str]) -> int:
    """Runs the stages and prints the tables. Exit status 1 when any failed."""
    unknown = set(names) - {s.name for s in STAGES}
    if unknown:
        print(f"no stage {', '.join(sorted(unknown))}; there are: {', '.join(s.name for s in STAGES)}")
        return 2
    shares: dict[str, float] = defaultdict(float)
    began, number = time.monotonic(), turn(ROOT)[0]
    chosen = groups(names) if names else groups(number=number)
    outcomes = [o for group in chosen for o in _ran(group, shares)]
    left = [] if names else _others(number, began, outcomes, shares)
    budget_s = sum(group.budget_s for group in chosen)
    print("\n".join(summary(outcomes, shares, time.monotonic() - began, budget_s)))
    print("".join(f"not run, for want of time: {stage}\n" for stage in left), end="")
    return 0 if all(o.ok for o in outcomes) else 1


def groups(names: Sequence[str] = (), number: int | None = None) -> list[Group]:
    """The groups in their order, of the stages named, or of all, whole or the turns that this number makes theirs."""
    stages = {s.name: s if number is None else s.taking(number) for s in STAGES if not names or s.name in names}
    made = []
    for lanes in GROUPS:
        front, behind = (tuple(stages[name] for name in lane if name in stages) for lane in lanes)
        if front or behind:
            made.append(Group(front, behind) if front else Group(behind))
    return made


def _others(number: int, began: float, outcomes: list[Outcome], shares: dict[str, float]) -> list[Stage]:
    """Runs the other turns too, each if there is time for as much as the first one took; adds what came of them to
    `outcomes`. Returns those there was no time for."""
    first_s = {o.stage.name: o.took_s for o in outcomes}
    left = []
    for stage in (s.taking(number + later) for s in STAGES for later in range(1, s.turns)):
        if time.monotonic() - began + first_s[stage.name] <= ALL_S:
            outcomes.append(_run(stage, shares))
        else:
            left.append(stage)
    return left


def summary(outcomes: Sequence[Outcome], shares: Mapping[str, float], took_s: float, budget_s: int) -> list[str]:
    """The tables at the end, and what needed its second try. Both seconds are of all, by the clock on the wall."""
    lines = ["", f"{'stage':14} {'took':>8} {'budget':>8}"]
    lines += [f"{o.stage!s:14} {o.took_s:6.0f} s {o.stage.budget_s:6} s{'' if o.ok else '  FAILED'}" for o in outcomes]
    lines += [f"{'all':14} {took_s:6.0f} s {budget_s:6} s", "", table(shares), ""]
    second = [r for o in outcomes for r in o.second]
    return [*lines, f"second tries: {len(second)}", *(f"  {r.test}: {r.why}" for r in second)]


def _ran(group: Group, shares: dict[str, float]) -> list[Outcome]:
    """Runs the stages of a group; adds to `shares` what each area took of them."""
    own: dict[str, float] = defaultdict(float)
    behind = Behind()
    with ThreadPoolExecutor(1) as pool:
        later = [pool.submit(_run, stage, own, behind) for stage in group.behind]
        try:
            outcomes = [_run(stage, shares) for stage in group.front]
            outcomes += [outcome.result() for outcome in later]
        except BaseException:
            behind.end()
            raise
    for area, took_s in own.items():
        shares[area] += took_s
    return outcomes


def _run(stage: Stage, shares: dict[str, float], start: Run = run) -> Outcome:
    """Runs a stage; adds to `shares` what each area took of it."""
    said = start.begins(str(stage)) if isinstance(start, Behind) else ""
    print(f"\n== {stage}{said}", flush=True)
    began, ok, second = time.monotonic(), True, []
    for command, selection in _commands(stage):
        came = _share(command, selection, shares, start)
        ok, second = ok and came.code == 0, [*second, *came.second]
    return Outcome(stage, time.monotonic() - began, ok, tuple(second))


def _commands(stage: Stage) -> list[tuple[tuple[str, ...], Selection | None]]:
    if stage.name != SOAK_SLICE:
        return [(narrowed(command), None) for command in stage.commands]
    known = read()
    slices = all_slices(known)
    number, why = chosen(len(slices), ROOT)
    there = slices[number]
    print(f"slice {number + 1} of {len(slices)} ({why}), about {there.took_s:.0f} s; {SLICE}={number + 1} names it")
    return [(call.command, call.selection) for call in calls(there.pieces, all_pieces(known))]


def _share(command: tuple[str, ...], selection: Selection | None, shares: dict[str, float], start: Run) -> Ran:
    with tempfile.TemporaryDirectory(prefix="kedge-shares-") as directory:
        report = Path(directory) / "report.xml"
        told = ("-o", "junit_family=xunit1", f"--junit-xml={report}") if "pytest" in command else ()
        came = ran(_located((*command, *told)), kept_bytecode(), selection=selection, start=start)
        for area, took_s in split(came.took_s, durations_by_area(report)).items():
            shares[area] += took_s
    return came


def narrowed(command: tuple[str, ...]) -> tuple[str, ...]:
    """Of the contract tests that need brokers, the files: pytest imports and collects what it is given, and that would
    be 2,000 tests for 47."""
    if BROKERS_ALONE not in command:
        return command
    return tuple(part for word in command for part in (_naming_brokers(word) if word.startswith("tests/") else (word,)))


def _naming_brokers(folder: str) -> list[str]:
    root = Path(__file__).parents[1]
    files = sorted((root / folder).rglob("test_*.py"))
    return [str(file.relative_to(root)) for file in files if re.search(r"mark\.kafka", file.read_text())]


def _located(command: tuple[str, ...]) -> tuple[str, ...]:
    """A console script of the same environment as this Python."""
    if command[0] == sys.executable:
        return command
    return (sys.executable.rsplit("/", 1)[0] + "/" + command[0], *command[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
