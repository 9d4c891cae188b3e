"""What is mutated and the tests that have to notice (`targets.toml`); survivors that are argued (`survivors.toml`)."""

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.mutation.mutants import ROOT, Name

FILE = Path(__file__).with_name("targets.toml")
SURVIVORS = Path(__file__).with_name("survivors.toml")


@dataclass(frozen=True)
class Target:
    """`tests` are files, or node ids as pytest takes them. `only`: functions to which it is narrowed, if any.
    `environment`: of the tests' process. `warm`: a test that runs before all forks, in their parent: what it loads
    (compiled kernels) they all have then."""

    name: str
    modules: tuple[str, ...]
    tests: tuple[str, ...]
    only: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    warm: str = ""


def targets(file: Path = FILE) -> list[Target]:
    """In the order of the file. Raises `ValueError` where a file it names is not there, or a name comes twice."""
    rows = tomllib.loads(file.read_text())["target"]
    found = [_target(row) for row in rows]
    for target in found:
        for path in (*target.modules, *(t.partition("::")[0] for t in target.tests)):
            if not (ROOT / path).exists():
                raise ValueError(f"target {target.name} of {file.name} names {path}, which is not there")
    names = [t.name for t in found]
    if len(set(names)) < len(names):
        raise ValueError(f"{file.name} has a target twice: {', '.join(sorted(n for n in names if names.count(n) > 1))}")
    return found


def argued(file: Path = SURVIVORS) -> dict[Name, str]:
    """Why each of these mutants may live: it does the same, or no harm."""
    found: dict[Name, str] = {}
    for row in tomllib.loads(file.read_text()).get("survivor", []) if file.exists() else []:
        name = Name(row["module"], row["function"], row["before"], row["after"], row.get("nth", 1))
        if not row["why"].strip():
            raise ValueError(f"{file.name} does not say why this mutant may live:\n{name}")
        if name in found:
            raise ValueError(f"{file.name} argues this mutant twice:\n{name}")
        found[name] = row["why"]
    return found


def _target(row: dict[str, Any]) -> Target:
    return Target(
        name=row["name"],
        modules=tuple(row["modules"]),
        tests=tuple(row["tests"]),
        only=tuple(row.get("only", ())),
        environment=dict(row.get("environment", {})),
        warm=row.get("warm", ""),
    )
