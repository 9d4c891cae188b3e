"""Windows as Arrow columns of the schema WINDOWS, and minutes back from them. Arrays go over whole.

A minute of one message is written once: its mean is its max and its p95, which stand as null lists, and so do
`samples`, since a mean that is not null has one. Most minutes are such, and minutes are most of the table.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from spark.metrics.kernel import MINUTE_MS, Figures, WindowFigures
from spark.metrics.partitions import BrokerPartitions
from spark.metrics.schemas import WINDOWS
from spark.metrics.wire import BROKER_FIGURES, PARTITION_FIGURES

_SCHEMA = to_arrow_schema(WINDOWS)
_PARTS = ["samples", "mean", "max", "p95"]
_DAY_MS = 86_400_000


def to_table(windows: Sequence[WindowFigures]) -> pa.Table:
    """Schema WINDOWS, one row per window; NaN becomes null."""
    columns: dict[str, Any] = {
        "width_s": [w.width_ms // 1000 for w in windows],
        "day": [w.start_ms // _DAY_MS for w in windows],
        "cluster": [w.cluster for w in windows],
        "broker": [w.broker for w in windows],
        "window_start": [w.start_ms * 1000 for w in windows],
        "window_end": [(w.start_ms + w.width_ms) * 1000 for w in windows],
        "node": [w.node for w in windows],
        "broker_started": [w.broker_started_ms * 1000 or None for w in windows],
        "expected": [w.expected for w in windows],
        "received": [w.received for w in windows],
        "duplicates": [w.duplicates for w in windows],
        "unreadable": [w.unreadable for w in windows],
        "completeness": [min(1.0, w.received / w.expected) for w in windows],
        "topics": [w.partitions.topics for w in windows],
        "topic": _lists([w.partitions.topic for w in windows], pa.int32()),
        "partition": _lists([w.partitions.partition for w in windows], pa.int32()),
    }
    for name in BROKER_FIGURES:
        columns[name] = _broker_figures([w.figures[name] for w in windows])
    once = [w.width_ms == MINUTE_MS and w.received == 1 for w in windows]
    for name in PARTITION_FIGURES:
        columns[name] = _partition_figures([w.figures[name] for w in windows], once)
    arrays = [
        pa.array(columns[f.name], f.type) if isinstance(columns[f.name], list) else columns[f.name] for f in _SCHEMA
    ]
    return pa.Table.from_arrays(arrays, schema=_SCHEMA)


def from_table(table: pa.Table) -> list[WindowFigures]:
    """The windows in the rows of a table that has (at least) the columns of WINDOWS."""
    return [_window(table, row) for row in range(table.num_rows)]


def _window(table: pa.Table, row: int) -> WindowFigures:
    cell = {name: table.column(name)[row] for name in WINDOWS.names}
    started = cell["broker_started"].value
    return WindowFigures(
        cluster=cell["cluster"].as_py(),
        broker=cell["broker"].as_py(),
        node=cell["node"].as_py(),
        start_ms=cell["window_start"].value // 1000,
        width_ms=cell["width_s"].as_py() * 1000,
        broker_started_ms=(started or 0) // 1000,
        expected=cell["expected"].as_py(),
        received=cell["received"].as_py(),
        duplicates=cell["duplicates"].as_py(),
        unreadable=cell["unreadable"].as_py(),
        partitions=BrokerPartitions(
            tuple(cell["topics"].values.to_pylist()), _numbers(cell["topic"]), _numbers(cell["partition"])
        ),
        figures={name: _figure(cell[name]) for name in BROKER_FIGURES + PARTITION_FIGURES},
    )


def _numbers(scalar: Any) -> Any:
    """A list's values, or one value as an array; nulls of figures become NaN."""
    values: Any = scalar.values if isinstance(scalar, pa.ListScalar) else pa.array([scalar.as_py()], scalar.type)
    return values.to_numpy(zero_copy_only=False)


def _figure(cell: Any) -> Figures:
    mean = _numbers(cell["mean"])
    if not cell["samples"].is_valid:
        return Figures((~np.isnan(mean)).astype(np.int32), mean, mean, mean)
    return Figures(_numbers(cell["samples"]), mean, _numbers(cell["max"]), _numbers(cell["p95"]))


def _broker_figures(figures: Sequence[Figures]) -> pa.StructArray:
    columns = [_values([getattr(figure, part) for figure in figures], _type(part)) for part in _PARTS]
    return pa.StructArray.from_arrays(columns, _PARTS)


def _partition_figures(figures: Sequence[Figures], once: Sequence[bool]) -> pa.StructArray:
    """Where `once` is true, the mean stands for all parts."""
    columns = []
    for part in _PARTS:
        arrays = [
            None if one and part != "mean" else getattr(figure, part) for figure, one in zip(figures, once, strict=True)
        ]
        columns.append(_lists(arrays, _type(part)))
    return pa.StructArray.from_arrays(columns, _PARTS)


def _type(part: str) -> pa.DataType:
    return pa.int32() if part == "samples" else pa.float64()


def _lists(arrays: Sequence[Any], type_: pa.DataType) -> "pa.ListArray[Any]":
    """One list per array, null for None."""
    ends = np.cumsum([0 if array is None else len(array) for array in arrays])
    nulls = pa.array([array is None for array in arrays], pa.bool_())
    there = [array for array in arrays if array is not None]
    lists: pa.ListArray[Any] = pa.ListArray.from_arrays(
        pa.array(np.concatenate(([0], ends)), pa.int32()), _values(there, type_), mask=nulls
    )
    return lists


def _values(arrays: Sequence[Any], type_: pa.DataType) -> "pa.Array[Any]":
    numbers = np.concatenate(arrays) if arrays else np.empty(0)
    return pa.array(numbers, type_, from_pandas=pa.types.is_floating(type_))
