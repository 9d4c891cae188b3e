"""`make soak`: all of soak, slice by slice, then what fits into none. Killed, it goes on where it stopped.

`python -m tests.soak [LANE ...]` runs calls of these lanes alone (`paired`: simulator and units; `by-file`; `alone`:
with brokers); the page is written when all have run. `paired` needs nothing but a processor: it runs behind the others,
and gives way to whatever else the machine does.

What came of each test is kept in `.cache/soak/COMMIT.jsonl` the moment its call is over; the next run of the same
commit runs what is not there yet, or failed. In the end `docs/soak.md` and the durations are written.
"""

import json
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock

from tests.behind import Behind
from tests.environment import kept_bytecode
from tests.recorder import Result
from tests.soak import durations as timings
from tests.soak.commit import tree
from tests.soak.lanes import Call, calls
from tests.soak.page import Figures, page
from tests.soak.slices import LANES, PAIRED_LANE
from tests.tries import Ran, Run, ran, run

PAGE = timings.ROOT / "docs" / "soak.md"


@dataclass
class Kept:
    """The resume file: one line for each call of pytest that ended, with the name of its slice."""

    file: Path
    figures: list[Figures] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock, repr=False, compare=False)

    @classmethod
    def of(cls, file: Path) -> "Kept":
        lines = file.read_text().splitlines() if file.exists() else []
        return cls(file, [figures for line in lines if (figures := _figures(line)) is not None])

    def add(self, figures: Figures) -> None:
        with self._lock:
            self.figures.append(figures)
            self.file.parent.mkdir(parents=True, exist_ok=True)
            # A line before it may have been cut short: this one begins where a line does.
            begun = self.file.exists() and not self.file.read_text().endswith("\n")
            with self.file.open("a") as file:
                file.write(("\n" if begun else "") + json.dumps(asdict(figures)) + "\n")

    def has(self, name: str) -> bool:
        """Whether that call ended, and well."""
        return any(f.name == name and f.ok for f in self.figures)

    def last(self) -> list[Figures]:
        """The newest of each call."""
        return list({f.name: f for f in self.figures}.values())


@dataclass(frozen=True)
class Job:
    """A call of pytest, with its name: SLICE.NUMBER."""

    name: str
    call: Call


def main(lanes: Sequence[str]) -> int:
    """Exit status 1 when a test failed twice, a call of pytest broke, or some calls were not to run."""
    if unknown := set(lanes) - set(LANES):
        print(f"no lane {', '.join(sorted(unknown))}; there are: {', '.join(LANES)}")
        return 2
    commit, known = tree(timings.ROOT), timings.read()
    kept = Kept.of(timings.ROOT / ".cache" / "soak" / f"{commit}.jsonl")
    everything = jobs(known)
    print(f"soak of {commit[:21]}: {len(everything)} calls; kept in {kept.file}", flush=True)
    _run([job for job in everything if job.call.lane in (lanes or LANES)], kept)
    missing = [job.name for job in everything if job.name not in {f.name for f in kept.last()}]
    if missing:
        print(f"{len(missing)} calls of other lanes were never run: no page is written")
    else:
        PAGE.write_text(page(commit, datetime.now(UTC).date(), kept.last(), planned=[j.name for j in everything]))
        timings.write(known.with_results(r for f in kept.last() for r in f.results))
    failed = [test for f in kept.last() for test in f.failed] + [f.name for f in kept.last() if f.broke]
    second = [r.test for f in kept.last() for r in f.second]
    print(f"second tries: {len(second)}" + "".join(f"\n  {test}" for test in second))
    print(f"failed: {len(failed)}" + "".join(f"\n  {test}" for test in failed))
    return 1 if failed or missing else 0


def jobs(known: timings.Durations) -> list[Job]:
    """All calls: those of the slices, then of what fits into none."""
    pieces = timings.all_pieces(known)
    slices = [(str(n), s.pieces) for n, s in enumerate(timings.all_slices(known), 1)]
    wholes = [(p.tests[0] if len(p.tests) == 1 else p.file, (p,)) for p in timings.whole_pieces(known)]
    named = [(name, calls(there, pieces)) for name, there in (*slices, *wholes)]
    return [Job(f"{name}.{number}", call) for name, each in named for number, call in enumerate(each, 1)]


def _run(todo: Sequence[Job], kept: Kept) -> None:
    """What needs only a processor behind the rest, as in `make test`."""
    behind = Behind()
    with ThreadPoolExecutor(1) as pool:
        later = [pool.submit(_job, job, kept, behind) for job in todo if job.call.lane == PAIRED_LANE]
        try:
            for job in todo:
                if job.call.lane != PAIRED_LANE:
                    _job(job, kept, run)
            for done in later:
                done.result()
        except BaseException:
            behind.end()
            raise


def _job(job: Job, kept: Kept, start: Run) -> None:
    if kept.has(job.name) or (isinstance(start, Behind) and start.over):
        return
    said = start.begins(f"call {job.name}") if isinstance(start, Behind) else ""
    print(f"\n== call {job.name}{said}", flush=True)
    began = time.time()
    came = ran(job.call.command, kept_bytecode(), selection=job.call.selection, start=start)
    if not (isinstance(start, Behind) and start.over):
        kept.add(_figures_of(job.name, came, began))


def _figures_of(name: str, came: Ran, began: float) -> Figures:
    again = {r.test for r in came.second}
    failed = [r.test for r in came.results if r.outcome == "failed" and r.test not in again]
    return Figures(
        name=name,
        at=datetime.fromtimestamp(began, UTC).isoformat(timespec="seconds"),
        code=came.code,
        took_s=round(came.took_s, 1),
        results=list(came.results),
        second=list(came.second),
        failed=failed,
    )


def _figures(line: str) -> Figures | None:
    """A line that was cut short is none."""
    try:
        told = json.loads(line)
    except ValueError:
        return None
    return Figures(**{**told, **{k: [Result(**r) for r in told[k]] for k in ("results", "second")}})


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        print("\nstopped; make soak goes on where it was")
        sys.exit(130)
