"""Keeps one planning worker alive and feeds it the jobs of spark.plan_jobs.

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
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import psutil

from planner.kinds import PlanTask
from spark.frames import Frame, plan_frame
from spark.plan_jobs import GATHER_S, EndedJob, JobTotals, NotOnSpark, PlanJobs, RawAnswer, WaitingTask, ended_job
from spark.process import WorkerLaunch, WorkerProcess
from spark.worker_log import Redact

_LOOK_EVERY_S, _ANSWER_EVERY_S = 0.25, 0.05
"""How long nothing is awaited before all else is looked at: at rest, and while jobs run."""
_PROGRESS_EVERY_S, _PROGRESS_CPU_S = 1.0, 0.1
"""A start gets on where it took so much processor time between two looks. A JVM at rest takes a tenth of that."""
_SCRATCH_PREFIX = "kedge-planner-"


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """How the worker is run. `scratch` takes its files (default: the system's temporary directory), `log` its
    output.

    A start is given up `start_timeout_s` after its processes last got on (they take processor time: a JVM on a busy
    machine starts slowly), and after `longest_start_s` in any case. `plan_timeout_s` is for one job: one that takes
    longer is cancelled.
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

    @property
    def scratch_root(self) -> Path:
        return self.scratch or Path(tempfile.gettempdir())

    def launch(self, prefix: str) -> WorkerLaunch:
        """How a worker is started, with a fresh directory of its own: its name begins with `prefix` and our pid."""
        self.scratch_root.mkdir(parents=True, exist_ok=True)
        return WorkerLaunch(
            work_dir=Path(tempfile.mkdtemp(prefix=f"{prefix}{os.getpid()}-", dir=self.scratch_root)),
            log=self.log,
            redact=self.redact,
            master=self.master,
            driver_memory=self.driver_memory,
            conf=self.conf,
            command=self.command,
        )


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
        self._asked: queue.SimpleQueue[WaitingTask | None] = queue.SimpleQueue()
        self._jobs = PlanJobs(settings.plan_timeout_s)
        self._totals = JobTotals()
        self._stopping = threading.Event()
        self._changed = threading.Condition()
        self._status = WorkerStatus("not started", time.monotonic())
        self._thread: threading.Thread | None = None
        self._failures = 0

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

    def totals(self) -> JobTotals:
        """The jobs since the start, and the last."""
        with self._changed:
            return self._totals

    def ask(self, tasks: Sequence[PlanTask]) -> "list[Future[RawAnswer]]":
        """An answer per task, in order, each on its own: it raises NotOnSpark where Spark gave none. Raises NotOnSpark
        at once when the worker is not ready."""
        status = self.status()
        if status.state != "ready":
            raise NotOnSpark(f"Spark is {status}", "not ready")
        waiting = [WaitingTask(task, time.monotonic()) for task in tasks]
        for one in waiting:
            self._asked.put(one)
        if self.status().state != "ready":  # it went away meanwhile, perhaps after its queue was emptied
            self._refuse_queued(NotOnSpark(f"Spark is {self.status()}", "not ready"))
        return [one.answer for one in waiting]

    def pause(self, seconds: float) -> bool:
        """Wait; True when the supervisor was stopped meanwhile."""
        return self._stopping.wait(seconds)

    def stop(self) -> None:
        """Returns when no process of the worker is left. Waiting callers get NotOnSpark."""
        self._stopping.set()
        self._asked.put(None)
        with self._changed:
            thread = self._thread
        if thread is not None:
            thread.join()
        self._say("stopped", "the planning service was stopped")
        self._refuse_queued(NotOnSpark("Spark is stopped", "not ready"))

    def _supervise(self) -> None:
        clear_old_scratch(self._settings.scratch_root, _SCRATCH_PREFIX)
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
            worker = self._launch(self._settings.launch(_SCRATCH_PREFIX))
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
            self._end_all(NotOnSpark(reason or f"Spark is {self.status()}"))

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
            self._gather()
            for job in self._jobs.due(time.monotonic(), datetime.now(UTC)):
                worker.send(plan_frame(job.number, [w.task for w in job.tasks]))
            if self._jobs.running:
                frame = worker.next_frame(_ANSWER_EVERY_S)
                if frame is not None:
                    self._heard(frame)
                self._cancel_overdue(worker)
            elif not worker.is_alive:
                raise NotOnSpark(f"the planning worker (pid {worker.pid}) died")
            self._refuse_silence(worker)
        raise NotOnSpark("the planning service is stopping", "not ready")

    def _gather(self) -> None:
        """Takes what was asked; waits for the first where nothing waits or runs."""
        idle = not self._jobs.waiting and not self._jobs.running
        with contextlib.suppress(queue.Empty):
            one = self._asked.get(timeout=_LOOK_EVERY_S if idle else 0 if self._jobs.running else GATHER_S / 3)
            while True:
                if one is not None:
                    self._jobs.waiting.append(one)
                one = self._asked.get_nowait()

    def _heard(self, frame: Frame) -> None:
        """The end of a job: each cluster has its own answer, or all of them why there is none."""
        job = self._jobs.ended(frame.head.get("job", 0))
        if job is None:
            return
        error = str(frame.head.get("error")) if frame.kind == "failed" else ""
        checks = () if error else frame.head["checks"]
        found = [
            RawAnswer(raw, tuple(c["violations"]), c["failure"]) for raw, c in zip(frame.parts, checks, strict=True)
        ]
        if not error and len(found) != len(job.tasks):
            raise NotOnSpark(f"the planning worker gave {len(found)} answers to {len(job.tasks)} requests")
        if job.cancelled:
            return
        if error:
            for waiting in job.tasks:
                waiting.refuse(NotOnSpark(f"the Spark job failed: {error}", "job failed"))
        else:
            self._failures = 0
            for waiting, answer in zip(job.tasks, found, strict=True):
                waiting.answer.set_result(answer)
        self._note(ended_job(job, time.monotonic(), found, error))

    def _cancel_overdue(self, worker: WorkerProcess) -> None:
        """Whoever waits for a job that takes too long is told at once. Raises NotOnSpark where one that was cancelled
        does not end."""
        limit_s = self._settings.plan_timeout_s
        for job in self._jobs.overdue(time.monotonic()):
            why = NotOnSpark(f"no plan from Spark within {limit_s:.0f} s", "timeout")
            if job.cancelled:
                raise NotOnSpark(f"the planning worker (pid {worker.pid}) does not end a job that was cancelled")
            for waiting in job.tasks:
                waiting.refuse(why)
            self._note(ended_job(job, time.monotonic(), (), str(why)))
            worker.send(Frame("cancel", {"job": job.number}))

    def _note(self, ended: EndedJob) -> None:
        with self._changed:
            self._totals = self._totals.plus(ended)

    def _end_all(self, why: NotOnSpark) -> None:
        """The worker is gone, and with it all that it had in hand."""
        self._refuse_queued(why)
        for job in self._jobs.refuse_all(why):
            if not job.cancelled:
                self._note(ended_job(job, time.monotonic(), (), str(why)))

    def _refuse_silence(self, worker: WorkerProcess) -> None:
        if worker.silent_s > self._settings.silence_timeout_s:
            raise NotOnSpark(f"the planning worker (pid {worker.pid}) was silent for {worker.silent_s:.0f} s")

    def _refuse_queued(self, why: NotOnSpark) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                one = self._asked.get_nowait()
                if one is not None:
                    one.refuse(why)

    def _say(self, state: WorkerState, reason: str, pid: int | None = None) -> None:
        with self._changed:
            self._status = WorkerStatus(state, time.monotonic(), reason, pid)
            self._changed.notify_all()


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
