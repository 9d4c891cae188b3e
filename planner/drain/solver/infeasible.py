"""A typed no: which partitions cannot move and the smallest thing to add. Never a dropped replica."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from planner.drain.model.plan import Schedule
from planner.drain.model.state import NOBODY, ClusterState, Int32s, Int64s
from planner.drain.solver.demand import Demand
from planner.drain.solver.intake import Intake
from planner.quantities import human_bytes, named

Kind = Literal["broker", "disk", "repair", "log-dir"]


@dataclass(frozen=True, slots=True, eq=False)
class Infeasible:
    """No plan empties the drained brokers. `stuck`: int32[S], rows of the partitions that cannot move.

    `kind`: a broker is missing, disk is missing, partitions need repair first, or whole logs fit no single log
    directory. `message` names the smallest addition. `part`: a schedule for all the others, when it was asked for.
    """

    kind: Kind
    message: str
    stuck: Int32s
    part: Schedule | None = None


def needs_repair(state: ClusterState, rows: Int64s) -> Infeasible:
    """Partitions with fewer replicas in sync than replicas, counting only brokers that live, or with none at all."""
    return Infeasible(
        kind="repair",
        message=(
            f"{_named(state, rows.astype(np.int32))} must be repaired first: a replica that is neither in sync nor on "
            f"a dead broker, or no replica left to read from"
        ),
        stuck=rows.astype(np.int32),
    )


def no_place(state: ClusterState, demand: Demand, intake: Intake, unplaced: Int64s) -> Infeasible:
    """Entries for which the search found no targets: no broker that may take them, or none with room."""
    brokers = state.brokers
    rack = brokers.rack
    missing: dict[str, int] = {}
    bytes_by_rack: dict[str, float] = {}
    no_broker = False
    for i in unplaced.tolist():
        homes = demand.leaves[i][demand.leaves[i] != NOBODY]
        kept = demand.kept[i][demand.kept[i] != NOBODY]
        fits = brokers.may_receive & ~np.isin(np.arange(len(brokers)), kept)
        if demand.spare[i] == 0:
            fits &= ~np.isin(rack, rack[kept])
        named = intake.named[i][: homes.size]
        bound = named[named >= 0]
        if bound.size:
            fits &= intake.may_take[bound].any(axis=0)
        if int(fits.sum()) < homes.size:
            no_broker = True
            for home in homes[:1]:
                name = brokers.racks[rack[home]]
                missing[name] = max(missing.get(name, 0), homes.size - int(fits.sum()))
        for home in homes:
            name = brokers.racks[rack[home]]
            bytes_by_rack[name] = bytes_by_rack.get(name, 0.0) + demand.size[i]
    rows = demand.row[unplaced]
    if no_broker:
        count, where = max((count, name) for name, name_count in missing.items() for count in [name_count])
        add = "a broker" if count == 1 else f"{count} brokers"
        message = f"{_named(state, rows)} cannot move: add {add} in rack {where}"
        return Infeasible("broker", message, rows)
    needs = ", ".join(f"{human_bytes(size)} in rack {name}" for name, size in sorted(bytes_by_rack.items()))
    message = f"{_named(state, rows)} found no disk below the limit of {state.disk_limit:.0%}: add {needs}"
    return Infeasible("disk", message, rows)


def no_log_dir(state: ClusterState, rows: Int32s, directory: int, room_bytes: int) -> Infeasible:
    """Partitions whose logs fit no single directory of their target, though the broker has room. `directory`: the one
    that has the most, `room_bytes`.
    """
    assert state.log_dirs is not None
    size = int(state.partitions.size_bytes[rows].max())
    broker = int(state.brokers.id[state.log_dirs.broker[directory]])
    message = (
        f"{_named(state, rows)} fit no log directory: of broker {broker} {state.log_dirs.path[directory]} has the most "
        f"room, {human_bytes(max(0, room_bytes))} below the limit of {state.disk_limit:.0%}, and the largest log has "
        f"{human_bytes(size)}: make room for {human_bytes(size - max(0, room_bytes))} more there"
    )
    return Infeasible("log-dir", message, rows)


def _named(state: ClusterState, rows: Int32s) -> str:
    parts = state.partitions
    return named([f"{parts.topics[parts.topic[row]]}-{parts.partition[row]}" for row in rows.tolist()])
