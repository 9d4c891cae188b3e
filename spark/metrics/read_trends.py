"""Trends of brokers, for those who tell when a disk is full. Needs no JVM, as `rates`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date

from planner.forecasts.trend import FIGURES, Trend

_FIELDS = ("figure", "days", "level", "per_day", "least_per_day", "most_per_day", "unknown")


@dataclass(frozen=True, slots=True)
class ClusterTrends:
    """By broker, in the order of FIGURES; the day they were `made` on."""

    made: date
    by_broker: Mapping[int, tuple[Trend, ...]] = field(default_factory=dict)


def read_trends(lake: str, *, storage: Mapping[str, str] | None = None) -> Mapping[str, ClusterTrends]:
    """By cluster uid. A lake without trends has none. Raises what `deltalake` raises when the table is there and cannot
    be read.
    """
    from deltalake import DeltaTable
    from deltalake.exceptions import TableNotFoundError

    try:
        table = DeltaTable(f"{lake.rstrip('/')}/trends", storage_options=dict(storage or {}))
    except TableNotFoundError:
        return {}
    made: dict[str, date] = {}
    found: dict[str, dict[int, list[Trend]]] = {}
    for row in sorted(table.to_pyarrow_dataset().to_table().to_pylist(), key=lambda row: FIGURES.index(row["figure"])):
        trend = Trend(**{name: row[name] for name in _FIELDS})
        found.setdefault(row["cluster"], {}).setdefault(row["broker"], []).append(trend)
        made[row["cluster"]] = row["made"]
    return {
        cluster: ClusterTrends(made[cluster], {broker: tuple(trends) for broker, trends in sorted(brokers.items())})
        for cluster, brokers in found.items()
    }
