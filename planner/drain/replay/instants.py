"""Rules that must hold at every instant: disk (H4), bandwidth (H5), open moves (H6), livelock (H9), and an end."""

from collections.abc import Iterator

import numpy as np

from planner.drain.model.plan import Schedule
from planner.drain.model.state import ClusterState
from planner.drain.replay.entries import Entries
from planner.drain.replay.event_log import EventLog, disk_log, event_log, giving_log, taking_log, worst_per_broker
from planner.drain.replay.holdings import broker_name, partition_name, used_bytes
from planner.drain.replay.simulate import Run
from planner.drain.replay.violation import PlanRule, Violation

LOAD_TOLERANCE = 1e-6


def instant_violations(state: ClusterState, schedule: Schedule, entries: Entries, run: Run) -> Iterator[Violation]:
    """The worst instant of each broker and rule is reported once."""
    yield from _unfinished(state, entries, run)
    yield from _disk(state, entries, run)
    yield from _bandwidth(state, run)
    yield from _open_moves(state, schedule, entries, run)
    yield from _livelock(state, schedule, entries, run)


def _unfinished(state: ClusterState, entries: Entries, run: Run) -> Iterator[Violation]:
    for entry in np.flatnonzero(~np.isfinite(run.entry_end_s)).tolist():
        start_s = float(run.entry_start_s[entry])
        if np.isfinite(start_s):
            why = "starts and never ends: its source or a target has no bandwidth"
        elif not entries.able[entry]:
            why = "never starts: it has no leader and names no source"
        else:
            why = "never starts: its source or a target never has a free slot"
        subject = partition_name(state, int(entries.row[entry]))
        yield Violation(PlanRule.UNFINISHED, subject, why, start_s if np.isfinite(start_s) else 0.0)


def _disk(state: ClusterState, entries: Entries, run: Run) -> Iterator[Violation]:
    """H4: held + everything arriving <= limit, looked at whenever a copy starts (nothing else adds bytes)."""
    log = disk_log(entries, run, used_bytes(state, state.partitions.replicas))
    allowed = np.floor(state.brokers.disk_bytes * state.disk_limit * (1 + 1e-12)).astype(np.int64)
    excess = (log.level - allowed[log.broker]) * (log.change > 0)
    for event in worst_per_broker(log, excess):
        row = int(log.broker[event])
        detail = f"{int(log.level[event])} bytes held or arriving, {int(allowed[row])} allowed"
        yield _at(state, PlanRule.DISK, log, event, run, detail)


def _bandwidth(state: ClusterState, run: Run) -> Iterator[Violation]:
    """H5: the rates given out never pass what a broker may take or give, nor both together what its volumes do."""
    count = len(state.brokers)
    for node in np.flatnonzero(run.overload > 1 + LOAD_TOLERANCE).tolist():
        verb = ("takes", "gives", "writes and reads")[node // count]
        detail = f"{verb} {run.overload[node]:.4f} times what migration may use"
        yield Violation(PlanRule.BANDWIDTH, broker_name(state, node % count), detail)


def _open_moves(state: ClusterState, schedule: Schedule, entries: Entries, run: Run) -> Iterator[Violation]:
    """H6: copies in flight within the target's slots; a source has a slot free before an entry starts."""
    log = taking_log(entries, run, len(state.brokers))
    excess = log.level - schedule.slots_in[log.broker]
    for event in worst_per_broker(log, excess):
        slots = int(schedule.slots_in[log.broker[event]])
        yield _at(state, PlanRule.OPEN_MOVES, log, event, run, f"takes {int(log.level[event])} copies, {slots} slots")
    log = giving_log(entries, run, len(state.brokers))
    excess = (log.level - log.change + 1 - schedule.slots_out[log.broker]) * (log.change > 0)
    for event in worst_per_broker(log, excess):
        slots = int(schedule.slots_out[log.broker[event]])
        yield _at(state, PlanRule.OPEN_MOVES, log, event, run, f"gives {int(log.level[event])} copies, {slots} slots")


def _livelock(state: ClusterState, schedule: Schedule, entries: Entries, run: Run) -> Iterator[Violation]:
    """H9: what in-sync followers of an open move fetch is charged to the quota of its source too (KafkaApis
    `sizeOfThrottledPartitions`), so the quota must stay above the sum of write rate x in-sync followers. Without a
    throttle there is no quota; what migration may use is net of live writes and none either. Unmeasured write rates
    count nothing: the certificate names them as an assumption.
    """
    moving = np.flatnonzero(entries.copies > 0).astype(np.int32)
    row = entries.row[moving]
    followers = np.maximum(state.partitions.in_sync[row].sum(axis=1) - 1, 0)
    charge = np.ceil(np.nan_to_num(state.partitions.write_bytes_per_s[row]) * followers).astype(np.int64)
    log = event_log(
        broker=np.concatenate([entries.source[moving], entries.source[moving]]),
        tick=np.concatenate([run.entry_start_tick[moving], run.entry_end_tick[moving]]),
        change=np.concatenate([charge, -charge]),
        entry=np.concatenate([moving, moving]),
        base=np.zeros(len(state.brokers), dtype=np.int64),
    )
    quota = schedule.throttle_out_bytes_per_s
    allowed = np.where(np.isfinite(quota), np.ceil(np.minimum(quota, 2.0**62)), 2.0**62).astype(np.int64) - 1
    for event in worst_per_broker(log, (log.level - allowed[log.broker]) * (log.change > 0)):
        most = quota[log.broker[event]]
        detail = f"in-sync followers are charged {int(log.level[event])} bytes/s of a quota of {most:.0f}: no copy ends"
        yield _at(state, PlanRule.LIVELOCK, log, event, run, detail)


def _at(state: ClusterState, rule: PlanRule, log: EventLog, event: int, run: Run, detail: str) -> Violation:
    start_s = float(run.entry_start_s[log.entry[event]])
    return Violation(rule, broker_name(state, int(log.broker[event])), detail, start_s)
