"""Latencies, CPU and traffic of brokers over closed windows, for those who look for slow and hot ones. Needs no JVM, as
`rates`.

First the newest windows of every cluster at once; then the past of those brokers alone that leave their peers.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from planner.anomalies.hot import FIGURES
from planner.anomalies.slow import FLOORS_MS, BrokerWindow
from spark.metrics.wire import BROKER_FIGURES

RECENT = timedelta(minutes=40)
PAST = timedelta(hours=25)

_IDENTITY = ("cluster", "broker", "window_start", "window_end", "broker_started", "completeness")


def recent_windows(
    lake: str, width_s: int, *, now: datetime, storage: Mapping[str, str] | None = None
) -> Mapping[str, Sequence[BrokerWindow]]:
    """By cluster uid, the windows that began in the last 40 min. A lake that is not there yet has none.

    Raises what `deltalake` raises when the table is there and cannot be read.
    """
    rows = _read(lake, width_s, now - RECENT, now, None, storage or {})
    found: dict[str, list[BrokerWindow]] = {}
    for cluster, window in rows:
        found.setdefault(cluster, []).append(window)
    return found


def past_windows(
    lake: str,
    width_s: int,
    cluster: str,
    brokers: Sequence[int],
    *,
    now: datetime,
    storage: Mapping[str, str] | None = None,
) -> Sequence[BrokerWindow]:
    """Windows of these brokers of the cluster that began in the last 25 h. Raises as `recent_windows`."""
    mine = (ds.field("cluster") == cluster) & ds.field("broker").isin(list(brokers))
    return [window for _, window in _read(lake, width_s, now - PAST, now, mine, storage or {})]


def figure_windows(
    lake: str, width_s: int, cluster: str, *, since: datetime, now: datetime, storage: Mapping[str, str] | None = None
) -> Sequence[BrokerWindow]:
    """Windows of all brokers of the cluster that began since then, with every figure of brokers. Raises as
    `recent_windows`."""
    mine = ds.field("cluster") == cluster
    return [window for _, window in _read(lake, width_s, since, now, mine, storage or {}, BROKER_FIGURES)]


def _read(
    lake: str,
    width_s: int,
    since: datetime,
    now: datetime,
    also: pc.Expression | None,
    storage: Mapping[str, str],
    wanted_figures: Sequence[str] = (*FLOORS_MS, *FIGURES),
) -> list[tuple[str, BrokerWindow]]:
    from deltalake import DeltaTable
    from deltalake.exceptions import TableNotFoundError

    try:
        table = DeltaTable(f"{lake.rstrip('/')}/windows", storage_options=dict(storage))
    except TableNotFoundError:
        return []
    rows = table.to_pyarrow_dataset()
    days = [(since + timedelta(days=n)).astimezone(UTC).date() for n in range((now - since).days + 2)]
    wanted = (ds.field("width_s") == width_s) & ds.field("day").isin(days)
    wanted &= ds.field("window_start") >= pa.scalar(since)
    # A lake of a release before lacks some.
    figures = [name for name in wanted_figures if name in rows.schema.names]
    columns: dict[str, Any] = {name: ds.field(name) for name in _IDENTITY}
    columns |= {name: ds.field(name, "mean") for name in figures}
    found = rows.to_table(columns=columns, filter=wanted if also is None else wanted & also)
    return [_window(row, figures) for row in found.to_pylist()]


def _window(row: Mapping[str, Any], figures: Sequence[str]) -> tuple[str, BrokerWindow]:
    started = row["broker_started"]
    window = BrokerWindow(
        broker=row["broker"],
        start=row["window_start"].astimezone(UTC),
        end=row["window_end"].astimezone(UTC),
        started=started.astimezone(UTC) if started is not None else None,
        completeness=row["completeness"],
        figures={name: row[name] for name in figures if row[name] is not None},
    )
    return row["cluster"], window
