"""The metric stream: agents' messages from Kafka into the lake, windows closed as the watermark passes them.

Each batch does the same four things, in this order, and each is safe to do twice: write the raw messages; see how far
each cluster now is; derive and write the windows that are closed now; the same for hours. What a batch derives is a
function of the raw table, so a batch that died anywhere and is run again gives what it would have given.
"""

import argparse
import signal
import sys
import tempfile
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spark.lake_jars import lake_jars, lake_settings
from spark.metrics.broker_tls import ReaderTls, read_options
from spark.metrics.frontier import Frontiers, closing_hours, closing_windows, seen, watermarks
from spark.metrics.intake import TIMELY, WATERMARKS, taken_in
from spark.metrics.lake import Lake
from spark.metrics.topic import TOPIC
from spark.metrics.windows import HOUR_S, MINUTE_S, WINDOW_S, hours_of, windows_of
from spark.session import SparkSettings, build_session, close_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSettings:
    """`delay_s`: how far behind the latest interval of its cluster a window closes. `messages_per_batch` bounds memory.

    `every_s`: the pace of batches; None takes what is there, in batches, and ends. `only`: the one cluster that may be
    in the topic, by uid, "" for any. `name` is for people. `tls`: of brokers that speak it.
    """

    bootstrap: str
    topic: str
    lake: str
    checkpoint: str
    delay_s: int = 120
    messages_per_batch: int = 2000
    every_s: int | None = 30
    only: str = ""
    name: str = ""
    tls: ReaderTls | None = None


def start(
    session: "SparkSession", settings: StreamSettings, *, turn: AbstractContextManager[object] | None = None
) -> "StreamingQuery":
    """Starts the query; it runs until stopped, or, without a pace, until the topic is read. Makes missing tables.

    `turn` is held while a batch writes: Delta refuses an hour that is written while another stream writes the minutes
    beside those it was made of (ConcurrentAppendException), so streams of one lake share one.
    """
    lake = Lake(session, settings.lake)
    lake.prepare()
    records = (
        session.readStream.format("kafka")
        .option("kafka.bootstrap.servers", settings.bootstrap)
        .option("kafka.max.partition.fetch.bytes", 16 * 2**20)
        .option("subscribe", settings.topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", settings.messages_per_batch)
        .option("failOnDataLoss", "false")
        .options(**read_options(settings.tls))
        .load()
    )
    batches = MetricBatches(lake, settings, turn)
    writing = records.writeStream.foreachBatch(batches).option("checkpointLocation", settings.checkpoint)
    if settings.name:
        writing = writing.queryName(settings.name)
    if settings.every_s is None:
        return writing.trigger(availableNow=True).start()
    return writing.trigger(processingTime=f"{settings.every_s} seconds").start()


def main(argv: Sequence[str] | None = None) -> int:
    """Runs until SIGTERM or SIGINT, which let the running batch end; SIGKILL is as safe, only slower to come back."""
    options = _parsed(argv)
    settings = StreamSettings(
        bootstrap=options.bootstrap, topic=options.topic, lake=options.lake, checkpoint=options.checkpoint
    )
    leaving = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: leaving.set())
    with tempfile.TemporaryDirectory() as work:
        session = build_session(_session_settings(Path(work), options))
        try:
            query = start(session, settings)
            while query.isActive and not leaving.wait(1):
                pass
            query.stop()
            if (error := query.exception()) is not None:
                raise error
        finally:
            close_session(session)
    return 0


class MetricBatches:
    """What is done with each batch. Call it with a batch and its id, in order; the same id may come again."""

    def __init__(
        self, lake: Lake, settings: StreamSettings, turn: AbstractContextManager[object] | None = None
    ) -> None:
        self._lake, self._turn = lake, turn or nullcontext()
        self._settings = settings
        self._frontiers: Frontiers | None = None
        self._writer = ""

    def __call__(self, records: "DataFrame", batch_id: int) -> None:
        with self._turn:
            self._write(records, batch_id)

    def _write(self, records: "DataFrame", batch_id: int) -> None:
        frontiers = self._begin(records)
        marks = list(watermarks(frontiers, delay_ms=self._delay_ms).items())
        known = records.sparkSession.createDataFrame(marks, WATERMARKS)
        messages = taken_in(records, known, batch_id=batch_id, writer=self._writer, only=self._settings.only)
        self._lake.append_messages(messages, writer=self._writer, batch_id=batch_id)
        frontiers = seen(frontiers, self._lake.latest_of_batch(batch_id, writer=self._writer))
        frontiers = self._close_windows(frontiers, batch_id)
        self._frontiers = self._close_hours(frontiers, batch_id)

    @property
    def _delay_ms(self) -> int:
        return self._settings.delay_s * 1000

    def _begin(self, records: "DataFrame") -> Frontiers:
        """The first batch reads from the tables where the last life ended.

        The writer is the id of the checkpoint: batch ids count from 0 in a new one, and must not look written.
        """
        if self._frontiers is None:
            metadata = records.sparkSession.read.json(f"{self._settings.checkpoint}/metadata")
            self._writer = str(metadata.collect()[0]["id"])
            self._frontiers = self._lake.frontiers(only=self._settings.only)
        return self._frontiers

    def _close_windows(self, frontiers: Frontiers, batch_id: int) -> Frontiers:
        after, spans = closing_windows(frontiers, delay_ms=self._delay_ms, width_ms=WINDOW_S * 1000)
        if spans:
            timely = self._lake.messages_in(spans).where(f"standing = '{TIMELY}'")
            self._lake.append_windows(windows_of(timely), writer=self._writer, batch_id=batch_id)
        return after

    def _close_hours(self, frontiers: Frontiers, batch_id: int) -> Frontiers:
        after, spans = closing_hours(frontiers, hour_ms=HOUR_S * 1000)
        if spans:
            minutes = self._lake.windows_in(spans, MINUTE_S)
            self._lake.append_hours(hours_of(minutes), writer=self._writer, batch_id=batch_id)
        return after


def _session_settings(work: Path, options: argparse.Namespace) -> SparkSettings:
    """Java's own compilers and collector: this job lives for months, not for seconds."""
    return SparkSettings(
        work_dir=work,
        master=options.master,
        app_name="kedge-metrics",
        driver_memory=options.memory,
        compiler="",
        extra=lake_settings(lake_jars(options.cache)),
    )


def _parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m spark.jobs.metric_stream", description="Metrics into the lake")
    parser.add_argument("--bootstrap", required=True, help="HOST:PORT of the Kafka that has the topic")
    parser.add_argument("--topic", default=TOPIC, help="what agents send to")
    parser.add_argument("--lake", required=True, help="path or URL of the metric lake")
    parser.add_argument("--checkpoint", required=True, help="path or URL of the stream's own place in the topic")
    parser.add_argument("--master", default="local[*]", help="Spark master")
    parser.add_argument("--memory", default="2g", help="memory of the driver's JVM")
    parser.add_argument("--cache", type=Path, default=Path(".cache"), help="where `spark/jars` is")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
