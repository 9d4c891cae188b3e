"""What the second check knows of every broker, from the snapshot and the plan file alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from planner.drain.model.plan import UNLIMITED_SLOTS
from spark.fleet.lists import NOBODY, Bools, Int32s, Ints, lists_of
from spark.fleet.moves import Floats, Moves
from spark.fleet.published import PublishedPlan

MAY_RECEIVE = ("active", "new")


@dataclass(frozen=True, slots=True, eq=False)
class BrokerTable:
    """B brokers, ascending by `id`: what each holds now and what the plan lets it do.

    `rack` is a code. `used_bytes`, `held` (replicas) and `first` (partitions that list it first) are now; `changed` of
    those have another leader now. `takes_bytes_per_s`, `gives_bytes_per_s`: the smaller of bandwidth and throttle.
    `allowed_bytes`: the disk limit. `taken` bytes, `dropped` replicas and `led` (partitions that list it first) are
    what the plan changes; `gone_s` is when the last replica leaves.
    """

    id: Int32s
    rack: Ints
    receives: Bools
    dead: Bools
    disk_bytes: Ints
    allowed_bytes: Ints
    takes_bytes_per_s: Floats
    gives_bytes_per_s: Floats
    slots_in: Ints
    slots_out: Ints
    used_bytes: Ints
    held: Ints
    first: Ints
    changed: Ints
    taken: Ints
    dropped: Ints
    led: Ints
    gone_s: Floats

    def row_of(self, brokers: Int32s) -> Ints:
        """Rows of broker ids, of any shape; -1 for one that is not there."""
        place = np.minimum(np.searchsorted(self.id, brokers), self.id.size - 1)
        return np.where(self.id[place] == brokers, place, -1)

    def chosen(self, brokers: Int32s, which: Bools) -> Bools:
        """Whether `which` holds of each broker; of one that is not there it does not."""
        row = self.row_of(brokers)
        return which[row] & (row >= 0)


def broker_table_of(
    brokers: pa.Table, partitions: pa.Table, said: PublishedPlan, moves: Moves, *, disk_limit: float
) -> BrokerTable:
    """The snapshot's BROKERS and PARTITIONS of one cluster, sound (spark.fleet.soundness), its plan and `moves_of`."""
    rows = brokers.sort_by("id")
    ids = rows["id"].to_numpy()
    disk = rows["disk_bytes"].to_numpy()
    states = np.array(rows["state"].to_pylist(), dtype=object)
    held_back = {side: _limits(ids, said.throttles, side, np.inf) for side in ("in_bytes_per_s", "out_bytes_per_s")}
    racks = rows["rack"].combine_chunks().dictionary_encode()
    return BrokerTable(
        id=ids,
        rack=racks.indices.to_numpy(zero_copy_only=False).astype(np.int64),
        receives=np.isin(states, MAY_RECEIVE),
        dead=states == "dead",
        disk_bytes=disk,
        allowed_bytes=np.floor(disk * disk_limit * (1 + 1e-12)).astype(np.int64),
        takes_bytes_per_s=np.minimum(rows["ingress_bytes_per_s"].to_numpy(), held_back["in_bytes_per_s"]),
        gives_bytes_per_s=np.minimum(rows["egress_bytes_per_s"].to_numpy(), held_back["out_bytes_per_s"]),
        slots_in=_limits(ids, said.slots, "in", UNLIMITED_SLOTS).astype(np.int64),
        slots_out=_limits(ids, said.slots, "out", UNLIMITED_SLOTS).astype(np.int64),
        **_holdings(ids, partitions),
        **_changes(ids, moves),
    )


def _limits(ids: Int32s, limits: Mapping[str, Mapping[str, float]], side: str, unlimited: float) -> Floats:
    return np.array([limits.get(str(broker), {}).get(side, unlimited) for broker in ids.tolist()], dtype=np.float64)


def _holdings(ids: Int32s, partitions: pa.Table) -> dict[str, Any]:
    """One pass over all replicas of the cluster. Sizes are summed up as whole numbers."""
    replicas = lists_of(partitions["replicas"])
    found: Any = pc.index_in(pa.array(replicas.members), value_set=pa.array(ids))
    broker = found.to_numpy(zero_copy_only=False).astype(np.int64)
    first = broker[replicas.first]
    leader = partitions["leader"].fill_null(pa.scalar(-1, pa.int32())).to_numpy()
    used = np.zeros(ids.size, dtype=np.int64)
    np.add.at(used, broker, partitions["size_bytes"].to_numpy()[replicas.row])
    return {
        "used_bytes": used,
        "held": _counted(broker, ids.size),
        "first": _counted(first, ids.size),
        "changed": _counted(first[ids[first] != leader], ids.size),
    }


def _changes(ids: Int32s, moves: Moves) -> dict[str, Any]:
    """What the plan changes on every broker it names and the snapshot has."""
    taken, gone_s = np.zeros(ids.size, dtype=np.int64), np.zeros(ids.size)
    row, broker = _of_known(ids, moves.after, moves.added)
    np.add.at(taken, broker, moves.size_bytes[row])
    row, broker = _of_known(ids, moves.before, moves.removed)
    np.subtract.at(taken, broker, moves.size_bytes[row])
    np.maximum.at(gone_s, broker, moves.end_s[row])
    led = _firsts(ids, moves.after) - _firsts(ids, moves.before)
    return {"taken": taken, "dropped": _counted(broker, ids.size), "led": led, "gone_s": gone_s}


def _firsts(ids: Int32s, matrix: Int32s) -> Ints:
    heads = matrix[:, :1]
    return _counted(_of_known(ids, heads, heads != NOBODY)[1], ids.size)


def _of_known(ids: Int32s, matrix: Int32s, marked: Bools) -> tuple[Ints, Ints]:
    """Row in the matrix and row of the broker, of every marked member that is a known broker."""
    row, place = np.nonzero(marked)
    named = matrix[row, place]
    broker = np.minimum(np.searchsorted(ids, named), ids.size - 1)
    known = ids[broker] == named
    return row[known], broker[known]


def _counted(rows: Ints, count: int) -> Ints:
    counted: Ints = np.bincount(rows, minlength=count)
    return counted
