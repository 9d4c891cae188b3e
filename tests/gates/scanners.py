"""The scanners of `make gates`: what each looks at, with its own tools (`.cache/gates`), and without the network.

    python -m tests.gates.scanners

They run side by side. Exit status 1 when any of them found something, or is not there.
"""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
HERE = ROOT / "tests" / "gates"
TOOLS = ROOT / ".cache" / "gates" / "bin"

CODE = ("agent", "alembic", "benchmarks", "controlplane", "events", "planner", "providers", "spark")
MODULES = "terraform/modules"

_NO_COMMITS = re.compile(r"\b0 commits scanned")


@dataclass(frozen=True, slots=True)
class Result:
    """What a scanner said. `passed` is false too where it could not look."""

    scanner: str
    passed: bool
    words: str


def code(folders: Sequence[Path]) -> Result:
    """bandit over Python: a finding of medium or high severity fails; a `# nosec` names its rule beside the reason."""
    return ran("bandit", ("-q", "-r", "-ll"), folders)


def modules(folder: Path) -> Result:
    """checkov over Terraform's modules; what it may not say is argued in `terraform.yaml`."""
    return ran("checkov", ("--config-file", str(HERE / "terraform.yaml"), "-d"), [folder])


def commits(repository: Path) -> Result:
    """gitleaks over every commit of every branch; what only looks like a secret is argued in `secrets.toml`."""
    told = ("git", "--no-banner", "--no-color", "--redact", "--verbose", "-c", str(HERE / "secrets.toml"))
    return ran("gitleaks", told, [repository])


def main() -> int:
    """Runs all, prints what those said that did not pass."""
    with ThreadPoolExecutor() as pool:
        asked = [
            pool.submit(code, [ROOT / folder for folder in CODE]),
            pool.submit(modules, ROOT / MODULES),
            pool.submit(commits, ROOT),
        ]
        results = [one.result() for one in asked]
    for result in results:
        print(f"{result.scanner:10}{'nothing found' if result.passed else 'FAILED'}", flush=True)
        if not result.passed:
            print(result.words)
    return 0 if all(result.passed for result in results) else 1


def ran(scanner: str, arguments: Sequence[str], places: Sequence[Path]) -> Result:
    """What a scanner says of these places, run with its own tools."""
    program = TOOLS / scanner
    if not program.exists():
        return Result(scanner, False, f"{program} is not there: `make gates` installs it, gitleaks only where Go is")
    # Each of them is content with a place that is not there.
    if missing := [str(place) for place in places if not place.exists()]:
        return Result(scanner, False, f"nothing to look at: {', '.join(missing)}")
    environment = {**os.environ, "NO_COLOR": "1", "ANSI_COLORS_DISABLED": "1"}
    command = [str(program), *arguments, *map(str, places)]
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    words = ended.stdout + ended.stderr
    return Result(scanner, ended.returncode == 0 and not _NO_COMMITS.search(words), words)


if __name__ == "__main__":
    sys.exit(main())
