"""Entries that found no targets, and which brokers could hold them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from planner.drain.model.state import NO_BROKER, Bools, ClusterState, Floats, Int32s, Int64s
from planner.drain.solver.demand import Demand


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Unplaced:
    """Brokers are rows. `homes`: what it leaves, one for each of K copies, and whether each is `sent` to named
    destinations. `kept`: who stays. `spare`: copies that may repeat a rack. `legal`: bool[B], who could take a copy as
    far as replicas and racks go; `allowed`: bool[K, B], those of them its destinations name.
    """

    row: int
    size: float
    homes: tuple[int, ...]
    sent: tuple[bool, ...]
    kept: tuple[int, ...]
    spare: int
    legal: Bools
    allowed: Bools

    @property
    def is_sent(self) -> bool:
        """Whether destinations bind any of its copies."""
        return any(self.sent)


def each_unplaced(state: ClusterState, demand: Demand, unplaced: Int64s) -> Iterator[Unplaced]:
    """Those entries of the demand, in that order."""
    brokers = state.brokers
    rows = np.arange(len(brokers))
    sets = {home: np.isin(rows, list(to)) for home, to in state.destinations.items()}
    known: dict[tuple[tuple[int, ...], bool], Bools] = {}
    for i in unplaced.tolist():
        homes = tuple(b for b in demand.leaves[i].tolist() if b != NO_BROKER)
        kept = tuple(sorted(b for b in demand.kept[i].tolist() if b != NO_BROKER))
        spare = int(demand.spare[i])
        legal = known.get((kept, spare == 0))
        if legal is None:
            legal = brokers.may_receive & ~np.isin(rows, kept)
            if spare == 0:
                legal &= ~np.isin(brokers.rack, brokers.rack[list(kept)])
            known[kept, spare == 0] = legal
        allowed = np.array([legal & sets[home] if home in sets else legal for home in homes])
        yield Unplaced(
            row=int(demand.row[i]),
            size=float(demand.size[i]),
            homes=homes,
            sent=tuple(home in sets for home in homes),
            kept=kept,
            spare=spare,
            legal=legal,
            allowed=allowed,
        )


def places(state: ClusterState, entry: Unplaced, allowed: Bools, rank: Floats | None = None) -> tuple[int, ...] | None:
    """A broker for each copy out of its row of `allowed` (bool[K, B]), each another one and racks kept, of low `rank`
    (float64[B]) where it can be; None where there are none.
    """
    rack = state.brokers.rack
    ranked = np.argsort(np.zeros(len(state.brokers)) if rank is None else rank, kind="stable")
    choices = [_few_of_each_rack(state, ranked[row[ranked]], len(entry.homes)) for row in allowed]
    # whoever has the fewest to choose from goes first
    order = sorted(range(len(choices)), key=lambda copy: len(choices[copy]))
    chosen: dict[int, int] = {}

    def placed(nth: int, used: frozenset[int], spare: int) -> bool:
        if nth == len(order):
            return True
        for broker in choices[order[nth]]:
            met = int(rack[broker]) in used
            if broker in chosen.values() or met > spare:
                continue
            chosen[order[nth]] = broker
            if placed(nth + 1, used | {int(rack[broker])}, spare - met):
                return True
            del chosen[order[nth]]
        return False

    if not placed(0, frozenset(int(rack[b]) for b in entry.kept), entry.spare):
        return None
    return tuple(chosen[copy] for copy in range(len(choices)))


def rows_of(entries: Sequence[Unplaced]) -> Int32s:
    """int32[S]: their partitions."""
    return np.array([entry.row for entry in entries], dtype=np.int32)


def _few_of_each_rack(state: ClusterState, ranked: Int64s, most: int) -> list[int]:
    """More of one rack than there are copies make no difference."""
    seen: dict[int, int] = {}
    chosen = []
    for broker in ranked.tolist():
        rack = int(state.brokers.rack[broker])
        seen[rack] = seen.get(rack, 0) + 1
        if seen[rack] <= most:
            chosen.append(broker)
    return chosen
