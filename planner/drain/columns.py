"""Partitions of a cluster as Arrow columns and back: what drains and rebalances have in common on the way to Spark."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from planner.drain.arrays import UNKNOWN, ClusterModel, Int32s

PARTITIONS = pa.schema(
    [
        ("topic", pa.int32()),
        ("partition", pa.int32()),
        ("leader", pa.int32()),
        ("replicas", pa.list_(pa.int32())),
        ("isr", pa.list_(pa.int32())),
        ("min_isr", pa.int32()),
        ("moving", pa.bool_()),
        ("size_bytes", pa.int64()),
        ("write_bytes_per_s", pa.int64()),
    ]
)
"""One row per partition. `topic` is an index into the document's `topics`: codes, not strings, on rows."""

LISTS = ("replicas", "isr")


def partitions_table(model: ClusterModel) -> pa.Table:
    """The partitions as Arrow, schema PARTITIONS."""
    columns = {
        name: id_lists(getattr(model, name)) if name in LISTS else pa.array(getattr(model, name))
        for name in PARTITIONS.names
    }
    return pa.table(columns, schema=PARTITIONS)


def whole(partitions: pa.Table, count: int, *, asked: str) -> pa.Table:
    """All rows of a request, by topic and partition as `model_of` makes them: a Spark shuffle keeps no order, and ties
    follow rows. Rows that got lost on the way are a ValueError: a plan made without them is one of another cluster.
    """
    if partitions.num_rows != count:
        raise ValueError(f"request {asked} came with {partitions.num_rows} of {count} partitions")
    topic, partition = (partitions.column(name).to_numpy() for name in ("topic", "partition"))
    order = np.lexsort((partition, topic))
    return partitions if np.array_equal(order, np.arange(order.size)) else partitions.take(order)


def id_lists(matrix: Int32s) -> Any:
    """A matrix padded with -1 as a list<int32> array."""
    held = matrix >= 0
    offsets: npt.NDArray[np.int32] = np.zeros(len(matrix) + 1, dtype=np.int32)
    np.cumsum(held.sum(axis=1), out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(matrix[held]), type=pa.list_(pa.int32()))  # type: ignore[call-overload]


def id_matrix(column: Any) -> Int32s:
    """A list<int32> column (pyarrow.ChunkedArray) as a padded matrix; chunk by chunk, order kept."""
    chunks = column.chunks
    lengths = np.concatenate([np.asarray(c.value_lengths()) for c in chunks] or [np.zeros(0, np.int64)])
    values = np.concatenate([np.asarray(c.flatten()) for c in chunks] or [np.zeros(0, np.int32)])
    matrix = np.full((lengths.size, max(int(lengths.max(initial=0)), 1)), UNKNOWN, dtype=np.int32)
    matrix[np.arange(matrix.shape[1])[None, :] < lengths[:, None]] = values
    return matrix
