"""Messages to windows on a real session and a real lake: batch by batch, as the stream calls it, without Kafka.

One lake tells one story, since a batch costs seconds whatever is in it: each test has a cluster of its own in it.
"""

import random
import shutil
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import deltalake
import pytest

from agent.metrics_message import IntervalMessage
from spark.jobs.metric_rederive import derived, rederive
from spark.jobs.metric_stream import MetricBatches, StreamSettings
from spark.jobs.metric_upkeep import Retention, keep_up
from spark.metrics.frontier import WindowSpan
from spark.metrics.lake import Lake
from spark.metrics.rates import Rate, read_rates
from spark.metrics.schemas import MESSAGES, PARTITION_WINDOWS, WINDOWS
from spark.metrics.windows import partition_windows, windows_of
from tests.metric_messages import RECORDS, START_MS, a_message, a_partition, as_records

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(240)]

START = datetime.fromtimestamp(START_MS / 1000, UTC)
DAY_M = 24 * 60
Row = dict[str, Any]


def rows(root: Path, table: str = "windows", **equal: Any) -> list[Row]:
    """Rows of a table of the lake at `root`, in one order; read without Spark, in milliseconds."""
    found = deltalake.DeltaTable(str(root / table)).to_pyarrow_table().to_pylist()
    order = ("cluster", "broker", "window_start", "width_s") if table == "windows" else ("kafka_offset",)
    chosen = [row for row in found if all(row[name] == value for name, value in equal.items())]
    return sorted(chosen, key=lambda row: [row[name] for name in order])


