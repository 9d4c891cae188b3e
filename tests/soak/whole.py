"""The plan of a whole soak: a call of pytest for each test file, in three lanes, the longest files first; and about how
long that takes.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heapreplace
from math import inf
from pathlib import Path

from controlplane.runtime import free_memory
from controlplane.runtime.free_memory import MEMINFO
from tests.recorder import Selection
from tests.soak.durations import GUESS_S, Durations, files_of_soak, has_sweep
from tests.soak.slices import PAIRED
from tests.soak.sweeps import Chosen

PROCESSOR, WAITING, TIMED = LANES = ("processor", "waiting", "timed")
"""What needs only a processor, and gives way to all else; what has brokers, agents or Terraform and waits most of its
time, beside that; what has short clocks or a browser, after both."""
TIMED_FOLDERS = ("contract", "portal", "postgres", "spark")
WAITING_CORES = 0.5
"""Of a processor: what a call with brokers takes, on average over its time, of all its processes."""
STREAM_GIB = 3.0
"""Memory of the machine that such a call takes: a server, a Spark session, up to twelve small JVMs."""
CALL_S = 5.0
"""Processor seconds in which a call of pytest starts and collects its file."""
PATIENCE: Mapping[str, float] = {PROCESSOR: 15, WAITING: 3, TIMED: 2}
"""Times as long as alone before a test counts as hung: behind the rest it may get little of a processor for long."""
WHY: Mapping[str, str] = {
    PROCESSOR: "behind the rest",
    WAITING: "each on a network of its own",
    TIMED: "after both, with nothing behind, on networks of their own, too",
}


@dataclass(frozen=True)
class Job:
    """A test file. `took_s`: how long it takes by itself; of the lane `processor`, processor time."""

    file: str
    lane: str
    took_s: float
    sweeps: str = ""

    @property
    def command(self) -> tuple[str, ...]:
        return (sys.executable, "-m", "pytest", "-q", "-m", "soak", self.file)

    @property
    def selection(self) -> Selection:
        return Selection({}, frozenset({self.file}), sweeps=self.sweeps, patience=PATIENCE[self.lane])


@dataclass(frozen=True)
class Streams:
    """Calls at a time."""

    processor: int
    waiting: int
    timed: int

    @classmethod
    def best(cls, cores: int, gib: float, waiting: int | None = None) -> "Streams":
        """What waits for brokers leaves some of a processor to others: one stream more than there are cores, where the
        memory that is free is enough for them."""
        fit = max(1, int(min(gib / STREAM_GIB, cores + 1)))
        return cls(processor=cores, waiting=waiting or fit, timed=min(cores, fit))

    def of(self, lane: str) -> int:
        return {PROCESSOR: self.processor, WAITING: self.waiting, TIMED: self.timed}[lane]


def free_gib(told: Path = MEMINFO) -> float:
    """Memory that programs can have without swapping; infinite where the kernel does not tell."""
    found = free_memory.free_gib(told)
    return inf if found is None else found


def jobs(known: Durations, sweeps: Chosen, root: Path) -> list[Job]:
    """All of soak, the longest of each lane first. Tests of soak's own machinery are none of it."""
    files = [f for f in files_of_soak(root) if not f.startswith("tests/unit/workshop/")]
    took_s: dict[str, float] = {}
    for test, seconds in known.all.items():
        file = test.partition("::")[0]
        took_s[file] = took_s.get(file, 0.0) + seconds
    made = []
    for file in files:
        share = sweeps.turn.of if has_sweep(root / file) else 1
        made.append(Job(file, lane_of(file), CALL_S + took_s.get(file, GUESS_S) / share, sweeps.parts))
    return sorted(made, key=lambda job: (-job.took_s, job.file))


def lane_of(file: str) -> str:
    folder = file.split("/")[1]
    return PROCESSOR if folder in PAIRED else TIMED if folder in TIMED_FOLDERS else WAITING


def about_s(todo: Iterable[Job], streams: Streams, cores: int) -> float:
    """By the clock. Waiting streams take some of the processors, the processor's lane what they leave."""
    took: dict[str, list[float]] = {lane: [] for lane in LANES}
    for job in todo:
        took[job.lane].append(job.took_s)
    waiting_s = _end_s(took[WAITING], streams.waiting)
    needed_s = sum(took[PROCESSOR]) + WAITING_CORES * sum(took[WAITING])
    beside_s = max(waiting_s, needed_s / cores, max(took[PROCESSOR], default=0.0))
    return beside_s + _end_s(took[TIMED], streams.timed)


def _end_s(took: Iterable[float], streams: int) -> float:
    """When the last of them ends, each begun as soon as a stream is free."""
    free = [0.0] * streams
    heapify(free)
    for seconds in took:
        heapreplace(free, free[0] + seconds)
    return max(free)


def told(todo: Sequence[Job], done: int, streams: Streams, cores: int) -> list[str]:
    """What a run is about to do, in lines."""
    lines = []
    for lane in LANES:
        there = [job.took_s for job in todo if job.lane == lane]
        if there:
            what = f"{len(there):4} files, {sum(there) / 60:4.0f} min, {streams.of(lane)} at a time, {WHY[lane]}"
            lines.append(f"  {lane:10}{what}")
    if done:
        lines.append(f"  {done} files are done already")
    return [*lines, f"about {about_s(todo, streams, cores) / 3600:.1f} h on {cores} cores"]
