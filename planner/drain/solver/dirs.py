"""Which log directory of its target a new replica goes to. Kafka would take the one with the fewest partitions.

Largest first, each into the directory that ends emptiest relative to its size. Both copies are held while a move runs
and nothing is counted as freed, so what fits together at the end fits at every instant. Where whole logs do not fit
that way: tightest fit, then logs changing places inside the broker, then another broker.
"""

from dataclasses import dataclass, replace

import numpy as np

from planner.drain.model.compiled import compiled
from planner.drain.model.plan import Schedule
from planner.drain.model.state import NO_BROKER, NOWHERE, ClusterState, Int32s, Int64s
from planner.drain.solver.demand import distinct_racks

EMPTIEST, TIGHTEST = 0, 1

_LEFT_TO_KAFKA = -2


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """`schedule` with directories. `missed`: int64[K], its entries with a copy that fits none of its target's.
    `widest`: of the largest of those the directory of its target with the most room, and that room in bytes.
    """

    schedule: Schedule
    missed: Int64s
    widest: tuple[int, int] = (NOWHERE, 0)


@dataclass(slots=True, eq=False)
class _Layout:
    """C copies and D directories. `target`: int32[C]; `directory`: int32[C], NOWHERE = none yet. `room`: int64[D] bytes
    that may still come; `used`, `disk`: [D]. `first`: int64[B + 1]. `spare`: int64[B] room of whole brokers.
    """

    entry: Int64s
    column: Int64s
    target: Int32s
    size: Int64s
    directory: Int32s
    room: Int64s
    used: Int64s
    disk: Int64s
    first: Int64s
    spare: Int64s

    def put(self, copy: int, directory: int) -> None:
        self.directory[copy] = directory
        self.room[directory] -= self.size[copy]
        self.used[directory] += self.size[copy]

    def take(self, copy: int) -> None:
        directory = self.directory[copy]
        self.room[directory] += self.size[copy]
        self.used[directory] -= self.size[copy]
        self.directory[copy] = NOWHERE

    def dirs_of(self, broker: int) -> range:
        return range(int(self.first[broker]), int(self.first[broker + 1]))


def in_log_dirs(state: ClusterState, schedule: Schedule, *, elsewhere: bool = True) -> Placed:
    """The schedule with a directory for every copy whose target has several that are known. With `elsewhere` some
    copies may get another target for that. Without such targets the schedule is handed back as it is.
    """
    if state.log_dirs is None or not len(schedule):
        return Placed(schedule, np.zeros(0, dtype=np.int64))
    layout = _layout(state, schedule)
    _fill(layout.target, layout.size, layout.first, layout.disk, layout.used, layout.room, layout.directory, EMPTIEST)
    after = schedule.after.copy()
    for broker in np.unique(layout.target[_missing(layout)]).tolist():
        _again(layout, broker)
    for copy in _missing(layout).tolist() if elsewhere else ():
        _elsewhere(state, schedule, layout, after, copy)
    missing = _missing(layout)
    several = np.diff(layout.first)[layout.target] > 1
    log_dirs = np.full(after.shape, NOWHERE, dtype=np.int32)
    log_dirs[layout.entry[several], layout.column[several]] = layout.directory[several]
    placed = replace(schedule, after=after, log_dirs=log_dirs if several.any() else None)
    return Placed(placed, np.unique(layout.entry[missing]), _widest(layout, missing))


def no_wider_than_dirs(state: ClusterState) -> ClusterState:
    """The state with disks of brokers no larger than what their directories may still take lets them be: other files
    in a directory, or one that is too full already, leave less room than the whole disk seems to have.
    """
    if state.log_dirs is None:
        return state
    disk = state.brokers.disk_bytes
    parts = state.partitions
    held: Int64s = np.zeros(disk.size, dtype=np.int64)
    row, column = np.nonzero(parts.replicas != NO_BROKER)
    np.add.at(held, parts.replicas[row, column], parts.size_bytes[row])
    room: Int64s = np.zeros(disk.size, dtype=np.int64)
    np.add.at(room, state.log_dirs.broker, np.maximum(room_of(state), 0))
    # + 1 byte: rounding down must not take the last byte that fits
    fitting = np.floor((held + room + 1) / state.disk_limit).astype(np.int64)
    known = np.isin(np.arange(disk.size), state.log_dirs.broker)
    narrower = np.where(known, np.minimum(disk, np.maximum(fitting, 1)), disk)
    return replace(state, brokers=replace(state.brokers, disk_bytes=narrower))


