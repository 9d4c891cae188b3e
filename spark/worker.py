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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from events.extras import extra_missing, how_to_add
from spark.frames import Frame, FrameBroken, FrameSocket, kind_of, requests_of
from spark.session import SparkSettings, build_session, close_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark.sinks import CheckedAnswer

HEARTBEAT_S = 1.0

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
    while (frame := link.receive()).kind != "stop":
        if frame.kind == "plan":
            link.send(_answered(session, frame))
    close_session(session)
    return 0


def _answered(session: "SparkSession", frame: Frame) -> Frame:
    """A failed job is an answer too; the session survives most of them."""
    job = frame.head["job"]
    try:
        outcomes = _jobs()[kind_of(frame).name](session, requests_of(frame))
    except Exception as error:  # noqa: BLE001 whatever Spark raises, the server answers in-process
        traceback.print_exc()
        return Frame("failed", {"job": job, "error": error_text(error)})
    violations = [list(outcome.violations) for outcome in outcomes]
    answers = tuple(outcome.answer_bytes for outcome in outcomes)
    return Frame("planned", {"job": job, "violations": violations}, answers)


def _warm(session: "SparkSession") -> None:
    """A tiny plan of each kind: the first real ones find classes and kernels loaded, and Python workers forked."""
    from spark.warmup import tiny_rebalance, tiny_request

    jobs = _jobs()
    jobs["drain"](session, [tiny_request()])
    jobs["rebalance"](session, [tiny_rebalance()])


def _jobs() -> "Mapping[str, Callable[[SparkSession, list[Any]], Sequence[CheckedAnswer[Any]]]]":
    """By what a plan frame asks for. Imported late: they come with pyspark."""
    from spark.jobs.drain_plan import plan_drains
    from spark.jobs.rebalance_plan import plan_rebalances

    return {"drain": plan_drains, "rebalance": plan_rebalances}


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
        extra=dict(pair.split("=", 1) for pair in options.conf),
    )
    return WorkerArguments(options.fd, options.parent, settings)


if __name__ == "__main__":
    sys.exit(main())
