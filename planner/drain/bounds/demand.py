"""What has to be copied, grouped into classes that may legally go to the same places.

A *class* is all partitions that lose the same number of replicas and keep the same racks (and, where it matters,
the same brokers): their copies have the same legal targets, so flow bounds need one node per class, whatever the
number of partitions.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from planner.drain.model.state import NO_BROKER, Bools, ClusterState, Int32s, Int64s


@dataclass(frozen=True, slots=True, eq=False)
class Leaving:
    """The M partitions with a replica on a drained broker.

    `row`: int64[M]. `replicas`: int32[M, W]. `leaves`: bool[M, W], the replicas that have to go. `copies`: int64[M].
    `size`: int64[M], bytes of one copy.
    """

    row: Int64s
    replicas: Int32s
    leaves: Bools
    copies: Int64s
    size: Int64s

    @property
    def bytes(self) -> Int64s:
        total: Int64s = self.copies * self.size
        return total


def leaving_of(state: ClusterState, staying: Int64s | None = None) -> Leaving:
    """`staying`: rows that keep what they have on drained brokers, since nobody wants or nobody can move them."""
    replicas = state.partitions.replicas
    leaves = state.brokers.must_empty[replicas] & (replicas != NO_BROKER)
    if staying is not None:
        leaves[staying] = False
    row = np.flatnonzero(leaves.any(axis=1))
    return Leaving(
        row=row,
        replicas=replicas[row],
        leaves=leaves[row],
        copies=leaves[row].sum(axis=1),
        size=state.partitions.size_bytes[row],
    )


class Need(NamedTuple):
    """One class. Copies without named destinations: `free`, of which `new_racks` must go to racks not in `racks`,
    each another one; none may go to a broker in `holders`. `named`: for every other copy the brokers it may go to.
    """

    racks: frozenset[int]
    holders: frozenset[int]
    free: int
    new_racks: int
    named: tuple[frozenset[int], ...]


@dataclass(frozen=True, slots=True, eq=False)
class BoundDemand:
    """K classes. `size`: int64[K], bytes of one copy, summed. `need_of`: int64[M], the class of each leaving row."""

    needs: tuple[Need, ...]
    size: Int64s
    need_of: Int64s


def demand_of(state: ClusterState, leaving: Leaving) -> BoundDemand:
    """Classes of the leaving partitions: rows of equal signature have equal needs, so each is worked out once."""
    signature = _signature(state, leaving)
    _, first, need_of = np.unique(signature, axis=0, return_index=True, return_inverse=True)
    need_of = need_of.ravel()
    size = np.zeros(first.size, dtype=np.int64)
    np.add.at(size, need_of, leaving.size)
    pairs = zip(leaving.replicas[first].tolist(), leaving.leaves[first].tolist(), strict=True)
    return BoundDemand(needs=tuple(_need(state, *pair) for pair in pairs), size=size, need_of=need_of)


def _signature(state: ClusterState, leaving: Leaving) -> Int32s:
    """What decides a need: kept racks, racks to be spanned, copies; kept brokers unless every copy has to find a
    new rack; leaving brokers with named destinations.
    """
    rack, replicas, leaves = state.brokers.rack, leaving.replicas, leaving.leaves
    stays = (replicas != NO_BROKER) & ~leaves
    kept = _as_set(np.where(stays, rack[replicas], -1))
    spans = np.minimum(_distinct(np.where(replicas == NO_BROKER, -1, rack[replicas])), _usable_racks(state).size)
    strict = spans - (kept >= 0).sum(axis=1) >= leaving.copies
    named = np.zeros(len(state.brokers), dtype=np.bool_)
    named[list(state.destinations)] = True
    holders = _as_set(np.where(stays & (named.any() | ~strict[:, None]), replicas, -1))
    successors = _as_set(np.where(leaves & named[replicas], replicas, -1))
    return np.concatenate([kept, holders, successors, spans[:, None], leaving.copies[:, None]], axis=1).astype(np.int32)


def _as_set(values: Int32s) -> Int32s:
    """Each row sorted, what is named twice replaced by -1."""
    ordered = np.sort(values, axis=1)
    ordered[:, 1:][ordered[:, 1:] == ordered[:, :-1]] = -1
    return np.sort(ordered, axis=1)


def _usable_racks(state: ClusterState) -> Int32s:
    """Racks that have a broker that may receive, ascending."""
    return np.unique(state.brokers.rack[state.brokers.may_receive])


def _need(state: ClusterState, replicas: list[int], leaves: list[bool]) -> Need:
    """H2: distinct racks after >= min(distinct racks before, racks with a broker that may receive)."""
    rack = state.brokers.rack
    held = [b for b in replicas if b != NO_BROKER]
    stays = [b for b, gone in zip(replicas, leaves, strict=True) if b != NO_BROKER and not gone]
    gone = [b for b, away in zip(replicas, leaves, strict=True) if away]
    kept = frozenset(int(rack[b]) for b in stays)
    missing = max(0, min(len({int(rack[b]) for b in held}), _usable_racks(state).size) - len(kept))
    strict = missing >= len(gone)
    named = []
    for broker in gone:
        if broker in state.destinations:
            legal = {t for t in state.destinations[broker] if t not in stays}
            named.append(frozenset(t for t in legal if not (strict and int(rack[t]) in kept)))
    free = len(gone) - len(named)
    return Need(
        racks=kept if missing else frozenset(),
        holders=frozenset() if strict else frozenset(stays),
        free=free,
        new_racks=free if strict else (0 if named else missing),
        named=tuple(sorted(named, key=sorted)),
    )


def confined_racks(state: ClusterState, leaving: Leaving) -> tuple[int, ...]:
    """Racks no leaving replica may leave: each of their partitions spans every rack that has a broker left, once
    per leaving replica, so whatever goes must come back to the same rack (H2).
    """
    rack = state.brokers.rack
    usable = _usable_racks(state)
    held = leaving.replicas != NO_BROKER
    racks_held = np.where(held, rack[leaving.replicas], -1)
    spans = _distinct(racks_held)
    kept = _distinct(np.where(leaving.leaves, -1, racks_held))
    bound = (spans == usable.size) & (spans == kept + leaving.copies)
    bound &= (np.isin(racks_held, usable) | ~held).all(axis=1)
    free = np.unique(racks_held[leaving.leaves & ~bound[:, None]])
    drained = np.unique(rack[state.brokers.must_empty])
    return tuple(np.setdiff1d(drained, free).tolist())


def _distinct(values: Int32s) -> Int64s:
    """Distinct values >= 0 of each row: int64[M]."""
    ordered = np.sort(values, axis=1)
    new = np.ones(ordered.shape, dtype=np.bool_)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    counts: Int64s = (new & (ordered >= 0)).sum(axis=1)
    return counts
