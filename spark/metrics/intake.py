"""Kafka records to raw messages: who said it about which interval, and whether it counts. DataFrame -> DataFrame.

Identity comes from the record key, so the JVM never looks into a payload. Nothing is dropped: what does not count is
kept with the reason in `status`, so a person can count it and a derivation may include it.
"""

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 its usual name
from pyspark.sql.types import LongType, StringType, StructField, StructType

from spark.metrics.schemas import MESSAGES
from spark.metrics.windows import WINDOW_S

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

TIMELY, LATE, AHEAD, UNREADABLE, FOREIGN = "timely", "late", "ahead", "unreadable", "foreign"
"""`late`: its window was closed when it came. `ahead`: its interval lies in the future of Kafka's own clock, so it must
not move the watermark. `unreadable`: the key names no (schema, cluster, broker, interval). `foreign`: it names another
cluster than the one whose topic it is in."""

MOST_AHEAD_S = 120

WATERMARKS = StructType([StructField("cluster", StringType(), False), StructField("watermark_ms", LongType(), False)])
"""Per cluster: windows that end at or before it are closed."""

_KEY = r"^\d+/([^/]+)/(\d{1,9})/(\d{1,15})$"


def taken_in(
    records: "DataFrame", watermarks: "DataFrame", *, batch_id: int, writer: str = "", only: str = ""
) -> "DataFrame":
    """Rows of Spark's Kafka source in, MESSAGES out. The topic is stamped by its broker (LogAppendTime). `only` is the
    one cluster whose messages may be in it, "" where several share the topic."""
    start_ms = _part(3).cast("long")
    known = records.select(
        _part(1).alias("cluster"),
        _part(2).cast("int").alias("broker"),
        start_ms.alias("start_ms"),
        F.col("timestamp").alias("arrived_at"),
        F.col("partition").alias("kafka_partition"),
        F.col("offset").alias("kafka_offset"),
        F.col("value").alias("payload"),
    )
    judged = known.join(F.broadcast(watermarks), on="cluster", how="left")
    return judged.select(
        F.to_date(F.coalesce(_instant("start_ms"), F.col("arrived_at"))).alias("day"),
        "cluster",
        "broker",
        _instant("start_ms").alias("interval_start"),
        _timeliness(only).alias("standing"),
        "arrived_at",
        "kafka_partition",
        "kafka_offset",
        F.lit(batch_id).cast("long").alias("batch_id"),
        "payload",
        F.lit(writer).alias("writer"),
    ).select(*MESSAGES.names)


def _timeliness(only: str) -> "Column":
    window_ms = WINDOW_S * 1000
    window_end_ms = F.floor(F.col("start_ms") / window_ms) * window_ms + window_ms
    unreadable = F.col("start_ms").isNull() | F.col("payload").isNull()
    ahead = F.col("start_ms") > F.unix_millis("arrived_at") + MOST_AHEAD_S * 1000
    late = window_end_ms <= F.col("watermark_ms")
    foreign = F.col("cluster") != only if only else F.lit(False)
    return F.when(unreadable, UNREADABLE).when(foreign, FOREIGN).when(ahead, AHEAD).when(late, LATE).otherwise(TIMELY)


def _part(group: int) -> "Column":
    """A part of the record key; null when the key is none of ours. A cast takes any bytes, `decode` fails on some."""
    text = F.regexp_extract(F.col("key").cast("string"), _KEY, group)
    return F.when(text != "", text)


def _instant(milliseconds: str) -> "Column":
    return F.timestamp_millis(F.col(milliseconds))
