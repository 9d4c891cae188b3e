"""The stream on a real Kafka, killed with SIGKILL in the middle of a batch: each message counts exactly once."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from agent.metrics_message import IntervalMessage
from agent.metrics_spool import Parcel
from agent.sending import KafkaCarrier, Undelivered
from spark.jobs.metric_rederive import derived
from spark.jobs.metric_stream import StreamSettings, start
from spark.metrics.frontier import WindowSpan
from spark.metrics.lake import Lake
from spark.metrics.schemas import WINDOWS
from spark.metrics.topic import TOPIC, TOPIC_CONFIG
from tests.kafka_processes import KafkaProcesses
from tests.metric_messages import START_MS, a_message

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.soak, pytest.mark.spark, pytest.mark.kafka, pytest.mark.timeout(400)]

ROOT = Path(__file__).resolve().parent.parent.parent
BROKERS, MINUTES = (1001, 1002), 68
DEATH = ("append_windows", "after")
"""With the windows written and the batch not committed; test_metric_windows.py has the other places to die in."""


@pytest.fixture(scope="module")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    kafka = KafkaProcesses(tmp_path_factory.mktemp("kafka"), network="127.0.62", min_isr=1, replication=1)
    try:
        kafka.found({1: "a"})
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap[0], "log_level": 0})
        admin.create_topics([NewTopic(TOPIC, 2, 1, config=TOPIC_CONFIG)])[TOPIC].result(20)
        yield kafka.bootstrap[0]
    finally:
        kafka.close()


def send(bootstrap: str, messages: list[IntervalMessage], *, topic: str = TOPIC) -> None:
    """As agents send: the same carrier."""
    carrier = KafkaCarrier(bootstrap, topic)
    outcomes: list[Undelivered | None] = []
    for message in messages:
        while not carrier.send(Parcel(message.key, message.encode()), outcomes.append):
            carrier.poll(0.1)
    carrier.close()
    assert outcomes == [None] * len(messages)


def rows(frame: "DataFrame") -> list[tuple[str, ...]]:
    return sorted(tuple(map(str, row)) for row in frame.select(*WINDOWS.names).collect())


def test_a_stream_killed_in_a_batch_writes_each_window_once(
    spark_session: "SparkSession", bootstrap: str, tmp_path: Path
) -> None:
    told = [a_message(minute, broker=broker) for minute in range(MINUTES) for broker in BROKERS]
    send(bootstrap, told + told[: len(told) // 4])
    settings = StreamSettings(
        bootstrap=bootstrap,
        topic=TOPIC,
        lake=str(tmp_path / "lake"),
        checkpoint=str(tmp_path / "checkpoint"),
        delay_s=60,
        messages_per_batch=90,
        every_s=None,
    )
    (tmp_path / "settings.json").write_text(json.dumps(asdict(settings)))
    died = subprocess.run(
        [sys.executable, "-m", "tests.spark.metric_stream_victim", str(tmp_path / "settings.json"), *DEATH],
        cwd=ROOT,
        start_new_session=True,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert died.returncode == -signal.SIGKILL, died.stderr[-2000:]
    lake = Lake(spark_session, settings.lake)
    assert lake.windows(300).count() > 0
    assert not (tmp_path / "checkpoint" / "commits" / "0").exists()

    start(spark_session, settings).awaitTermination()

    offsets = lake.messages().select("kafka_partition", "kafka_offset")
    assert (offsets.count(), offsets.distinct().count()) == (len(told) * 5 // 4, len(told) * 5 // 4)
    windows = lake.windows(300)
    assert windows.count() == windows.select("broker", "window_start").distinct().count() == 2 * 13
    assert {(row["received"], row["expected"]) for row in windows.collect()} == {(5, 5)}
    assert lake.windows(60).count() == 2 * 65
    assert {(row["broker"], row["received"]) for row in lake.windows(3600).collect()} == {(1001, 60), (1002, 60)}
    closed = WindowSpan(START_MS, START_MS + 65 * 60_000, ("c1",))
    assert rows(derived(lake, [closed]).where("width_s = 300")) == rows(windows)
    sums = windows.selectExpr("broker", "aggregate(in_bytes_per_s.mean, 0D, (a, x) -> a + x) * 5 AS total")
    expected = sum(partition + minute for partition in range(3) for minute in range(65))
    found = {row["broker"]: row["sum(total)"] for row in sums.groupBy("broker").sum("total").collect()}
    assert found == {broker: pytest.approx(expected) for broker in BROKERS}
    stamped = lake.messages().agg({"arrived_at": "min"}).collect()[0][0]
    assert (datetime.now(UTC) - stamped.astimezone(UTC)).total_seconds() < 3600, "Kafka's own clock, not the agent's"
