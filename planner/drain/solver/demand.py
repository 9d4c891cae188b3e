"""What has to leave and what may take it: the partitions of a drain as arrays the kernels read."""

from dataclasses import dataclass

import numpy as np

from planner.drain.model.state import NO_BROKER, Bools, BrokerState, ClusterState, Floats, Int32s, Int64s


@dataclass(frozen=True, slots=True, eq=False)
class Demand:
    """N partitions with a replica on a drained broker, in the order of the state.

    `row`: int32[N] into the state's partitions. `copies`: int32[N], replicas to copy. `leaves`: int32[N, K], the
    drained brokers they leave, home rack order of the list, padded with NO_BROKER. `kept`: int32[N, W], replicas
    that stay. `sources`: int32[N, W], who may be read: in sync and not dead. `leader`: int32[N]. `spare`: int32[N],
    how many copies may go to a rack the partition already uses (H2). `size`: float64[N] bytes of one copy.
    """

    row: Int32s
    copies: Int32s
    leaves: Int32s
    kept: Int32s
    sources: Int32s
    leader: Int32s
    spare: Int32s
    size: Floats

    def __len__(self) -> int:
        return int(self.row.size)

    @property
    def copied_bytes(self) -> float:
        return float((self.size * self.copies).sum())


def affected(state: ClusterState) -> Int64s:
    """Rows of the partitions with a replica on a drained broker."""
    out = np.append(state.brokers.must_empty, False)
    rows: Int64s = np.flatnonzero(out[state.partitions.replicas].any(axis=1))
    return rows


def demand_of(state: ClusterState, rows: Int64s, *, leaders_stay: bool = False) -> Demand:
    """`leaders_stay`: who leads now is the only one that may be read, wherever it can be."""
    brokers, parts = state.brokers, state.partitions
    replicas = parts.replicas[rows]
    out = np.append(brokers.must_empty, False)
    leaving = out[replicas]
    staying = (replicas != NO_BROKER) & ~leaving
    readable = parts.in_sync[rows] & (replicas != NO_BROKER)
    readable &= np.append(brokers.state != BrokerState.DEAD, False)[replicas]
    if leaders_stay:
        leads = readable & (replicas == parts.leader[rows][:, None])
        readable = np.where(leads.any(axis=1)[:, None], leads, readable)
    copies = leaving.sum(axis=1).astype(np.int32)
    width = max(1, int(copies.max(initial=1)))
    return Demand(
        row=rows.astype(np.int32),
        copies=copies,
        leaves=_left_packed(replicas, leaving)[:, :width],
        kept=_left_packed(replicas, staying),
        sources=_left_packed(replicas, readable),
        leader=parts.leader[rows],
        spare=_spare(state, replicas, staying, copies),
        size=parts.size_bytes[rows].astype(np.float64),
    )


def _left_packed(replicas: Int32s, chosen: Bools) -> Int32s:
    order = np.argsort(~chosen, axis=1, kind="stable")
    packed: Int32s = np.where(
        np.take_along_axis(chosen, order, axis=1), np.take_along_axis(replicas, order, axis=1), NO_BROKER
    ).astype(np.int32)
    return np.ascontiguousarray(packed)


def _spare(state: ClusterState, replicas: Int32s, staying: Bools, copies: Int32s) -> Int32s:
    """Copies that may repeat a rack: distinct racks after >= min(before, racks that still have a broker)."""
    brokers = state.brokers
    able = int(np.unique(brokers.rack[brokers.may_receive]).size)
    before = distinct_racks(brokers.rack, replicas, replicas != NO_BROKER)
    need = np.minimum(before, able)
    spare: Int32s = (distinct_racks(brokers.rack, replicas, staying) + copies - need).astype(np.int32)
    return spare


def distinct_racks(rack: Int32s, replicas: Int32s, counted: Bools) -> Int64s:
    """int64[N]: distinct racks of the counted replicas of each row."""
    codes = np.where(counted, rack[replicas], -1)
    codes.sort(axis=1)
    fresh = codes >= 0
    fresh[:, 1:] &= codes[:, 1:] != codes[:, :-1]
    total: Int64s = fresh.sum(axis=1)
    return total
