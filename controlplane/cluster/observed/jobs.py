"""What was last seen of a long act: a Terraform run, or the computation of a plan."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


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
