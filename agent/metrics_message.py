"""The metrics message: one Arrow record batch of one row per broker and interval, encoded without pyarrow.

Arrow, since the reader takes the figures of thousands of partitions straight into arrays, with no row ever built (Avro
would be decoded value by value). `nanoarrow` writes it: 3 MB on the VM where pyarrow is 170 MB, and no numpy. The
schema is a contract with `spark.metrics.wire`; the agent imports nothing of ours, so a contract test holds the two
together. Changes only add columns: a reader ignores what it does not know and takes what is missing as unknown.
"""

import io
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import nanoarrow as na
from nanoarrow import ipc

SCHEMA_VERSION = 1

BROKER_FIGURES = ("cpu", "request_handler_idle", "log_flush_p99_ms", "nic_in_bytes_per_s", "nic_out_bytes_per_s")
"""`cpu` and `request_handler_idle` are shares, 0 to 1."""

LATENCIES = ("produce_local_p99_ms", "fetch_local_p99_ms", "follower_local_p99_ms", "request_queue_p99_ms")
"""How long the broker itself took, in ms: what others are waited for is not in it. They came later: last columns."""

VITALS = ("gc_share", "disk_read_bytes_per_s", "disk_write_bytes_per_s", "produce_total_p99_ms")
"""Share of the time spent in garbage collections, 0 to 1; bytes its process read and wrote; how long clients waited for
what they produced, replication with it. They came later still: columns behind those."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionFigures:
    """One replica on this broker in one interval. Bytes in and out are None unless the broker led it throughout."""

    topic: str
    partition: int
    log_bytes: int | None
    in_bytes: int | None = None
    out_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalMessage:
    """What one broker did in one interval.

    `interval_start_ms` is UTC epoch time, a multiple of `interval_ms`; the bytes were counted over `elapsed_ms`, 0 when
    there was no reading before this one. `figures` by BROKER_FIGURES, LATENCIES and VITALS; one not known is absent.
    """

    cluster_uid: str
    broker_id: int
    node: str
    interval_start_ms: int
    interval_ms: int
    elapsed_ms: int
    broker_started_ms: int
    figures: Mapping[str, float]
    partitions: Sequence[PartitionFigures]

    @property
    def key(self) -> bytes:
        """Kafka's record key and the identity of the message: what carries it twice carries a duplicate."""
        return f"{SCHEMA_VERSION}/{self.cluster_uid}/{self.broker_id}/{self.interval_start_ms}".encode()

    def encode(self) -> bytes:
        """An Arrow IPC stream with one record batch of one row; about 33 bytes per partition before compression."""
        columns = self._columns()
        schema = na.struct({name: column.schema for name, column in columns.items()})
        row = na.c_array_from_buffers(schema, 1, [None], children=list(columns.values()))
        target = io.BytesIO()
        with ipc.StreamWriter.from_writable(target) as writer:
            writer.write_array(row)
        return target.getvalue()

    def _columns(self) -> dict[str, Any]:
        names = sorted({p.topic for p in self.partitions})
        code = {name: position for position, name in enumerate(names)}
        rows = sorted(self.partitions, key=lambda p: (p.topic, p.partition))
        return {
            "schema_version": na.c_array([SCHEMA_VERSION], na.int32()),
            "cluster": na.c_array([self.cluster_uid], na.string()),
            "broker": na.c_array([self.broker_id], na.int32()),
            "node": na.c_array([self.node], na.string()),
            "interval_start_ms": na.c_array([self.interval_start_ms], na.int64()),
            "interval_ms": na.c_array([self.interval_ms], na.int32()),
            "elapsed_ms": na.c_array([self.elapsed_ms], na.int32()),
            "broker_started_ms": na.c_array([self.broker_started_ms], na.int64()),
            **{name: na.c_array([self.figures.get(name)], na.float64()) for name in BROKER_FIGURES},
            "topics": _list_of(na.string(), na.c_array(names, na.string())),
            "topic": _integers("i", [code[p.topic] for p in rows]),
            "partition": _integers("i", [p.partition for p in rows]),
            "log_bytes": _integers("q", [p.log_bytes for p in rows]),
            "in_bytes": _integers("q", [p.in_bytes for p in rows]),
            "out_bytes": _integers("q", [p.out_bytes for p in rows]),
            **{name: na.c_array([self.figures.get(name)], na.float64()) for name in (*LATENCIES, *VITALS)},
        }


def _integers(code: str, values: Sequence[int | None]) -> Any:
    """A list column of one row, `code` is the array module's: "i" int32, "q" int64. None becomes null."""
    type_ = na.int32() if code == "i" else na.int64()
    numbers = array(code, [value if value is not None else 0 for value in values])
    validity = _validity(values) if None in values else None
    return _list_of(type_, na.c_array_from_buffers(type_, len(numbers), [validity, numbers]))


def _validity(values: Sequence[int | None]) -> bytes:
    """Arrow's validity bitmap: bit i, least significant first, is set when value i is known."""
    bitmap = bytearray(-(-len(values) // 8))
    for i, value in enumerate(values):
        if value is not None:
            bitmap[i >> 3] |= 1 << (i & 7)
    return bytes(bitmap)


def _list_of(type_: Any, child: Any) -> Any:
    return na.c_array_from_buffers(na.list_(type_), 1, [None, array("i", [0, child.length])], children=[child])
