"""docs/soak.md: what came of a whole soak, of which commit and when."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from tests.recorder import Result
from tests.tries import TESTS_FAILED


@dataclass(frozen=True)
class Figures:
    """Of one call of pytest, for one test file. `alone`: the second try of what failed in it."""

    name: str
    at: str
    code: int
    took_s: float
    results: list[Result] = field(default_factory=list)
    alone: bool = False

    @property
    def failed(self) -> list[Result]:
        return [r for r in self.results if r.outcome == "failed"]

    @property
    def broke(self) -> bool:
        """Not a test failed: pytest did, or it was killed, or it found none."""
        return self.code != 0 and not (self.code == TESTS_FAILED and self.failed)


@dataclass
class Standing:
    """Where a test file stands after all calls for it: the newest result of each test."""

    tests: dict[str, Result] = field(default_factory=dict)
    ever_failed: dict[str, Result] = field(default_factory=dict)
    broke: bool = False
    took_s: float = 0.0

    @property
    def failed(self) -> list[Result]:
        return [r for r in self.tests.values() if r.outcome == "failed"]

    @property
    def second(self) -> list[Result]:
        """Failed once, and passed when they were run again: with why they failed."""
        return [r for t, r in self.ever_failed.items() if t in self.tests and self.tests[t].outcome == "passed"]

    @property
    def ok(self) -> bool:
        return not self.broke and not self.failed

    @property
    def words(self) -> str:
        return "pytest broke" if self.broke else f"{len(self.failed)} failed" if self.failed else "passed"


def standings(figures: Iterable[Figures]) -> dict[str, Standing]:
    """By file, of calls in the order in which they ended."""
    found: defaultdict[str, Standing] = defaultdict(Standing)
    for call in figures:
        file = found[call.name]
        if not call.alone:
            file.tests = {}
        file.broke = call.broke
        file.tests |= _by_test(call.results)
        file.ever_failed = {r.test: r for r in call.failed} | file.ever_failed
        file.took_s += call.took_s
    return dict(found)


def _by_test(results: Iterable[Result]) -> dict[str, Result]:
    """Several results of one node id (a test for each operation of the API) are one: failed if any is."""
    found: dict[str, Result] = {}
    for new in results:
        old = found.get(new.test)
        if old is not None:
            worse = old if old.outcome == "failed" else new
            new = replace(worse, took_s=old.took_s + new.took_s, cpu_s=old.cpu_s + new.cpu_s)
        found[new.test] = new
    return found


def page(
    commit: str, day: date, figures: Sequence[Figures], *, planned: Sequence[str], sweeps: str, wall_s: float = 0.0
) -> str:
    """The page. `planned`: all files a whole soak has; what was not run is named. `wall_s`: by the clock, 0 if it was
    not run in one go."""
    stand = standings(figures)
    failed = [r for f in stand.values() for r in f.failed]
    broke = [name for name, f in stand.items() if f.broke]
    skipped = [r for f in stand.values() for r in f.tests.values() if r.outcome == "skipped"]
    second = [r for f in stand.values() for r in f.second]
    hours = f"{wall_s / 3600:.1f} by the clock" if wall_s else "in several goes"
    return "\n".join(
        [
            "# The last soak",
            "",
            "Written by `make soak`, which runs every test that is marked `soak`, of sweeps over seeds and",
            'crash points a turn. `make test` runs a slice, another one for each commit (CONTRIBUTING.md, "Soak").',
            "",
            "| what | |",
            "|---|---|",
            f"| commit | `{commit}` |",
            f"| ended | {day.isoformat()} |",
            f"| sweeps | {sweeps} |",
            f"| files | {len(stand)} of {len(planned)} |",
            f"| tests | {sum(len(f.tests) for f in stand.values())} |",
            f"| hours | {hours}, {sum(f.took_s for f in stand.values()) / 3600:.1f} one after the other |",
            f"| failed twice | {len(failed) + len(broke)} |",
            f"| passed at their second try | {len(second)} |",
            f"| skipped | {len(skipped)} |",
            f"| not run | {', '.join(name for name in planned if name not in stand) or 'none'} |",
            "",
            "## Failed",
            "",
            *([*(_told(r) for r in failed), *(f"- `{name}`: pytest broke" for name in broke)] or ["None."]),
            "",
            "## Second tries",
            "",
            *([_told(r) for r in second] or ["None."]),
            "",
            "## Skipped",
            "",
            *([_told(r) for r in skipped] or ["None."]),
            "",
            "## Areas",
            "",
            "Minutes one after the other; processor: of the tests' own processes, without brokers.",
            "",
            "| folder | files | tests | failed | minutes | processor |",
            "|---|---|---|---|---|---|",
            *_areas(stand),
            "",
            "## Longest files",
            "",
            "| file | tests | seconds | |",
            "|---|---|---|---|",
            *(f"| {n} | {len(f.tests)} | {f.took_s:.0f} | {f.words} |" for n, f in _longest(stand)),
            "",
        ]
    )


LONGEST = 20


def _longest(stand: dict[str, Standing]) -> list[tuple[str, Standing]]:
    return sorted(stand.items(), key=lambda each: -each[1].took_s)[:LONGEST]


def _areas(stand: dict[str, Standing]) -> list[str]:
    files, tests, failed = Counter[str](), Counter[str](), Counter[str]()
    took_s: defaultdict[str, float] = defaultdict(float)
    cpu_s: defaultdict[str, float] = defaultdict(float)
    for name, file in stand.items():
        area = "/".join(name.split("/")[:2])
        files[area] += 1
        tests[area] += len(file.tests)
        failed[area] += len(file.failed) + file.broke
        took_s[area] += file.took_s
        cpu_s[area] += sum(r.cpu_s for r in file.tests.values())
    return [
        f"| {a} | {files[a]} | {tests[a]} | {failed[a]} | {took_s[a] / 60:.0f} | {cpu_s[a] / 60:.0f} |"
        for a in sorted(files)
    ]


def _told(result: Result) -> str:
    """A line of Markdown: no table, no code of it."""
    why = result.why.replace("|", "/").replace("`", "'").strip()
    return f"- `{result.test}`" + (f": {why}" if why else "")
