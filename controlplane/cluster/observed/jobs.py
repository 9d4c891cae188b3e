"""What was last seen of a long act: a Terraform run, or the computation of a plan."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from controlplane.storage.job import Job
from providers import errors as provider_errors


@dataclass(frozen=True, slots=True)
class JobSeen:
    """A long act: a Terraform run or the computation of a plan."""

    state: str
    """queued, running, succeeded or failed."""
    error: str = ""
    message: str = ""
    retryable: bool = True
    ended_at: datetime | None = None
    result: Mapping[str, object] = field(default_factory=dict)

    @property
    def is_open(self) -> bool:
        return self.state in ("queued", "running")


def job_seen(job: Job) -> JobSeen:
    """A job's row as a decision sees it."""
    error = job.error_class or ""
    known = getattr(provider_errors, error, None)
    retryable = bool(getattr(known, "retryable", True)) and error != "Infeasible"
    return JobSeen(
        state=str(job.state),
        error=error,
        message=job.error_message or "",
        retryable=retryable,
        ended_at=job.ended_at,
        result=dict(job.result or {}),
    )
