"""`python -m tests.mutation [TARGET ...]`: how many small faults the tests notice where a fault would lose data.

Runs the targets of `targets.toml`, all or those named, and prints what came of their mutants. Exit status 1 when less
than 95 % were killed, or one lives that `survivors.toml` does not argue, or a target's tests fail by themselves.
`--list` names the targets. What came of each mutant is kept in `.cache/mutation/results/`.
"""

import subprocess
import sys
import time

from tests.environment import kept_bytecode
from tests.mutation.mutants import ROOT
from tests.mutation.report import Report, is_good, lines, read
from tests.mutation.targets import Target, argued, targets

RESULTS = ROOT / ".cache" / "mutation" / "results"


def main(names: list[str]) -> int:
    there = targets()
    if names == ["--list"]:
        print("\n".join(t.name for t in there))
        return 0
    if unknown := sorted(set(names) - {t.name for t in there}):
        print(f"no target {', '.join(unknown)}; there are: {', '.join(t.name for t in there)}")
        return 2
    reports = [run(t) for t in there if not names or t.name in names]
    print("\n".join(lines(reports, argued())))
    return 0 if is_good(reports, argued()) else 1


def run(target: Target) -> Report:
    """The target's mutants, in a process of their own."""
    file = RESULTS / f"{target.name.replace(' ', '-')}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    began = time.monotonic()
    command = [sys.executable, "-m", "tests.mutation.session", target.name, str(file)]
    ran = subprocess.run(
        command, cwd=ROOT, env={**kept_bytecode(), **target.environment}, capture_output=True, text=True, check=False
    )
    broken = "" if ran.returncode == 0 else (ran.stderr.strip() or ran.stdout.strip() or f"exit {ran.returncode}")
    report = Report(target.name, read(file), broken[-2000:])
    print(f"{target.name}: {len(report.results)} mutants in {time.monotonic() - began:.0f} s", flush=True)
    return report


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
