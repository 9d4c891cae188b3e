"""Keeps the replicator of this VM as its document says, one step a pass, and says what has become of it."""

import logging
from dataclasses import replace
from typing import Protocol

from agent import backoff, surroundings
from agent.exit_reason import ExitReason
from agent.journal.places import FilePlace
from agent.replicator import steps
from agent.replicator.record import ReplicatorRecord, ReplicatorRecordFile
from agent.settings import AgentTimes
from agent.steps import HoldOff, Leaving
from agent.wire_replicator import ReplicatorDocument, ReplicatorReport, ReplicatorState

_log = logging.getLogger(__name__)

_LONG_RUN_S = 300.0
"""A process that ran this long and then ends starts the back-off anew."""
_STARTING = "its log does not say yet that a partition is copied"


class ReplicatorProcess(Protocol):
    """The edges; `agent.replicator.mirror_maker_process` is the real one."""

    @property
    def logs(self) -> str: ...

    def find(self) -> surroundings.Process | None:
        """The live process with the replicator's marks. Raises OSError."""

    def refused(self, document: ReplicatorDocument) -> str:
        """Why it cannot be started so, and what to do; "" where it can."""

    def log_end(self) -> FilePlace | None:
        """Where the lines of a process begin that is started now. Raises OSError."""

    def start(self, document: ReplicatorDocument) -> surroundings.Process:
        """Raises OSError."""

    def copies(self, since: FilePlace | None) -> tuple[bool, FilePlace | None]:
        """Whether the log says so behind `since`, and where to read on. Raises OSError."""

    def exit_reason(self) -> ExitReason: ...


