"""Before and after a plan, broker by broker: the rows of the table and of the JSON."""

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from controlplane.cli.tables import listing
from controlplane.commands.previews.drain_figures import DrainedBroker
from controlplane.runtime.quantities import human_seconds
from planner.quantities import human_bytes, human_share

_HEADERS = ("BROKER", "RACK", "STATE", "REPLICAS", "LEADERS", "DISK", "TAKES", "GIVES")
_WIDE = ("FULLEST", "SLOTS IN/OUT", "THROTTLE IN/OUT")


def broker_table(rows: list[DrainedBroker], *, wide: bool) -> Table:
    """`41 -> 0` where a figure changes; brokers nothing happens to are in it too, so that balance can be seen."""
    headers = (*_HEADERS, *(_WIDE if wide else ()), "EMPTY AFTER")
    return listing(headers, [_cells(row, wide=wide) for row in rows])


def plain(row: DrainedBroker) -> Mapping[str, Any]:
    """For machines; what is infinite becomes null."""
    fields = {name: getattr(row, name) for name in DrainedBroker.__slots__}
    return {name: None if value == float("inf") else value for name, value in fields.items()}


def _cells(row: DrainedBroker, *, wide: bool) -> list[str]:
    cells = [
        str(row.id),
        row.rack,
        row.state,
        _change(str(row.replicas_before), str(row.replicas_after)),
        _change(str(row.leaders_before), str(row.leaders_after)),
        _change(human_share(row.disk_before), human_share(row.disk_after)),
        human_bytes(row.bytes_in) if row.bytes_in else "-",
        human_bytes(row.bytes_out) if row.bytes_out else "-",
    ]
    if wide:
        cells += [
            human_share(row.disk_worst),
            f"{_limit(row.slots_in)}/{_limit(row.slots_out)}",
            f"{_speed(row.throttle_in_bytes_per_s)}/{_speed(row.throttle_out_bytes_per_s)}",
        ]
    return [*cells, _emptied(row.empty_after_s)]


def _change(before: str, after: str) -> str:
    return before if before == after else f"{before} -> {after}"


def _emptied(after_s: float | None) -> str:
    if after_s is None:
        return "-"
    return "never" if after_s == float("inf") else human_seconds(after_s)


def _limit(slots: int | None) -> str:
    return "-" if slots is None else str(slots)


def _speed(bytes_per_s: float | None) -> str:
    return "-" if bytes_per_s is None else f"{human_bytes(bytes_per_s)}/s"
