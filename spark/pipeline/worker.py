"""The metric pipeline's process: one Spark session that reads the topics the server names into the lake.

python -m spark.pipeline.worker --fd 5 --work-dir DIR --lake PATH --checkpoint PATH

Started by the control plane with one end of a socket pair. It ends when asked, when the pair closes and when its parent
dies; killed at any point it goes on where the lake and its checkpoints are.
"""

import argparse
import os
import socket
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spark.frames import Frame, FrameBroken, FrameSocket
from spark.jobs.metric_stream import StreamSettings, start
from spark.jobs.metric_trends import make_trends
from spark.jobs.metric_upkeep import keep_up
from spark.lake_jars import jars_in, lake_settings
from spark.metrics.broker_tls import REDACTED
from spark.metrics.lake import Lake
from spark.pipeline.sources import MetricSource, from_document
from spark.pipeline.streams import Query, Streams, checkpoint_of
from spark.session import SparkSettings, build_session, close_session
from spark.worker import beat, die_with, error_text, stdout_to_stderr

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STEP_S = 2.0
FIRST_HOUSEKEEPING = timedelta(minutes=15)


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineArguments:
    """What the process is started with. `delay_s` and `every_s` as in `StreamSettings`."""

    fd: int
    parent: int
    session: SparkSettings
    lake: str
    checkpoint: str
    delay_s: int
    every_s: int


def main(argv: list[str] | None = None) -> int:
    """Exit code 1 where no session could be had."""
    options = _parsed(argv)
    die_with(options.parent)
    stdout_to_stderr()
    os.set_inheritable(options.fd, False)
    link = FrameSocket(socket.socket(fileno=options.fd))
    over = threading.Event()
    threading.Thread(target=beat, args=(link, over), daemon=True).start()
    try:
        return _serve(link, options, over)
    except FrameBroken:
        return 0  # the server is gone: nobody is left to read for
    finally:
        over.set()


class LakeHousekeeping:
    """Once a day the lake is tidied up, beside the streams. `keep` does it and raises what Spark raises."""

    def __init__(self, keep: Callable[[date], None], clock: Callable[[], datetime]) -> None:
        self._keep, self._clock = keep, clock
        self._next_at = clock() + FIRST_HOUSEKEEPING
        self._thread: threading.Thread | None = None
        self.at: datetime | None = None
        self.error = ""

    def step(self) -> None:
        """Begins where it is due: a while after the start, as a process that dies young must not begin with it."""
        now = self._clock()
        if now >= self._next_at:
            self._next_at = now + timedelta(days=1)
            self._thread = threading.Thread(target=self._run, args=(now.date(),), name="lake-housekeeping", daemon=True)
            self._thread.start()

    def _run(self, today: date) -> None:
        try:
            self._keep(today)
        except Exception as error:  # noqa: BLE001 tried again tomorrow; the status tells
            self.error = error_text(error)
        else:
            self.at, self.error = self._clock(), ""


def _serve(link: FrameSocket, options: PipelineArguments, over: threading.Event) -> int:
    try:
        session = build_session(options.session)
        Lake(session, options.lake).prepare()
    except Exception as error:  # noqa: BLE001 the process ends; the reason must reach the server
        link.send(Frame("failed", {"error": error_text(error)}))
        return 1
    turn = threading.Lock()
    streams = Streams(lambda source: _begun(session, options, source, turn), _now)
    housekeeping = LakeHousekeeping(lambda today: kept_up(session, options.lake, turn, today), _now)
    link.send(Frame("ready", {"spark": session.version}))
    threading.Thread(target=_tell, args=(link, streams, housekeeping, over), name="streams", daemon=True).start()
    while (frame := link.receive()).kind != "stop":
        if frame.kind == "sources":
            streams.want(from_document(frame.head["sources"]))
    over.set()
    streams.stop()
    close_session(session)
    return 0


