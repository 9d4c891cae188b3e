"""docs/soak.md: what came of a whole soak, of which commit and when."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date

from tests.recorder import Result


@dataclass(frozen=True)
class Figures:
    """Of one call of pytest, `SLICE.NUMBER`."""

    name: str
    at: str
    code: int
    took_s: float
    results: list[Result] = field(default_factory=list)
    second: list[Result] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return self.code == 0

    @property
    def broke(self) -> bool:
        """Not a test failed: pytest did."""
        return not self.ok and not self.failed


def page(commit: str, day: date, figures: Sequence[Figures], *, planned: Sequence[str]) -> str:
    """The page. `planned`: the names of all calls a whole soak has; what was not run is named."""
    missing = [name for name in planned if name not in {f.name for f in figures}]
    failed = [(f, test) for f in figures for test in f.failed]
    skipped = [r for f in figures for r in f.results if r.outcome == "skipped"]
    second = [r for f in figures for r in f.second]
    tests = {r.test for f in figures for r in f.results}
    hours = sum(f.took_s for f in figures) / 3600
    return "\n".join(
        [
            "# The last soak",
            "",
            "Written by `make soak`, which runs every test that is marked `soak`, slice by slice. `make test` runs one",
            'of these slices, another one for each commit (CONTRIBUTING.md, "Soak").',
            "",
            "| what | |",
            "|---|---|",
            f"| commit | `{commit}` |",
            f"| ended | {day.isoformat()} |",
            f"| calls of pytest | {len(figures)} of {len(planned)} |",
            f"| tests | {len(tests)} |",
            f"| hours | {hours:.1f} |",
            f"| failed twice | {len(failed)} |",
            f"| passed at their second try | {len(second)} |",
            f"| skipped | {len(skipped)} |",
            f"| not run | {', '.join(missing) or 'none'} |",
            "",
            "## Failed",
            "",
            *(_failures(failed) or ["None."]),
            "",
            "## Second tries",
            "",
            *([f"- `{r.test}`: {_words(r.why)}" for r in second] or ["None."]),
            "",
            "## Skipped",
            "",
            *([f"- `{r.test}`" for r in skipped] or ["None."]),
            "",
            "## Slices",
            "",
            "| slice and call | began | tests | seconds | |",
            "|---|---|---|---|---|",
            *(f"| {f.name} | {f.at} | {len(f.results)} | {f.took_s:.0f} | {_state(f)} |" for f in figures),
            "",
        ]
    )


def _failures(failed: Sequence[tuple[Figures, str]]) -> list[str]:
    return [f"- `{test}`: {_words(r.why)}" for f, test in failed for r in f.results if r.test == test]


def _state(figures: Figures) -> str:
    return "passed" if figures.ok else "pytest broke" if figures.broke else f"{len(figures.failed)} failed"


def _words(why: str) -> str:
    """A line of Markdown: no table, no code of it."""
    return why.replace("|", "/").replace("`", "'").strip()
