"""`make soak`: all of soak, slice by slice, then what fits into none. Killed, it goes on where it stopped.

`python -m tests.soak [LANE ...]` runs calls of these lanes alone (`paired`: simulator and units; `by-file`; `alone`:
with brokers); the page is written when all have run. `paired` needs nothing but a processor: it runs behind the others,
and gives way to whatever else the machine does.

`--streams N` runs calls with brokers N at a time, each alone in its own process, as root on a network of its own: what
one prints comes when it is over.

What came of each test is kept in `.cache/soak/TREE.jsonl` the moment its call is over; the next run of the same files,
there or on a machine that the file was copied to, runs what is not there yet, or failed. In the end `docs/soak.md` and
the durations are written.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from subprocess import PIPE, STDOUT
from threading import Lock

from tests.behind import Behind
from tests.environment import kept_bytecode
from tests.own_network import in_own_network
from tests.recorder import Result
from tests.soak import durations as timings
from tests.soak.commit import head, tree
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


def main(arguments: Sequence[str]) -> int:
    """Exit status 1 when a test failed twice, a call of pytest broke, or some calls were not to run."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description="Runs soak, or lanes of it.")
    parser.add_argument("lanes", nargs="*", metavar="LANE", help=", ".join(LANES))
    parser.add_argument("--streams", type=int, default=1, metavar="N", help="calls with brokers at a time")
    given = parser.parse_args(arguments)
    if unknown := set(given.lanes) - set(LANES):
        print(f"no lane {', '.join(sorted(unknown))}; there are: {', '.join(LANES)}")
        return 2
    known = timings.read()
    kept = Kept.of(timings.ROOT / ".cache" / "soak" / f"{tree(timings.ROOT)}.jsonl")
    everything = jobs(known)
    print(f"soak of {head(timings.ROOT)[:12]}: {len(everything)} calls; kept in {kept.file}", flush=True)
    _run([job for job in everything if job.call.lane in (given.lanes or LANES)], kept, streams=max(1, given.streams))
    missing = [job.name for job in everything if job.name not in {f.name for f in kept.last()}]
    if missing:
        print(f"{len(missing)} calls of other lanes were never run: no page is written")
    else:
        PAGE.write_text(
            page(head(timings.ROOT), datetime.now(UTC).date(), kept.last(), planned=[j.name for j in everything])
        )
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


def _run(todo: Sequence[Job], kept: Kept, *, streams: int) -> None:
    """What needs only a processor behind the rest, as in `make test`."""
    behind, fronts = Behind(), [job for job in todo if job.call.lane != PAIRED_LANE]
    start = _apart(run if streams == 1 else _printed_whole)
    with ThreadPoolExecutor(1) as pool, ThreadPoolExecutor(streams) as front:
        later = [pool.submit(_job, job, kept, behind) for job in todo if job.call.lane == PAIRED_LANE]
        now = [front.submit(_job, job, kept, start) for job in fronts]
        try:
            for done in (*now, *later):
                done.result()
        except BaseException:
            behind.end()
            for one in now:
                one.cancel()
            raise


def _apart(start: Run) -> Run:
    """Each call on a network of its own, where that can be had: others may run beside it, in this clone or another."""
    return lambda command, environment: start(in_own_network(command), environment)


def _printed_whole(command: Sequence[str], environment: Mapping[str, str]) -> int:
    done = subprocess.run(command, check=False, env=dict(environment), stdout=PIPE, stderr=STDOUT, text=True)
    print(f"\n== {' '.join(command[-3:])}\n{done.stdout}", flush=True)
    return done.returncode


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
