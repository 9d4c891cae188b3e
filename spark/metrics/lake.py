"""The metric lake: three Delta tables below one path, the only I/O of the metric jobs.

Delta because a table is a path (a directory, a bucket), appends are transactions, and an append can carry the batch
that made it: a batch that is written twice is there once. `messages` is raw; `windows` is derived from it and can be
derived again. `trends` say how brokers' figures grow, and are made anew every day.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 its usual name

from spark.metrics.frontier import Frontier, Frontiers, WindowSpan
from spark.metrics.intake import TIMELY
from spark.metrics.schemas import MESSAGES, WINDOWS
from spark.metrics.windows import HOUR_S, WINDOW_S

if TYPE_CHECKING:
    from delta.tables import DeltaTable
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_STATISTICS = {
    "messages": "cluster,broker,interval_start,standing,batch_id",
    "windows": "cluster,broker,window_start,window_end",
}
"""Columns whose range per file Delta keeps, so a read of one window opens the files of that window alone."""


class Lake:
    """`root` is a path or URL that Spark can write. Reading a table that was never written raises what Delta raises."""

    def __init__(self, session: "SparkSession", root: str) -> None:
        self._session = session
        self._root = root.rstrip("/")

    def prepare(self) -> None:
        """Makes the tables that are missing, and adds the columns of this release to those that are there."""
        self._create("messages", MESSAGES, ("day",))
        self._create("windows", WINDOWS, ("width_s", "day"))

    def messages(self) -> "DataFrame":
        return self._session.read.format("delta").load(self._path("messages"))

    def windows(self, width_s: int) -> "DataFrame":
        table = self._session.read.format("delta").load(self._path("windows"))
        return table.where(F.col("width_s") == width_s)

    def append_messages(self, messages: "DataFrame", *, writer: str, batch_id: int) -> None:
        """Once per (writer, batch_id), whatever dies in between."""
        self._append("messages", messages, ("day",), f"{writer}/messages", batch_id)

    def append_windows(self, windows: "DataFrame", *, writer: str, batch_id: int) -> None:
        """Once per (writer, batch_id), whatever dies in between."""
        self._append("windows", windows, ("width_s", "day"), f"{writer}/windows", batch_id)

    def append_hours(self, hours: "DataFrame", *, writer: str, batch_id: int) -> None:
        """Once per (writer, batch_id), whatever dies in between."""
        self._append("windows", hours, ("width_s", "day"), f"{writer}/hours", batch_id)

    def replace_windows(self, windows: "DataFrame", spans: Iterable[WindowSpan], widths_s: tuple[int, ...]) -> None:
        """In one transaction: what stands in `spans` at `widths_s` goes, `windows` take its place."""
        predicate = f"({_within(spans, 'window_start')}) AND width_s IN ({', '.join(map(str, widths_s))})"
        writing = windows.write.format("delta").mode("overwrite").option("replaceWhere", predicate)
        writing.save(self._path("windows"))

    def replace_trends(self, trends: "DataFrame") -> None:
        """In one transaction: those of the day before go."""
        writing = trends.coalesce(1).write.format("delta").mode("overwrite").option("overwriteSchema", "true")
        writing.save(self._path("trends"))

    def messages_in(self, spans: Iterable[WindowSpan]) -> "DataFrame":
        return self.messages().where(F.expr(_within(spans, "interval_start")))

    def windows_in(self, spans: Iterable[WindowSpan], width_s: int) -> "DataFrame":
        return self.windows(width_s).where(F.expr(_within(spans, "window_start")))

    def latest_of_batch(self, batch_id: int, *, writer: str) -> dict[str, int]:
        """Cluster -> latest interval (ms) among the timely messages of one batch of one stream."""
        return _latest(self.messages().where((F.col("batch_id") == batch_id) & (F.col("writer") == writer)))

    def frontiers(self, *, only: str = "") -> Frontiers:
        """How far each cluster is, from the tables alone; with `only`, that one."""
        mine = F.col("cluster") == only if only else F.lit(True)
        latest = _latest(self.messages().where(mine))
        windows = _closed(self.windows(WINDOW_S).where(mine))
        hours = _closed(self.windows(HOUR_S).where(mine))
        return {
            cluster: Frontier(
                latest_ms=latest_ms,
                windows_closed_ms=windows.get(cluster, 0),
                hours_closed_ms=hours.get(cluster, 0),
            )
            for cluster, latest_ms in latest.items()
        }

    def compact(self, *, day: date) -> None:
        """Merges the many small files of one day; readers and the stream go on meanwhile."""
        for name in ("messages", "windows"):
            self._delta(name).optimize().where(f"day = '{day.isoformat()}'").executeCompaction()

    def expire(self, *, before: Mapping[int | None, date]) -> None:
        """Drops whole days: key None is raw messages, else the width of windows in seconds. Files go with `vacuum`."""
        for width_s, day in before.items():
            if width_s is None:
                self._delta("messages").delete(F.col("day") < F.lit(day))
            else:
                self._delta("windows").delete((F.col("width_s") == width_s) & (F.col("day") < F.lit(day)))

    def vacuum(self, *, keep_hours: int = 168) -> None:
        """Deletes files that no version of the last `keep_hours` uses."""
        for name in ("messages", "windows"):
            self._delta(name).vacuum(keep_hours)

    def _append(self, name: str, rows: "DataFrame", by: tuple[str, ...], writer: str, batch_id: int) -> None:
        writing = rows.write.format("delta").mode("append").partitionBy(*by).option("mergeSchema", "true")
        writing.option("txnAppId", writer).option("txnVersion", batch_id).save(self._path(name))

    def _create(self, name: str, schema: "StructType", by: tuple[str, ...]) -> None:
        from delta.tables import DeltaTable

        table = DeltaTable.createIfNotExists(self._session).location(self._path(name)).addColumns(schema)
        table.partitionedBy(*by).property("delta.dataSkippingStatsColumns", _STATISTICS[name]).execute()
        there = self._session.read.format("delta").load(self._path(name)).columns
        if not set(schema.names) <= set(there):
            nothing = self._session.createDataFrame([], schema)
            nothing.write.format("delta").mode("append").option("mergeSchema", "true").save(self._path(name))

    def _delta(self, name: str) -> "DeltaTable":
        from delta.tables import DeltaTable

        return DeltaTable.forPath(self._session, self._path(name))

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"


def _latest(messages: "DataFrame") -> dict[str, int]:
    """Cluster -> the latest interval up to which its messages were read.

    A batch is as far as the slowest of the topic's partitions in it: a backlog is read from all of them, not evenly,
    and what one is ahead must not make the other's late. A partition without a record in the batch has no backlog.
    """
    timely = messages.where(F.col("standing") == TIMELY)
    batch = ("cluster", "writer", "batch_id")
    partitions = timely.groupBy(*batch, "kafka_partition").agg(F.max("interval_start").alias("upto"))
    batches = partitions.groupBy(*batch).agg(F.min("upto").alias("upto"))
    latest = batches.groupBy("cluster").agg(F.unix_millis(F.max("upto")).alias("latest_ms"))
    return {row["cluster"]: row["latest_ms"] for row in latest.collect()}


def _closed(windows: "DataFrame") -> dict[str, int]:
    closed = windows.groupBy("cluster").agg(F.unix_millis(F.max("window_end")).alias("closed_ms"))
    return {row["cluster"]: row["closed_ms"] for row in closed.collect()}


def _within(spans: Iterable[WindowSpan], column: str) -> str:
    """SQL: rows of the spans. The day is named too: it prunes partitions before any file is looked at."""
    return " OR ".join(_in_span(span, column) for span in spans) or "false"


def _in_span(span: WindowSpan, column: str) -> str:
    first, last = (_EPOCH + timedelta(milliseconds=ms) for ms in (span.from_ms, span.to_ms))
    clusters = ", ".join("'" + name.replace("'", "''") + "'" for name in span.clusters)
    return (
        f"(day >= DATE '{first.date()}' AND day <= DATE '{last.date()}' AND {column} >= TIMESTAMP '{first.isoformat()}'"
        f" AND {column} < TIMESTAMP '{last.isoformat()}' AND cluster IN ({clusters}))"
    )
