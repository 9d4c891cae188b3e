"""The planning worker seen from the server: start it, hear it, end it for certain. Knows no pyspark."""

import contextlib
import os
import queue
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from spark.frames import Frame, FrameBroken, FrameSocket
from spark.session import source_root
from spark.worker_log import Redact, WorkerLog

_KILL_WITHIN_S = 10.0
_SEND_WITHIN_S = 30
"""A worker that reads nothing for so long is taken for hung; without this a send would block for ever."""


@dataclass(frozen=True, slots=True)
class WorkerLaunch:
    """How to start a worker. `work_dir` is made, and removed when the worker is stopped; its output goes to
    `log` through `redact`, which takes secrets out.
    """

    work_dir: Path
    log: Path | None = None
    redact: Redact = str
    master: str = "local[*]"
    driver_memory: str = "1g"
    conf: Mapping[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = (sys.executable, "-m", "spark.worker")


class WorkerProcess:
    """A running worker: leader of a session of its own, so that everything it ever starts can be found and
    ended.

    Start it from a thread that lives as long as the worker should: Linux sends the parent-death signal when
    the *thread* that spawned the process ends.
    """

    def __init__(self, process: subprocess.Popen[bytes], link: FrameSocket, launch: WorkerLaunch) -> None:
        self._process, self._link, self._launch = process, link, launch
        self._frames: queue.SimpleQueue[Frame | None] = queue.SimpleQueue()
        self._heard_at = time.monotonic()
        pipe, file = process.stdout, launch.log
        self._log = WorkerLog(pipe, file, launch.redact) if pipe is not None and file is not None else None
        threading.Thread(target=self._listen, name="planning-worker-link", daemon=True).start()

    @classmethod
    def start(cls, launch: WorkerLaunch) -> "WorkerProcess":
        """Raises OSError when the process cannot be started."""
        launch.work_dir.mkdir(parents=True, exist_ok=True)
        ours, theirs = socket.socketpair()
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", _SEND_WITHIN_S, 0))
        try:
            process = _spawned(launch, theirs)
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        return cls(process, FrameSocket(ours), launch)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    @property
    def silent_s(self) -> float:
        """Seconds since anything was heard of it."""
        return time.monotonic() - self._heard_at

    def send(self, frame: Frame) -> None:
        """Raises FrameBroken when the worker is gone."""
        self._link.send(frame)

    def next_frame(self, timeout_s: float) -> Frame | None:
        """The next frame that is no heartbeat, None after the timeout. Raises FrameBroken once the worker is
        gone.
        """
        try:
            frame = self._frames.get(timeout=timeout_s)
        except queue.Empty:
            return None
        if frame is None:
            self._frames.put(None)
            raise FrameBroken(f"the planning worker (pid {self.pid}) is gone, exit code {self._exit_code()}")
        return frame

    def stop(self, *, grace_s: float = 5.0) -> None:
        """Ask, wait, then kill every process of its session (worker, JVM, Python workers). Returns when none
        is left.
        """
        if grace_s > 0 and self.is_alive:
            with contextlib.suppress(FrameBroken):
                self._link.send(Frame("stop"))
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(grace_s)
        deadline = time.monotonic() + _KILL_WITHIN_S
        while (members := self.members()) and time.monotonic() < deadline:
            for pid in members:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self._process.poll()
            time.sleep(0.02)
        self._process.wait(_KILL_WITHIN_S)
        if self._log is not None:
            self._log.close(_KILL_WITHIN_S)
        self._link.close()
        shutil.rmtree(self._launch.work_dir, ignore_errors=True)

    def members(self) -> list[int]:
        """Process ids of the worker's session that are not dead. PySpark's daemon has a group of its own, not
        a session.
        """
        return [pid for pid in psutil.pids() if _session_of(pid) == self.pid and not _is_dead(pid)]

    def cpu_s(self) -> float:
        """Processor seconds that its living processes have taken so far."""
        return sum(_cpu_of(pid) for pid in self.members())

    def _listen(self) -> None:
        try:
            while True:
                frame = self._link.receive()
                self._heard_at = time.monotonic()
                if frame.kind != "heartbeat":
                    self._frames.put(frame)
        except (FrameBroken, ValueError, KeyError):
            self._frames.put(None)

    def _exit_code(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(1.0)
        return None


def _spawned(launch: WorkerLaunch, theirs: socket.socket) -> subprocess.Popen[bytes]:
    fd = theirs.fileno()
    argv = [*launch.command, "--fd", str(fd), "--parent", str(os.getpid()), "--work-dir", str(launch.work_dir)]
    argv += ["--master", launch.master, "--memory", launch.driver_memory]
    argv += [f"--conf={name}={value}" for name, value in sorted(launch.conf.items())]
    path = os.pathsep.join(p for p in (str(source_root()), os.environ.get("PYTHONPATH", "")) if p)
    return subprocess.Popen(
        argv,
        pass_fds=(fd,),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL if launch.log is None else subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=launch.work_dir,
        env={**os.environ, "PYTHONPATH": path},
        start_new_session=True,
    )


def _session_of(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except (ProcessLookupError, PermissionError):
        return None


def _cpu_of(pid: int) -> float:
    try:
        taken = psutil.Process(pid).cpu_times()
    except psutil.Error:
        return 0.0
    return taken.user + taken.system


def _is_dead(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.NoSuchProcess:
        return True
