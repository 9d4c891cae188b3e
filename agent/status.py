"""What is said of each service, and since when; reports are built from it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from agent.health.progress import HealthProgress
from agent.health.vitals import VitalsFinding
from agent.records import ServiceRecord
from agent.wire import LogDirReport, OldClientReport, ServiceDocument, ServiceState


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """One service as it will be reported."""

    state: ServiceState
    since: datetime
    start_id: str = ""
    message: str = ""
    pid: int = 0
    exit_code: int | None = None


@dataclass(slots=True)
class ServiceWatch:
    """The converger's memory of one service between two passes. Losing it costs a fresh look, nothing else.

    Times are monotonic seconds; `up_pid` is the process that was seen up: a silent metrics port does not make that one
    "starting" again.
    """

    wanted: ServiceDocument | None = None
    status: Status | None = None
    stop_asked_s: float | None = None
    hold_until_s: float = 0.0
    hold_reason: str = ""
    started_s: float = 0.0
    probed_s: float = float("-inf")
    sampled_s: float = float("-inf")
    up_pid: int = 0
    record: ServiceRecord = field(default_factory=ServiceRecord)
    log_dirs: tuple[LogDirReport, ...] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)
    findings: tuple[VitalsFinding, ...] = ()
    progress: tuple[HealthProgress, ...] = ()
    log_lines: Mapping[str, int] = field(default_factory=dict)
    old_clients: tuple[OldClientReport, ...] = ()

    def say(self, status: Status) -> None:
        """Keeps the time of the state when only its details change."""
        old = self.status
        if old and (old.state, old.start_id, old.pid) == (status.state, status.start_id, status.pid):
            status = Status(
                state=status.state,
                since=old.since,
                start_id=status.start_id,
                message=status.message,
                pid=status.pid,
                exit_code=status.exit_code,
            )
        self.status = status

    def hold(self, until_s: float, reason: str) -> None:
        self.hold_until_s, self.hold_reason = until_s, reason

    def let_go(self) -> None:
        self.hold_until_s, self.hold_reason = 0.0, ""
