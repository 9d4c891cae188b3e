"""Keeps the metric pipeline's process alive for as long as there is something to read, and hears how it does.

One thread owns the process from start to end (Linux ties the parent-death signal to the spawning thread); callers only
say what is to be read. Where it was is in the lake and the checkpoints, so it is killed at any time without harm.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import psutil
from pydantic import TypeAdapter

from spark.frames import Frame
from spark.pipeline.sources import Sources, to_document
from spark.pipeline.status import PipelineState, PipelineStatus, StreamStatus
from spark.plan_jobs import NotOnSpark
from spark.process import WorkerLaunch, WorkerProcess
from spark.supervisor import StartWatch, WorkerSettings, clear_old_scratch

_LOOK_EVERY_S = 0.5
_MEMORY_EVERY_LOOKS = 20
_SCRATCH_PREFIX = "kedge-metrics-"
_STREAMS: TypeAdapter[tuple[StreamStatus, ...]] = TypeAdapter(tuple[StreamStatus, ...])


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineSettings:
    """`worker` is how the process is run; its `command` has all that is said once. `why_off`: why none is ever started,
    "" where one is. `lake` is for people.
    """

    worker: WorkerSettings
    lake: str = ""
    why_off: str = ""


class PipelineSupervisor:
    """Thread-safe. `stop` ends the process, its JVM and its scratch files for certain."""

    def __init__(
        self,
        settings: PipelineSettings,
        *,
        launch: Callable[[WorkerLaunch], WorkerProcess] = WorkerProcess.start,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._settings, self._launch, self._clock = settings, launch, clock
        self._changed = threading.Condition()
        self._stopping = False
        self._wanted: Sources = ()
        self._thread: threading.Thread | None = None
        state: PipelineState = "off" if settings.why_off else "idle"
        self._status = PipelineStatus(state=state, since=clock(), reason=settings.why_off, lake=settings.lake)
        self._failures = self._lives = 0

    def status(self) -> PipelineStatus:
        """As it was last heard."""
        with self._changed:
            return self._status

    def want(self, sources: Sources, why_none: str = "") -> None:
        """From now on these topics are read. None: the process ends, and is started when there are some again;
        `why_none` says for people why. Returns at once. Nothing happens where the pipeline is off.
        """
        with self._changed:
            if self._settings.why_off or self._stopping:
                return
            self._wanted = sources
            if not sources and self._status.state == "idle" and self._status.reason != why_none:
                self._status = replace(self._status, reason=why_none)
            if sources and self._thread is None:
                self._thread = threading.Thread(target=self._supervise, name="metric-pipeline", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def stop(self) -> None:
        """Returns when no process of it is left."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join()
        self._say("off" if self._settings.why_off else "stopped", self._settings.why_off)

    def _supervise(self) -> None:
        clear_old_scratch(self._settings.worker.scratch_root, _SCRATCH_PREFIX)
        while self._await_work():
            began = self._clock()
            failed = self._one_life()
            served_s = (self._clock() - began).total_seconds()
            longest_s = self._settings.worker.longest_backoff_s
            self._failures = 0 if not failed else 1 if served_s > longest_s else self._failures + 1
            if failed:
                self._pause(self._settings.worker.backoff_s(self._failures))

    def _await_work(self) -> bool:
        """Waits until there is something to read; False once it is time to leave."""
        with self._changed:
            if not self._wanted and not self._stopping:
                self._say("idle", "no cluster has brokers that are measured")
            self._changed.wait_for(lambda: self._wanted or self._stopping)
            return not self._stopping

    def _one_life(self) -> bool:
        """A process from its start to its end; whether it ended by itself."""
        worker: WorkerProcess | None = None
        hears = False
        try:
            self._lives += 1
            self._say("starting", "")
            worker = self._launch(self._settings.worker.launch(_SCRATCH_PREFIX))
            hears = self._await_ready(worker)
            if hears:
                self._serve(worker)
        except Exception as error:  # noqa: BLE001 whatever it does, the next one is started; the status tells
            reason = str(error) if isinstance(error, (NotOnSpark, OSError)) else repr(error)
            self._say("backing off", reason, error=reason)
            return True
        finally:
            if worker is not None:
                # A batch that is cut is done again by the next life: there is no use in waiting long.
                worker.stop(grace_s=5.0 if hears else 0.0)
        return False

    def _await_ready(self, worker: WorkerProcess) -> bool:
        """False where nothing is wanted of it any more."""
        self._say("starting", "", pid=worker.pid)
        start = StartWatch(self._settings.worker, worker)
        while self._is_wanted():
            frame = worker.next_frame(_LOOK_EVERY_S)
            if frame is not None and frame.kind == "ready":
                self._say("running", "", pid=worker.pid)
                return True
            if frame is not None and frame.kind == "failed":
                raise NotOnSpark(f"the Spark session could not be started: {frame.head.get('error')}")
            start.refuse_standstill()
        return False

    def _serve(self, worker: WorkerProcess) -> None:
        """Until the process is lost (raises) or nothing is wanted of it."""
        sent: Sources | None = None
        queries = 0
        while self._is_wanted():
            wanted = self._wanted
            if wanted != sent:
                worker.send(Frame("sources", {"sources": to_document(wanted)}))
                sent = wanted
            frame = worker.next_frame(_LOOK_EVERY_S)
            if frame is not None and frame.kind == "failed":
                raise NotOnSpark(f"it gave up: {frame.head.get('error')}")
            if frame is not None and frame.kind == "streams":
                self._heard(frame.head, wanted)
            if queries % _MEMORY_EVERY_LOOKS == 0:
                self._change(memory_bytes=sum(_resident(pid) for pid in worker.members()))
            queries += 1
            if not worker.is_alive:
                raise NotOnSpark(f"the process (pid {worker.pid}) died")
            if worker.silent_s > self._settings.worker.silence_timeout_s:
                raise NotOnSpark(f"the process (pid {worker.pid}) was silent for {worker.silent_s:.0f} s")

    def _heard(self, told: Mapping[str, Any], wanted: Sources) -> None:
        names = {source.name for source in wanted}
        redact = self._settings.worker.redact
        streams = tuple(
            replace(one, error=redact(one.error))
            for one in _STREAMS.validate_python(told["streams"])
            if one.name in names
        )
        housekeeping_at = told.get("housekeeping_at")
        self._change(
            streams=streams,
            housekeeping_at=datetime.fromisoformat(housekeeping_at)
            if housekeeping_at
            else self.status().housekeeping_at,
            housekeeping_error=redact(str(told.get("housekeeping_error") or "")),
        )

    def _is_wanted(self) -> bool:
        with self._changed:
            return bool(self._wanted) and not self._stopping

    def _pause(self, seconds: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._stopping, seconds)

    def _say(self, state: PipelineState, reason: str, *, pid: int | None = None, error: str = "") -> None:
        with self._changed:
            now, before = self._clock(), self._status
            self._status = replace(
                before,
                state=state,
                since=now if state != before.state else before.since,
                reason=self._settings.worker.redact(reason),
                pid=pid,
                restarts=max(0, self._lives - 1),
                memory_bytes=None,
                error=self._settings.worker.redact(error) or before.error,
                error_at=now if error else before.error_at,
                streams=before.streams if state in ("starting", "running", "backing off") else (),
            )
            self._changed.notify_all()

    def _change(self, **changed: Any) -> None:
        with self._changed:
            self._status = replace(self._status, **changed)


def _resident(pid: int) -> int:
    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return 0
