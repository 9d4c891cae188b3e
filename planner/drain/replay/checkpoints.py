"""Rules at checkpoints: leaders (H7), and a list of checkpoints from which the rest can be cancelled (H8).

Checkpoint n is reached when the first n entries are complete; entries behind it may be open then, and are
cancelled back to the replicas they had.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from planner.drain.model.plan import Schedule
from planner.drain.model.state import NO_BROKER, ClusterState, Floats, Int32s
from planner.drain.replay.entries import Entries
from planner.drain.replay.event_log import NEVER
from planner.drain.replay.holdings import broker_name, leader_counts
from planner.drain.replay.simulate import Run
from planner.drain.replay.violation import PlanRule, Violation


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayLimits:
    """Policy the state file does not carry.

    `leader_peak`: at no checkpoint may a broker lead more than this many times what the fullest leads now or must
    lead after (H7): leadership gathers on sources until the preferred election. `entries_per_request`: Kafka's
    MAX_RECORDS_PER_USER_OP (KAFKA-14996).
    """

    leader_peak: float = 2.0
    entries_per_request: int = 10_000


def checkpoint_violations(
    state: ClusterState, schedule: Schedule, entries: Entries, run: Run, limits: ReplayLimits
) -> Iterator[Violation]:
    yield from _list(schedule, limits)
    yield from _leaders(state, schedule, entries, run, limits)


def _list(schedule: Schedule, limits: ReplayLimits) -> Iterator[Violation]:
    """H8, H6: ascending, the last one closes the list, at most one request's worth of entries between two."""
    before = 0
    for number in schedule.checkpoints:
        subject = f"checkpoint {number}"
        if number <= before or number > len(schedule):
            yield Violation(
                PlanRule.CHECKPOINTS, subject, f"stands after {before} in a list of {len(schedule)} entries"
            )
            continue
        if number - before > limits.entries_per_request:
            detail = f"{number - before} entries since the last, Kafka applies {limits.entries_per_request} per request"
            yield Violation(PlanRule.OPEN_MOVES, subject, detail)
        before = number
    if before != len(schedule):
        yield Violation(PlanRule.CHECKPOINTS, "checkpoints", f"end at {before}, the list has {len(schedule)} entries")


def _leaders(
    state: ClusterState, schedule: Schedule, entries: Entries, run: Run, limits: ReplayLimits
) -> Iterator[Violation]:
    """H7: who leads what when each checkpoint is reached, by number and by bytes written. Only listed partitions
    change hands, so each checkpoint is the present plus their difference.
    """
    able = max(int(state.brokers.may_receive.sum()), 1)
    led, brokers = state.partitions.leader, len(state.brokers)
    writes = np.nan_to_num(state.partitions.write_bytes_per_s)
    counts, written = leader_counts(led, brokers), _written(led, writes, brokers)
    rows = entries.row
    led_after = state.partitions.replicas[:, 0].copy()
    led_after[rows] = entries.after[:, 0]
    counts_after, written_after = leader_counts(led_after, brokers), _written(led_after, writes, brokers)
    most = limits.leader_peak * max(int(counts.max(initial=0)), int(counts_after.max(initial=0)), -(-len(led) // able))
    most_written = limits.leader_peak * max(
        written.max(initial=0.0), written_after.max(initial=0.0), writes.sum() / able, writes.max(initial=0.0)
    )
    counts -= leader_counts(led[rows], brokers)
    written -= _written(led[rows], writes[rows], brokers)
    for number in schedule.checkpoints:
        tick = int(run.entry_end_tick[:number].max(initial=0))
        if tick == NEVER:
            continue
        leader = _leaders_at(state, entries, run, tick)
        led_now = counts + leader_counts(leader, brokers)
        written_now = written + _written(leader, writes[rows], brokers)
        at_s = float(run.entry_end_s[:number].max(initial=0.0))
        for row in np.flatnonzero((led_now > most) | (written_now > most_written * (1 + 1e-9))).tolist():
            detail = (
                f"{broker_name(state, row)} leads {led_now[row]} partitions ({most:.0f} allowed), "
                f"{written_now[row]:.0f} bytes/s written ({most_written:.0f} allowed)"
            )
            yield Violation(PlanRule.LEADERS, f"checkpoint {number}", detail, at_s)


def _leaders_at(state: ClusterState, entries: Entries, run: Run, tick: int) -> Int32s:
    """Leader of each entry's partition: int32[M]. A started copy is led by its source; a completed one still, unless
    the source goes: then by the first replica after.
    """
    started = (entries.copies > 0) & (run.entry_start_tick <= tick)
    leader = np.where(started, entries.source, state.partitions.leader[entries.row])
    stays = (entries.after == leader[:, None]).any(axis=1)
    moved = (run.entry_end_tick <= tick) & ~stays
    return np.where(moved, entries.after[:, 0], leader).astype(np.int32)


def _written(leader: Int32s, writes: Floats, brokers: int) -> Floats:
    held = leader != NO_BROKER
    return np.bincount(leader[held], weights=writes[held], minlength=brokers).astype(np.float64)
