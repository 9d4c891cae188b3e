"""What a run of mutants came to: figures, survivors nobody argued, arguments for mutants that live no more."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.mutation.mutants import Name

LEAST_PERCENT = 95.0


@dataclass(frozen=True)
class Result:
    """`outcome`: killed, hung, survived, not reached (by any test)."""

    name: Name
    outcome: str
    line: int = 0
    by: str = ""
    took_s: float = 0.0

    @property
    def lives(self) -> bool:
        return self.outcome not in ("killed", "hung")


@dataclass(frozen=True)
class Report:
    """Of one target. `broken` says what is wrong with its tests, then nothing else counts."""

    target: str
    results: tuple[Result, ...]
    broken: str = ""

    def count(self, outcome: str) -> int:
        return sum(r.outcome == outcome for r in self.results)

    def survivors(self) -> tuple[Result, ...]:
        return tuple(r for r in self.results if r.lives)

    def unargued(self, argued: Mapping[Name, str]) -> tuple[Result, ...]:
        return tuple(r for r in self.survivors() if r.name not in argued)


def read(file: Path) -> tuple[Result, ...]:
    """What `tests.mutation.session` wrote."""
    rows = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    return tuple(
        Result(
            Name(r["module"], r["function"], r["before"], r["after"], r["nth"]),
            r["outcome"],
            r["line"],
            r["by"],
            r["took_s"],
        )
        for r in rows
    )


def percent(reports: Iterable[Report]) -> float:
    """Killed, by a test or by their time, of a hundred; survivors that are argued count as alive."""
    results = [r for report in reports for r in report.results]
    return 100.0 * sum(not r.lives for r in results) / len(results) if results else 0.0


def stale(reports: Sequence[Report], argued: Mapping[Name, str]) -> list[Name]:
    """Arguments for what was killed, or is not there any more: of modules that these reports looked at."""
    alive = {r.name for report in reports for r in report.survivors()}
    looked_at = {(r.name.module) for report in reports for r in report.results}
    return [name for name in argued if name.module in looked_at and name not in alive]


def is_good(reports: Sequence[Report], argued: Mapping[Name, str]) -> bool:
    return (
        not any(r.broken for r in reports)
        and not any(r.unargued(argued) for r in reports)
        and percent(reports) >= LEAST_PERCENT
    )


def lines(reports: Sequence[Report], argued: Mapping[Name, str]) -> list[str]:
    """For people: a table, then what there is to do."""
    words = f"{'mutants':>8} {'killed':>7} {'hung':>5} {'alive':>6} {'argued':>7} {'killed':>8} {'took':>7}"
    head = f"{'target':22} {words}"
    found = [head]
    for report in reports:
        alive, open_ones = len(report.survivors()), len(report.unargued(argued))
        found.append(
            f"{report.target:22} {len(report.results):8} {report.count('killed'):7} {report.count('hung'):5} {alive:6}"
            f" {alive - open_ones:7} {percent([report]):6.1f} % {sum(r.took_s for r in report.results):5.0f} s"
        )
    every = [r for report in reports for r in report.results]
    alive = sum(r.lives for r in every)
    found.append(
        f"{'all':22} {len(every):8} {sum(r.outcome == 'killed' for r in every):7} "
        f"{sum(r.outcome == 'hung' for r in every):5} {alive:6}"
        f" {sum(r.lives and r.name in argued for r in every):7} {percent(reports):6.1f} %"
    )
    found += [f"\n{r.target}: {r.broken}" for r in reports if r.broken]
    for report in reports:
        for result in report.unargued(argued):
            reached = ", and no test calls it" if result.outcome == "not reached" else ""
            found.append(f"\nalive{reached} (line {result.line}): {result.name}")
    found += [f"\nargued in survivors.toml, and killed or gone: {name}" for name in stale(reports, argued)]
    return found
