"""Does the steps that `agent.steps` decided: one method per kind.

Each is quick: what takes long is begun here and found done in a later pass. Formatting alone is waited for (a second).
"""

import logging
from collections.abc import Callable, Mapping

from agent import backoff, exit_reason, records, status, steps, surroundings, wire
from agent.services.storage import FormatFailed

_log = logging.getLogger(__name__)

_LONG_RUN_S = 300.0
"""A process that ran this long and then ends starts the back-off anew."""
_FORMAT_PAUSE_S = 5.0
_REFUSED_PAUSE_S = 30.0
"""Between two tries with a configuration that was refused: another one comes with another document, which waits for no
pause. The tries that are left are for an image that is mended."""


class AgentAdapters:
    """`do` returns True when the next pass should follow at once. `tell` sends a report now, before something slow."""

    def __init__(
        self,
        around: surroundings.AgentEnvironment,
        watches: Mapping[wire.ServiceName, status.ServiceWatch],
        tell: Callable[[], None],
    ) -> None:
        self._a = around
        self._watches = watches
        self._tell = tell

    def do(self, step: steps.Step, local: steps.LocalState) -> bool:
        match step:
            case steps.Keep(name, note):
                self._keep(name, note, local)
            case steps.Rest(name, note):
                self._rest(name, note, local)
            case steps.WaitForOthers(name, reason):
                self._say(name, "waiting", reason)
            case steps.Fail(name, reason):
                self._say(name, "failed", reason)
            case steps.FormatDisk(name):
                return self._format(name, local)
            case steps.Start(name):
                return self._start(name, local)
            case steps.Terminate(name) | steps.Kill(name) | steps.AwaitExit(name):
                self._stop(name, step, local)
            case steps.RecordEnd(name, start_ids):
                return self._record_end(name, start_ids, local)
            case steps.NoteExit(name):
                return self._note_exit(name, local)
        return False

    def _keep(self, name: wire.ServiceName, note: str, local: steps.LocalState) -> None:
        watch, process = self._watches[name], surroundings.live(self._a.services[name].process)
        if process is None:  # ended since the look; the next pass sees it
            return
        was_running = watch.status is not None and watch.status.state == "running" and watch.status.pid == process.pid
        if was_running and local.now_s - watch.probed_s < self._a.settings.times.probe_every_s:
            return
        watch.probed_s = local.now_s
        if watch.wanted is None:
            self._say(name, "starting", f"{note}; whether it is well is not known", process.start_id, process.pid)
            return
        health = self._a.services[name].probe(watch.wanted)
        if health.state == "up":
            watch.up_pid = process.pid
        is_up = health.state == "up" or (health.state == "unknown" and watch.up_pid == process.pid)
        about = "; ".join(text for text in (note, health.reason, self._a.services[name].note(watch.wanted)) if text)
        self._say(name, "running" if is_up else "starting", about, process.start_id, process.pid)

    def _rest(self, name: wire.ServiceName, note: str, local: steps.LocalState) -> None:
        """`stopped` only with a record of it; a VM that goes down says `stopping`, since it will start again."""
        watch, record = self._watches[name], local.services[name].record
        start_id = self._start_id(name) or (record.launch.start_id if record.launch else "")
        end = record.end_of(start_id)
        if local.shutting_down or end is None:
            self._say(name, "stopping", note, start_id)
        else:
            watch.say(
                status.Status(state="stopped", since=end.at, start_id=start_id, message=note, exit_code=end.exit_code)
            )

    def _format(self, name: wire.ServiceName, local: steps.LocalState) -> bool:
        watch, record = self._watches[name], local.services[name].record
        if watch.wanted is None:
            return False
        self._say(name, "formatting", "")
        self._tell()
        refused = ""
        try:
            self._a.services[name].format(watch.wanted, record)
        except (FormatFailed, OSError) as error:
            refused = error.refused if isinstance(error, FormatFailed) else ""
            pause_s = _REFUSED_PAUSE_S if refused else _FORMAT_PAUSE_S
            watch.hold(self._a.clock.monotonic_s() + pause_s, f"formatting failed, tried again: {error}")
            self._say(name, "failed", watch.hold_reason)
        if refused != record.refused:
            self._keep_record(name, record.refused_by(self._start_id(name), refused))
        return True

    def _start(self, name: wire.ServiceName, local: steps.LocalState) -> bool:
        watch, wanted = self._watches[name], self._watches[name].wanted
        if wanted is None:
            return False
        record = local.services[name].record.launched(wanted, boot_id=self._a.boot_id, at=self._a.clock.now())
        self._keep_record(name, record)
        watch.let_go()
        watch.stop_asked_s, watch.started_s = None, local.now_s
        try:
            self._a.services[name].start(wanted)
        except OSError as error:
            record = record.crashed(after_long_run=False)
            self._hold_after_exit(name, record, f"could not be started: {error}", exit_reason.ExitReason(""), local)
            return False
        process = self._a.services[name].process
        self._say(name, "starting", "", wanted.start_id, process.pid if process else 0)
        _log.info("%s started as %s, Kafka %s", name, wanted.start_id, wanted.kafka_version)
        return False

    def _stop(
        self, name: wire.ServiceName, step: steps.Terminate | steps.Kill | steps.AwaitExit, local: steps.LocalState
    ) -> None:
        watch, process = self._watches[name], surroundings.live(self._a.services[name].process)
        if process is None:
            return
        asked_s = watch.stop_asked_s if watch.stop_asked_s is not None else local.now_s
        watch.stop_asked_s = asked_s
        message = ""
        if isinstance(step, steps.Terminate):
            _log.info("%s: SIGTERM to %d (%s)", name, process.pid, process.start_id)
            process.terminate()
        elif isinstance(step, steps.Kill):
            message = f"no orderly exit in {local.now_s - asked_s:.0f} s, SIGKILL sent"
            _log.warning("%s: %s to %d", name, message, process.pid)
            process.kill()
        self._say(name, "stopping", message, process.start_id, process.pid)

    def _record_end(self, name: wire.ServiceName, start_ids: tuple[str, ...], local: steps.LocalState) -> bool:
        """The process is gone: on disk first, told in the next pass."""
        process = self._a.services[name].process
        exit_code = process.exit_code if process is not None and process.start_id in start_ids else None
        self._keep_record(name, local.services[name].record.finished(start_ids, exit_code, self._a.clock.now()))
        self._watches[name].stop_asked_s = None
        self._watches[name].metrics = {}
        self._watches[name].sampled_s = float("-inf")
        _log.info("%s: over for good: %s, exit code %s", name, ", ".join(start_ids), exit_code)
        return True

    def _note_exit(self, name: wire.ServiceName, local: steps.LocalState) -> bool:
        watch, process = self._watches[name], self._a.services[name].process
        exit_code = process.exit_code if process is not None else None
        long_run = local.now_s - watch.started_s >= _LONG_RUN_S
        watch.stop_asked_s = None
        watch.metrics = {}
        record = local.services[name].record.crashed(after_long_run=long_run)
        what = f"exited unexpectedly with code {'unknown' if exit_code is None else exit_code}"
        # One that ran for long had its configuration taken.
        reason = self._a.services[name].exit_reason()
        reason = exit_reason.ExitReason(reason.words) if long_run else reason
        self._hold_after_exit(name, record, what, reason, local, exit_code=exit_code)
        return False

    def _hold_after_exit(
        self,
        name: wire.ServiceName,
        record: records.ServiceRecord,
        what: str,
        why: exit_reason.ExitReason,
        local: steps.LocalState,
        *,
        exit_code: int | None = None,
    ) -> None:
        settings, in_a_row = self._a.settings, record.exits_in_a_row
        pause_s = backoff.doubled_s(settings.times.restart_backoff_s, settings.times.restart_backoff_cap_s, in_a_row)
        said = f": {why.words}" if why.words else ""
        next_start = f"({in_a_row} in a row); next start in {pause_s:g} s"
        reason = (
            f"{what}{said} {next_start}; see {self._a.layout.service_log(name)} and {self._a.layout.logs / name}.out"
        )
        start_id = record.launch.start_id if record.launch else ""
        self._keep_record(name, record.refused_by(start_id, why.words if why.is_configuration else ""))
        self._watches[name].hold(local.now_s + pause_s, reason)
        self._say(name, "failed", reason, exit_code=exit_code)
        _log.warning("%s %s", name, reason)

    def _keep_record(self, name: wire.ServiceName, record: records.ServiceRecord) -> None:
        self._a.records.keep_service(name, record)
        self._watches[name].record = record

    def _start_id(self, name: wire.ServiceName) -> str:
        wanted = self._watches[name].wanted
        return wanted.start_id if wanted else ""

    def _say(
        self,
        name: wire.ServiceName,
        state: wire.ServiceState,
        message: str,
        start_id: str = "",
        pid: int = 0,
        exit_code: int | None = None,
    ) -> None:
        self._watches[name].say(
            status.Status(
                state=state,
                since=self._a.clock.now(),
                start_id=start_id or self._start_id(name),
                message=message,
                pid=pid,
                exit_code=exit_code,
            )
        )
