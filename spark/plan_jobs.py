"""Which plans go into one Spark job: whatever is asked at about the same time, and a large cluster alone.

A tick asks for the plans of its clusters one after another. The first is kept for a moment, so that they share a job;
what comes while jobs run shares the next. A large cluster has a job of its own beside them, so that none waits for it.
Pure but for the clock, which is passed.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from planner.kinds import PlanTask

Away = Literal["off", "not ready", "job failed", "timeout", "lost", "refused"]
"""Why Spark gave no plan, in a word: it is not used or not up, the job failed or took too long, the worker was lost
with it, or what it gave is not to be used."""

GATHER_S, GATHER_MOST_S = 0.15, 1.0
"""A job is sent once nothing more was asked for so long, and at the latest so long after the first."""

ALONE_ABOVE = 50_000
"""Partitions above which a cluster is planned in a job of its own."""

MOST_SHARED, MOST_ALONE = 2, 2
"""Jobs in flight of many clusters, and of one."""


class NotOnSpark(RuntimeError):
    """Spark did not answer; the message says why. What now: solve in-process, or ask again later."""

    def __init__(self, message: str, away: Away = "lost") -> None:
        super().__init__(message)
        self.away: Away = away


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """Canonical bytes of an answer, and what Spark's own check found wrong with it. `failure`: what the planner raised
    in Spark, "" where it answered.
    """

    answer_bytes: bytes
    violations: tuple[str, ...]
    failure: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class WaitingTask:
    """A task, since when (monotonic seconds) it waits, and where its answer goes."""

    task: PlanTask
    since: float
    answer: "Future[RawAnswer]" = field(default_factory=Future)

    def refuse(self, why: NotOnSpark) -> None:
        """Whoever waits is told; nothing where the answer is there already."""
        if not self.answer.done():
            self.answer.set_exception(why)


@dataclass(frozen=True, slots=True)
class RunningJob:
    """A job in flight: `deadline` in monotonic seconds. `cancelled`: it took too long, its end alone is waited for."""

    number: int
    tasks: tuple[WaitingTask, ...]
    began: float
    at: datetime
    deadline: float
    alone: bool
    cancelled: bool = False


@dataclass(frozen=True, slots=True)
class EndedJob:
    """The last job, as people read it. `error` is "" where it gave answers; `refused` counts clusters without a plan
    of their own in it."""

    at: datetime
    drains: int
    rebalances: int
    partitions: int
    seconds: float
    refused: int = 0
    error: str = ""


@dataclass(frozen=True, slots=True)
class JobTotals:
    """Since the server began. `clusters` over all jobs, `most` in one of them."""

    jobs: int = 0
    failed: int = 0
    clusters: int = 0
    most: int = 0
    seconds: float = 0.0
    last: EndedJob | None = None

    def plus(self, ended: EndedJob) -> "JobTotals":
        """With one more."""
        clusters = ended.drains + ended.rebalances
        return JobTotals(
            jobs=self.jobs + 1,
            failed=self.failed + bool(ended.error),
            clusters=self.clusters + clusters,
            most=max(self.most, clusters),
            seconds=self.seconds + ended.seconds,
            last=ended,
        )


@dataclass(frozen=True, slots=True)
class PlanningTotals:
    """Since the server began: Spark's jobs, and how many plans were made in-process, by why (none where no Spark is
    used). `required`: none ever is.
    """

    jobs: JobTotals = JobTotals()
    in_process: Mapping[Away, int] = field(default_factory=dict)
    required: bool = False


@dataclass(slots=True)
class PlanJobs:
    """What waits and what runs. `timeout_s` is for one job. Not thread-safe: one thread owns it."""

    timeout_s: float
    waiting: list[WaitingTask] = field(default_factory=list)
    running: dict[int, RunningJob] = field(default_factory=dict)
    sent: int = 0

    def due(self, now: float, at: datetime) -> Iterator[RunningJob]:
        """The jobs that are to be sent now, each once; drains and rebalances together."""
        if not self.waiting or not _is_gathered(self.waiting, now):
            return
        large = [w for w in self.waiting if w.task.partitions > ALONE_ABOVE]
        large.sort(key=lambda w: w.task.kind.name)  # a roll waits for its drain, nothing waits for a rebalance
        for waiting in large[: MOST_ALONE - sum(job.alone for job in self.running.values())]:
            yield self._sent((waiting,), now, at, alone=True)
        shared = tuple(w for w in self.waiting if w.task.partitions <= ALONE_ABOVE)
        if shared and sum(not job.alone for job in self.running.values()) < MOST_SHARED:
            yield self._sent(shared, now, at, alone=False)

    def ended(self, number: int) -> RunningJob | None:
        """Takes it out; None for one that is not known."""
        return self.running.pop(number, None)

    def overdue(self, now: float) -> list[RunningJob]:
        """Those past their deadline. Each is given as long again to end once it was cancelled."""
        late = [job for job in self.running.values() if now > job.deadline]
        for job in late:
            self.running[job.number] = replace(job, cancelled=True, deadline=now + min(self.timeout_s, 15.0))
        return late

    def refuse_all(self, why: NotOnSpark) -> list[RunningJob]:
        """Everybody is told, and nothing is left. Returns the jobs that ran."""
        jobs = list(self.running.values())
        for waiting in (*self.waiting, *(w for job in jobs for w in job.tasks)):
            waiting.refuse(why)
        self.waiting.clear()
        self.running.clear()
        return jobs

    def _sent(self, tasks: tuple[WaitingTask, ...], now: float, at: datetime, *, alone: bool) -> RunningJob:
        self.sent += 1
        job = RunningJob(self.sent, tasks, now, at, now + self.timeout_s, alone)
        self.running[job.number] = job
        self.waiting = [w for w in self.waiting if w not in tasks]
        return job


def ended_job(job: RunningJob, now: float, answers: Sequence[RawAnswer], error: str = "") -> EndedJob:
    """What is told of it."""
    kinds = [w.task.kind.name for w in job.tasks]
    return EndedJob(
        at=job.at,
        drains=kinds.count("drain"),
        rebalances=kinds.count("rebalance"),
        partitions=sum(w.task.partitions for w in job.tasks),
        seconds=now - job.began,
        refused=sum(bool(a.failure or a.violations) for a in answers),
        error=error,
    )


def _is_gathered(waiting: Sequence[WaitingTask], now: float) -> bool:
    quiet_s, first_s = now - max(w.since for w in waiting), now - min(w.since for w in waiting)
    return quiet_s >= GATHER_S or first_s >= GATHER_MOST_S