def without(schedule: Schedule, entries: Int64s) -> Schedule:
    """The schedule less these entries; a checkpoint that loses all of its own goes too."""
    kept = np.setdiff1d(np.arange(len(schedule)), entries)
    ends = np.searchsorted(kept, schedule.checkpoints).tolist()
    return replace(
        schedule,
        row=schedule.row[kept],
        after=schedule.after[kept],
        source=schedule.source[kept],
        log_dirs=None if schedule.log_dirs is None else schedule.log_dirs[kept],
        checkpoints=tuple(sorted({int(n) for n in ends if n > 0})),
    )


def room_of(state: ClusterState) -> Int64s:
    """int64[D]: bytes each directory may still take before the disk limit; below 0 where it is above that already."""
    assert state.log_dirs is not None
    limit = np.floor(state.log_dirs.disk_bytes * state.disk_limit).astype(np.int64)
    return np.asarray(limit - state.log_dirs.used_bytes, dtype=np.int64)


def _layout(state: ClusterState, schedule: Schedule) -> _Layout:
    """Copies to brokers with known directories, the largest first."""
    assert state.log_dirs is not None
    first = state.log_dirs.first_of(len(state.brokers))
    before = state.partitions.replicas[schedule.row]
    held = (schedule.after[:, :, None] == before[:, None, :]).any(axis=2)
    entry, column = np.nonzero((schedule.after != NO_BROKER) & ~held)
    target, size = schedule.after[entry, column], state.partitions.size_bytes[schedule.row[entry]]
    spare = _spare(state, target, size)
    known = np.diff(first)[target] > 0
    entry, column, target, size = entry[known], column[known], target[known], size[known]
    order = np.lexsort((column, entry, -size))
    return _Layout(
        entry=entry[order],
        column=column[order],
        target=target[order].astype(np.int32),
        size=size[order].astype(np.int64),
        directory=np.full(order.size, NOWHERE, dtype=np.int32),
        room=room_of(state),
        used=state.log_dirs.used_bytes.copy(),
        disk=state.log_dirs.disk_bytes,
        first=first,
        spare=spare,
    )


def _spare(state: ClusterState, target: Int32s, size: Int64s) -> Int64s:
    """int64[B]: what each broker as a whole may take beside its logs and everything that is on its way to it."""
    taken: Int64s = np.zeros(len(state.brokers), dtype=np.int64)
    row, column = np.nonzero(state.partitions.replicas != NO_BROKER)
    np.add.at(taken, state.partitions.replicas[row, column], state.partitions.size_bytes[row])
    np.add.at(taken, target, size)
    return np.asarray(np.floor(state.brokers.disk_bytes * state.disk_limit).astype(np.int64) - taken, dtype=np.int64)


def _missing(layout: _Layout) -> Int64s:
    return np.flatnonzero(layout.directory == NOWHERE).astype(np.int64)


def _widest(layout: _Layout, missing: Int64s) -> tuple[int, int]:
    if not missing.size:
        return NOWHERE, 0
    dirs = layout.dirs_of(int(layout.target[missing[0]]))
    widest = max(dirs, key=lambda d: int(layout.room[d]))
    return widest, int(layout.room[widest])


@compiled
def _fill(
    target: Int32s, size: Int64s, first: Int64s, disk: Int64s, used: Int64s, room: Int64s, directory: Int32s, how: int
) -> int:
    """Gives each copy in turn a directory: the one that ends emptiest, or (`how` 1) the one with the least room that
    fits it. Changes `used`, `room`, `directory`; copies that fit none keep NOWHERE and are counted.
    """
    missed = 0
    for copy in range(target.size):
        best, least = -1, np.inf
        for d in range(first[target[copy]], first[target[copy] + 1]):
            # nothing can be filled beyond its limit by an empty log
            if size[copy] > 0 and room[d] < size[copy]:
                continue
            rank = (used[d] + size[copy]) / disk[d] if how == 0 else float(room[d])
            if rank < least:
                best, least = d, rank
        directory[copy] = best
        if best < 0:
            missed += 1
            continue
        used[best] += size[copy]
        room[best] -= size[copy]
    return missed


def _again(layout: _Layout, broker: int) -> None:
    """One broker whose logs did not fit: the tightest fit where that misses fewer, then logs change places."""
    mine = np.flatnonzero(layout.target == broker)
    dirs = layout.dirs_of(broker)
    first = np.array([0, len(dirs)], dtype=np.int64)
    room, used = layout.room[dirs.start : dirs.stop].copy(), layout.used[dirs.start : dirs.stop].copy()
    for copy in mine[layout.directory[mine] >= 0].tolist():
        room[layout.directory[copy] - dirs.start] += layout.size[copy]
        used[layout.directory[copy] - dirs.start] -= layout.size[copy]
    tight = np.full(mine.size, NOWHERE, dtype=np.int32)
    none = np.zeros(mine.size, dtype=np.int32)
    disk = layout.disk[dirs.start : dirs.stop]
    missed = _fill(none, layout.size[mine], first, disk, used, room, tight, TIGHTEST)
    if missed < int((layout.directory[mine] == NOWHERE).sum()):
        layout.directory[mine] = np.where(tight >= 0, tight + dirs.start, NOWHERE)
        layout.room[dirs.start : dirs.stop], layout.used[dirs.start : dirs.stop] = room, used
    for copy in mine[layout.directory[mine] == NOWHERE].tolist():
        _make_way(layout, mine, dirs, copy)


