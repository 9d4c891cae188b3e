"""What looks for slow and hot brokers, read from a Delta table: latencies, CPU, bytes, and loads of partitions."""

from datetime import timedelta
from pathlib import Path

from controlplane.background.anomalies.windows import LakeWindows
from planner.anomalies.cooling import Load
from planner.anomalies.hot import FIGURES
from planner.anomalies.slow import FLOORS_MS
from planner.observed import TopicPartition
from spark.metrics.kernel import windows_of_broker
from spark.metrics.wire import decode
from tests.metric_messages import a_message, a_partition
from tests.unit.spark.test_metric_rates import START, lake_with, told

NOW = START + timedelta(minutes=7)


def test_a_window_has_what_both_kinds_of_outliers_are_judged_by(tmp_path: Path) -> None:
    figures = dict.fromkeys((*FIGURES, *FLOORS_MS), 0.5)
    message = decode(a_message(broker=1001, figures=figures).encode())
    lake = LakeWindows(lake_with(tmp_path, windows_of_broker([message], width_ms=300_000)), 300)
    (window,) = lake.recent(NOW)["c1"]
    assert (window.broker, window.start, window.end) == (1001, START, START + timedelta(minutes=5))
    assert window.figures == figures
    assert lake.past("c1", [1001], NOW) == [window]
    assert lake.past("c1", [1002], NOW) == []


def test_loads_are_rates_of_partitions_and_old_ones_are_none(tmp_path: Path) -> None:
    led = [a_partition(0, in_bytes=600, out_bytes=1200)]
    lake = LakeWindows(lake_with(tmp_path, told(range(5), partitions=led)), 300)
    assert lake.loads("c1", NOW) == {TopicPartition("orders", 0): Load(10.0, 20.0)}
    assert lake.loads("c1", NOW + timedelta(minutes=31)) == {}
    assert lake.loads("another", NOW) == {}


def test_a_lake_that_is_not_there_yet_says_nothing_of_anybody(tmp_path: Path) -> None:
    lake = LakeWindows(str(tmp_path / "none"), 300)
    assert lake.recent(NOW) == {}
    assert lake.loads("c1", NOW) == {}
