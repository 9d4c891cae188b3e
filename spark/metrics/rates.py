"""Rates for the planner: bytes per second of each partition, from the closed 5 min windows. Needs no JVM.

The tables are Delta and plain arrays, so `deltalake` and numpy read them in the process that plans, in the time a Spark
session would take to begin.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.dataset as ds

from spark.metrics.partitions import Floats

WINDOW_S = 300
_IDENTITY = ["broker", "window_start", "window_end", "expected", "received"]
_FIGURES = {"write": "in_bytes_per_s", "read": "out_bytes_per_s"}


@dataclass(frozen=True, slots=True)
class Rate:
    """Mean bytes per second of one partition over the windows read: written by clients, and read by them."""

    write_bytes_per_s: float
    read_bytes_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """`by_partition` has what was measured; a partition that is missing is unknown, not idle.

    `age_s`: from the end of the latest window until now. `completeness`: messages received / expected over all brokers
    and windows; a broker that said nothing at all counts as expected while it is in any of the windows.
    `reason` says in a sentence what the rates are, or why there are none.
    """

    by_partition: Mapping[tuple[str, int], Rate] = field(default_factory=lambda: MappingProxyType({}))
    age_s: float | None = None
    completeness: float = 0.0
    reason: str

    def __bool__(self) -> bool:
        return bool(self.by_partition)


def read_rates(
    lake: str, cluster: str, *, now: datetime, windows: int = 12, storage: Mapping[str, str] | None = None
) -> Rates:
    """Rates of `cluster` over its latest `windows` closed 5 min windows of the last day.

    A cold start (no table, no window) is no error: empty rates that say so. `storage`: options of an object store.
    Raises what `deltalake` raises when the table is there and cannot be read.
    """
    found = _latest_windows(lake, cluster, now=now, windows=windows, storage=storage or {})
    if isinstance(found, str):
        return Rates(reason=f"no rates, {found}: planned from log sizes alone")
    age_s = (now - max(_cells(found, "window_end"))).total_seconds()
    by_partition = _by_partition(found)
    brokers, starts = (len(set(_cells(found, name))) for name in ("broker", "window_start"))
    expected = brokers * starts * max(_cells(found, "expected"))
    completeness = min(1.0, sum(_cells(found, "received")) / expected)
    return Rates(
        by_partition=by_partition,
        age_s=age_s,
        completeness=completeness,
        reason=f"rates of {len(by_partition)} partitions from {starts} windows of {brokers} brokers, "
        f"{completeness:.0%} complete, {age_s:.0f} s old",
    )


def _latest_windows(
    lake: str, cluster: str, *, now: datetime, windows: int, storage: Mapping[str, str]
) -> pa.Table | str:
    """Rows of the table `windows`, or why there are none. The small columns are read first, to see which rows."""
    from deltalake import DeltaTable
    from deltalake.exceptions import TableNotFoundError

    try:
        table = DeltaTable(f"{lake.rstrip('/')}/windows", storage_options=dict(storage))
    except TableNotFoundError:
        return f"there is no metric lake at {lake} yet"
    days = [(now.astimezone(UTC) - timedelta(days=back)).date() for back in (0, 1)]
    rows = table.to_pyarrow_dataset()  # width and day are partitions: other files are not opened
    of_cluster = (ds.field("width_s") == WINDOW_S) & ds.field("day").isin(days) & (ds.field("cluster") == cluster)
    ends = _cells(rows.to_table(columns=["window_end"], filter=of_cluster), "window_end")
    if not ends:
        return f"cluster {cluster} has no closed window since {days[1]}"
    since = max(ends) - timedelta(seconds=windows * WINDOW_S)
    columns = [*_IDENTITY, "topics", "topic", "partition", *_FIGURES.values()]
    return rows.to_table(columns=columns, filter=of_cluster & (ds.field("window_start") >= pa.scalar(since)))


def _by_partition(rows: pa.Table) -> dict[tuple[str, int], Rate]:
    """Means over all windows and brokers, weighted by samples: whoever led a partition counts for its time."""
    names = sorted({name for topics in _cells(rows, "topics") for name in topics})
    code = {name: position for position, name in enumerate(names)}
    means = {kind: _mean(rows, column, code) for kind, column in _FIGURES.items()}
    writes, reads = means["write"], means["read"]
    both = writes.keys() & reads.keys()
    return {(names[key >> 32], key & 0xFFFFFFFF): Rate(writes[key], reads[key]) for key in both}


def _mean(rows: pa.Table, column: str, code: Mapping[str, int]) -> dict[int, float]:
    """Partition key -> mean over all rows that know it. The key is topic code << 32 | partition."""
    keys, samples, means = (np.concatenate(parts) for parts in zip(*_known(rows, column, code), strict=True))
    every, place = np.unique(keys, return_inverse=True)
    weighted = np.bincount(place, weights=samples * means) / np.bincount(place, weights=samples)
    return dict(zip(every.tolist(), weighted.tolist(), strict=True))


def _known(
    rows: pa.Table, column: str, code: Mapping[str, int]
) -> Iterator[tuple[npt.NDArray[np.int64], Floats, Floats]]:
    """(keys, samples, means) of each row's entries that have samples."""
    for row in range(rows.num_rows):
        codes = np.array([code[name] for name in rows.column("topics")[row].as_py()], dtype=np.int64)
        figure = rows.column(column)[row]
        samples = _numbers(figure["samples"])
        known = samples > 0
        keys = codes[_numbers(rows.column("topic")[row])] << 32 | _numbers(rows.column("partition")[row])
        yield keys[known], samples[known], _numbers(figure["mean"])[known]


def _cells(rows: pa.Table, column: str) -> list[Any]:
    return rows.column(column).to_pylist()


def _numbers(cell: Any) -> npt.NDArray[Any]:
    """A list's values; null becomes NaN."""
    numbers: npt.NDArray[Any] = cell.values.to_numpy(zero_copy_only=False)
    return numbers
