"""`make test`: the stages one after the other, each with its time budget; at the end what they and the areas took.

`python -m tests.stages [NAME ...]` runs only those named. A stage that fails does not hide the ones after it.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from tests.shares import durations_by_area, split, table

PYTEST = (sys.executable, "-m", "pytest", "-q", "-m", "not soak")
BROKERS_ALONE = "not soak and kafka"
BY_FILE = ("-n", "2", "--dist", "loadfile")


@dataclass(frozen=True)
class Stage:
    """Commands that belong together. `budget_s` is on 2 cores."""

    name: str
    budget_s: int
    commands: tuple[tuple[str, ...], ...]


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
    Stage("simulator", 330, ((*PYTEST, "-n", "2", "tests/sequences", "tests/sim"),)),
    # By file: the tests of one share what `init` made.
    Stage("terraform", 390, ((*PYTEST, *BY_FILE, "tests/terraform"),)),
    # By file: the tests of one share what a job wrote. A session for each of the two.
    Stage("spark", 250, ((*PYTEST, *BY_FILE, "tests/spark"),)),
    Stage(
        "kafka",
        390,
        (
            (*PYTEST, "tests/kafka", "tests/agent"),
            (*PYTEST, "tests/contract", "-m", BROKERS_ALONE),
        ),
    ),
    # Needs root: namespaces, loop devices, mounts. Two machines are booted.
    Stage("boot", 150, ((*PYTEST, "tests/boot"),)),
    # A Chromium and portals of its own for each of the two.
    Stage("portal", 150, ((*PYTEST, *BY_FILE, "tests/portal"),)),
    # One cluster at a time: two of them, with their Spark, are more than 2 cores can keep to deadlines.
    Stage("end to end", 660, ((*PYTEST, "tests/e2e"),)),
)


def main(names: list[str]) -> int:
    """Runs the stages and prints the tables. Exit status 1 when any failed."""
    chosen = [s for s in STAGES if not names or s.name in names]
    shares: dict[str, float] = defaultdict(float)
    results = [(stage, *_run(stage, shares)) for stage in chosen]
    print(f"\n{'stage':12} {'took':>8} {'budget':>8}")
    for stage, took_s, ok in results:
        print(f"{stage.name:12} {took_s:6.0f} s {stage.budget_s:6} s{'' if ok else '  FAILED'}")
    total, budget = sum(r[1] for r in results), sum(r[0].budget_s for r in results)
    print(f"{'all':12} {total:6.0f} s {budget:6} s\n\n{table(shares)}")
    return 0 if all(ok for _, _, ok in results) else 1


def _run(stage: Stage, shares: dict[str, float]) -> tuple[float, bool]:
    """What the stage took and whether it passed; adds to `shares` what each area took of it."""
    print(f"\n== {stage.name}", flush=True)
    began = time.monotonic()
    codes = [_share(command, shares) for command in stage.commands]
    return time.monotonic() - began, not any(codes)


def _share(command: tuple[str, ...], shares: dict[str, float]) -> int:
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="kedge-shares-") as directory:
        report = Path(directory) / "report.xml"
        told = ("-o", "junit_family=xunit1", f"--junit-xml={report}") if "pytest" in command else ()
        code = subprocess.run(_located((*narrowed(command), *told)), check=False, env=_environment()).returncode
        for area, took_s in split(time.monotonic() - began, durations_by_area(report)).items():
            shares[area] += took_s
    return code


def narrowed(command: tuple[str, ...]) -> tuple[str, ...]:
    """Of the contract tests that need brokers, the files: pytest imports and collects what it is given, and that would
    be 2,000 tests for 47."""
    if command[-1] != BROKERS_ALONE:
        return command
    return tuple(part for word in command for part in (_naming_brokers(word) if word.startswith("tests/") else (word,)))


def _naming_brokers(folder: str) -> list[str]:
    root = Path(__file__).parents[1]
    files = sorted((root / folder).rglob("test_*.py"))
    return [str(file.relative_to(root)) for file in files if re.search(r"mark\.kafka", file.read_text())]


def _environment() -> dict[str, str]:
    """Ours, but that what Python compiles is kept in any case: else each process of a stage reads and rewrites its test
    modules anew, 5 s for those of Terraform. Where files are not to be written beside the code, below `.cache`.
    """
    if not os.environ.get("PYTHONDONTWRITEBYTECODE"):
        return dict(os.environ)
    kept = Path(__file__).parents[1] / ".cache" / "bytecode"
    return {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(kept)}


def _located(command: tuple[str, ...]) -> tuple[str, ...]:
    """A console script of the same environment as this Python."""
    if command[0] == sys.executable:
        return command
    return (sys.executable.rsplit("/", 1)[0] + "/" + command[0], *command[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