class ReplicatorFollower:
    """Of one thread. It never waits: a stop or a start is begun in one pass and found done in a later one."""

    def __init__(
        self,
        process: ReplicatorProcess,
        file: ReplicatorRecordFile,
        *,
        boot_id: str,
        times: AgentTimes,
        clock: surroundings.Clock,
    ) -> None:
        self._edges, self._file = process, file
        self._boot_id, self._times, self._clock = boot_id, times, clock
        self._record = file.read()
        self._process: surroundings.Process | None = None
        self._is_looked_for = False
        self._exit_code: int | None = None
        self._wanted: ReplicatorDocument | None = None
        self._stop_asked_s: float | None = None
        self._started_s = float("-inf")
        self._looked_s = float("-inf")
        self._read_to: FilePlace | None = None
        self._hold: HoldOff | None = None
        self._said: ReplicatorReport | None = None

    @property
    def is_alive(self) -> bool:
        """Whether a process of it is known to run."""
        return surroundings.live(self._process) is not None

    def follow(
        self, wanted: ReplicatorDocument | None, *, is_confirmed: bool, leaving: Leaving
    ) -> ReplicatorReport | None:
        """None where none was ever wanted on this VM."""
        if wanted is None and self._record is None:
            return None
        try:
            self._look(wanted)
            step = steps.next_step(wanted, self._facts(wanted, is_confirmed=is_confirmed, leaving=leaving))
            self._do(step, wanted)
        except OSError as error:  # a full disk, too: the broker beside it goes on
            _log.warning("the replicator cannot be followed: %s", error)
            self._say("failed", f"it cannot be followed: {error}")
        return self._said

    def _look(self, wanted: ReplicatorDocument | None) -> None:
        """Finds the process, and whether the one before is gone: proved by its marks, whoever started it."""
        if wanted is not None and wanted != self._wanted:
            self._hold = None  # what failed before may be mended by the new document
        self._wanted = wanted
        if self._record is None:
            self._record = ReplicatorRecord()
            self._file.write(self._record)
        if surroundings.live(self._process) is not None or (self._process is None and self._is_looked_for):
            return
        ended, self._process = self._process, self._edges.find()
        self._is_looked_for = True
        self._stop_asked_s, self._exit_code = None, ended.exit_code if ended is not None else None
        self._read_to = self._record.log_from
        if ended is not None:
            _log.info("the replicator %d is gone, exit code %s", ended.pid, ended.exit_code)

    def _facts(
        self, wanted: ReplicatorDocument | None, *, is_confirmed: bool, leaving: Leaving
    ) -> steps.ReplicatorFacts:
        record, process = self._kept, surroundings.live(self._process)
        may_start = process is None and wanted is not None and wanted.state == "running"
        return steps.ReplicatorFacts(
            now_s=self._clock.monotonic_s(),
            is_confirmed=is_confirmed,
            stop_deadline_s=self._times.replicator_stop_s,
            leaving=leaving,
            running=process.start_id if process is not None else None,
            has_unnoted_exit=process is None and record.boot_id == self._boot_id and not record.is_over,
            stop_asked_s=self._stop_asked_s if process is not None else None,
            hold=self._hold,
            refused=self._edges.refused(wanted) if may_start and wanted is not None else "",
        )

    def _do(self, step: steps.ReplicatorStep, wanted: ReplicatorDocument | None) -> None:
        match step:
            case steps.KeepRunning(note):
                self._keep_running(note)
            case steps.StayDown(note, is_over):
                self._say("stopped" if is_over else "stopping", note)
            case steps.WaitForServer(reason):
                self._say("waiting", reason)
            case steps.FailToStart(reason):
                self._say("failed", reason)
            case steps.StartProcess():
                if wanted is not None:
                    self._start(wanted)
            case steps.StopProcess(signal):
                self._stop(signal)
            case steps.CountExit():
                self._count_exit()

    def _keep_running(self, note: str) -> None:
        now_s = self._clock.monotonic_s()
        if not self._kept.has_copied and now_s - self._looked_s >= self._times.probe_every_s:
            self._looked_s = now_s
            has_copied, self._read_to = self._edges.copies(self._read_to)
            if has_copied:
                self._keep(replace(self._kept, has_copied=True))
                _log.info("the replicator copies")
        if self._kept.has_copied:
            self._say("running", note)
        else:
            self._say("starting", "; ".join(text for text in (note, _STARTING) if text))

    def _start(self, wanted: ReplicatorDocument) -> None:
        log_from = self._edges.log_end()
        self._record = self._kept.launched(wanted, boot_id=self._boot_id, log_from=log_from)
        self._file.write(self._record)  # before it runs: another agent looks for what was started
        self._hold, self._stop_asked_s = None, None
        self._started_s, self._looked_s, self._read_to = self._clock.monotonic_s(), float("-inf"), log_from
        try:
            self._process = self._edges.start(wanted)
        except OSError as error:
            self._is_looked_for = False  # it may run all the same: what failed may be what is kept of it
            self._hold_off(f"could not be started: {error}", ExitReason(""), after_long_run=False)
            return
        _log.info("the replicator started as %s, pid %d", wanted.start_id, self._process.pid)
        self._say("starting", _STARTING)

    def _stop(self, signal: str) -> None:
        process = surroundings.live(self._process)
        if process is None:  # ended since the look; the next pass sees it
            return
        asked_s = self._stop_asked_s if self._stop_asked_s is not None else self._clock.monotonic_s()
        self._stop_asked_s, message = asked_s, ""
        if signal == "TERM":
            self._keep(replace(self._kept, is_over=True))
            _log.info("the replicator: SIGTERM to %d (%s)", process.pid, process.start_id)
            process.terminate()
        elif signal == "KILL":
            message = f"no orderly exit in {self._clock.monotonic_s() - asked_s:.0f} s, SIGKILL sent"
            _log.warning("the replicator: %s to %d", message, process.pid)
            process.kill()
        self._say("stopping", message, of=process)

    def _count_exit(self) -> None:
        long_run = self._clock.monotonic_s() - self._started_s >= _LONG_RUN_S
        what = f"exited unexpectedly with code {'unknown' if self._exit_code is None else self._exit_code}"
        self._hold_off(what, self._edges.exit_reason(), after_long_run=long_run)

    def _hold_off(self, what: str, why: ExitReason, *, after_long_run: bool) -> None:
        record = self._kept.crashed(after_long_run=after_long_run)
        times, in_a_row = self._times, record.exits_in_a_row
        pause_s = backoff.doubled_s(times.restart_backoff_s, times.restart_backoff_cap_s, in_a_row)
        said = f": {why.words}" if why.words else ""
        reason = f"{what}{said} ({in_a_row} in a row); next start in {pause_s:g} s; see {self._edges.logs}"
        self._hold = HoldOff(self._clock.monotonic_s() + pause_s, reason)
        self._keep(record)
        _log.warning("the replicator %s", reason)
        self._say("failed", reason)

    @property
    def _kept(self) -> ReplicatorRecord:
        return self._record or ReplicatorRecord()

    def _keep(self, record: ReplicatorRecord) -> None:
        """A disk that refuses it costs another agent a count, and must not hold up a stop."""
        self._record = record
        try:
            self._file.write(record)
        except OSError as error:
            _log.warning("what is known of the replicator cannot be kept: %s", error)

    def _say(self, state: ReplicatorState, message: str, *, of: surroundings.Process | None = None) -> None:
        """Keeps the time of the state when only its details change."""
        process = of or surroundings.live(self._process)
        start_id = process.start_id if process else (self._wanted.start_id if self._wanted else self._kept.start_id)
        pid, since = process.pid if process else 0, self._clock.now()
        if self._said and (self._said.state, self._said.start_id, self._said.pid) == (state, start_id, pid):
            since = self._said.since
        self._said = ReplicatorReport(
            state=state,
            start_id=start_id,
            pid=pid,
            since=since,
            unexpected_exits=self._kept.unexpected_exits,
            message=message,
        )
