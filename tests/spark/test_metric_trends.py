"""Trends on a real session: hours to days to trends, written to the lake once a day and read without a JVM."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from spark.jobs.metric_trends import make_trends
from spark.metrics.lake import Lake
from spark.metrics.read_trends import read_trends
from spark.metrics.schemas import WINDOWS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(240)]

GIB = 2.0**30
TODAY = date(2026, 3, 30)


def hours(cluster: str, broker: int, days: int, *, per_day: float, replicas: int = 4) -> Iterator[dict[str, Any]]:
    """A broker's hours up to yesterday: it grows, and is busy at noon."""
    for n in range(days * 24):
        at = datetime(2026, 3, 30, tzinfo=UTC) - timedelta(hours=days * 24 - n)
        held = (50 * GIB + n / 24 * per_day) / replicas
        yield {
            **dict.fromkeys(WINDOWS.names),
            "width_s": 3600,
            "day": at.date(),
            "cluster": cluster,
            "broker": broker,
            "node": "b",
            "window_start": at,
            "window_end": at + timedelta(hours=1),
            "expected": 60,
            "received": 60,
            "duplicates": 0,
            "unreadable": 0,
            "completeness": 1.0,
            **{name: {} for name in WINDOWS.names if _is_figure(name)},
            "cpu": {"samples": 60, "mean": 0.6 if at.hour == 12 else 0.1},
            "log_bytes": {"samples": [60] * replicas, "mean": [held] * replicas},
            "topics": ["t"],
            "topic": [0] * replicas,
            "partition": list(range(replicas)),
        }


def _is_figure(name: str) -> bool:
    return WINDOWS[name].dataType.typeName() == "struct"


def test_trends_are_made_of_the_lakes_hours_and_read_back(spark_session: "SparkSession", tmp_path: Path) -> None:
    lake = Lake(spark_session, str(tmp_path))
    lake.prepare()
    rows = [*hours("one", 1, 10, per_day=2 * GIB), *hours("one", 2, 3, per_day=GIB), *hours("two", 1, 8, per_day=0.0)]
    windows = spark_session.createDataFrame(rows, WINDOWS)
    lake.append_hours(windows, writer="test", batch_id=1)
    assert read_trends(str(tmp_path)) == {}, "nothing was made yet"
    for _ in range(2):
        make_trends(lake, today=TODAY)
    found = read_trends(str(tmp_path))
    assert {cluster: set(trends.by_broker) for cluster, trends in found.items()} == {"one": {1, 2}, "two": {1}}
    assert found["one"].made == TODAY
    disk, nic, _, cpu = found["one"].by_broker[1]
    assert (disk.figure, disk.days) == ("disk", 10)
    assert disk.per_day == pytest.approx(2 * GIB)
    assert disk.level == pytest.approx(50 * GIB + 239 / 24 * 2 * GIB)
    assert cpu.level == pytest.approx(0.6), "the busiest hour of a day"
    assert cpu.per_day == 0
    assert nic.unknown, "nobody measured it"
    assert "3 of 7 days" in found["one"].by_broker[2][0].unknown
