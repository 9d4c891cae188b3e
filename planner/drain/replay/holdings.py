"""Where replicas are before and after a plan, and how many bytes that puts on every broker."""

import numpy as np

from planner.drain.model.state import NO_BROKER, Bools, BrokerState, ClusterState, Int32s, Int64s
from planner.drain.replay.entries import Entries


def placement_after(state: ClusterState, entries: Entries) -> Int32s:
    """Replicas of every partition when the plan is through: int32[P, W], padded with NO_BROKER."""
    now = state.partitions.replicas
    width = max(now.shape[1], entries.after.shape[1])
    after = np.full((len(now), width), NO_BROKER, dtype=np.int32)
    after[:, : now.shape[1]] = now
    after[entries.row] = NO_BROKER
    after[entries.row, : entries.after.shape[1]] = entries.after
    return after


def used_bytes(state: ClusterState, replicas: Int32s) -> Int64s:
    """Bytes of log per broker under a placement: int64[B], exact."""
    used = np.zeros(len(state.brokers), dtype=np.int64)
    for column in range(replicas.shape[1]):
        held = replicas[:, column] != NO_BROKER
        np.add.at(used, replicas[held, column], state.partitions.size_bytes[held])
    return used


def leaders_after(state: ClusterState, after: Int32s, listed: Int32s | Int64s) -> Int32s:
    """int32[P]: who leads after a preferred election, NO_BROKER where none can. `after`: int32[P, W]; `listed`: rows
    the plan names, whose replicas are in sync when it is through.

    Kafka elects the first replica where it lives and is in sync; else it leaves in charge who is.
    """
    parts = state.partitions
    lives = np.append(state.brokers.state != BrokerState.DEAD, False)
    first = after[:, 0]
    able: Bools = lives[first] & (parts.in_sync[:, 0] & (parts.replicas[:, 0] == first))
    able[listed] = lives[first[listed]]
    stays = lives[parts.leader] & (after == parts.leader[:, None]).any(axis=1)
    return np.where(able, first, np.where(stays, parts.leader, NO_BROKER)).astype(np.int32)


def leader_counts(leader: Int32s, brokers: int) -> Int64s:
    """Partitions led per broker: int64[B]; leaderless ones count nowhere."""
    counts: Int64s = np.bincount(leader[leader != NO_BROKER], minlength=brokers).astype(np.int64)
    return counts


def partition_name(state: ClusterState, row: int) -> str:
    parts = state.partitions
    return f"{parts.topics[int(parts.topic[row])]}-{int(parts.partition[row])}"


def broker_name(state: ClusterState, row: int) -> str:
    return f"broker {int(state.brokers.id[row])}"
