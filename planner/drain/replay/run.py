"""Replays a schedule and measures it: the independent judge of every plan, ours and rivals'.

Shares no code with the planner. What is copied, when and at which rate comes from `simulate`; the hard rules are
checked on its event log (instants.py, checkpoints.py), so at every instant and not only at the end.
"""

from dataclasses import dataclass

import numpy as np

from planner.drain.model.plan import Schedule
from planner.drain.model.state import NO_BROKER, ClusterState, Floats, Int32s, Int64s
from planner.drain.replay.checkpoints import ReplayLimits, checkpoint_violations
from planner.drain.replay.dirs import log_dir_violations, log_dirs_after
from planner.drain.replay.entries import Entries, entries_of
from planner.drain.replay.event_log import disk_log
from planner.drain.replay.holdings import leader_counts, leaders_after, placement_after, used_bytes
from planner.drain.replay.instants import instant_violations
from planner.drain.replay.placements import placement_violations
from planner.drain.replay.simulate import Run, simulate
from planner.drain.replay.violation import Violation


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """What the plan reaches. Times in seconds; inf where something never ends.

    `release_s`: drained broker row -> when its last replica was dropped (0: it had none; inf: one is left behind).
    `disk_after`, `disk_worst`: float64[B], fraction used at the end and at the worst instant with all open copies
    counted whole. `leaders`: int64[B], partitions led after the preferred election. `leader_changes`: partitions
    whose leader then is not the leader now. `source_transfers`: entries read from a broker that is neither
    of the two. `left_behind`: replicas on drained brokers after the plan. `start_s`, `end_s`: float64[M] per entry.
    `log_dirs_after`: float64[D], as `disk_after`, of the log directories the state knows.
    """

    makespan_s: float
    release_s: dict[int, float]
    bytes_moved: int
    disk_after: Floats
    disk_worst: Floats
    leaders: Int64s
    leader_changes: int
    source_transfers: int
    left_behind: int
    violations: tuple[Violation, ...]
    start_s: Floats
    end_s: Floats
    log_dirs_after: Floats


def replay(state: ClusterState, schedule: Schedule, *, limits: ReplayLimits | None = None) -> Replay:
    """Runs the plan from t = 0 and checks H1-H9. Raises IndexError for a partition row the state does not have."""
    entries = entries_of(state, schedule)
    run = run_of(state, schedule, entries)
    after = placement_after(state, entries)
    leader = leaders_after(state, after, entries.row)
    used, worst = _disk_use(state, entries, run)
    return Replay(
        makespan_s=float(run.entry_end_s.max(initial=0.0)),
        release_s=_releases(state, entries, run, after),
        bytes_moved=int(entries.size[entries.copy_entry].sum()),
        disk_after=used,
        disk_worst=worst,
        leaders=leader_counts(leader, len(state.brokers)),
        leader_changes=int((leader != state.partitions.leader).sum()),
        source_transfers=_source_transfers(state, entries),
        left_behind=int((state.brokers.must_empty[after] & (after != NO_BROKER)).sum()),
        violations=(
            *placement_violations(state, schedule, entries),
            *instant_violations(state, schedule, entries, run),
            *log_dir_violations(state, entries, run),
            *checkpoint_violations(state, schedule, entries, run, limits or ReplayLimits()),
        ),
        start_s=run.entry_start_s,
        end_s=run.entry_end_s,
        log_dirs_after=log_dirs_after(state, entries, run),
    )


@dataclass(frozen=True, slots=True, eq=False)
class IngressSeries:
    """Ingress over time for the plot: `bytes_per_s` is float64[B, bins], the mean of each bin of `bin_s` seconds."""

    bin_s: float
    bytes_per_s: Floats


def ingress_series(state: ClusterState, schedule: Schedule, makespan_s: float, *, bins: int = 240) -> IngressSeries:
    """Replays once more and samples what every broker takes, from 0 to `makespan_s` (finite, > 0)."""
    run = run_of(state, schedule, entries_of(state, schedule), bin_s=makespan_s / bins, bins=bins)
    return IngressSeries(bin_s=run.bin_s, bytes_per_s=run.taken_bytes / run.bin_s)


def run_of(state: ClusterState, schedule: Schedule, entries: Entries, *, bin_s: float = 0.0, bins: int = 0) -> Run:
    """The bare simulation: bandwidths under throttles, slots per side, no rule checked."""
    brokers = state.brokers
    takes, gives = capacities(state, schedule)
    nodes = np.stack([entries.copy_target, entries.source[entries.copy_entry] + len(brokers)], axis=1)
    return simulate(
        copies_from=entries.copies_from,
        nodes=nodes.astype(np.int32),
        size=entries.copy_bytes,
        able=entries.able,
        capacity=np.concatenate([takes, gives]),
        slots=np.concatenate([schedule.slots_in, schedule.slots_out]).astype(np.int64),
        flow_cap=state.flow_bytes_per_s,
        volumes=np.full(len(brokers), np.inf) if state.volumes is None else state.volumes.io,
        bin_s=bin_s,
        bins=bins,
    )


def capacities(state: ClusterState, schedule: Schedule) -> tuple[Floats, Floats]:
    """What migration may use per broker, in and out: the smaller of bandwidth and throttle. Where volumes are known the
    bandwidths are within them.
    """
    return (
        np.minimum(state.brokers.ingress_bytes_per_s, schedule.throttle_in_bytes_per_s),
        np.minimum(state.brokers.egress_bytes_per_s, schedule.throttle_out_bytes_per_s),
    )


def _disk_use(state: ClusterState, entries: Entries, run: Run) -> tuple[Floats, Floats]:
    before = used_bytes(state, state.partitions.replicas)
    log = disk_log(entries, run, before)
    peak, last = before.copy(), before.copy()
    np.maximum.at(peak, log.broker, log.level)
    np.add.at(last, log.broker, log.change)
    disk = np.maximum(state.brokers.disk_bytes, 1)
    return last / disk, peak / disk


def _releases(state: ClusterState, entries: Entries, run: Run, after: Int32s) -> dict[int, float]:
    release = np.zeros(len(state.brokers))
    np.maximum.at(release, entries.gone_broker, run.entry_end_s[entries.gone_entry])
    release[np.unique(after[after != NO_BROKER])] = np.inf
    return {int(row): float(release[row]) for row in np.flatnonzero(state.brokers.must_empty)}


def _source_transfers(state: ClusterState, entries: Entries) -> int:
    led = state.partitions.leader[entries.row]
    moved = entries.copies > 0
    return int((moved & (entries.source != led) & (entries.source != entries.after[:, 0])).sum())
