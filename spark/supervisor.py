"""Keeps one planning worker alive and feeds it. Whatever waits while a job runs goes into the next job
together, drains before rebalances.

One thread owns the worker from start to end (Linux ties the parent-death signal to the spawning thread);
callers only put jobs into a queue.
"""

import contextlib
import os
import queue
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import psutil

from planner.kinds import KINDS, PlanKind, Request
from spark.frames import plan_frame
from spark.process import WorkerLaunch, WorkerProcess
from spark.worker_log import Redact

_LOOK_EVERY_S = 0.25
_PROGRESS_EVERY_S, _PROGRESS_CPU_S = 1.0, 0.1
"""A start gets on where it took so much processor time between two looks. A JVM at rest takes a tenth of that."""
_SCRATCH_PREFIX = "kedge-planner-"


class NotOnSpark(RuntimeError):
    """Spark did not answer; the message says why. What now: solve in-process, or ask again later."""


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """How the worker is run. `scratch` takes its files (default: the system's temporary directory), `log` its
    output.

    A start is given up `start_timeout_s` after its processes last got on (they take processor time: a JVM on a busy
    machine starts slowly), and after `longest_start_s` in any case. `plan_timeout_s` is for one job of many clusters.
    A worker silent for `silence_timeout_s` is taken for hung.
    """

    master: str = "local[*]"
    driver_memory: str = "1g"
    conf: Mapping[str, str] = field(default_factory=dict)
    start_timeout_s: float = 180.0
    longest_start_s: float = 900.0
    plan_timeout_s: float = 180.0
    silence_timeout_s: float = 30.0
    first_backoff_s: float = 1.0
    longest_backoff_s: float = 60.0
    scratch: Path | None = None
    log: Path | None = None
    redact: Redact = str
    command: tuple[str, ...] = (sys.executable, "-m", "spark.worker")

    def backoff_s(self, failures: int) -> float:
        """How long is waited before the next start, after so many lives in a row that came to nothing."""
        return min(self.longest_backoff_s, self.first_backoff_s * 2.0 ** min(max(failures - 1, 0), 16))


WorkerState = Literal["not started", "starting", "ready", "backing off", "stopped"]


@dataclass(frozen=True, slots=True)
class WorkerStatus:
    """The worker's state, since when (monotonic seconds), why, and its process id while it has one."""

    state: WorkerState
    since: float
    reason: str = ""
    pid: int | None = None

    def __str__(self) -> str:
        return f"{self.state}: {self.reason}" if self.reason else self.state


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """Canonical bytes of an answer, and what Spark's own check found wrong with it."""

    answer_bytes: bytes
    violations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Job:
    kind: PlanKind[Any, Any]
    requests: tuple[Any, ...]
    answers: Future[list[RawAnswer]]


