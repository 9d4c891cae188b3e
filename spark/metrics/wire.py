"""The metrics message as it is read: the schema agents write, and what is made of older, newer and broken ones.

Pure (pyarrow and numpy): runs in Spark's Python workers and in tests without a JVM. The agent has its own encoder and
imports nothing of ours; a contract test holds its bytes against `WIRE`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from spark.metrics.partitions import BrokerPartitions, Floats, Ints

FIRST_FIGURES = ("cpu", "request_handler_idle", "log_flush_p99_ms", "nic_in_bytes_per_s", "nic_out_bytes_per_s")
LATENCIES = ("produce_local_p99_ms", "fetch_local_p99_ms", "follower_local_p99_ms", "request_queue_p99_ms")
VITALS = ("gc_share", "disk_read_bytes_per_s", "disk_write_bytes_per_s", "produce_total_p99_ms")
"""Both came later: older messages and windows lack them."""
BROKER_FIGURES = (*FIRST_FIGURES, *LATENCIES, *VITALS)
PARTITION_FIGURES = ("log_bytes", "in_bytes_per_s", "out_bytes_per_s")

_FIELDS: list[tuple[str, pa.DataType]] = [
    ("schema_version", pa.int32()),
    ("cluster", pa.string()),
    ("broker", pa.int32()),
    ("node", pa.string()),
    ("interval_start_ms", pa.int64()),
    ("interval_ms", pa.int32()),
    ("elapsed_ms", pa.int32()),
    ("broker_started_ms", pa.int64()),
    ("cpu", pa.float64()),
    ("request_handler_idle", pa.float64()),
    ("log_flush_p99_ms", pa.float64()),
    ("nic_in_bytes_per_s", pa.float64()),
    ("nic_out_bytes_per_s", pa.float64()),
    ("topics", pa.list_(pa.string())),
    ("topic", pa.list_(pa.int32())),
    ("partition", pa.list_(pa.int32())),
    ("log_bytes", pa.list_(pa.int64())),
    ("in_bytes", pa.list_(pa.int64())),
    ("out_bytes", pa.list_(pa.int64())),
    *((name, pa.float64()) for name in (*LATENCIES, *VITALS)),
]
WIRE = pa.schema(_FIELDS)
"""One row per message, version 1. Later versions only add columns; one that is missing is unknown, more are ignored."""

NEEDED = ("cluster", "broker", "interval_start_ms", "interval_ms", "topics", "topic", "partition")
"""A message without these says nothing; all other columns may be absent."""

MOST_INTERVAL_MS = 60_000


class MessageUnreadable(ValueError):
    """Bytes that are no metrics message. The message counts as missing; the stream goes on."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MetricsMessage:
    """One interval of one broker. Arrays are parallel to `partitions`; NaN is unknown.

    Bytes in and out are rates over the time really elapsed between the two readings.
    """

    cluster: str
    broker: int
    node: str
    interval_start_ms: int
    interval_ms: int
    broker_started_ms: int
    figures: dict[str, float]
    partitions: BrokerPartitions
    log_bytes: Floats
    in_bytes_per_s: Floats
    out_bytes_per_s: Floats


def decode(payload: bytes) -> MetricsMessage:
    """The message in `payload`; NaN, infinite and negative figures become unknown. Raises `MessageUnreadable`."""
    try:
        batch = pa.ipc.open_stream(payload).read_next_batch()
        return _message(batch)
    except MessageUnreadable:
        raise
    except (pa.ArrowException, StopIteration, ValueError, TypeError, KeyError, OSError) as error:
        raise MessageUnreadable(f"{len(payload)} bytes are no metrics message: {error}") from error


def _message(batch: pa.RecordBatch) -> MetricsMessage:
    if batch.num_rows != 1:
        raise MessageUnreadable(f"{batch.num_rows} rows, expected 1")
    missing = [name for name in NEEDED if name not in batch.schema.names or batch.column(name).null_count]
    if missing:
        raise MessageUnreadable(f"without {', '.join(missing)} it says nothing")
    interval_ms = int(_scalar(batch, "interval_ms", 0))
    if not 0 < interval_ms <= MOST_INTERVAL_MS or MOST_INTERVAL_MS % interval_ms:
        raise MessageUnreadable(f"interval_ms={interval_ms}: expected a divisor of {MOST_INTERVAL_MS}")
    topics = tuple(batch.column("topics")[0].values.to_pylist())
    topic, partition = _codes(batch, "topic"), _codes(batch, "partition")
    if len(topic) != len(partition) or (len(topic) and not 0 <= topic.min() <= topic.max() < len(topics)):
        raise MessageUnreadable(f"{len(topic)} topic codes, {len(partition)} partitions, {len(topics)} topic names")
    elapsed_s = _scalar(batch, "elapsed_ms", 0) / 1000
    return MetricsMessage(
        cluster=str(_scalar(batch, "cluster", "")),
        broker=int(_scalar(batch, "broker", -1)),
        node=str(_scalar(batch, "node", "")),
        interval_start_ms=int(_scalar(batch, "interval_start_ms", 0)),
        interval_ms=interval_ms,
        broker_started_ms=int(_scalar(batch, "broker_started_ms", 0)),
        figures={name: _known(_scalar(batch, name, np.nan)) for name in BROKER_FIGURES},
        partitions=BrokerPartitions(topics, topic, partition),
        log_bytes=_figures(batch, "log_bytes", len(topic)),
        in_bytes_per_s=_rates(_figures(batch, "in_bytes", len(topic)), elapsed_s),
        out_bytes_per_s=_rates(_figures(batch, "out_bytes", len(topic)), elapsed_s),
    )


def _scalar(batch: pa.RecordBatch, name: str, absent: Any) -> Any:
    if name not in batch.schema.names:
        return absent
    value = batch.column(name)[0].as_py()
    return absent if value is None else value


def _known(value: float) -> float:
    return value if np.isfinite(value) and value >= 0 else np.nan


def _codes(batch: pa.RecordBatch, name: str) -> Ints:
    values = batch.column(name)[0].values
    if values.null_count:
        raise MessageUnreadable(f"{name} has {values.null_count} nulls")
    codes: Ints = values.cast(pa.int32()).to_numpy(zero_copy_only=False)
    return codes


def _figures(batch: pa.RecordBatch, name: str, length: int) -> Floats:
    if name not in batch.schema.names or not batch.column(name)[0].is_valid:
        return np.full(length, np.nan)
    values = batch.column(name)[0].values
    if len(values) != length:
        raise MessageUnreadable(f"{name} has {len(values)} entries for {length} partitions")
    figures = values.cast(pa.float64()).to_numpy(zero_copy_only=False)
    bad = ~(np.isfinite(figures) & (figures >= 0))
    return np.where(bad, np.nan, figures)


def _rates(counted: Floats, elapsed_s: float) -> Floats:
    return counted / elapsed_s if elapsed_s > 0 else np.full(len(counted), np.nan)
