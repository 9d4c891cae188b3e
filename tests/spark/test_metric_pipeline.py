"""The metric pipeline as the server runs it: a real process, real Spark and a real Kafka, killed with SIGKILL.

One life story: a cluster is read, a second one joins without a restart, a topic that is not there yet fails alone, the
process is killed and comes back where it was, and nothing is left of it in the end.
"""

import os
import signal
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError
from pyarrow import Table

from spark.metrics.topic import TOPIC_CONFIG
from spark.pipeline.sources import MetricSource
from spark.pipeline.status import PipelineStatus, StreamStatus
from spark.pipeline.supervisor import PipelineSettings, PipelineSupervisor
from spark.supervisor import WorkerSettings
from tests.kafka_processes import KafkaProcesses
from tests.metric_messages import a_message
from tests.spark.test_metric_stream import send
from tests.waiting import until

pytestmark = [pytest.mark.soak, pytest.mark.spark, pytest.mark.kafka, pytest.mark.timeout(900)]

JARS = Path(__file__).resolve().parent.parent.parent / ".cache" / "spark" / "jars"
BROKERS = (1001, 1002)
FIRST, LAST = 12, 22
"""Minutes that are sent before the kill, and in all: of each the last two are still open, as the delay says."""
WITHIN_S = 240.0


@pytest.fixture(scope="module")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    kafka = KafkaProcesses(tmp_path_factory.mktemp("kafka"), network="127.0.63", min_isr=1, replication=1)
    try:
        kafka.found({1: "a"})
        yield kafka.bootstrap[0]
    finally:
        kafka.close()


@pytest.fixture
def pipeline(tmp_path: Path) -> Iterator[PipelineSupervisor]:
    command = [sys.executable, "-m", "spark.pipeline.worker", "--lake", str(tmp_path / "lake")]
    command += ["--checkpoint", str(tmp_path / "checkpoints"), "--jars", str(JARS), "--every-s", "1", "--delay-s", "60"]
    worker = WorkerSettings(
        master="local[1]",
        driver_memory="1g",
        scratch=tmp_path / "scratch",
        log=tmp_path / "metrics.log",
        command=tuple(command),
        first_backoff_s=0.2,
    )
    supervisor = PipelineSupervisor(PipelineSettings(worker=worker, lake=str(tmp_path / "lake")))
    try:
        yield supervisor
    finally:
        supervisor.stop()


def make(bootstrap: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    admin.create_topics([NewTopic(topic, 1, 1, config=TOPIC_CONFIG)])[topic].result(20)


def tell(bootstrap: str, cluster: str, minutes: range) -> None:
    told = [a_message(m, broker=broker, cluster=cluster) for m in minutes for broker in BROKERS]
    send(bootstrap, told, topic=f"metrics-{cluster}")


def windows(lake: Path, width_s: int) -> Counter[tuple[str, int, int]]:
    """How often each window is there: cluster, broker and start."""
    try:
        rows = DeltaTable(str(lake / "windows")).to_pyarrow_table(filters=[("width_s", "=", width_s)])
    except TableNotFoundError:
        return Counter()
    starts = [at.value for at in rows.column("window_start")]
    return Counter(zip(_column(rows, "cluster"), _column(rows, "broker"), starts, strict=True))


def _column(rows: Table, name: str) -> list[Any]:
    return rows.column(name).to_pylist()


def received(lake: Path) -> set[tuple[int, int]]:
    rows = DeltaTable(str(lake / "windows")).to_pyarrow_table(columns=["received", "expected"])
    return set(zip(_column(rows, "received"), _column(rows, "expected"), strict=True))


def of(status: PipelineStatus, name: str) -> StreamStatus:
    return next(stream for stream in status.streams if stream.name == name)


def processes_below(scratch: Path) -> Sequence[int]:
    def line(process: psutil.Process) -> str:
        try:
            return " ".join(process.cmdline())
        except psutil.Error:
            return ""

    return [process.pid for process in psutil.process_iter() if str(scratch) in line(process)]


def test_it_reads_what_it_is_told_comes_back_after_a_kill_and_counts_nothing_twice(
    pipeline: PipelineSupervisor, bootstrap: str, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    one, two, missing = (MetricSource(name, (bootstrap,), f"metrics-{name}", only=name) for name in ("c1", "c2", "c3"))

    def log() -> str:
        file = tmp_path / "metrics.log"
        return f"{pipeline.status()}\n{file.read_text()[-3000:] if file.exists() else ''}"

    def wait(what: str, cluster: str, windows_of_5_min: int) -> None:
        def is_there() -> bool:
            return sum(c == cluster for c, _, _ in windows(lake, 300)) == len(BROKERS) * windows_of_5_min

        until(is_there, what, timeout_s=WITHIN_S, every_s=0.5, told=log)

    assert pipeline.status().state == "idle"
    for topic in (one.topic, two.topic):
        make(bootstrap, topic)
    for cluster in ("c1", "c2"):
        tell(bootstrap, cluster, range(FIRST))
    send(bootstrap, [a_message(0, broker=9, cluster="c2")], topic=one.topic)

    pipeline.want((one,))
    wait("windows of the first cluster", "c1", 2)
    first = pipeline.status()
    assert (first.state, first.restarts) == ("running", 0)
    assert first.memory_bytes is not None
    assert first.memory_bytes > 100 * 2**20

    pipeline.want((one, two, missing))
    wait("windows of the second cluster", "c2", 2)
    until(lambda: of(pipeline.status(), "c3").failures, "a topic that is not there", timeout_s=WITHIN_S, told=log)
    now = pipeline.status()
    assert now.pid == first.pid, "a cluster more takes no restart"
    assert of(now, "c3").error
    until(lambda: of(pipeline.status(), "c2").state == "reading", "its batch to end", timeout_s=WITHIN_S, told=log)
    assert of(pipeline.status(), "c1").state == "reading"

    assert first.pid is not None
    os.kill(first.pid, signal.SIGKILL)
    for cluster in ("c1", "c2"):
        tell(bootstrap, cluster, range(FIRST, LAST))
    make(bootstrap, missing.topic)
    tell(bootstrap, "c3", range(LAST))
    for cluster in ("c1", "c2", "c3"):
        wait(f"windows of {cluster} after the kill", cluster, 4)
    after = pipeline.status()
    assert (after.state, after.restarts) == ("running", 1)
    assert after.pid != first.pid
    assert {s.name: s.error for s in after.streams if s.error} == {}, "streams of one lake stand in no other's way"
    assert f"pid {first.pid}" in after.error
    assert (tmp_path / "checkpoints" / "c1" / "metadata").exists()

    assert set(windows(lake, 300).values()) == {1}, "each window once"
    assert set(windows(lake, 60).values()) == {1}
    assert len(windows(lake, 60)) == 3 * len(BROKERS) * 20
    assert received(lake) == {(1, 1), (5, 5)}, "no gap, nothing twice"
    assert 9 not in {broker for _, broker, _ in windows(lake, 60)}, "another cluster's name in the topic counts not"
    until(lambda: all(s.behind == 0 for s in pipeline.status().streams), "nothing left", timeout_s=60, told=log)

    pipeline.want(())
    until(lambda: pipeline.status().state == "idle", "its end", timeout_s=60, told=log)
    assert processes_below(tmp_path / "scratch") == []
