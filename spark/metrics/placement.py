"""Which broker held and led which partition at some time, by the closed window that covers it. No JVM, as in `rates`.

A broker's agent tells the log of every replica on it, and what was written to those it led throughout an interval. So a
window knows who held a partition while it was open, not in which order they stood, nor who was in sync.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

WIDTHS_S = (60, 300, 3600)
"""The narrowest that is kept says most: minutes are kept for 2 days, 5 minutes for 14, hours for 400."""

_COLUMNS = ("width_s", "broker", "window_start", "window_end", "completeness", "topics", "topic", "partition")


@dataclass(frozen=True, slots=True)
class Held:
    """One partition during a window: who held it, who of these led it at some time, and the largest log, bytes.

    `led_by` is empty where nobody led it throughout an interval; `log_bytes` is None where nobody told.
    """

    brokers: tuple[int, ...]
    led_by: tuple[int, ...]
    log_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowPlacement:
    """By topic and partition, from `start` to `end`. Of a broker that is not among `brokers` nothing was told.

    `completeness`: messages received / expected of the brokers that told any. `reason` says in a sentence what is
    known, or why nothing is.
    """

    by_partition: Mapping[tuple[str, int], Held] = field(default_factory=lambda: MappingProxyType({}))
    brokers: tuple[int, ...] = ()
    start: datetime | None = None
    end: datetime | None = None
    completeness: float = 0.0
    reason: str

    def __bool__(self) -> bool:
        return bool(self.by_partition)


def read_placement(
    lake: str, cluster: str, *, at: datetime, storage: Mapping[str, str] | None = None
) -> WindowPlacement:
    """The placement of `cluster` in the narrowest closed window that covers `at`.

    No table, and no such window, is no error: nothing that says so. Raises what `deltalake` raises when the table is
    there and cannot be read.
    """
    from deltalake import DeltaTable
    from deltalake.exceptions import TableNotFoundError

    try:
        table = DeltaTable(f"{lake.rstrip('/')}/windows", storage_options=dict(storage or {}))
    except TableNotFoundError:
        return WindowPlacement(reason="not kept: there is no metric lake yet")
    moment = at.astimezone(UTC)
    # The days are those of window starts: an hour that covers midnight began the day before.
    days = sorted({moment.date(), (moment - timedelta(seconds=max(WIDTHS_S))).date()})
    covers = (ds.field("window_start") <= pa.scalar(moment)) & (ds.field("window_end") > pa.scalar(moment))
    of_cluster = (
        ds.field("width_s").isin(list(WIDTHS_S)) & ds.field("day").isin(days) & (ds.field("cluster") == cluster)
    )
    columns: dict[str, Any] = {name: ds.field(name) for name in _COLUMNS}
    columns |= {"log": ds.field("log_bytes", "mean"), "led": ds.field("in_bytes_per_s", "mean")}
    rows = table.to_pyarrow_dataset().to_table(columns=columns, filter=of_cluster & covers)
    if not rows.num_rows:
        return WindowPlacement(
            reason=f"not kept: the metric lake has no closed window of this cluster at {_said(moment)}"
        )
    width_s = min(_cells(rows, "width_s"))
    return _placement(rows.filter(pc.field("width_s") == width_s))


def _placement(rows: pa.Table) -> WindowPlacement:
    brokers: list[int] = _cells(rows, "broker")
    found: dict[tuple[str, int], list[tuple[int, float, bool]]] = {}
    for row, broker in enumerate(brokers):
        names = rows.column("topics")[row].as_py()
        topics, numbers = _numbers(rows.column("topic")[row]), _numbers(rows.column("partition")[row])
        logs, led = _numbers(rows.column("log")[row]), ~np.isnan(_numbers(rows.column("led")[row]))
        held = (~np.isnan(logs)) | led
        told = zip(topics[held].tolist(), numbers[held].tolist(), logs[held].tolist(), led[held].tolist(), strict=True)
        for code, number, log, leads in told:
            found.setdefault((names[code], number), []).append((broker, log, leads))
    start = rows.column("window_start")[0].as_py().astimezone(UTC)
    end = rows.column("window_end")[0].as_py().astimezone(UTC)
    completeness = float(np.mean(_cells(rows, "completeness")))
    return WindowPlacement(
        by_partition={name: _held(found[name]) for name in sorted(found)},
        brokers=tuple(sorted(set(brokers))),
        start=start,
        end=end,
        completeness=completeness,
        reason=f"{len(found)} partitions, told by {len(set(brokers))} brokers from {_said(start)} to {_said(end)}, "
        f"{completeness:.0%} complete: who held and who led each, not who was in sync",
    )


def _held(told: Sequence[tuple[int, float, bool]]) -> Held:
    logs = [log for _, log, _ in told if not np.isnan(log)]
    return Held(
        brokers=tuple(sorted(broker for broker, _, _ in told)),
        led_by=tuple(sorted(broker for broker, _, leads in told if leads)),
        log_bytes=round(max(logs)) if logs else None,
    )


def _said(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def _cells(rows: pa.Table, column: str) -> list[Any]:
    return rows.column(column).to_pylist()


def _numbers(cell: Any) -> npt.NDArray[Any]:
    """A list's values; null becomes NaN."""
    numbers: npt.NDArray[Any] = cell.values.to_numpy(zero_copy_only=False)
    return numbers
