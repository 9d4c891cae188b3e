"""Rows as columns in a row: a cluster's table crosses the shuffle as a few Arrow streams, not as a million rows.

Many tasks pack one giant cluster at a time; only the plan itself needs all of it in one place. Measured on 5 M
partitions, see docs/planning.md.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import to_arrow_schema

from spark.fleet.row_groups import CLUSTER, rows_of
from spark.fleet.schemas import PACKS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def packed(rows: "DataFrame", table: str) -> "DataFrame":
    """Any frame with a column `cluster` in, PACKS out. No shuffle; in whatever order the rows stand."""

    def pack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from packs_of(batch, table)

    return rows.mapInArrow(pack, PACKS)


def packs_of(batch: pa.RecordBatch, table: str) -> Iterator[pa.RecordBatch]:
    """A row of PACKS per cluster in the batch; of an empty batch none. Rows that are all of one cluster, as in a
    snapshot with a file per cluster, are not copied before they are written.
    """
    names: Any = batch.column(CLUSTER)
    rows = batch.drop_columns([CLUSTER])
    clusters = pc.unique(names).to_pylist()
    for cluster in clusters:
        yield _pack(cluster, table, rows if len(clusters) == 1 else rows.filter(pc.equal(names, cluster)))


def unpacked(packs: pa.Table, table: str) -> pa.Table | None:
    """All rows of one table; None when there is no pack of it."""
    chosen = packs.filter(pc.equal(packs["table"], pa.scalar(table)))
    tables = [_opened(chosen.slice(n, 1), table) for n in range(chosen.num_rows)]
    return pa.concat_tables(tables).combine_chunks() if tables else None


def _opened(pack: pa.Table, table: str) -> pa.Table:
    payload: Any = pack["payload"][0]
    if payload.is_valid:
        return pa.ipc.open_stream(payload.as_buffer()).read_all()
    path, row_group, cluster = (pack[name][0].as_py() for name in ("path", "row_group", CLUSTER))
    return rows_of(path, row_group, table, cluster)


def _pack(cluster: str, table: str, rows: pa.RecordBatch) -> pa.RecordBatch:
    """A row of PACKS around the stream as it was written."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as written:
        written.write_batch(rows)
    payload = sink.getvalue()
    ends = pa.py_buffer(np.array([0, payload.size], dtype=np.int32).tobytes())
    stream: Any = pa.BinaryArray.from_buffers(pa.binary(), 1, [None, ends, payload])
    columns = [pa.array([cluster]), pa.array([table]), stream, pa.nulls(1, pa.string()), pa.nulls(1, pa.int32())]
    return pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)


_SCHEMA = to_arrow_schema(PACKS)