class WorkerSupervisor:
    """Thread-safe. `stop` ends the worker, its JVM and its scratch files for certain."""

    def __init__(
        self,
        settings: WorkerSettings,
        *,
        launch: Callable[[WorkerLaunch], WorkerProcess] = WorkerProcess.start,
    ) -> None:
        self._settings = settings
        self._launch = launch
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._changed = threading.Condition()
        self._status = WorkerStatus("not started", time.monotonic())
        self._thread: threading.Thread | None = None
        self._failures = 0
        self._job_number = 0

    def status(self) -> WorkerStatus:
        with self._changed:
            return self._status

    def start(self) -> None:
        """Start in the background; nothing happens when that was done before."""
        with self._changed:
            if self._thread is None and not self._stopping.is_set():
                self._thread = threading.Thread(target=self._supervise, name="planning-worker", daemon=True)
                self._thread.start()

    def wait_until_ready(self, timeout_s: float) -> bool:
        """True once the worker can answer; False when the time is over before, or the supervisor is stopped."""
        with self._changed:
            self._changed.wait_for(lambda: self._status.state in ("ready", "stopped"), timeout_s)
            return self._status.state == "ready"

    def answers(self, kind: PlanKind[Request, Any], requests: Sequence[Request]) -> list[RawAnswer]:
        """An answer per request, in order. Raises NotOnSpark at once when the worker is not ready."""
        status = self.status()
        if status.state != "ready":
            raise NotOnSpark(f"Spark is {status}")
        job = _Job(kind, tuple(requests), Future())
        self._jobs.put(job)
        if self.status().state != "ready":  # it went away meanwhile, perhaps after its queue was emptied
            self._refuse_queued(f"Spark is {self.status()}")
        return job.answers.result()

    def pause(self, seconds: float) -> bool:
        """Wait; True when the supervisor was stopped meanwhile."""
        return self._stopping.wait(seconds)

    def stop(self) -> None:
        """Returns when no process of the worker is left. Waiting callers get NotOnSpark."""
        self._stopping.set()
        self._jobs.put(None)
        with self._changed:
            thread = self._thread
        if thread is not None:
            thread.join()
        self._say("stopped", "the planning service was stopped")
        self._refuse_queued("Spark is stopped")

    def _supervise(self) -> None:
        clear_old_scratch(self._scratch(), _SCRATCH_PREFIX)
        while not self._stopping.is_set():
            started = time.monotonic()
            self._one_life()
            served_s = time.monotonic() - started
            self._failures = 1 if served_s > self._settings.longest_backoff_s else self._failures + 1
            self._stopping.wait(self._settings.backoff_s(self._failures))

    def _one_life(self) -> None:
        """A worker from its start to its end."""
        worker: WorkerProcess | None = None
        reason, hears = "", False
        try:
            self._say("starting", "")
            worker = self._launch(self._launch_settings())
            hears = self._await_ready(worker)
            self._serve(worker)
        except Exception as error:  # noqa: BLE001 whatever a worker does, the next one is started; status tells
            reason = str(error) if isinstance(error, (NotOnSpark, OSError)) else repr(error)
        finally:
            if not self._stopping.is_set():
                self._say("backing off", reason)
            if worker is not None:
                # Before it is ready it reads nothing and has no session to close: no use in asking it and waiting.
                worker.stop(grace_s=3.0 if hears and self._stopping.is_set() else 0.0)
            self._refuse_queued(f"Spark is {self.status()}")

    def _await_ready(self, worker: WorkerProcess) -> bool:
        """False when the supervisor was stopped before."""
        self._say("starting", "", worker.pid)
        start = StartWatch(self._settings, worker)
        while not self._stopping.is_set():
            frame = worker.next_frame(_LOOK_EVERY_S)
            if frame is not None and frame.kind == "ready":
                self._say("ready", "", worker.pid)
                return True
            if frame is not None and frame.kind == "failed":
                raise NotOnSpark(f"the Spark session could not be started: {frame.head.get('error')}")
            start.refuse_standstill()
        return False

    def _serve(self, worker: WorkerProcess) -> None:
        """Jobs until the worker is lost (raises) or the supervisor stops."""
        while not self._stopping.is_set():
            jobs = self._next_jobs()
            if jobs:
                self._run_all(worker, jobs)
            elif not worker.is_alive:
                raise NotOnSpark(f"the planning worker (pid {worker.pid}) died")
            self._refuse_silence(worker)

    def _next_jobs(self) -> list[_Job]:
        """Everything that waits, after a short wait for the first."""
        found: list[_Job] = []
        with contextlib.suppress(queue.Empty):
            job = self._jobs.get(timeout=_LOOK_EVERY_S)
            while True:
                if job is not None:
                    found.append(job)
                job = self._jobs.get_nowait()
        return found

    def _run_all(self, worker: WorkerProcess, jobs: list[_Job]) -> None:
        """One Spark job per kind. What waits for a whole round has its turn in it: drains never starve the others."""
        try:
            for kind in KINDS.values():
                alike = [job for job in jobs if job.kind is kind]
                if alike:
                    self._run(worker, kind, alike)
        except Exception as lost:
            for job in jobs:
                if not job.answers.done():
                    job.answers.set_exception(NotOnSpark(str(lost)))
            raise

    def _run(self, worker: WorkerProcess, kind: PlanKind[Any, Any], jobs: list[_Job]) -> None:
        """One Spark job for all. A job that fails leaves the worker up; a lost worker raises."""
        found = self._answers_of(worker, kind, [request for job in jobs for request in job.requests])
        if isinstance(found, str):
            for job in jobs:
                job.answers.set_exception(NotOnSpark(f"the Spark job failed: {found}"))
            return
        self._failures = 0
        rest = iter(found)
        for job in jobs:
            job.answers.set_result([next(rest) for _ in job.requests])

    def _answers_of(
        self, worker: WorkerProcess, kind: PlanKind[Any, Any], requests: list[Any]
    ) -> list[RawAnswer] | str:
        """The answers, or what a failed job said. Raises NotOnSpark or FrameBroken when the worker is lost."""
        self._job_number += 1
        worker.send(plan_frame(self._job_number, kind, requests))
        deadline = time.monotonic() + self._settings.plan_timeout_s
        while not self._stopping.is_set():
            frame = worker.next_frame(_LOOK_EVERY_S)
            if frame is not None and frame.head.get("job") == self._job_number:
                if frame.kind == "failed":
                    return str(frame.head.get("error"))
                pairs = zip(frame.parts, frame.head["violations"], strict=True)
                found = [RawAnswer(raw, tuple(violations)) for raw, violations in pairs]
                if len(found) != len(requests):
                    raise NotOnSpark(f"the planning worker gave {len(found)} answers to {len(requests)} requests")
                return found
            if time.monotonic() > deadline:
                raise NotOnSpark(f"no plan from Spark within {self._settings.plan_timeout_s:.0f} s")
            self._refuse_silence(worker)
        raise NotOnSpark("the planning service is stopping")

    def _refuse_silence(self, worker: WorkerProcess) -> None:
        if worker.silent_s > self._settings.silence_timeout_s:
            raise NotOnSpark(f"the planning worker (pid {worker.pid}) was silent for {worker.silent_s:.0f} s")

    def _refuse_queued(self, reason: str) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                job = self._jobs.get_nowait()
                if job is not None:
                    job.answers.set_exception(NotOnSpark(reason))

    def _say(self, state: WorkerState, reason: str, pid: int | None = None) -> None:
        with self._changed:
            self._status = WorkerStatus(state, time.monotonic(), reason, pid)
            self._changed.notify_all()

    def _launch_settings(self) -> WorkerLaunch:
        self._scratch().mkdir(parents=True, exist_ok=True)
        settings = self._settings
        return WorkerLaunch(
            work_dir=Path(tempfile.mkdtemp(prefix=f"{_SCRATCH_PREFIX}{os.getpid()}-", dir=self._scratch())),
            log=settings.log,
            redact=settings.redact,
            master=settings.master,
            driver_memory=settings.driver_memory,
            conf=settings.conf,
            command=settings.command,
        )

    def _scratch(self) -> Path:
        return self._settings.scratch or Path(tempfile.gettempdir())


