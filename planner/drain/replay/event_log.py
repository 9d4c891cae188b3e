"""Running sums per broker over the events of a replay: what rules that hold at every instant are checked on."""

from dataclasses import dataclass

import numpy as np

from planner.drain.model.state import Int32s, Int64s
from planner.drain.replay.entries import Entries
from planner.drain.replay.simulate import Run

NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True, eq=False)
class EventLog:
    """E events in order of (broker, tick). `level` is the broker's sum after the event; `entry` caused it."""

    broker: Int32s
    tick: Int64s
    change: Int64s
    entry: Int32s
    level: Int64s


def event_log(*, broker: Int32s, tick: Int64s, change: Int64s, entry: Int32s, base: Int64s) -> EventLog:
    """Sums up events given in any order; those that never happen (tick NEVER) are left out. `base`: int64[B]."""
    happened = np.flatnonzero(tick != NEVER)
    order = happened[np.lexsort((tick[happened], broker[happened]))]
    broker, change = broker[order].astype(np.int32), change[order].astype(np.int64)
    total = np.cumsum(change)
    first = np.searchsorted(broker, np.arange(base.size), side="left")
    before = np.concatenate([[0], total])[first]
    level = total - before[broker] + base[broker]
    return EventLog(broker=broker, tick=tick[order], change=change, entry=entry[order].astype(np.int32), level=level)


def disk_log(entries: Entries, run: Run, used: Int64s) -> EventLog:
    """Bytes held or promised: a copy counts whole from its start, an old replica until its entry completes."""
    size = entries.size
    return event_log(
        broker=np.concatenate([entries.copy_target, entries.gone_broker]),
        tick=np.concatenate([run.entry_start_tick[entries.copy_entry], run.entry_end_tick[entries.gone_entry]]),
        change=np.concatenate([size[entries.copy_entry], -size[entries.gone_entry]]),
        entry=np.concatenate([entries.copy_entry, entries.gone_entry]),
        base=used,
    )


def taking_log(entries: Entries, run: Run, brokers: int) -> EventLog:
    """Copies in flight per target."""
    ones = np.ones(entries.copy_entry.size, dtype=np.int64)
    return event_log(
        broker=np.concatenate([entries.copy_target, entries.copy_target]),
        tick=np.concatenate([run.entry_start_tick[entries.copy_entry], run.copy_end_tick]),
        change=np.concatenate([ones, -ones]),
        entry=np.concatenate([entries.copy_entry, entries.copy_entry]),
        base=np.zeros(brokers, dtype=np.int64),
    )


def giving_log(entries: Entries, run: Run, brokers: int) -> EventLog:
    """Copies in flight per source; an entry's copies start as one event."""
    moving = np.flatnonzero(entries.copies > 0).astype(np.int32)
    return event_log(
        broker=np.concatenate([entries.source[moving], entries.source[entries.copy_entry]]),
        tick=np.concatenate([run.entry_start_tick[moving], run.copy_end_tick]),
        change=np.concatenate([entries.copies[moving], np.full(entries.copy_entry.size, -1)]),
        entry=np.concatenate([moving, entries.copy_entry]),
        base=np.zeros(brokers, dtype=np.int64),
    )


def worst_per_broker(log: EventLog, excess: Int64s) -> list[int]:
    """The event with the largest positive excess of each broker, ascending by broker."""
    over = np.flatnonzero(excess > 0)
    ranked = over[np.lexsort((-excess[over], log.broker[over]))]
    firsts = np.unique(log.broker[ranked], return_index=True)[1]
    worst: list[int] = ranked[firsts].tolist()
    return worst
