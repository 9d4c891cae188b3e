"""Trends on a real session: hours to days to trends, written to the lake once a day and read without a JVM."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from controlplane.background.anomalies.forecasts import forecasts_of, short_capacity
from controlplane.background.anomalies.windows import LakeWindows
from planner.observed import LogDirsSeen
from spark.jobs.metric_trends import make_trends
from spark.metrics.lake import Lake
from spark.metrics.read_trends import read_trends
from spark.metrics.schemas import WINDOWS
from spark.pipeline.worker import FIRST_HOUSEKEEPING, LakeHousekeeping, kept_up
from tests.builders import a_snapshot, a_view

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(240)]

GIB = 2.0**30
TODAY = date(2026, 3, 30)


def hours(cluster: str, broker: int, days: int, *, per_day: float, replicas: int = 4) -> Iterator[tuple[Any, ...]]:
    """A broker's hours up to yesterday: it grows, and is busy at noon."""
    for n in range(days * 24):
        at = datetime(2026, 3, 30, tzinfo=UTC) - timedelta(hours=days * 24 - n)
        held = (50 * GIB + n / 24 * per_day) / replicas
        row: dict[str, Any] = {
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
        yield tuple(row[name] for name in WINDOWS.names)


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


def test_the_pipelines_day_writes_what_a_brokers_page_reads(spark_session: "SparkSession", tmp_path: Path) -> None:
    """From the hours of a small lake, by the very work the server's process does once a day, to a forecast and its
    anomaly."""
    view, path = a_view(), str(tmp_path)
    lake = Lake(spark_session, path)
    lake.prepare()
    rows = [*hours(view.uid, 1000, 10, per_day=2 * GIB), *hours(view.uid, 1001, 3, per_day=GIB)]
    lake.append_hours(spark_session.createDataFrame(rows, WINDOWS), writer="test", batch_id=1)
    kept_up(spark_session, path, threading.Lock(), TODAY)
    used = int(70 * GIB)
    dirs = {b: LogDirsSeen(4, used, int(100 * GIB), int(100 * GIB) - used) for b in (1000, 1001, 1002)}
    kafka = replace(a_snapshot(), log_dirs=dirs)
    found = forecasts_of(view, kafka, LakeWindows(path, 300).trends().get(view.uid), TODAY)
    assert set(found) == {1000, 1001}, "nothing is known of a broker without hours"
    disk = found[1000][0]
    assert disk.likely == pytest.approx((95 - 70) / 2, rel=0.05)
    assert found[1001][0].likely is None
    (anomaly,) = short_capacity(view, found)
    assert anomaly.subject == "brokers-a-0/disk/month"


def test_a_lake_that_has_no_hours_fails_nothing_and_says_nothing(spark_session: "SparkSession", tmp_path: Path) -> None:
    Lake(spark_session, str(tmp_path)).prepare()
    kept_up(spark_session, str(tmp_path), threading.Lock(), TODAY)
    assert LakeWindows(str(tmp_path), 300).trends() == {}


def test_it_is_done_a_while_after_the_start_and_then_once_a_day() -> None:
    now, days = [datetime(2026, 3, 30, 12, tzinfo=UTC)], list[date]()
    housekeeping = LakeHousekeeping(days.append, lambda: now[0])

    def step(later: timedelta) -> list[date]:
        now[0] += later
        housekeeping.step()
        if housekeeping._thread is not None:
            housekeeping._thread.join(10)
        return days

    assert step(timedelta(0)) == []
    assert step(FIRST_HOUSEKEEPING) == [date(2026, 3, 30)]
    assert housekeeping.at == now[0]
    assert step(timedelta(hours=23)) == [date(2026, 3, 30)]
    assert step(timedelta(hours=1)) == [date(2026, 3, 30), date(2026, 3, 31)]
