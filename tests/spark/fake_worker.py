"""Stands in for spark.worker: speaks the same frames, solves without Spark, and misbehaves as told.

    python fake_worker.py BEHAVIOUR STATE_DIR --fd N ...

STATE_DIR counts the lives, so that a behaviour can differ from one start to the next.
"""

import argparse
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from spark.frames import Frame, FrameSocket, tasks_of


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("behaviour")
    parser.add_argument("state", type=Path)
    parser.add_argument("--fd", type=int)
    options, _ = parser.parse_known_args()
    life = len(list(options.state.glob("life-*"))) + 1
    (options.state / f"life-{life}").write_text(str(os.getpid()))
    link = FrameSocket(socket.socket(fileno=options.fd))
    behave(options.behaviour, life, link, options.state)


def behave(behaviour: str, life: int, link: FrameSocket, state: Path) -> None:
    if behaviour == "never ready":
        time.sleep(600)
    if behaviour == "starts slowly":
        began_s = time.monotonic()
        while time.monotonic() - began_s < 5:
            sum(range(10_000))
    if behaviour == "no session":
        link.send(Frame("failed", {"job": None, "error": "JavaGatewayExited: no Java"}))
        sys.exit(1)
    if behaviour == "children":
        leave_children(state)
    print("Picked up JAVA_TOOL_OPTIONS: -Xgarbage", "\x00" * 50, flush=True)
    link.send(Frame("ready"))
    while (frame := link.receive()).kind != "stop":
        if frame.kind == "cancel":
            link.send(Frame("failed", {"job": frame.head["job"], "error": "cancelled"}))
            continue
        if behaviour == "stands still":
            continue
        answer(behaviour, life, link, frame, state)


def answer(behaviour: str, life: int, link: FrameSocket, frame: Frame, state: Path) -> None:
    if behaviour == "dies mid-plan" or (behaviour == "dies once mid-plan" and life == 1):
        os.kill(os.getpid(), signal.SIGKILL)
    if behaviour in ("hangs", "ignores stop"):
        time.sleep(600)
    job, tasks = frame.head["job"], tasks_of(frame)
    if behaviour == "job fails":
        link.send(Frame("failed", {"job": job, "error": "Py4JJavaError: stage 3"}))
        return
    if behaviour == "slow":
        (state / "begun").touch()
        time.sleep(0.5)
    if behaviour == "not a frame":
        os.write(link._sock.fileno(), b"HTTP/1.1 400 Bad Request\r\n\r\n" * 3)
        time.sleep(600)
    with (state / "jobs").open("a") as jobs:
        kinds = [task.kind.name for task in tasks]
        counts = [f"{kind} {kinds.count(kind)}" for kind in sorted(set(kinds))]
        jobs.write(f"{', '.join(counts)}\n")
    answers = [task.kind.to_bytes(task.kind.solve(task.request, "spark")) for task in tasks]
    if behaviour == "unreadable":
        answers = [b"{]" for _ in answers]
    if behaviour == "turned":
        answers.reverse()
    broken = ["fewer racks than before"] if behaviour == "breaks rules" else []
    checks = [{"violations": broken, "failure": ""} for _ in answers]
    if behaviour == "first fails":
        answers[0], checks[0] = b"", {"violations": [], "failure": "Traceback\nZeroDivisionError: 0"}
    link.send(Frame("planned", {"job": job, "checks": checks}, tuple(answers)))


def leave_children(state: Path) -> None:
    """As PySpark does: a daemon in a process group of its own."""
    child = subprocess.Popen(["sleep", "600"], process_group=0)
    (state / "child").write_text(str(child.pid))


if __name__ == "__main__":
    main()
