"""`make soak`: every test that is marked `soak`, in all lanes at once; of sweeps the commit's turn. Killed, it goes on
where it stopped.

`python -m tests.soak [LANE ...]` runs these lanes alone (`processor`: simulator, units, mutants; `waiting`: brokers,
agents, Terraform; `timed`: contracts, portal, Spark), or these test files; the page is written when all have run.
`--list` tells the plan and runs nothing. `SWEEPS=all`, or `SWEEPS=3/7`, in place of the commit's turn.

A test file is a call of pytest; what failed is run once more when all is over, with nothing beside it. What came of
each call is kept in `.cache/soak/TREE.jsonl` (`tests/soak/kept.py`) the moment it is over, what it printed in the
folder beside it. In the end `docs/soak.md` and the durations are written. A soak that is to go on on another machine
is committed as `tests/soak/unfinished/TREE.jsonl`: a checkout with the same files begins with what is told there.
"""

import argparse
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from threading import Lock

from tests.environment import kept_bytecode
from tests.own_network import can_have_own_network
from tests.soak import durations as timings
from tests.soak.commit import UNFINISHED, head, tree
from tests.soak.kept import Kept
from tests.soak.page import Figures, page, standings
from tests.soak.processes import Processes
from tests.soak.sweeps import SWEEPS, chosen
from tests.soak.whole import LANES, PROCESSOR, TIMED, WAITING, Job, Streams, free_gib, jobs, told
from tests.tries import Ran, Run, again, once

PAGE = timings.ROOT / "docs" / "soak.md"


