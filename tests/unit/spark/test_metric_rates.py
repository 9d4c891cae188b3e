"""Rates from a Delta table, with no JVM on either side."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from deltalake import write_deltalake

from agent.metrics_message import PartitionFigures
from spark.metrics.columns import to_table
from spark.metrics.kernel import WindowFigures, windows_of_broker
from spark.metrics.rates import Rate, read_rates
from spark.metrics.wire import decode
from tests.metric_messages import START_MS, a_message, a_partition

START = datetime.fromtimestamp(START_MS / 1000, UTC)


def told(minutes: Iterable[int], *, broker: int = 1001, partitions: list[PartitionFigures]) -> list[WindowFigures]:
    """The minutes and the window of one broker."""
    messages = [decode(a_message(m, broker=broker, partitions=partitions).encode()) for m in minutes]
    return windows_of_broker(messages, width_ms=300_000)


def lake_with(root: Path, *windows: list[WindowFigures]) -> str:
    rows = to_table([window for some in windows for window in some])
    write_deltalake(root / "windows", rows, partition_by=["width_s", "day"])
    return str(root)


LED = [a_partition(0, in_bytes=600, out_bytes=1200), a_partition(1, in_bytes=None, out_bytes=None)]
FOLLOWS = [a_partition(0, in_bytes=None, out_bytes=None), a_partition(1, in_bytes=60, out_bytes=0)]


def test_rates_are_those_of_the_leaders_with_age_and_completeness(tmp_path: Path) -> None:
    lake = lake_with(
        tmp_path,
        told(range(5), partitions=LED),
        told(range(5, 10), partitions=LED),
        told(range(1, 5), broker=1002, partitions=FOLLOWS),
        told(range(5, 10), broker=1002, partitions=FOLLOWS),
    )
    rates = read_rates(lake, "c1", now=START + timedelta(minutes=14))
    assert rates.by_partition == {("orders", 0): Rate(10.0, 20.0), ("orders", 1): Rate(1.0, 0.0)}
    assert (rates.age_s, rates.completeness) == (240.0, 0.95)
    assert rates.reason == "rates of 2 partitions from 2 windows of 2 brokers, 95% complete, 240 s old"


def test_a_partition_whose_leader_changed_is_weighted_by_the_time_each_led(tmp_path: Path) -> None:
    first = told(range(2), partitions=[a_partition(0, in_bytes=6000)])
    then = told(range(2, 5), broker=1002, partitions=[a_partition(0, in_bytes=600)])
    rates = read_rates(lake_with(tmp_path, first, then), "c1", now=START + timedelta(minutes=5))
    assert rates.by_partition["orders", 0].write_bytes_per_s == pytest.approx((2 * 100 + 3 * 10) / 5)


def test_only_the_latest_windows_count_and_a_silent_broker_is_missed(tmp_path: Path) -> None:
    old = told(range(5), partitions=[a_partition(0, in_bytes=6000), a_partition(3, in_bytes=60)])
    late = told(range(10, 15), partitions=[a_partition(0, in_bytes=600)])
    gone = told(range(5, 10), broker=1002, partitions=[a_partition(9, in_bytes=60)])
    rates = read_rates(lake_with(tmp_path, old, late, gone), "c1", now=START + timedelta(minutes=15), windows=2)
    assert set(rates.by_partition) == {("orders", 0), ("orders", 9)}
    assert rates.by_partition["orders", 0].write_bytes_per_s == 10.0
    assert rates.completeness == 0.5


def test_windows_older_than_a_day_are_no_rates(tmp_path: Path) -> None:
    lake = lake_with(tmp_path, told(range(5), partitions=LED))
    rates = read_rates(lake, "c1", now=START + timedelta(days=2))
    assert not rates
    assert "has no closed window since" in rates.reason


def test_another_clusters_windows_are_not_ours(tmp_path: Path) -> None:
    rates = read_rates(lake_with(tmp_path, told(range(5), partitions=LED)), "c2", now=START + timedelta(minutes=9))
    assert not rates
    assert rates.reason.startswith("no rates, cluster c2 has no closed window since")


def test_a_cold_start_says_that_there_are_no_rates(tmp_path: Path) -> None:
    rates = read_rates(str(tmp_path / "nowhere"), "c1", now=START)
    assert not rates
    assert (rates.age_s, rates.completeness) == (None, 0.0)
    assert "no metric lake" in rates.reason
    assert rates.reason.endswith("planned from log sizes alone")
