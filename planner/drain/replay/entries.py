"""A schedule as the copies it makes: who reads from whom, how much, and what is dropped afterwards."""

from dataclasses import dataclass

import numpy as np

from planner.drain.model.plan import Schedule
from planner.drain.model.state import NO_BROKER, NOWHERE, Bools, ClusterState, Floats, Int32s, Int64s


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """M entries, C copies, brokers as rows.

    `before`, `after`: int32[M, .], padded with NO_BROKER. `source`: int32[M], the broker read from (the leader now
    where none is named). `copies_from`: int64[M + 1]: entry e makes the copies copies_from[e] .. copies_from[e+1]-1.
    `copy_entry`, `copy_target`: int32[C]. `size`: bytes of one copy per entry. `gone_entry`, `gone_broker`: int32[G],
    replicas dropped when the entry completes. `able`: bool[M], false where there is nobody to read from. `copy_dir`,
    `gone_dir`: int32[C], int32[G], the state's log directory, NOWHERE where it is not known.
    """

    row: Int32s
    before: Int32s
    after: Int32s
    source: Int32s
    size: Int64s
    copies_from: Int64s
    copy_entry: Int32s
    copy_target: Int32s
    gone_entry: Int32s
    gone_broker: Int32s
    able: Bools
    copy_dir: Int32s
    gone_dir: Int32s

    def __len__(self) -> int:
        return int(self.row.size)

    @property
    def copies(self) -> Int64s:
        """How many copies each entry makes: int64[M]; 0 for order-only entries."""
        counts: Int64s = np.diff(self.copies_from)
        return counts

    @property
    def copy_bytes(self) -> Floats:
        sizes: Floats = self.size[self.copy_entry].astype(np.float64)
        return sizes


def entries_of(state: ClusterState, schedule: Schedule) -> Entries:
    """What the schedule copies. A partition's second entry and later ones are left out (the judge reports them)."""
    keep = first_mention(schedule.row)
    row = schedule.row[keep]
    before, after = state.partitions.replicas[row], schedule.after[keep]
    source = np.where(schedule.source[keep] == NO_BROKER, state.partitions.leader[row], schedule.source[keep])
    added = (after != NO_BROKER) & ~_contained(after, before)
    gone = (before != NO_BROKER) & ~_contained(before, after)
    copy_entry, column = np.nonzero(added)
    gone_entry, gone_column = np.nonzero(gone)
    counts = added.sum(axis=1)
    return Entries(
        row=row,
        before=before,
        after=after,
        source=source.astype(np.int32),
        size=state.partitions.size_bytes[row],
        copies_from=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        copy_entry=copy_entry.astype(np.int32),
        copy_target=after[copy_entry, column].astype(np.int32),
        gone_entry=gone_entry.astype(np.int32),
        gone_broker=before[gone_entry, gone_column].astype(np.int32),
        able=(counts == 0) | (source != NO_BROKER),
        copy_dir=_copy_dirs(state, schedule, keep[copy_entry], column, after[copy_entry, column]),
        gone_dir=_gone_dirs(state, row[gone_entry], gone_column),
    )


def _copy_dirs(state: ClusterState, schedule: Schedule, entry: Int64s, column: Int64s, target: Int32s) -> Int32s:
    """The directory the plan names, or the only one its target has."""
    if state.log_dirs is None:
        return np.full(target.size, NOWHERE, dtype=np.int32)
    count = np.bincount(state.log_dirs.broker, minlength=len(state.brokers))
    only = np.full(len(state.brokers), NOWHERE, dtype=np.int32)
    only[state.log_dirs.broker] = np.arange(len(state.log_dirs))
    only[count != 1] = NOWHERE
    planned = np.full(target.size, NOWHERE, np.int32) if schedule.log_dirs is None else schedule.log_dirs[entry, column]
    return np.where(planned == NOWHERE, only[target], planned).astype(np.int32)


def _gone_dirs(state: ClusterState, row: Int32s, column: Int64s) -> Int32s:
    if state.log_dirs is None:
        return np.full(row.size, NOWHERE, dtype=np.int32)
    return state.log_dirs.located[row, column]


def first_mention(row: Int32s) -> Int64s:
    """Positions of entries whose partition was not listed before, ascending."""
    return np.sort(np.unique(row, return_index=True)[1]).astype(np.int64)


def _contained(left: Int32s, right: Int32s) -> Bools:
    """bool, shape of `left`: whether the value stands anywhere in the same row of `right`."""
    found = np.zeros(left.shape, dtype=np.bool_)
    for column in range(right.shape[1]):
        found |= left == right[:, column, None]
    return found
