"""The columns of the metric tables and of what is read from them. Each transform ends in a `select` of one of these."""

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DateType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from spark.metrics.wire import FIRST_FIGURES, LATENCIES, PARTITION_FIGURES, VITALS


def _needed(name: str, type_: DataType) -> StructField:
    return StructField(name, type_, nullable=False)


def _summary(of: DataType, count: DataType) -> StructType:
    return StructType([StructField("samples", count), *(StructField(part, of) for part in ("mean", "max", "p95"))])


MESSAGES = StructType(
    [
        _needed("day", DateType()),
        StructField("cluster", StringType()),
        StructField("broker", IntegerType()),
        StructField("interval_start", TimestampType()),
        _needed("standing", StringType()),
        _needed("arrived_at", TimestampType()),
        _needed("kafka_partition", IntegerType()),
        _needed("kafka_offset", LongType()),
        _needed("batch_id", LongType()),
        StructField("payload", BinaryType()),
        StructField("writer", StringType()),
    ]
)
"""Raw: every record of the topic once, as it came. `status`: see spark.metrics.intake. Partitioned by `day`.
`writer` is the id of the stream that wrote it: batch ids count from 0 in each. A lake of before has none."""

WINDOWS = StructType(
    [
        _needed("width_s", IntegerType()),
        _needed("day", DateType()),
        _needed("cluster", StringType()),
        _needed("broker", IntegerType()),
        _needed("window_start", TimestampType()),
        _needed("window_end", TimestampType()),
        _needed("node", StringType()),
        StructField("broker_started", TimestampType()),
        _needed("expected", IntegerType()),
        _needed("received", IntegerType()),
        _needed("duplicates", IntegerType()),
        _needed("unreadable", IntegerType()),
        _needed("completeness", DoubleType()),
        *(_needed(name, _summary(DoubleType(), IntegerType())) for name in FIRST_FIGURES),
        _needed("topics", ArrayType(StringType(), False)),
        _needed("topic", ArrayType(IntegerType(), False)),
        _needed("partition", ArrayType(IntegerType(), False)),
        *(_needed(name, _summary(ArrayType(DoubleType()), ArrayType(IntegerType()))) for name in PARTITION_FIGURES),
        *(StructField(name, _summary(DoubleType(), IntegerType())) for name in (*LATENCIES, *VITALS)),
    ]
)
"""Closed windows: one row per broker, window and width (60, 300 or 3600 s); arrays are parallel, one entry per replica.

Partitioned by (`width_s`, `day`). `topic` indexes `topics`. `completeness` is received / expected messages, at most 1;
a null mean has 0 samples. In minutes of one message `samples`, `max` and `p95` of partitions are null lists: each
replica has one sample, its mean, or none; `partition_windows` spells them out."""

PARTITION_WINDOWS = StructType(
    [
        _needed("cluster", StringType()),
        _needed("broker", IntegerType()),
        _needed("width_s", IntegerType()),
        _needed("window_start", TimestampType()),
        _needed("window_end", TimestampType()),
        _needed("completeness", DoubleType()),
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        *(
            StructField(f"{name}_{part}", DoubleType() if part != "samples" else IntegerType())
            for name in PARTITION_FIGURES
            for part in ("samples", "mean", "max", "p95")
        ),
    ]
)
"""WINDOWS for people: one row per replica, broker and window."""

FINDING = StructType(
    [
        _needed("figure", StringType()),
        _needed("value", DoubleType()),
        _needed("peers_median", DoubleType()),
        _needed("peers_score", DoubleType()),
        _needed("past_median", DoubleType()),
        _needed("past_score", DoubleType()),
    ]
)

OUTLIERS = StructType(
    [
        _needed("cluster", StringType()),
        _needed("broker", IntegerType()),
        _needed("node", StringType()),
        _needed("window_start", TimestampType()),
        _needed("window_end", TimestampType()),
        _needed("peers", IntegerType()),
        _needed("findings", ArrayType(FINDING, False)),
    ]
)
"""One row per outlier broker and window, with the figures that agree and the numbers behind each."""
