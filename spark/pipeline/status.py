"""How the metric pipeline does, as everybody is told: the server's page, its metrics, `doctor`."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

StreamState = Literal["starting", "reading", "failed"]
PipelineState = Literal["off", "idle", "starting", "running", "backing off", "stopped"]

STALLED_AFTER = timedelta(minutes=5)
"""A stream that has ended no batch for so long does not keep up: ten times its pace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamStatus:
    """One topic that is read. `behind` are the records that were not read yet at the last batch, of the partition that
    is farthest back, None before the first; `failures` in a row, with the last `error` and when it is tried again.
    """

    name: str
    topic: str
    state: StreamState
    batches: int = 0
    records: int = 0
    behind: int | None = None
    batch_s: float | None = None
    batch_at: datetime | None = None
    failures: int = 0
    error: str = ""
    error_at: datetime | None = None
    retry_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineStatus:
    """The process and its streams. `off` and `idle` have a `reason`; `backing off` has the last error as its.

    `restarts` counts starts after the first since this server began; `error` is the last one, kept after it recovered.
    `memory_bytes` is what its processes have resident. `housekeeping_at` is when the lake was last tidied up.
    """

    state: PipelineState
    since: datetime
    reason: str = ""
    pid: int | None = None
    restarts: int = 0
    error: str = ""
    error_at: datetime | None = None
    memory_bytes: int | None = None
    streams: tuple[StreamStatus, ...] = ()
    lake: str = ""
    housekeeping_at: datetime | None = None
    housekeeping_error: str = ""

    def problem(self, now: datetime) -> str:
        """What a person should know is wrong, in words; "" where nothing is."""
        if self.state == "backing off":
            return f"the process that reads metrics ended, and is started again: {self.reason}"
        failed = [s for s in self.streams if s.state == "failed"]
        if failed:
            first = failed[0]
            more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
            return f"{first.topic} of {first.name} cannot be read{more}: {first.error}"
        stalled = [s for s in self.streams if s.batch_at is not None and now - s.batch_at > STALLED_AFTER]
        if self.state == "running" and stalled:
            at = min(s.batch_at for s in stalled if s.batch_at is not None)
            return f"{stalled[0].topic} of {stalled[0].name} has had no batch since {at:%H:%M:%S} UTC"
        return f"the lake is not tidied up: {self.housekeeping_error}" if self.housekeeping_error else ""
