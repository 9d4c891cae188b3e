"""How figures of brokers grow: hours -> days -> trends. DataFrame -> DataFrame, around planner.forecasts."""

from collections.abc import Iterator
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 its usual name
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import DateType, DoubleType, IntegerType, LongType, StringType, StructField, StructType

from planner.forecasts.trend import DAYS, FIGURES, Day, trends_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_MEANS = {"nic-in": "nic_in_bytes_per_s", "nic-out": "nic_out_bytes_per_s", "cpu": "cpu"}

BROKER_DAYS = StructType(
    [
        StructField("cluster", StringType(), nullable=False),
        StructField("broker", IntegerType(), nullable=False),
        StructField("day", LongType(), nullable=False),
        StructField("hours", LongType(), nullable=False),
        StructField("replicas", DoubleType()),
        *(StructField(figure, DoubleType()) for figure in FIGURES),
    ]
)
"""One row per broker and day (days since the epoch): the busiest hour's mean of each figure."""

TRENDS = StructType(
    [
        StructField("cluster", StringType(), nullable=False),
        StructField("broker", IntegerType(), nullable=False),
        StructField("figure", StringType(), nullable=False),
        StructField("made", DateType(), nullable=False),
        StructField("days", IntegerType(), nullable=False),
        StructField("level", DoubleType(), nullable=False),
        StructField("per_day", DoubleType(), nullable=False),
        StructField("least_per_day", DoubleType(), nullable=False),
        StructField("most_per_day", DoubleType(), nullable=False),
        StructField("unknown", StringType(), nullable=False),
    ]
)
"""One row per broker and figure, as in planner.forecasts.trend; `made`: the day it was made on."""


def broker_days(hours: "DataFrame", *, today: date) -> "DataFrame":
    """WINDOWS of 3600 s in, BROKER_DAYS of the last four weeks out. Today is not over, and is left out."""
    past = hours.where((F.col("day") >= F.lit(today - timedelta(days=DAYS))) & (F.col("day") < F.lit(today)))
    figures = {"disk": _held(), **{figure: F.col(f"{name}.mean") for figure, name in _MEANS.items()}}
    daily = past.groupBy("cluster", "broker", F.unix_date("day").cast("long").alias("day")).agg(
        F.count_distinct("window_start").alias("hours"),
        F.avg(F.size("partition")).alias("replicas"),
        *(F.max(column).alias(figure) for figure, column in figures.items()),
    )
    return daily.select(*BROKER_DAYS.names)


def broker_trends(days: "DataFrame", *, today: date) -> "DataFrame":
    """BROKER_DAYS in, TRENDS out; one broker is one group."""

    def of_broker(group: pa.Table) -> pa.Table:
        return pa.Table.from_pylist([*_rows(group, today)], schema=to_arrow_schema(TRENDS))

    return days.groupBy("cluster", "broker").applyInArrow(of_broker, TRENDS)


def _held() -> "Column":
    """Bytes of all replicas of the broker; null where not one of them is known."""
    sizes = F.filter("log_bytes.mean", lambda size: size.isNotNull())
    return F.when(F.size(sizes) > 0, F.aggregate(sizes, F.lit(0.0), lambda total, one: total + one))


def _rows(group: pa.Table, today: date) -> Iterator[dict[str, Any]]:
    rows = group.to_pylist()
    days = [Day(row["day"], row["hours"], row["replicas"] or 0.0, {f: row[f] for f in FIGURES}) for row in rows]
    for trend in trends_of(days):
        yield {
            "cluster": rows[0]["cluster"],
            "broker": rows[0]["broker"],
            "made": today,
            **{name: getattr(trend, name) for name in TRENDS.names if name not in ("cluster", "broker", "made")},
        }
