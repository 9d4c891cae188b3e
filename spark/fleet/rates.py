"""Metric windows as rates of a snapshot's partitions."""

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812 its usual name

from spark.fleet.schemas import RATES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FIGURES = {"write_bytes_per_s": "in_bytes_per_s", "read_bytes_per_s": "out_bytes_per_s"}


def rates_of(partition_windows: "DataFrame") -> "DataFrame":
    """PARTITION_WINDOWS (spark.metrics) in, RATES out; followers and idle samples drop out. No shuffle."""
    columns = [F.col(f"{figure}_mean").alias(name) for name, figure in _FIGURES.items()]
    samples = F.col("in_bytes_per_s_samples").cast("long").alias("samples")
    rows = partition_windows.where("in_bytes_per_s_samples > 0")
    return rows.select("cluster", "topic", "partition", samples, *columns).select(*RATES.names)


def with_rates(partitions: pa.Table, rates: pa.Table) -> pa.Table:
    """Rates of the snapshot are replaced where windows know better; means weigh by samples."""
    names = _topic_codes(partitions, rates)
    keys, measured = _keys(partitions, names), _keys(rates, names)
    order = np.argsort(keys)
    place = np.searchsorted(keys, measured, sorter=order)
    row = order[np.minimum(place, keys.size - 1)]
    known = keys[row] == measured
    samples = rates["samples"].to_numpy().astype(np.float64)
    for name in _FIGURES:
        mean = rates[name].fill_null(pa.scalar(float("nan"))).to_numpy()
        counts = known & np.isfinite(mean) & (mean >= 0) & (samples > 0)
        total = np.bincount(row[counts], weights=(samples * mean)[counts], minlength=keys.size)
        weight = np.bincount(row[counts], weights=samples[counts], minlength=keys.size)
        fresh = pa.array(total / np.maximum(weight, 1), mask=weight == 0)
        column = pc.if_else(pa.array(weight > 0), fresh, partitions[name].combine_chunks())
        partitions = partitions.set_column(partitions.column_names.index(name), name, column)
    return partitions


def _topic_codes(*tables: pa.Table) -> Any:
    """All topic names, each once."""
    return pc.unique(pa.concat_arrays([table["topic"].combine_chunks() for table in tables]))


def _keys(table: pa.Table, names: Any) -> npt.NDArray[np.int64]:
    code = pc.index_in(table["topic"].combine_chunks(), value_set=names).to_numpy(zero_copy_only=False)
    keys: npt.NDArray[np.int64] = code.astype(np.int64) << 32 | table["partition"].to_numpy().astype(np.int64)
    return keys