def received(root: Path, cluster: str) -> dict[tuple[int, int], tuple[int, int]]:
    """(broker, minute of the 5 min window's start) -> (received, expected)."""
    return {
        (row["broker"], (row["window_start"] - START) // timedelta(minutes=1)): (row["received"], row["expected"])
        for row in rows(root, cluster=cluster, width_s=300)
    }


def minutes(cluster: str, which: Iterable[float], **about: Any) -> list[IntervalMessage]:
    return [a_message(minute, cluster=cluster, **about) for minute in which]


class Story:
    """What happened to one lake, batch by batch; `again` is the same job after a restart."""

    def __init__(self, session: "SparkSession", root: Path) -> None:
        self.session, self.root = session, root / "lake"
        (root / "checkpoint").mkdir()
        (root / "checkpoint" / "metadata").write_text('{"id":"a-writer"}')
        self.lake = Lake(session, str(self.root))
        self.lake.prepare()
        self.settings = StreamSettings(
            bootstrap="", topic="", lake=str(self.root), checkpoint=str(root / "checkpoint"), delay_s=60
        )
        self._offset = 0
        self.again()

    def again(self) -> None:
        self._batches = MetricBatches(self.lake, self.settings)

    def records(self, messages: Sequence[IntervalMessage], *more: Row) -> list[Row]:
        first, self._offset = self._offset, self._offset + len(messages)
        return [*as_records(messages, first_offset=first), *more]

    def batch(self, batch_id: int, records: Sequence[Row]) -> None:
        frame = self.session.createDataFrame(list(records), RECORDS)  # type: ignore[type-var]  # dicts are rows too
        self._batches(frame, batch_id)


LED = [a_partition(0, in_bytes=600, out_bytes=1200), a_partition(1, in_bytes=None, out_bytes=None)]
FOLLOWS = [a_partition(0, in_bytes=None, out_bytes=None), a_partition(1, in_bytes=60, out_bytes=0)]
GAPS = [a_partition(0, log_bytes=None, in_bytes=60), a_partition(1, log_bytes=7, in_bytes=None)]


def first_batch() -> list[IntervalMessage]:
    shuffled = minutes("shuffled", range(5))
    random.Random(7).shuffle(shuffled)
    return [
        *shuffled,
        *minutes("twice", [0, 1, 1, 2, 4, 0, 1]),
        *minutes("broken", [0, 2, 3, 4]),
        *minutes("gaps", range(5)),
        *minutes("gaps", [0, 1], broker=1002, partitions=GAPS, figures={"cpu": float("nan")}),
        *minutes("lively", range(20)),
        *minutes("stalled", range(2)),
        *minutes("anew", [*range(0, 40, 2), 3, 3]),
        *minutes("late", [0, 1, 2, 4, 6]),
        *minutes("rates", range(12), partitions=LED),
        *minutes("rates", range(1, 11), broker=1002, partitions=FOLLOWS),
        *minutes("days", range(7)),
    ]


def second_batch() -> list[IntervalMessage]:
    return [
        *minutes("shuffled", [6]),
        *minutes("twice", [4, 6]),
        *minutes("broken", [6]),
        *minutes("gaps", [6]),
        *minutes("stalled", range(2, 7)),
        *minutes("lively", [20]),
        *minutes("anew", [*range(25, 67), 1]),
        *minutes("late", [3]),
        *minutes("days", [DAY_M + m for m in range(7)]),
    ]


@pytest.fixture(scope="module")
def story(spark_session: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> Story:
    """Two batches; the second is done twice, by two lives of the job."""
    story = Story(spark_session, tmp_path_factory.mktemp("story"))
    broken = as_records(minutes("broken", [1]), first_offset=9000)[0] | {"value": b"\x00garbage"}
    story.batch(0, story.records(first_batch(), broken))
    assert received(story.root, "shuffled") == {}
    second = story.records(second_batch())
    story.batch(1, second)
    before = rows(story.root), rows(story.root, "messages")
    story.again()
    story.batch(1, second)
    assert (rows(story.root), rows(story.root, "messages")) == before, "a batch done twice is there once"
    assert {row["cluster"] for row in rows(story.root, width_s=3600)} == {"anew", "days"}
    return story


def test_windows_close_in_event_time_whatever_the_order_of_messages(story: Story) -> None:
    assert received(story.root, "shuffled") == {(1001, 0): (5, 5)}
    (row,) = rows(story.root, cluster="shuffled", width_s=300)
    assert row["in_bytes_per_s"]["mean"] == [2.0, 3.0, 4.0]
    assert row["in_bytes_per_s"]["max"] == [4.0, 5.0, 6.0]
    assert row["in_bytes_per_s"]["p95"] == pytest.approx([3.8, 4.8, 5.8])
    assert row["cpu"] == {"samples": 5, "mean": 0.25, "max": 0.25, "p95": 0.25}
    found = rows(story.root, cluster="shuffled", width_s=60)
    assert [minute["in_bytes_per_s"]["mean"] for minute in found] == [[m, m + 1, m + 2] for m in range(5)]


def test_duplicates_count_once_and_stay_in_raw(story: Story) -> None:
    (closed,) = rows(story.root, cluster="twice", width_s=300)
    assert (closed["received"], closed["duplicates"], closed["completeness"]) == (4, 4, 0.8)
    assert len(rows(story.root, "messages", cluster="twice")) == 9


def test_a_broken_payload_costs_its_own_message_alone(story: Story) -> None:
    (row,) = rows(story.root, cluster="broken", width_s=300)
    assert (row["received"], row["unreadable"], row["completeness"]) == (4, 1, 0.8)


def test_a_silent_broker_and_unknown_figures_show_in_completeness_and_samples(story: Story) -> None:
    assert received(story.root, "gaps") == {(1001, 0): (5, 5), (1002, 0): (2, 5)}
    (silent,) = rows(story.root, cluster="gaps", broker=1002, width_s=300)
    assert silent["log_bytes"]["samples"] == [0, 2]
    assert silent["log_bytes"]["mean"] == [None, 7.0]
    assert silent["in_bytes_per_s"]["mean"] == [1.0, None]
    assert silent["cpu"] == {"samples": 0, "mean": None, "max": None, "p95": None}


def test_a_cluster_that_stalls_loses_nothing_to_one_that_goes_on(story: Story) -> None:
    assert received(story.root, "stalled") == {(1001, 0): (5, 5)}
    assert received(story.root, "lively") == {(1001, m): (5, 5) for m in (0, 5, 10)}


def test_rates_come_from_the_windows_without_spark(story: Story) -> None:
    rates = read_rates(str(story.root), "rates", now=START + timedelta(minutes=14))
    assert rates.by_partition == {("orders", 0): Rate(10.0, 20.0), ("orders", 1): Rate(1.0, 0.0)}
    assert rates.age_s == 240.0
    assert rates.completeness == pytest.approx(19 / 20)
    assert rates.reason == "rates of 2 partitions from 2 windows of 2 brokers, 95% complete, 240 s old"


def test_schemas_keep_their_contract_and_rows_of_partitions_add_up(story: Story) -> None:
    assert windows_of(story.lake.messages()).schema == WINDOWS
    assert story.lake.messages().columns == MESSAGES.names
    both = story.lake.windows(300).unionByName(story.lake.windows(60)).where("cluster = 'shuffled'")
    spelt = partition_windows(both)
    assert spelt.columns == PARTITION_WINDOWS.names
    found = {(row["width_s"], row["partition"], row["window_start"].minute % 5): row for row in spelt.collect()}
    parts = ("samples", "mean", "max", "p95")
    figure = {key: [row[f"in_bytes_per_s_{part}"] for part in parts] for key, row in found.items()}
    assert figure[300, 2, 0] == [5, 4.0, 6.0, pytest.approx(5.8)]
    assert figure[60, 2, 3] == [1, 5.0, 5.0, 5.0]
    assert len(figure) == 3 * (1 + 5)


def test_a_batch_that_died_anywhere_is_finished_by_a_later_life(story: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    ahead = as_records(minutes("twice", [600]), first_offset=9001)[0] | {"timestamp": START}
    nonsense = {"key": b"\xff\xfewho?", "value": b"x", "partition": 0, "offset": 9002, "timestamp": START}
    empty = {"key": None, "value": None, "partition": 0, "offset": 9003, "timestamp": START}
    died = [*minutes("died", range(67)), *minutes("died", range(64), broker=1002)]
    records = story.records([*died, *minutes("twice", [3])], ahead, nonsense, empty)

    def die(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    for dies_in in ("latest_of_batch", "append_windows", "append_hours"):
        with monkeypatch.context() as patch:
            patch.setattr(Lake, dies_in, die)
            with pytest.raises(KeyboardInterrupt):
                story.batch(2, records)
        story.again()
    story.batch(2, records)

    assert len(rows(story.root, "messages", batch_id=2)) == len(records)
    assert len(received(story.root, "died")) == len(rows(story.root, cluster="died", width_s=300)) == 2 * 13
    assert set(received(story.root, "died").values()) == {(5, 5), (4, 5)}
    assert [row["broker"] for row in rows(story.root, cluster="died", width_s=3600)] == [1001, 1002]
    statuses = [row["standing"] for row in rows(story.root, "messages", batch_id=2) if row["cluster"] != "died"]
    assert statuses == ["late", "ahead", "unreadable", "unreadable"]
    assert received(story.root, "twice") == {(1001, 0): (4, 5)}
    assert story.lake.frontiers()["twice"].latest_ms == START_MS + 6 * 60_000


def test_windows_derived_anew_from_raw_equal_those_of_the_stream(story: Story) -> None:
    streamed = rows(story.root, cluster="anew")
    span = WindowSpan(START_MS, START_MS + 3_600_000, ("anew",))
    found = derived(story.lake, [span]).where("width_s = 300").toArrow().to_pylist()
    closed = [row for row in streamed if row["width_s"] == 300][:12]
    assert sorted(found, key=lambda row: row["window_start"]) == closed
    version = deltalake.DeltaTable(str(story.root / "windows")).version()
    rederive(story.lake, span)
    assert deltalake.DeltaTable(str(story.root / "windows")).version() == version + 2
    assert rows(story.root, cluster="anew") == streamed


def test_late_messages_mend_a_window_when_asked_to(story: Story) -> None:
    assert received(story.root, "late") == {(1001, 0): (4, 5)}
    others = [row for row in rows(story.root) if row["cluster"] != "late"]
    beyond = WindowSpan(START_MS, START_MS + 600_000, ("late",))
    rederive(story.lake, beyond, include_late=True)
    assert received(story.root, "late") == {(1001, 0): (5, 5)}  # the window that is still open is left to the stream
    assert [row for row in rows(story.root) if row["cluster"] != "late"] == others


def test_a_lake_of_an_older_release_gains_the_columns_it_lacks(story: Story, tmp_path: Path) -> None:
    older = story.lake.windows(300).where("cluster = 'shuffled'").drop("unreadable", "cpu")
    older.write.format("delta").partitionBy("width_s", "day").save(str(tmp_path / "windows"))
    lake = Lake(story.session, str(tmp_path))
    lake.prepare()
    lake.append_windows(story.lake.windows(60).where("cluster = 'shuffled'"), writer="w", batch_id=0)
    assert set(lake.windows(60).columns) == set(WINDOWS.names)
    assert [row["cpu"] for row in rows(tmp_path, width_s=300)] == [None]
    assert len(rows(tmp_path, width_s=60)) == 5


def test_upkeep_compacts_and_keeps_what_is_young(story: Story, tmp_path: Path) -> None:
    root = tmp_path / "lake"
    shutil.copytree(story.root, root)
    today = START.date() + timedelta(days=1)
    windows, messages = rows(root), rows(root, "messages")
    files = len(deltalake.DeltaTable(str(root / "windows")).file_uris())
    keep_up(Lake(story.session, str(root)), today=today, retention=Retention(messages=0, minutes=0))
    assert rows(root) == [row for row in windows if row["width_s"] != 60 or row["day"] == today]
    assert rows(root, "messages") == [row for row in messages if row["day"] == today]
    assert len(deltalake.DeltaTable(str(root / "windows")).file_uris()) < files
