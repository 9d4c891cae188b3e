"""Log directories over the events of a replay: none may ever be filled beyond the limit (H4), both copies counted.

A copy whose directory is left to Kafka counts on its broker only: nobody knows which one gets it.
"""

from collections.abc import Iterator

import numpy as np

from planner.drain.model.state import NOWHERE, ClusterState, Floats, LogDirs
from planner.drain.replay.entries import Entries
from planner.drain.replay.event_log import EventLog, event_log, worst_per_broker
from planner.drain.replay.holdings import broker_name, partition_name
from planner.drain.replay.simulate import Run
from planner.drain.replay.violation import PlanRule, Violation


def log_dir_violations(state: ClusterState, entries: Entries, run: Run) -> Iterator[Violation]:
    """H1: a copy goes to a directory of its own target. H4: the worst instant of each directory is reported once."""
    if state.log_dirs is None:
        return
    yield from _strange(state, state.log_dirs, entries)
    log = _log(state.log_dirs, entries, run)
    allowed = np.floor(state.log_dirs.disk_bytes * state.disk_limit * (1 + 1e-12)).astype(np.int64)
    for event in worst_per_broker(log, (log.level - allowed[log.broker]) * (log.change > 0)):
        row = int(log.broker[event])
        detail = f"{int(log.level[event])} bytes in use or arriving, {int(allowed[row])} allowed"
        at_s = float(run.entry_start_s[log.entry[event]])
        yield Violation(PlanRule.DISK, log_dir_name(state, state.log_dirs, row), detail, at_s)


def log_dirs_after(state: ClusterState, entries: Entries, run: Run) -> Floats:
    """Fraction in use of each directory's disk when the plan is through: float64[D]."""
    if state.log_dirs is None:
        return np.zeros(0)
    log = _log(state.log_dirs, entries, run)
    last = state.log_dirs.used_bytes.copy()
    np.add.at(last, log.broker, log.change)
    return last / state.log_dirs.disk_bytes


def log_dir_name(state: ClusterState, log_dirs: LogDirs, row: int) -> str:
    return f"{broker_name(state, int(log_dirs.broker[row]))} log dir {log_dirs.path[row]}"


def _strange(state: ClusterState, log_dirs: LogDirs, entries: Entries) -> Iterator[Violation]:
    named = np.flatnonzero(entries.copy_dir != NOWHERE)
    owner = log_dirs.broker[entries.copy_dir[named]]
    for copy in named[owner != entries.copy_target[named]].tolist():
        name = log_dir_name(state, log_dirs, int(entries.copy_dir[copy]))
        detail = f"{broker_name(state, int(entries.copy_target[copy]))} is to use {name}"
        row = int(entries.row[entries.copy_entry[copy]])
        yield Violation(PlanRule.TARGETS, partition_name(state, row), detail)


def _log(log_dirs: LogDirs, entries: Entries, run: Run) -> EventLog:
    """An event log whose "brokers" are directories."""
    into, out = np.flatnonzero(entries.copy_dir != NOWHERE), np.flatnonzero(entries.gone_dir != NOWHERE)
    start, end = entries.copy_entry[into], entries.gone_entry[out]
    return event_log(
        broker=np.concatenate([entries.copy_dir[into], entries.gone_dir[out]]),
        tick=np.concatenate([run.entry_start_tick[start], run.entry_end_tick[end]]),
        change=np.concatenate([entries.size[start], -entries.size[end]]),
        entry=np.concatenate([start, end]),
        base=log_dirs.used_bytes,
    )