class StartWatch:
    """A worker that is not ready yet, and whether it still gets on."""

    def __init__(self, settings: WorkerSettings, worker: WorkerProcess) -> None:
        self._settings, self._worker = settings, worker
        self._began = self._looked = self._got_on = time.monotonic()
        self._cpu_s = 0.0

    def refuse_standstill(self) -> None:
        """Raises NotOnSpark where it has stood still, or has started, for too long."""
        now = time.monotonic()
        if now - self._looked >= _PROGRESS_EVERY_S:
            self._looked, cpu_s = now, self._worker.cpu_s()
            if cpu_s - self._cpu_s >= _PROGRESS_CPU_S:
                self._got_on, self._cpu_s = now, cpu_s
        if now - self._got_on > self._settings.start_timeout_s:
            stood_s = self._settings.start_timeout_s
            raise NotOnSpark(f"no Spark session: its start has not got on for {stood_s:.0f} s")
        if now - self._began > self._settings.longest_start_s:
            raise NotOnSpark(f"no Spark session within {self._settings.longest_start_s:.0f} s")


def clear_old_scratch(root: Path, prefix: str) -> None:
    """Remove directories of servers that were killed: their process id follows the prefix of the name."""
    for left in root.glob(f"{prefix}*-*"):
        owner = left.name.removeprefix(prefix).split("-")[0]
        if owner.isdigit() and not psutil.pid_exists(int(owner)):
            shutil.rmtree(left, ignore_errors=True)