def kept_up(session: "SparkSession", lake: str, turn: threading.Lock, today: date) -> None:
    """The day's work on the lake. Forecasts come first: they read the hours as they are, and a lake that cannot be
    tidied up is no reason to know nothing of disks that fill. Raises what Spark raises, once both were tried."""
    with turn:
        trends = _error_of(lambda: make_trends(Lake(session, lake), today=today))
    with turn:
        keep_up(Lake(session, lake), today=today)
    if trends is not None:
        raise trends


def _error_of(work: Callable[[], None]) -> Exception | None:
    try:
        work()
    except Exception as error:  # noqa: BLE001 raised once the rest of the day's work is done
        return error
    return None


def _begun(session: "SparkSession", options: PipelineArguments, source: MetricSource, turn: threading.Lock) -> Query:
    settings = StreamSettings(
        bootstrap=",".join(source.bootstrap),
        topic=source.topic,
        lake=options.lake,
        checkpoint=checkpoint_of(options.checkpoint, source),
        delay_s=options.delay_s,
        every_s=options.every_s,
        only=source.only,
        name=source.name,
        tls=source.tls,
    )
    query: Query = start(session, settings, turn=turn)
    return query


def _tell(link: FrameSocket, streams: Streams, housekeeping: LakeHousekeeping, over: threading.Event) -> None:
    """Until the end: looks after the streams, and says how they do."""
    try:
        while not over.wait(STEP_S):
            streams.step()
            housekeeping.step()
            link.send(Frame("streams", status_document(streams, housekeeping)))
    except FrameBroken:
        os._exit(0)
    except Exception as error:  # noqa: BLE001 Java is gone, most likely: the server starts all of it again
        link.send(Frame("failed", {"error": error_text(error)}))
        os._exit(1)


def status_document(streams: Streams, housekeeping: LakeHousekeeping) -> dict[str, Any]:
    """As it goes over the link; times in ISO 8601."""
    return {
        "streams": [
            {name: value.isoformat() if isinstance(value, datetime) else value for name, value in asdict(one).items()}
            for one in streams.status()
        ],
        "housekeeping_at": housekeeping.at.isoformat() if housekeeping.at else None,
        "housekeeping_error": housekeeping.error,
    }


def _now() -> datetime:
    return datetime.now(UTC)


def _parsed(argv: list[str] | None) -> PipelineArguments:
    parser = argparse.ArgumentParser(prog="python -m spark.pipeline.worker", description="Kedge's metric pipeline")
    parser.add_argument("--fd", type=int, required=True, help="inherited end of the socket pair")
    parser.add_argument("--parent", type=int, required=True, help="process id of the server")
    parser.add_argument("--work-dir", type=Path, required=True, help="scratch directory, removed by the server")
    parser.add_argument("--master", default="local[2]", help="Spark master")
    parser.add_argument("--memory", default="1g", help="memory of the driver's JVM")
    parser.add_argument("--conf", action="append", default=[], metavar="NAME=VALUE", help="raw Spark setting")
    parser.add_argument("--lake", required=True, help="path or URL of the metric lake")
    parser.add_argument("--checkpoint", required=True, help="path or URL below which each stream keeps its place")
    parser.add_argument("--jars", type=Path, required=True, help="folder of the jars for Kafka and Delta")
    parser.add_argument("--delay-s", type=int, default=120, help="a window closes so far behind its cluster's messages")
    parser.add_argument("--every-s", type=int, default=30, help="the pace of batches")
    options = parser.parse_args(argv)
    extra = {**lake_settings(jars_in(options.jars)), **REDACTED, **dict(pair.split("=", 1) for pair in options.conf)}
    return PipelineArguments(
        fd=options.fd,
        parent=options.parent,
        session=SparkSettings(
            work_dir=options.work_dir,
            master=options.master,
            app_name="kedge-metrics",
            driver_memory=options.memory,
            shuffle_partitions=2,
            compiler="-XX:+UseSerialGC",
            extra=extra,
        ),
        lake=options.lake,
        checkpoint=options.checkpoint,
        delay_s=options.delay_s,
        every_s=options.every_s,
    )


if __name__ == "__main__":
    sys.exit(main())
