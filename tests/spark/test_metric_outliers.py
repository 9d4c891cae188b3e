"""Who is an outlier, who is only busy, and the numbers that come with the verdict."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from spark.jobs.metric_outliers import main, outliers_in
from spark.metrics.columns import to_table
from spark.metrics.kernel import WindowFigures, windows_of_broker
from spark.metrics.lake import Lake
from spark.metrics.outliers import outlier_brokers
from spark.metrics.schemas import OUTLIERS, WINDOWS
from spark.metrics.wire import decode
from tests.metric_messages import START_MS, a_message

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(240)]

PAST = 14
JUDGED = datetime.fromtimestamp(START_MS / 1000, UTC) + timedelta(minutes=5 * PAST)
BROKERS = range(1001, 1007)
CALM = {"cpu": 0.30, "request_handler_idle": 0.80, "log_flush_p99_ms": 5.0, "nic_in_bytes_per_s": 50e6}
SLOW = {"log_flush_p99_ms": 90.0, "request_handler_idle": 0.2}
Told = Mapping[int, Mapping[str, float]]


@dataclass(frozen=True)
class Case:
    """A cluster of calm brokers over PAST windows and the judged one, but for what `past` and `now` say of a broker."""

    now: Told = field(default_factory=lambda: MappingProxyType({1003: SLOW}))
    past: Told = field(default_factory=dict)
    started_ms: Mapping[int, int] = field(default_factory=dict)
    brokers: Iterable[int] = BROKERS
    begins: int = 0


CASES = {
    "slow": Case(),
    "one figure": Case(now={1003: {"log_flush_p99_ms": 90.0}}),
    "all brokers alike": Case(now=dict.fromkeys(BROKERS, SLOW)),
    "it was always so": Case(now={}, past={1003: SLOW}),
    "better than others": Case(now={1003: {"cpu": 0.02, "request_handler_idle": 0.99}}),
    "just restarted": Case(started_ms={1003: int(JUDGED.timestamp() * 1000) - 600_000}),
    "unknown": Case(now={1003: {"log_flush_p99_ms": float("nan"), "request_handler_idle": 0.2}}),
    "too few peers": Case(brokers=(1001, 1002, 1003)),
    "just enough peers": Case(brokers=(1001, 1002, 1003, 1004)),
    "too little past": Case(begins=PAST - 11),
    "just enough past": Case(begins=PAST - 12),
}


def a_window(cluster: str, broker: int, number: int, figures: Mapping[str, float], started_ms: int) -> WindowFigures:
    noise = np.random.default_rng((broker, number)).uniform(0.97, 1.03)
    told = {name: value * noise for name, value in figures.items()}
    about: dict[str, Any] = {"cluster": cluster, "broker": broker, "figures": told, "started_ms": started_ms}
    messages = [decode(a_message(5 * number + m, partitions=[], **about).encode()) for m in range(5)]
    return windows_of_broker(messages, width_ms=300_000)[-1]


def windows_of_case(cluster: str, case: Case) -> list[WindowFigures]:
    rows = []
    for broker in case.brokers:
        started_ms = case.started_ms.get(broker, 1)
        before = {**CALM, **case.past.get(broker, {})}
        rows += [a_window(cluster, broker, number, before, started_ms) for number in range(case.begins, PAST)]
        rows.append(a_window(cluster, broker, PAST, {**before, **case.now.get(broker, {})}, started_ms))
    return rows


@pytest.fixture(scope="module")
def outliers(spark_session: "SparkSession") -> dict[str, dict[int, Any]]:
    """Case -> broker -> findings; all cases in one question, as clusters."""
    windows = [window for name, case in CASES.items() for window in windows_of_case(name, case)]
    frame = outlier_brokers(spark_session.createDataFrame(to_table(windows), schema=WINDOWS), JUDGED)
    assert frame.columns == OUTLIERS.names
    found: dict[str, dict[int, Any]] = {name: {} for name in CASES}
    for row in frame.collect():
        found[row["cluster"]][row["broker"]] = row["findings"]
    return found


def test_a_broker_that_leaves_peers_and_past_in_two_figures_is_reported_with_numbers(
    outliers: dict[str, dict[int, Any]],
) -> None:
    assert list(outliers["slow"]) == [1003]
    flush, idle = outliers["slow"][1003]
    assert (flush["figure"], idle["figure"]) == ("log_flush_p99_ms", "request_handler_idle")
    assert flush["value"] == pytest.approx(90, rel=0.04)
    assert flush["peers_median"] == pytest.approx(5, rel=0.04)
    assert flush["past_median"] == pytest.approx(5, rel=0.04)
    expected = 0.6745 * (flush["value"] - flush["peers_median"]) / 2.0  # the least spread of this figure
    assert flush["peers_score"] == pytest.approx(expected)
    assert min(idle["peers_score"], idle["past_score"]) >= 3.5


@pytest.mark.parametrize("case", [name for name in CASES if name != "slow" and not name.startswith("just enough")])
def test_who_is_no_outlier(outliers: dict[str, dict[int, Any]], case: str) -> None:
    assert outliers[case] == {}


@pytest.mark.parametrize("case", ["just enough peers", "just enough past"])
def test_the_least_peers_and_past_suffice(outliers: dict[str, dict[int, Any]], case: str) -> None:
    assert list(outliers[case]) == [1003]


def test_the_job_reports_the_newest_window_of_each_cluster_as_plain_lines(
    spark_session: "SparkSession", tmp_path: Path
) -> None:
    lake = Lake(spark_session, str(tmp_path))
    lake.prepare()
    silent = [w for w in windows_of_case("silent", Case(now={})) if w.start_ms < JUDGED.timestamp() * 1000]
    windows = [*windows_of_case("slow", CASES["slow"]), *silent]
    frame = spark_session.createDataFrame(to_table(windows), schema=WINDOWS)
    lake.append_windows(frame, writer="test", batch_id=1)
    (line,) = json.loads(json.dumps(list(outliers_in(lake))))
    assert (line["cluster"], line["broker"], line["window_start"]) == ("slow", 1003, JUDGED.isoformat())
    assert [f["figure"] for f in line["findings"]] == ["log_flush_p99_ms", "request_handler_idle"]
    assert list(outliers_in(lake, judged=JUDGED - timedelta(minutes=5))) == []


def test_a_window_without_a_time_zone_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--lake", "nowhere", "--at", "2026-01-01T00:00:00"])
    assert "has no time zone: write 2026-01-01T00:00:00Z" in capsys.readouterr().err