def _make_way(layout: _Layout, mine: Int64s, dirs: range, copy: int) -> None:
    """Another log of the broker leaves a directory for good, or for a smaller one, so that this one fits there."""
    for into in sorted(dirs, key=lambda d: -int(layout.room[d])):
        short = int(layout.size[copy] - layout.room[into])
        there = mine[layout.directory[mine] == into]
        there = there[layout.size[there] >= short][::-1]
        for other in (d for d in dirs if d != into):
            fits = there[layout.size[there] <= layout.room[other]]
            if fits.size:
                _shift(layout, int(fits[0]), other)
                layout.put(copy, into)
                return
            pair = _exchange(layout, there, mine[layout.directory[mine] == other], short, int(layout.room[other]))
            if pair is not None:
                bigger, smaller = pair
                _shift(layout, bigger, other)
                _shift(layout, smaller, into)
                layout.put(copy, into)
                return


def _exchange(layout: _Layout, here: Int64s, there: Int64s, short: int, room: int) -> tuple[int, int] | None:
    """A log of `here` and a smaller one of `there` that may change places: their difference is at least `short` and
    at most the `room` there. `here` is ascending by size.
    """
    if not here.size or not there.size:
        return None
    ascending = there[::-1]
    sizes = layout.size[ascending]
    for bigger in here.tolist():
        at = int(np.searchsorted(sizes, layout.size[bigger] - room))
        if at < sizes.size and layout.size[bigger] - sizes[at] >= short:
            return bigger, int(ascending[at])
    return None


def _shift(layout: _Layout, copy: int, directory: int) -> None:
    layout.take(copy)
    layout.put(copy, directory)


def _elsewhere(state: ClusterState, schedule: Schedule, layout: _Layout, after: Int32s, copy: int) -> None:
    """Another target for a copy that fits no directory of its own: the one that ends emptiest and keeps the racks."""
    entry, column, size = int(layout.entry[copy]), int(layout.column[copy]), int(layout.size[copy])
    best, end = (NO_BROKER, NOWHERE), np.inf
    for broker in _others(state, schedule, after, entry, column):
        if layout.spare[broker] < size:
            continue
        dirs = [d for d in layout.dirs_of(broker) if layout.room[d] >= size]
        if not dirs and len(layout.dirs_of(broker)):
            continue
        fills = {d: float((layout.used[d] + size) / layout.disk[d]) for d in dirs}
        emptiest = min(dirs, key=lambda d: fills[d], default=NOWHERE)
        disk = float(state.brokers.disk_bytes[broker])
        fill = fills[emptiest] if dirs else state.disk_limit - (layout.spare[broker] - size) / disk
        if fill < end:
            best, end = (broker, emptiest), fill
    broker, directory = best
    if broker == NO_BROKER:
        return
    layout.spare[layout.target[copy]] += size
    layout.spare[broker] -= size
    layout.target[copy] = broker
    after[entry, column] = broker
    if directory != NOWHERE:
        layout.put(copy, directory)
        return
    # A target whose directories are not known: Kafka chooses there, so there is nothing left to find.
    layout.directory[copy] = _LEFT_TO_KAFKA


def _others(state: ClusterState, schedule: Schedule, after: Int32s, entry: int, column: int) -> list[int]:
    """Brokers that may take the copy instead: receive, hold no replica of it, named where destinations bind it, and
    the list spans as many racks with them.
    """
    rack, before = state.brokers.rack, state.partitions.replicas[schedule.row[entry]]
    may = state.brokers.may_receive.copy()
    may[after[entry][after[entry] != NO_BROKER]] = False
    may[before[before != NO_BROKER]] = False
    for gone in before[before != NO_BROKER].tolist():
        if gone not in after[entry] and gone in state.destinations:
            may &= np.isin(np.arange(may.size), state.destinations[gone])
    ids = np.flatnonzero(may)
    lists = np.repeat(after[entry][None, :], ids.size + 1, axis=0)
    lists[1:, column] = ids
    racks = distinct_racks(rack, lists, lists != NO_BROKER)
    fitting: list[int] = ids[racks[1:] >= racks[0]].tolist()
    return fitting
