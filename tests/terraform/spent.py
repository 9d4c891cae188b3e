"""What runs of Terraform ask of a cloud, counted at its fake, and held to the table in docs/clouds.md."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from providers.base import CloudProvider, Resources
from providers.catalog_file import sold_by
from providers.preflight import PreflightCheck, check_ahead
from providers.quota import TellsQuotas, check_room

VM = "a VM made, another retired (disks: see the page)"
AHEAD = "of which the SDK asks before a surge"
CONTROLLER = "a controller: handed over, or deleted and made by its bind"
NOTHING = "a run that finds nothing to do"
GONE = "the SDK: is this VM gone"
"""The rows of the table."""

_PAGE = Path(__file__).parents[2] / "docs" / "clouds.md"


class Spent:
    """Calls of runs, by what they were for. `calls` is the fake's own count; `writes` tells which change something."""

    def __init__(self, calls: Counter[str], writes: Callable[[str], bool]) -> None:
        self._calls, self._writes = calls, writes
        self._of: dict[str, Counter[str]] = {}

    @contextmanager
    def on(self, *rows: str) -> Iterator[None]:
        """Counts what is asked within, for each of these rows."""
        before = self._calls.copy()
        yield
        for row in rows:
            self._of.setdefault(row, Counter()).update(self._calls - before)

    def on_asking_ahead(self, cloud: CloudProvider, wanted: Resources, *new: str) -> None:
        """Counts what a surge of these asks before Terraform starts, by asking it once more."""
        with self.on(AHEAD):
            if isinstance(cloud, TellsQuotas):
                check_room(cloud, wanted, set(new), sold_by(cloud.name))
            if isinstance(cloud, PreflightCheck):
                check_ahead(cloud, wanted, set(new), lambda _: None)

    def written(self, row: str) -> dict[str, int]:
        """The calls of a row that change something."""
        return {call: n for call, n in sorted(self._of[row].items()) if self._writes(call)}

    def is_told_on_its_page(self, cloud: str, rows: Mapping[str, str]) -> None:
        """The table of calls on the cloud's own page, by its rows -> what was counted for them: of what docs/clouds.md
        has it says the same, of anything else what was counted, as above."""
        page = _PAGE.parent / "clouds" / f"{cloud}.md"
        lines = page.read_text().split("\n## Calls")[1].split("\n## ")[0].splitlines()
        cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
        told = {row[0]: (int(row[1]), int(row[2].partition(" ")[0])) for row in cells if row[1].isdecimal()}
        for row, counted in rows.items():
            calls, writing = self._of[counted].total(), sum(self.written(counted).values())
            print(f"{row}: {calls} calls, {writing} write")
            documented = _documented(cloud, counted)
            assert documented is None or told[row] == documented, f"{page.name}: {row}"
            assert told[row][1] == writing, f"{page.name}: {row}"
            assert abs(told[row][0] - calls) <= _MORE, f"{page.name}: {row}: {calls}"

    def is_told_in_the_docs(self, cloud: str) -> None:
        """Each counted row says in docs/clouds.md what was counted here: writes exactly, all calls about so.

        A slow machine asks once more what another one need not: whether something is done yet, or for a new token.
        """
        counted = {row: (found.total(), sum(self.written(row).values())) for row, found in self._of.items()}
        print(f"calls at {cloud}, and how many of them write: {counted}")
        print(f"written: { {row: self.written(row) for row in counted} }")
        for row, (calls, writing) in counted.items():
            documented = _documented(cloud, row)
            if documented is None:
                continue  # of the cloud's own page alone
            told, told_writing = documented
            assert writing == told_writing, f"{row}: {self.written(row)}"
            assert abs(calls - told) <= max(_MORE, told // 10), f"{row}: {calls} calls, docs/clouds.md says {told}"


_MORE = 3


def _documented(cloud: str, row: str) -> tuple[int, int] | None:
    """(calls, how many of them write), of a cell as `48, 6 write`. None of a row that is not in the table."""
    if row not in (VM, AHEAD, CONTROLLER, NOTHING, GONE):
        return None
    table = _PAGE.read_text().split("## Calls of a replaced VM")[1].split("\n## ")[0]
    lines = [[cell.strip() for cell in r.strip("|").split("|")] for r in table.splitlines() if r.startswith("|")]
    (found,) = [line for line in lines if line[0] == row]
    calls, _, writing = found[lines[0].index(f"`{cloud}`")].partition(", ")
    return int(calls), int(writing.removesuffix(" write") or 0)
