"""How the loop of this server does, for whoever looks after it: beats, timers, jobs, clusters whose ticks fail."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from controlplane.converger.tick.beats import Beat, LoopWatch
from controlplane.converger.tick.failing_ticks import Poisoned
from controlplane.converger.tick.inventory import TaggedVms
from controlplane.runtime.polling import Looked
from controlplane.storage.job import Job
from controlplane.storage.job_store import JobStore
from events.store import EventStore
from spark.pipeline.status import PipelineStatus
from spark.plan_jobs import PlanningTotals

MOST_JOBS = 200


@dataclass(frozen=True, slots=True)
class JobStatus:
    """A job and what it last said, "" where it runs on another server or has ended."""

    job: Job
    progress: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopStatus:
    """`head` is the log's last position, `position` the one this server's views are folded to.

    `timers` by what they are for, `jobs` the newest first, `poisoned` the longest in trouble first. `tagged` are the
    VMs of this installation in places this server has listed, whosever they are.
    """

    server: str = ""
    interval_s: float = 0.0
    head: int = 0
    position: int = 0
    count: int = 0
    beats: Sequence[Beat] = ()
    timers: Mapping[str, Sequence[Looked]] = field(default_factory=dict)
    jobs: Sequence[JobStatus] = ()
    poisoned: Sequence[Poisoned] = ()
    tagged: Sequence[TaggedVms] = ()
    pipeline: PipelineStatus | None = None
    """How metrics are read; None where nobody says."""
    plans: PlanningTotals | None = None
    """What was planned on Spark and what was not; None where nobody says, or no Spark is used."""

    @property
    def lag(self) -> int:
        """Events this server has not read yet."""
        return max(0, self.head - self.position)

    @property
    def last_at(self) -> datetime | None:
        return self.beats[0].at if self.beats else None


class LoopService(Protocol):
    """Where it is asked for; `ServerLoop` is one."""

    def status(self) -> LoopStatus:
        """As it is now. Raises StoreUnavailable."""


class Timers(Protocol):
    """Things that are looked at at intervals; `Poller` is one."""

    def last_polls(self) -> Sequence[Looked]: ...


class Ticked(Protocol):
    """What the loop folds and ticks; `Converger` is one."""

    @property
    def position(self) -> int: ...

    def poisoned(self) -> Sequence[Poisoned]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLoop:
    """The `LoopService` of a whole server. `progress` is what a job that runs here last said, by its id."""

    server: str
    interval_s: float
    store: EventStore
    jobs: JobStore
    ticked: Ticked
    watch: LoopWatch
    timers: Mapping[str, Timers]
    progress: Mapping[str, str]
    tagged: Callable[[], Sequence[TaggedVms]] = tuple
    pipeline: Callable[[], PipelineStatus | None] = lambda: None
    plans: Callable[[], PlanningTotals | None] = lambda: None

    def status(self) -> LoopStatus:
        position = self.ticked.position  # before the head: a lag is never made too small
        return LoopStatus(
            server=self.server,
            interval_s=self.interval_s,
            head=self.store.head(),
            position=position,
            count=self.watch.count,
            beats=self.watch.last(),
            timers={name: timers.last_polls() for name, timers in self.timers.items()},
            jobs=[JobStatus(job, self.progress.get(job.intent_id, "")) for job in self.jobs.newest(MOST_JOBS)],
            poisoned=self.ticked.poisoned(),
            tagged=self.tagged(),
            pipeline=self.pipeline(),
            plans=self.plans(),
        )