def main(arguments: Sequence[str]) -> int:
    """Exit status 1 when a test failed twice, a call of pytest broke, or some files were not to run."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description="Runs soak, or lanes of it.")
    parser.add_argument("parts", nargs="*", metavar="LANE or FILE", help=", ".join(LANES))
    parser.add_argument("--streams", type=int, metavar="N", help="calls with brokers at a time")
    parser.add_argument("--list", action="store_true", help="tell the plan alone")
    given = parser.parse_args(arguments)
    cores = len(os.sched_getaffinity(0))
    streams = Streams.best(cores, free_gib(), given.streams if can_have_own_network() else 1)
    known, kept = timings.read(), _kept()
    everything = jobs(known, kept.sweeps, timings.ROOT)
    if unknown := set(given.parts) - set(LANES) - {j.file for j in everything}:
        print(f"no lane {', '.join(sorted(unknown))}, nor a file of soak; lanes are: {', '.join(LANES)}")
        return 2
    done = kept.done()
    todo = [j for j in everything if j.file not in done and {j.lane, j.file} & set(given.parts or LANES)]
    print(f"soak of {head(timings.ROOT)[:12]}, {kept.sweeps}; kept in {kept.file}")
    print("\n".join(told(todo, len(done), streams, cores)), flush=True)
    if given.list:
        print("\n".join(f"{job.lane:10}{job.took_s:6.0f} s  {job.file}" for job in todo))
        return 0
    whole = len(todo) == len(everything)
    took_s = Soak(kept, streams, len(todo)).run(todo)
    return _ended(kept, everything, known, took_s if whole else 0.0)


def _kept() -> Kept:
    """The resume file of this tree; a turn that somebody asked for has one of its own."""
    sweeps = chosen(timings.ROOT)
    asked = os.environ.get(SWEEPS, "").replace("/", "of")
    name = f"{tree(timings.ROOT)}-{asked}" if asked else tree(timings.ROOT)
    begun = timings.ROOT / UNFINISHED / f"{name}.jsonl"
    return Kept.of(timings.ROOT / ".cache" / "soak" / f"{name}.jsonl", sweeps, begun)


def _ended(kept: Kept, everything: Sequence[Job], known: timings.Durations, wall_s: float) -> int:
    stand, commit = standings(kept.figures), head(timings.ROOT)
    missing = [job.file for job in everything if job.file not in stand]
    if missing:
        print(f"{len(missing)} files of other lanes were never run: no page is written")
    else:
        today, planned = datetime.now(UTC).date(), [job.file for job in everything]
        PAGE.write_text(page(commit, today, kept.figures, planned=planned, sweeps=str(kept.sweeps), wall_s=wall_s))
        timings.write(known.with_results(r for f in stand.values() for r in f.tests.values()))
    second = [r.test for f in stand.values() for r in f.second]
    failed = [r.test for f in stand.values() for r in f.failed] + [name for name, f in stand.items() if f.broke]
    print(f"second tries: {len(second)}" + "".join(f"\n  {test}" for test in second))
    print(f"failed: {len(failed)}" + "".join(f"\n  {test}" for test in failed))
    return 1 if failed or missing else 0


class Soak:
    """One run over files that are not done yet."""

    def __init__(self, kept: Kept, streams: Streams, count: int) -> None:
        self._kept, self._streams, self._count = kept, streams, count
        self._logs = kept.file.with_suffix("")
        self._processes, self._lock = Processes(), Lock()
        self._began, self._ended = time.monotonic(), 0
        self._accidents: list[tuple[Job, Ran]] = []

    def run(self, todo: Sequence[Job]) -> float:
        """Seconds that all of it took."""
        lanes = {lane: [job for job in todo if job.lane == lane] for lane in LANES}
        try:
            self._together({lane: lanes[lane] for lane in (WAITING, PROCESSOR)})
            self._together({TIMED: lanes[TIMED]})
            if self._accidents:
                print(f"once more, alone: what failed of {len(self._accidents)} files", flush=True)
            for job, first in self._accidents:
                self._once_more(job, first)
        except BaseException:
            self._processes.end()
            raise
        return time.monotonic() - self._began

    def _together(self, lanes: Mapping[str, Sequence[Job]]) -> None:
        pools = {lane: ThreadPoolExecutor(self._streams.of(lane)) for lane in lanes}
        calls = [pools[lane].submit(self._first, job) for lane, there in lanes.items() for job in there]
        try:
            for call in calls:
                call.result()
        except BaseException:
            self._processes.end()
            raise
        finally:
            for pool in pools.values():
                pool.shutdown(cancel_futures=True)

    def _first(self, job: Job) -> None:
        began = time.time()
        came = once(job.command, kept_bytecode(), selection=job.selection, start=self._start(job))
        with self._lock:
            self._ended += 1
            if came.code != 0:
                self._accidents.append((job, came))
        self._keep(job, came, began, alone=False)

    def _once_more(self, job: Job, first: Ran) -> None:
        """A call that broke runs whole, one of which more failed than is an accident not at all."""
        began, start = time.time(), self._start(job)
        if first.may_be_accident:
            came = again(job.command, kept_bytecode(), first, start=start)
            self._keep(job, came, began, alone=True)
        elif not first.failed:
            came = once(job.command, kept_bytecode(), selection=job.selection, start=start)
            self._keep(job, came, began, alone=False)

    def _start(self, job: Job) -> Run:
        """In its lane, what it prints added to its log."""
        log = self._logs / f"{job.file.removesuffix('.py').replace('/', '-')}.log"
        return lambda command, environment: self._processes.run(
            command, environment, log, network=job.lane != PROCESSOR, behind=job.lane == PROCESSOR
        )

    def _keep(self, job: Job, came: Ran, began: float, *, alone: bool) -> None:
        if self._processes.over:
            return
        at = datetime.fromtimestamp(began, UTC).isoformat(timespec="seconds")
        figures = Figures(job.file, at, came.code, round(came.took_s, 1), list(came.results), alone)
        self._kept.add(figures)
        with self._lock:
            self._say(figures)

    def _say(self, figures: Figures) -> None:
        minutes = (time.monotonic() - self._began) / 60
        words = "pytest broke" if figures.broke else f"{len(figures.failed)} FAILED" if figures.failed else "passed"
        alone = ", alone" if figures.alone else ""
        head_ = f"[{self._ended}/{self._count}, {minutes:.0f} min] {figures.name}{alone}: {words}"
        print(f"{head_}, {len(figures.results)} tests in {figures.took_s:.0f} s", flush=True)
        for result in figures.failed:
            print(f"  {result.test}: {result.why}", flush=True)


def _as_interrupt(*_: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _as_interrupt)
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        print("\nstopped; make soak goes on where it was")
        sys.exit(130)
