"""The planning worker: a process of its own that keeps one warm Spark session and answers plan frames.

python -m spark.worker --fd 5 --work-dir DIR --master 'local[*]'

Started by the control plane with one end of a socket pair. It ends when asked, when the pair closes, and when
its parent dies; the JVM ends with it, because PySpark's gateway lives only as long as its stdin.
"""

import argparse
import ctypes
import os
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from events.extras import extra_missing, how_to_add
from planner.kinds import DRAIN, REBALANCE, PlanTask
from spark.frames import Frame, FrameBroken, FrameSocket, tasks_of
from spark.session import SparkSettings, build_session, close_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HEARTBEAT_S = 1.0

MOST_JOBS = 4
"""Jobs at once: what the server has in flight at most (spark.plan_jobs)."""

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class WorkerArguments:
    fd: int
    parent: int
    settings: SparkSettings


def main(argv: list[str] | None = None) -> int:
    arguments = _parsed(argv)
    die_with(arguments.parent)
    stdout_to_stderr()
    os.set_inheritable(arguments.fd, False)
    link = FrameSocket(socket.socket(fileno=arguments.fd))
    beating = threading.Event()
    threading.Thread(target=beat, args=(link, beating), daemon=True).start()
    try:
        return _serve(link, arguments.settings)
    except FrameBroken:
        return 0  # the server is gone: nobody is left to answer
    finally:
        beating.set()


def _serve(link: FrameSocket, settings: SparkSettings) -> int:
    try:
        session = build_session(settings)
        _warm(session)
    except Exception as error:  # noqa: BLE001 the process ends; the reason must reach the server
        link.send(Frame("failed", {"job": None, "error": error_text(error)}))
        return 1
    link.send(Frame("ready", {"spark": session.version, "master": settings.master}))
    threads = ThreadPoolExecutor(MOST_JOBS, thread_name_prefix="plans")
    while (frame := link.receive()).kind != "stop":
        if frame.kind == "plan":
            threads.submit(_answer, link, session, frame, not settings.is_connect)
        elif frame.kind == "cancel":
            session.interruptTag(_tag(frame.head["job"]))
    threads.shutdown(wait=False, cancel_futures=True)
    close_session(session)
    return 0


def _answer(link: FrameSocket, session: "SparkSession", frame: Frame, is_classic: bool) -> None:
    """Ends the process where the server is gone: nobody else waits for it."""
    try:
        link.send(_answered(session, frame, is_classic=is_classic))
    except FrameBroken:
        os._exit(0)


def _answered(session: "SparkSession", frame: Frame, *, is_classic: bool) -> Frame:
    """A failed job is an answer too; the session survives most of them. A job has a pool of its own, so that it shares
    the cores with those that run beside it."""
    from spark.jobs.plans import planned

    job = frame.head["job"]
    try:
        with _tagged(session, job, is_classic=is_classic):
            outcomes = planned(session, tasks_of(frame))
    except Exception as error:  # noqa: BLE001 whatever Spark raises, the server answers in-process
        traceback.print_exc()
        return Frame("failed", {"job": job, "error": error_text(error)})
    checks = [{"violations": list(outcome.violations), "failure": outcome.failure} for outcome in outcomes]
    return Frame("planned", {"job": job, "checks": checks}, tuple(outcome.answer_bytes for outcome in outcomes))


@contextmanager
def _tagged(session: "SparkSession", job: int, *, is_classic: bool) -> Iterator[None]:
    """By its tag a job can be cancelled."""
    if is_classic:  # Spark Connect has pools on its server alone
        session.sparkContext.setLocalProperty("spark.scheduler.pool", threading.current_thread().name)
    session.addTag(_tag(job))
    try:
        yield
    finally:
        session.removeTag(_tag(job))


def _tag(job: int) -> str:
    return f"kedge-plans-{job}"


def _warm(session: "SparkSession") -> None:
    """A tiny plan of each kind: the first real ones find classes and kernels loaded, and Python workers forked."""
    from spark.jobs.plans import planned
    from spark.warmup import tiny_rebalance, tiny_request

    planned(session, [PlanTask(DRAIN, tiny_request()), PlanTask(REBALANCE, tiny_rebalance())])


def beat(link: FrameSocket, stopped: threading.Event) -> None:
    while not stopped.wait(HEARTBEAT_S):
        try:
            link.send(Frame("heartbeat"))
        except FrameBroken:
            os._exit(0)  # the server closed the pair while a job runs: nobody waits for it


def stdout_to_stderr() -> None:
    """Descriptor 1 becomes descriptor 2, for Java and everything else that prints."""
    sys.stdout.flush()
    os.dup2(2, 1)


def die_with(parent: int) -> None:
    """Be killed when the parent's spawning thread ends (Linux); the check closes the race with its death."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def error_text(error: Exception) -> str:
    if isinstance(error, ModuleNotFoundError) and (extra := extra_missing(error)):
        return f"`{error.name}` is not installed: {how_to_add(extra)}"
    text = str(error).strip() or repr(error)
    return f"{type(error).__name__}: {text.splitlines()[0][:500]}"


def _parsed(argv: list[str] | None) -> WorkerArguments:
    parser = argparse.ArgumentParser(prog="python -m spark.worker", description="Kedge's planning worker")
    parser.add_argument("--fd", type=int, required=True, help="inherited end of the socket pair")
    parser.add_argument("--parent", type=int, required=True, help="process id of the server")
    parser.add_argument("--work-dir", type=Path, required=True, help="scratch directory, removed by the server")
    parser.add_argument("--master", default="local[*]", help="Spark master or sc:// address")
    parser.add_argument("--memory", default="1g", help="memory of the driver's JVM")
    parser.add_argument("--conf", action="append", default=[], metavar="NAME=VALUE", help="raw Spark setting")
    options = parser.parse_args(argv)
    settings = SparkSettings(
        work_dir=options.work_dir,
        master=options.master,
        driver_memory=options.memory,
        extra={"spark.scheduler.mode": "FAIR", **dict(pair.split("=", 1) for pair in options.conf)},
    )
    return WorkerArguments(options.fd, options.parent, settings)


if __name__ == "__main__":
    sys.exit(main())
