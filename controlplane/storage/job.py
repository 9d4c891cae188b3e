"""A job: one long act that runs beside the ticks, and the steps it may take.

Every step carries the writer's epoch. A job that a later epoch has touched refuses earlier ones, so a server that
lost its lease cannot report on work that its successor has taken over.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from events.ids import ClusterUid, Epoch, IntentId


class JobState(StrEnum):
    """Where a job stands."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


OPEN_STATES = (JobState.QUEUED, JobState.RUNNING)

LEGAL: Mapping[JobState, frozenset[JobState]] = {
    JobState.QUEUED: frozenset({JobState.RUNNING, JobState.FAILED}),
    JobState.RUNNING: frozenset({JobState.SUCCEEDED, JobState.FAILED}),
    JobState.FAILED: frozenset(),
    JobState.SUCCEEDED: frozenset(),
}


@dataclass(frozen=True, slots=True)
class Job:
    """One long act. `intent_id` is its identity: the same intent never runs as two jobs. Times are database time."""

    intent_id: IntentId
    cluster_uid: ClusterUid
    kind: str
    state: JobState
    epoch: Epoch
    owner: str
    created_at: datetime
    heartbeat_at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None
    result: Mapping[str, Any] | None = None
    error_class: str | None = None
    error_message: str | None = None


class JobNotFound(LookupError):
    """No job was created for that intent."""

    def __init__(self, intent_id: IntentId) -> None:
        super().__init__(f"no job was created for intent {intent_id}: create it before it is started")
        self.intent_id = intent_id


class StaleEpoch(Exception):
    """Lost leadership: a later epoch owns the job. What now: stop acting on that cluster."""

    def __init__(self, job: Job, epoch: Epoch) -> None:
        super().__init__(
            f"job {job.intent_id} ({job.kind}) belongs to epoch {job.epoch} ({job.owner}); a write of epoch {epoch} is "
            "refused. This server has lost its lease: it must stop acting on the cluster."
        )
        self.job = job
        self.epoch = epoch


class IllegalJobStep(Exception):
    """A step the state machine does not know; a bug in the caller."""

    def __init__(self, job: Job, to: JobState) -> None:
        super().__init__(f"job {job.intent_id} ({job.kind}) is {job.state} and cannot become {to}")
        self.job = job
        self.to = to


def move(job: Job, to: JobState, epoch: Epoch, **changes: Any) -> Job:
    """One step of the state machine by a writer of that epoch. The same end state by the same epoch is no step."""
    refuse_stale(job, epoch)
    if job.state == to and job.epoch == epoch and to not in OPEN_STATES:
        return job
    if to not in LEGAL[job.state]:
        raise IllegalJobStep(job, to)
    return replace(job, state=to, epoch=epoch, **changes)


def refuse_stale(job: Job, epoch: Epoch) -> None:
    """Raises StaleEpoch when a later epoch has touched the job."""
    if epoch < job.epoch:
        raise StaleEpoch(job, epoch)
