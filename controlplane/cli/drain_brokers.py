"""Before and after a plan, broker by broker: the rows of the table and of the JSON."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.table import Table

from controlplane.cli.quantities import human_seconds
from controlplane.cli.tables import listing
from planner.drain.model.plan import UNLIMITED_SLOTS, Schedule
from planner.drain.model.state import NOBODY, BrokerState, ClusterState, Int64s
from planner.drain.replay import Replay
from planner.drain.replay.entries import entries_of
from planner.drain.replay.holdings import leader_counts, placement_after, used_bytes
from planner.quantities import human_bytes

_HEADERS = ("BROKER", "RACK", "STATE", "REPLICAS", "LEADERS", "DISK", "TAKES", "GIVES")
_WIDE = ("FULLEST", "SLOTS IN/OUT", "THROTTLE IN/OUT")


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRow:
    """Disks are fractions in use; `empty_after_s` is None for a broker that is not drained, inf if it never is.
    `slots_*` and `throttle_*` are None without a limit.
    """

    id: int
    rack: str
    state: str
    replicas_before: int
    replicas_after: int
    leaders_before: int
    leaders_after: int
    disk_before: float
    disk_after: float
    disk_worst: float
    bytes_in: int
    bytes_out: int
    slots_in: int | None
    slots_out: int | None
    throttle_in_bytes_per_s: float | None
    throttle_out_bytes_per_s: float | None
    empty_after_s: float | None


def broker_rows(state: ClusterState, schedule: Schedule, replay: Replay) -> list[BrokerRow]:
    """Every broker, by id."""
    brokers, parts = state.brokers, state.partitions
    count = len(brokers)
    entries = entries_of(state, schedule)
    after = placement_after(state, entries)
    taken, given = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    sizes = entries.size[entries.copy_entry]
    np.add.at(taken, entries.copy_target, sizes)
    np.add.at(given, entries.source[entries.copy_entry], sizes)
    held_before, held_after = _held(parts.replicas, count), _held(after, count)
    leads = leader_counts(parts.leader, count)
    disk = np.maximum(brokers.disk_bytes, 1)
    used = used_bytes(state, parts.replicas) / disk
    return [
        BrokerRow(
            id=int(brokers.id[b]),
            rack=brokers.racks[int(brokers.rack[b])],
            state=BrokerState(int(brokers.state[b])).name.lower(),
            replicas_before=int(held_before[b]),
            replicas_after=int(held_after[b]),
            leaders_before=int(leads[b]),
            leaders_after=int(replay.leaders[b]),
            disk_before=float(used[b]),
            disk_after=float(replay.disk_after[b]),
            disk_worst=float(replay.disk_worst[b]),
            bytes_in=int(taken[b]),
            bytes_out=int(given[b]),
            slots_in=_slots(int(schedule.slots_in[b])),
            slots_out=_slots(int(schedule.slots_out[b])),
            throttle_in_bytes_per_s=_rate(float(schedule.throttle_in_bytes_per_s[b])),
            throttle_out_bytes_per_s=_rate(float(schedule.throttle_out_bytes_per_s[b])),
            empty_after_s=replay.release_s.get(b),
        )
        for b in range(count)
    ]


def broker_table(rows: list[BrokerRow], *, wide: bool) -> Table:
    """`41 -> 0` where a figure changes; brokers nothing happens to are in it too, so that balance can be seen."""
    headers = (*_HEADERS, *(_WIDE if wide else ()), "EMPTY AFTER")
    return listing(headers, [_cells(row, wide=wide) for row in rows])


def plain(row: BrokerRow) -> Mapping[str, Any]:
    """For machines; what is infinite becomes null."""
    fields = {name: getattr(row, name) for name in BrokerRow.__slots__}
    return {name: None if value == float("inf") else value for name, value in fields.items()}


def _cells(row: BrokerRow, *, wide: bool) -> list[str]:
    cells = [
        str(row.id),
        row.rack,
        row.state,
        _change(str(row.replicas_before), str(row.replicas_after)),
        _change(str(row.leaders_before), str(row.leaders_after)),
        _change(f"{row.disk_before:.1%}", f"{row.disk_after:.1%}") if row.state != "dead" else "-",
        human_bytes(row.bytes_in) if row.bytes_in else "-",
        human_bytes(row.bytes_out) if row.bytes_out else "-",
    ]
    if wide:
        cells += [
            f"{row.disk_worst:.1%}",
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


def _held(replicas: np.ndarray[Any, Any], count: int) -> Int64s:
    held: Int64s = np.bincount(replicas[replicas != NOBODY], minlength=count).astype(np.int64)
    return held


def _slots(slots: int) -> int | None:
    return None if slots == UNLIMITED_SLOTS else slots


def _rate(bytes_per_s: float) -> float | None:
    return None if bytes_per_s == float("inf") else bytes_per_s
