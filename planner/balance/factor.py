"""Another replication factor for topics: replicas are added where they spread best, or dropped where they are missed
least.
"""

from collections.abc import Sequence

import numpy as np

from planner.balance.answer import Answer, Missing, Shortfall
from planner.balance.homes import house, largest_first, yard_of
from planner.balance.loads import Figure, MeasuredLoads, borne, loads_of
from planner.balance.offline import answer_for, lacking
from planner.balance.rows import topics_of
from planner.balance.scoreboard import room_of
from planner.drain.model.state import NO_BROKER, ClusterState, Floats, Int32s, Int64s


def change_replication_factor(state: ClusterState, topics: Sequence[str], factor: int) -> Answer:
    """Every partition of these topics gets `factor` replicas. The leader never changes.

    Up: into racks the list does not use yet, then onto the broker least full after. Down: replicas out of sync and on
    brokers to be emptied first, then the rack that has most of the list's replicas, then the fullest broker; never
    below min ISR. Shortfall: too few brokers, no room, or a factor below min ISR (`stuck`). Raises ValueError for an
    unknown topic or a factor below 1. The replay's H1 holds for plans that keep the factor; these do not.
    """
    if factor < 1:
        raise ValueError(f"replication factor {factor}: at least 1")
    parts = state.partitions
    mine = np.isin(parts.topic, topics_of(state, topics))
    held = (parts.replicas != NO_BROKER).sum(axis=1)
    able = int(state.brokers.may_receive.sum())
    few = np.flatnonzero(mine & (held < factor))
    if few.size and able < factor:
        short = factor - able
        return Shortfall(
            message=f"{factor} replicas need {factor} brokers that may receive, there are {able}",
            missing=Missing("brokers", short, f"{short} broker{'s' * (short != 1)}"),
            stuck=tuple(int(row) for row in few),
        )
    many = np.flatnonzero(mine & (held > factor))
    shrunk, low = _shrunk(state, many, factor)
    if low:
        return Shortfall(
            message=f"{factor} replicas are fewer than min.insync.replicas, or than have to stay in sync: no write "
            f"with acks=all would be accepted",
            missing=Missing("in-sync", float(parts.min_isr[list(low)].max()), "lower min.insync.replicas first"),
            stuck=low,
        )
    return _answer(state, few, many, shrunk, factor)


def _answer(state: ClusterState, few: Int64s, many: Int64s, shrunk: Int32s, factor: int) -> Answer:
    parts = state.partitions
    movable, left = _readable(state, few)
    wide = max(factor, parts.replicas.shape[1])
    lists = np.full((len(parts), wide), NO_BROKER, dtype=np.int64)
    lists[:, : parts.replicas.shape[1]] = parts.replicas
    loads = loads_of(state, MeasuredLoads())
    room = room_of(state, borne(loads, parts.replicas, parts.leader)[:, Figure.DISK])
    yard = yard_of(state, loads, lists, room)
    wanted = np.full(len(parts), factor, dtype=np.int64)
    done = house(
        yard, largest_first(yard.size, movable), wanted, np.zeros(len(parts), np.int64), state.brokers.may_receive
    )
    placed = movable[done[movable]]
    row = np.concatenate([many, placed]).astype(np.int32)
    after = np.full((len(row), wide), NO_BROKER, dtype=np.int32)
    after[: len(many), : shrunk.shape[1]] = shrunk
    after[len(many) :] = yard.lists[placed]
    best = answer_for(state, row, after, left)
    stuck = movable[~done[movable]]
    copies = factor - (parts.replicas != NO_BROKER).sum(axis=1)
    return lacking(state, stuck, copies, yard.room, best) if stuck.size else best


def _readable(state: ClusterState, rows: Int64s) -> tuple[Int64s, tuple[tuple[int, str], ...]]:
    """Rows that can be copied now, and the others with why not (H1, H3)."""
    parts, brokers = state.partitions, state.brokers
    held = parts.replicas[rows] != NO_BROKER
    lagging = (held & ~parts.in_sync[rows]).any(axis=1) | (parts.leader[rows] == NO_BROKER)
    leaving = (np.append(brokers.must_empty, False)[parts.replicas[rows]] & held).any(axis=1)
    why = np.where(leaving, "is on a broker to be emptied: drain first", "is not wholly in sync: repair first")
    bad = lagging | leaving
    return rows[~bad], tuple((int(r), str(w)) for r, w in zip(rows[bad], why[bad], strict=True))


def _shrunk(state: ClusterState, rows: Int64s, factor: int) -> tuple[Int32s, tuple[int, ...]]:
    """New lists int32[N, W], and the rows that may not be that short."""
    parts = state.partitions
    used = np.zeros(len(state.brokers))
    for column in range(parts.replicas.shape[1]):
        held = parts.replicas[:, column] != NO_BROKER
        np.add.at(used, parts.replicas[held, column], parts.size_bytes[held].astype(np.float64))
    fill = used / np.maximum(state.brokers.disk_bytes, 1)
    lists = np.full((len(rows), parts.replicas.shape[1]), NO_BROKER, dtype=np.int32)
    low = []
    for at, row in enumerate(rows.tolist()):
        kept = _kept(state, row, factor, fill, used)
        synced = {
            int(b) for b, ok in zip(parts.replicas[row], parts.in_sync[row], strict=True) if ok and b != NO_BROKER
        }
        if factor < parts.min_isr[row] or len(synced.intersection(kept)) < min(int(parts.min_isr[row]), len(synced)):
            low.append(row)
        lists[at, : len(kept)] = kept
    return lists, tuple(low)


def _kept(state: ClusterState, row: int, factor: int, fill: Floats, used: Floats) -> list[int]:
    """The replicas that stay, the leader in front, the others in their order. `fill` and `used` follow what goes."""
    parts, brokers = state.partitions, state.brokers
    kept = [int(b) for b in parts.replicas[row] if b != NO_BROKER]
    synced = {int(b): bool(ok) for b, ok in zip(parts.replicas[row], parts.in_sync[row], strict=True)}
    leader = int(parts.leader[row])
    while len(kept) > factor:
        racks = [int(brokers.rack[b]) for b in kept]

        def worth(b: int, racks: list[int] = racks) -> tuple[bool, bool, bool, int, float, int]:
            alone = racks.count(int(brokers.rack[b]))
            return b == leader, not brokers.must_empty[b], synced[b], -alone, -fill[b], -b

        drop = min(kept, key=worth)
        kept.remove(drop)
        used[drop] -= float(parts.size_bytes[row])
        fill[drop] = used[drop] / max(float(brokers.disk_bytes[drop]), 1.0)
    return sorted(kept, key=lambda b: b != leader)
