"""Where each outgoing replica goes: a request as arrays, into the kernel and out of it.

Rules the kernel never breaks: an outgoing replica goes to an allowed target without a copy of the partition,
the number of distinct racks never falls, no target goes above its disk limit (targets only fill during a
drain, so the last state is the worst), and replicas that are not on outgoing brokers stay where they are, in
their place.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from planner.drain.kernel import assign, compiled
from planner.drain.model import UNKNOWN, Int32s, Int64s
from planner.drain.request import DrainRequest

_COMPILE_ABOVE = 300_000
"""Inner-loop steps from which compiling (1 s, cached on disk) beats interpreting (about 0.2 us a step)."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Replica lists as broker ids (padded matrices, a row per row of `rows`) and an `outcome` code per row.

    For a row that failed: `nearest` is the broker row that came closest on disk (-1: it was not about disk)
    and `lost_rack` the rack row its replica would leave. `room_left` is bytes per broker row once all is
    placed.
    """

    rows: Int64s
    before: Int32s
    after: Int32s
    size_bytes: Int64s
    outcome: Int32s
    nearest: Int32s
    lost_rack: Int32s
    room_left: Int64s

    @property
    def copies(self) -> npt.NDArray[np.bool_]:
        """Where a slot gets a new replica."""
        return np.asarray(self.after != self.before)

    def only(self, chosen: npt.NDArray[np.bool_]) -> "Placement":
        return Placement(
            self.rows[chosen],
            self.before[chosen],
            self.after[chosen],
            self.size_bytes[chosen],
            self.outcome[chosen],
            self.nearest[chosen],
            self.lost_rack[chosen],
            self.room_left,
        )


def place(request: DrainRequest, rows: Int64s) -> Placement:
    """Targets for every outgoing replica of the rows (model rows, in the order they are to be placed)."""
    model, brokers = request.cluster, request.cluster.brokers
    before = _as_rows(model.replicas[rows], brokers.id)
    after = before.copy()
    outcome = np.zeros(rows.size, dtype=np.int32)
    nearest = np.full(rows.size, UNKNOWN, dtype=np.int32)
    lost_rack = np.full(rows.size, UNKNOWN, dtype=np.int32)
    room = disk_room(request)
    steps = rows.size * before.shape[1] ** 2 * brokers.id.size
    kernel = assign if steps < _COMPILE_ABOVE else compiled()
    kernel(
        before,
        model.size_bytes[rows],
        brokers.rack,
        np.isin(brokers.id, np.array(request.outgoing, dtype=np.int32)),
        eligible_targets(request),
        _successors(request),
        room,
        np.maximum(brokers.log_bytes, 0),
        np.maximum(brokers.total_bytes, 1),
        _replica_counts(request),
        after,
        outcome,
        nearest,
        lost_rack,
    )
    ids = np.append(brokers.id, np.int32(UNKNOWN))
    return Placement(
        rows=rows,
        before=model.replicas[rows],
        after=ids[after].astype(np.int32),
        size_bytes=model.size_bytes[rows],
        outcome=outcome,
        nearest=nearest,
        lost_rack=lost_rack,
        room_left=room,
    )


def eligible_targets(request: DrainRequest) -> npt.NDArray[np.bool_]:
    """Per broker row: named as a target, live, and its disk is known. A guess about a disk may fill it."""
    brokers = request.cluster.brokers
    named = np.isin(brokers.id, np.array(request.targets, dtype=np.int32))
    return np.asarray(named & brokers.live & (brokers.total_bytes > 0))


def disk_room(request: DrainRequest) -> Int64s:
    """Bytes each broker row may still take before its disk limit; below 0 where it is above that already."""
    brokers = request.cluster.brokers
    limit = np.floor(brokers.total_bytes * request.disk_limit_fraction).astype(np.int64)
    return np.asarray(limit - (brokers.total_bytes - brokers.free_bytes), dtype=np.int64)


def _as_rows(replicas: Int32s, ids: Int32s) -> Int32s:
    """Broker ids to rows of the (sorted) broker table; padding stays -1."""
    found = np.searchsorted(ids, replicas)
    return np.where(replicas < 0, UNKNOWN, found).astype(np.int32)


def _successors(request: DrainRequest) -> Int32s:
    brokers = request.cluster.brokers
    table = np.full(brokers.id.size, UNKNOWN, dtype=np.int32)
    known = {int(b): row for row, b in enumerate(brokers.id)}
    for old, new in request.successors.items():
        if old in known and new in known:
            table[known[old]] = known[new]
    return table


def _replica_counts(request: DrainRequest) -> Int64s:
    rows = _as_rows(request.cluster.replicas, request.cluster.brokers.id)
    return np.bincount(rows[rows >= 0], minlength=request.cluster.brokers.id.size).astype(np.int64)
