"""Stands in for spark.pipeline.worker: speaks the same frames without Spark, and misbehaves as told.

python fake_pipeline.py BEHAVIOUR STATE_DIR --fd N ...

STATE_DIR counts the lives and keeps what was asked to be read, so that a test can see both.
"""

import argparse
import json
import os
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

from spark.frames import Frame, FrameSocket


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("behaviour")
    parser.add_argument("state", type=Path)
    parser.add_argument("--fd", type=int)
    options, _ = parser.parse_known_args()
    life = len(list(options.state.glob("life-*"))) + 1
    (options.state / f"life-{life}").write_text(str(os.getpid()))
    behave(options.behaviour, life, FrameSocket(socket.socket(fileno=options.fd)), options.state)


def behave(behaviour: str, life: int, link: FrameSocket, state: Path) -> None:
    if behaviour == "no session" and life < 3:
        link.send(Frame("failed", {"error": "JavaGatewayExited: no Java"}))
        sys.exit(1)
    link.send(Frame("ready"))
    while (frame := link.receive()).kind != "stop":
        sources = frame.head["sources"]
        with (state / "asked").open("a") as asked:
            asked.write(json.dumps([source["name"] for source in sources]) + "\n")
        if behaviour == "hangs":
            time.sleep(600)
        if behaviour == "gives up" and life == 1:
            link.send(Frame("failed", {"error": "Py4JNetworkError: Java is gone, password=hunter2"}))
            time.sleep(600)
        if behaviour == "dies" and life == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        streams = [stream_of(source) for source in sources]
        link.send(Frame("streams", {"streams": streams, "housekeeping_at": None, "housekeeping_error": ""}))


def stream_of(source: dict[str, Any]) -> dict[str, Any]:
    return {"name": source["name"], "topic": source["topic"], "state": "reading", "batches": 3, "behind": 0}


if __name__ == "__main__":
    main()
