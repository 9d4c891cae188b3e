"""Metric pipeline: partition samples per second from a real Kafka topic to closed 5 min windows in the lake.

    python -m benchmarks metrics

One Arrow message per broker and minute, RF 3, so every broker leads a third of what it holds. Warm: the first batch
(JIT, class loading, Python workers) and the session's start are timed apart. All sums are held against the generator.
"""

import os
import tempfile
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import psutil
import pyarrow as pa
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyspark.sql import functions as F  # noqa: N812 its usual name

from benchmarks.memory import peak_rss
from spark.jobs.metric_stream import StreamSettings, start
from spark.lake_jars import ensure_jars, lake_settings
from spark.metrics.lake import Lake
from spark.metrics.topic import TOPIC_CONFIG
from spark.metrics.windows import WINDOW_S, partition_windows
from spark.metrics.wire import BROKER_FIGURES, WIRE
from spark.session import SparkSettings, build_session, close_session
from tests.kafka_processes import KafkaProcesses

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

BROKERS, REPLICAS, MINUTES, MINUTES_PER_BATCH = 64, 5_760, 80, 16
"""Replicas per broker as in the fleet of the planning research (15 M on 2,600 brokers)."""
DELAY_S = 60
TOPIC, PARTITIONS = "metrics", 4
_CACHE = Path(__file__).resolve().parent.parent / ".cache"


def main() -> dict[str, Any]:
    """Samples per second of the batches after the first, what went in and came out, and peak memory.

    `load` is the machine's, all its users together: at more than a few the rate says little, `cpu_s_warm` still does.
    """
    with tempfile.TemporaryDirectory() as work, peak_rss() as rss:
        kafka = KafkaProcesses(Path(work) / "kafka", network="127.0.63", min_isr=1, replication=1)
        try:
            bootstrap = _started(kafka)
            generated = _produce(bootstrap)
            numbers = _pipeline(Path(work), bootstrap, generated)
        finally:
            kafka.close()
    return {**numbers, "peak_rss_gib": round(rss() / 2**30, 2)}


@dataclass(frozen=True, slots=True)
class Generated:
    """What the generator said. Sums by minute over all brokers: `log_bytes`, and `in_bytes_per_s` of led replicas."""

    start_ms: int
    log_bytes: npt.NDArray[np.float64]
    in_bytes_per_s: npt.NDArray[np.float64]


def _started(kafka: KafkaProcesses) -> str:
    kafka.start_controllers()
    kafka.add_broker(1, "a")
    kafka.start(1)
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap[0]})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1, config=TOPIC_CONFIG)])[TOPIC].result(20)
    return kafka.bootstrap[0]


