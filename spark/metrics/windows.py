"""Messages to closed windows, minutes to hours, windows to rows: DataFrame -> DataFrame, around the kernel.

The stream and the batch job that derives a window anew from raw messages call the same functions.
"""

from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 its usual name

from spark.metrics.columns import from_table, to_table
from spark.metrics.kernel import hour_of_broker, windows_of_broker
from spark.metrics.schemas import PARTITION_WINDOWS, WINDOWS
from spark.metrics.wire import PARTITION_FIGURES, MessageUnreadable, MetricsMessage, decode

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MINUTE_S, WINDOW_S, HOUR_S = 60, 300, 3600


def windows_of(messages: "DataFrame") -> "DataFrame":
    """MESSAGES in, WINDOWS of 60 and 300 s out. One broker's window is one group; duplicates count once.

    A window without a readable message gives no row.
    """
    start = F.window("interval_start", f"{WINDOW_S} seconds")["start"]
    rows = messages.select("cluster", "broker", start.alias("window_start"), *_ORDER, "payload")
    return rows.groupBy("cluster", "broker", "window_start").applyInArrow(_windows_of_group, WINDOWS)


def hours_of(minutes: "DataFrame") -> "DataFrame":
    """WINDOWS of 60 s in, WINDOWS of 3600 s out: means weighted by samples, p95 over the minutes' means."""
    start = F.window("window_start", f"{HOUR_S} seconds")["start"]
    rows = minutes.select(*WINDOWS.names, start.alias("hour"))
    return rows.groupBy("cluster", "broker", "hour").applyInArrow(_hour_of_group, WINDOWS)


def partition_windows(windows: "DataFrame") -> "DataFrame":
    """WINDOWS in, PARTITION_WINDOWS out: one row per replica, for people and ad-hoc questions."""
    parts = ("samples", "mean", "max", "p95")
    columns = [_spelt_out(name, part).alias(f"{name}_{part}") for name in PARTITION_FIGURES for part in parts]
    zipped = F.arrays_zip(F.col("topic"), F.col("partition"), *columns)
    rows = windows.withColumn("replica", F.explode(zipped))
    return rows.select(*(_of_replica(name).alias(name) for name in PARTITION_WINDOWS.names))


_ORDER = ("interval_start", "kafka_partition", "kafka_offset")
"""Among duplicates the first by this order counts: the same one in every derivation."""


def _spelt_out(name: str, part: str) -> "Column":
    """What `spark.metrics.columns` writes once, in every part."""
    mean = F.col(f"{name}.mean")
    once = F.transform(mean, lambda value: value.isNotNull().cast("int")) if part == "samples" else mean
    return F.coalesce(F.col(f"{name}.{part}"), once)


def _of_replica(name: str) -> "Column":
    if name == "topic":
        return F.col("topics")[F.col("replica.topic")]
    if name == "partition" or name.startswith(PARTITION_FIGURES):
        return F.col(f"replica.{name}")
    return F.col(name)


def _windows_of_group(group: pa.Table) -> pa.Table:
    messages: dict[int, MetricsMessage] = {}
    duplicates = unreadable = 0
    for payload in group.sort_by([(name, "ascending") for name in _ORDER]).column("payload"):
        try:
            message = decode(payload.as_buffer())
        except MessageUnreadable:
            unreadable += 1
            continue
        duplicates += message.interval_start_ms in messages
        messages.setdefault(message.interval_start_ms, message)
    found = list(messages.values())
    if not found:
        return to_table([])
    return to_table(windows_of_broker(found, width_ms=WINDOW_S * 1000, duplicates=duplicates, unreadable=unreadable))


def _hour_of_group(group: pa.Table) -> pa.Table:
    return to_table([hour_of_broker(from_table(group))])