def _produce(bootstrap: str) -> Generated:
    """Minute by minute, as agents would; the past hours up to now."""
    start_ms = (int(time.time() * 1000) // 3_600_000 - 2) * 3_600_000
    producer = Producer({"bootstrap.servers": bootstrap, "compression.type": "lz4", "message.max.bytes": 8 * 2**20})
    generated = Generated(start_ms, np.zeros(MINUTES), np.zeros(MINUTES))
    for minute in range(MINUTES):
        for broker in range(BROKERS):
            log_bytes, in_bytes = _figures(broker, minute)
            generated.log_bytes[minute] += log_bytes.sum()
            generated.in_bytes_per_s[minute] += in_bytes[_led()].sum() / 60
            payload = _message(broker, start_ms + minute * 60_000, log_bytes, in_bytes)
            key = f"1/bench/{broker}/{start_ms + minute * 60_000}"
            producer.produce(TOPIC, payload, key=key, partition=broker % PARTITIONS)
        producer.flush(60)
    return generated


def _figures(broker: int, minute: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Log sizes and bytes in of a minute; whole numbers, so that their sums are exact."""
    steady = np.random.default_rng(broker)
    size, rate = steady.exponential(10e9, REPLICAS), steady.exponential(40e3, REPLICAS)
    noise = np.random.default_rng((broker, minute)).uniform(0.5, 1.5, REPLICAS)
    return (size + rate * 60 * minute).astype(np.int64), (rate * noise).astype(np.int64) * 60


def _led() -> npt.NDArray[np.bool_]:
    led: npt.NDArray[np.bool_] = np.arange(REPLICAS) % 3 == 0
    return led


def _message(broker: int, start_ms: int, log_bytes: npt.NDArray[np.int64], in_bytes: npt.NDArray[np.int64]) -> bytes:
    """Schema WIRE; a contract test holds what real agents encode against it."""
    follows = ~_led()
    row: dict[str, Any] = {
        "schema_version": 1,
        "cluster": "bench",
        "broker": broker,
        "node": f"broker-{broker}",
        "interval_start_ms": start_ms,
        "interval_ms": 60_000,
        "elapsed_ms": 60_000,
        "broker_started_ms": 1,
        "topics": [f"topic-{i:05}" for i in range(REPLICAS // 16)],
        **dict.fromkeys(BROKER_FIGURES, 0.5),
    }
    arrays = {
        "topic": pa.array((np.arange(REPLICAS) // 16).astype(np.int32)),
        "partition": pa.array((np.arange(REPLICAS) % 16).astype(np.int32)),
        "log_bytes": pa.array(log_bytes),
        "in_bytes": pa.array(in_bytes, mask=follows),
        "out_bytes": pa.array(in_bytes * 2, mask=follows),
    }
    columns = [
        pa.ListArray.from_arrays([0, REPLICAS], arrays[field.name])
        if field.name in arrays
        else pa.array([row[field.name]], field.type)
        for field in WIRE
    ]
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, WIRE) as writer:
        writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=WIRE))
    return sink.getvalue().to_pybytes()


def _pipeline(work: Path, bootstrap: str, generated: Generated) -> dict[str, Any]:
    began = time.monotonic()
    session = build_session(_session_settings(work))
    session_s = time.monotonic() - began
    settings = StreamSettings(
        bootstrap=bootstrap,
        topic=TOPIC,
        lake=str(work / "lake"),
        checkpoint=str(work / "checkpoint"),
        delay_s=DELAY_S,
        messages_per_batch=BROKERS * MINUTES_PER_BATCH,
        every_s=None,
    )
    try:
        query = start(session, settings)
        cpu_s_warm = _cpu_s_after_first(query)
        batch_s = [p["durationMs"]["triggerExecution"] / 1000 for p in query.recentProgress if p["numInputRows"]]
        lake = Lake(session, settings.lake)
        closed = _closed_by_batch(lake)
        _assert_correct(lake, generated)
    finally:
        close_session(session)
    samples = sum(closed[1:])
    return {
        "samples": sum(closed),
        "samples_warm": samples,
        "samples_per_s": round(samples / sum(batch_s[1:])),
        "windows": sum(closed) // REPLICAS // (WINDOW_S // 60),
        "messages": BROKERS * MINUTES,
        "cpu_s_warm": round(cpu_s_warm, 1),
        "load": round(os.getloadavg()[0], 1),
        "batches_s": [round(s, 2) for s in batch_s],
        "session_s": round(session_s, 2),
        "sums_are_right": True,
    }


def _cpu_s_after_first(query: "StreamingQuery") -> float:
    """Waits for the end. CPU seconds of all processes in the batches after the first: on a busy machine they say what
    its wall clock does not."""
    own = psutil.Process(os.getpid())
    warm_s, used_s = None, 0.0
    while query.isActive:
        used_s = sum(_cpu_s(process) for process in [own, *own.children(recursive=True)])
        if warm_s is None and query.lastProgress is not None:
            warm_s = used_s
        time.sleep(0.25)
    if (error := query.exception()) is not None:
        raise error
    return used_s - (warm_s or 0.0)


def _cpu_s(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(times.user + times.system)


def _session_settings(work: Path) -> SparkSettings:
    """The production settings with the optimising compiler: this job lives for months, not for seconds."""
    return SparkSettings(
        work_dir=work,
        master="local[2]",
        shuffle_partitions=2,
        driver_memory="3g",
        compiler="",
        extra=lake_settings(ensure_jars(_CACHE)),
    )


def _closed_by_batch(lake: Lake) -> list[int]:
    """Samples in the windows that each batch closed, from what the lake itself says."""
    batches = lake.messages().groupBy("batch_id").agg(F.max("interval_start").alias("latest")).orderBy("batch_id")
    marks = [-np.inf, *(row["latest"].timestamp() - DELAY_S for row in batches.collect())]
    samples = F.expr("aggregate(log_bytes.samples, 0L, (sum, one) -> sum + one)")
    windows = lake.windows(WINDOW_S).groupBy("window_end").agg(F.sum(samples).alias("samples")).collect()
    closed = [(row["window_end"].timestamp(), row["samples"]) for row in windows]
    return [sum(samples for end, samples in closed if a < end <= b) for a, b in pairwise(marks)]


def _assert_correct(lake: Lake, generated: Generated) -> None:
    """The sums of every closed window are the generator's, and one broker's window is, figure by figure."""
    weighted = {name: F.col(f"{name}_mean") * F.col(f"{name}_samples") for name in ("log_bytes", "in_bytes_per_s")}
    sums = (
        partition_windows(lake.windows(WINDOW_S))
        .groupBy("window_start")
        .agg(*(F.sum(column).alias(name) for name, column in weighted.items()))
    )
    rows = sums.orderBy("window_start").collect()
    if len(rows) != (MINUTES - 1 - DELAY_S // 60) // 5:
        raise AssertionError(f"{len(rows)} windows are closed after {MINUTES} minutes")
    for number, row in enumerate(rows):
        minutes = slice(5 * number, 5 * number + 5)
        np.testing.assert_allclose(row["log_bytes"], generated.log_bytes[minutes].sum(), rtol=1e-11)
        np.testing.assert_allclose(row["in_bytes_per_s"], generated.in_bytes_per_s[minutes].sum(), rtol=1e-11)
    broker, number = BROKERS - 1, len(rows) - 1
    start_s = generated.start_ms / 1000 + number * WINDOW_S
    window = lake.windows(WINDOW_S).where((F.col("broker") == broker) & (F.unix_seconds("window_start") == start_s))
    (found,) = window.select("log_bytes").collect()
    sizes = np.array([_figures(broker, minute)[0] for minute in range(5 * number, 5 * number + 5)])
    np.testing.assert_allclose(found["log_bytes"]["mean"], sizes.mean(axis=0), rtol=1e-12)
    np.testing.assert_array_equal(found["log_bytes"]["max"], sizes.max(axis=0))
    np.testing.assert_allclose(found["log_bytes"]["p95"], np.percentile(sizes, 95, axis=0), rtol=1e-12)
