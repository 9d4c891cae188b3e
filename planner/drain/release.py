"""Which entries of a plan start now: its release order, carried out by a tick that comes about once a second.

Rule of the plan file (docs/planning.md): an entry starts as soon as its source and each of its targets have a free
slot; the list is scanned from its head and later entries may overtake a blocked one. A log that copies faster than
ticks come would leave its slot empty until the next one, so a broker may also hold more open copies than slots as
long as the bytes still open there last less than HORIZON_S at its promised rate: what then starts early is what the
plan starts next, in the plan's order, and the throttle keeps the rate.

Links between brokers are counted too: an entry that would put one more copy onto a way that has `MOST_A_PAIR` lets
those of other ways go first. It starts where a slot would stay empty otherwise: no promise of a plan is broken for it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from planner.drain.plan import Move, Port

HORIZON_S = 3.0
"""A few ticks: the one that hands over, the one that sees it run, and one that came late."""

MOST_A_PAIR = 3
"""Copies at once from one source to one target, while others could run over another way. Below the horizon short logs
count by their bytes alone, as they do for slots."""

LEAST_BYTES = 256 * 1024
"""What any copy counts for at least: an empty log too costs its target some rounds of fetching."""


@dataclass(frozen=True, slots=True)
class ReleaseEntry:
    """A move as it would run, or runs: read from `source`, `bytes_each` still to come to each of `targets`."""

    move: Move
    source: int
    targets: tuple[int, ...]
    bytes_each: int


@dataclass(slots=True)
class _BrokerLoad:
    copies: int = 0
    bytes: int = 0


@dataclass(slots=True)
class _OpenLoads:
    """What is open in one direction."""

    ports: Mapping[int, Port]
    open: dict[int, _BrokerLoad] = field(default_factory=dict)

    def has_room(self, broker: int) -> bool:
        port, load = self.ports.get(broker), self.open.get(broker)
        if port is None or port.slots is None or load is None:
            return True
        return load.copies < port.slots or load.bytes < HORIZON_S * port.promised_bytes_per_s

    def take(self, broker: int, copies: int, size: int) -> None:
        load = self.open.setdefault(broker, _BrokerLoad())
        load.copies += copies
        load.bytes += max(size, LEAST_BYTES) * copies


def released(
    waiting: Iterable[ReleaseEntry],
    running: Sequence[ReleaseEntry],
    *,
    into: Mapping[int, Port],
    out: Mapping[int, Port],
    most: int,
) -> list[Move]:
    """The waiting entries that start now, at most `most`: in list order those whose ways have room, then those that
    alone can take what slots are left. Entries without targets take no slot."""
    open_ = _OpenPorts(into, out)
    for entry in running:
        open_.take(entry)
    chosen: list[Move] = []
    postponed: list[ReleaseEntry] = []
    for entry in waiting:
        if len(chosen) >= most:
            break
        if not open_.has_slots(entry):
            continue
        if open_.has_way(entry):
            open_.take(entry)
            chosen.append(entry.move)
        else:
            postponed.append(entry)
    for entry in postponed:
        if len(chosen) < most and open_.has_slots(entry):
            open_.take(entry)
            chosen.append(entry.move)
    return chosen


class _OpenPorts:
    """What is open at each broker, in both directions, and between each two."""

    def __init__(self, into: Mapping[int, Port], out: Mapping[int, Port]) -> None:
        self._taking, self._giving = _OpenLoads(into), _OpenLoads(out)
        self._ways: dict[tuple[int, int], _BrokerLoad] = {}

    def has_slots(self, entry: ReleaseEntry) -> bool:
        return not entry.targets or (
            self._giving.has_room(entry.source) and all(map(self._taking.has_room, entry.targets))
        )

    def has_way(self, entry: ReleaseEntry) -> bool:
        return all(self._is_free(entry.source, target) for target in entry.targets)

    def take(self, entry: ReleaseEntry) -> None:
        if not entry.targets:
            return
        self._giving.take(entry.source, len(entry.targets), entry.bytes_each)
        for target in entry.targets:
            self._taking.take(target, 1, entry.bytes_each)
            way = self._ways.setdefault((entry.source, target), _BrokerLoad())
            way.copies += 1
            way.bytes += max(entry.bytes_each, LEAST_BYTES)

    def _is_free(self, source: int, target: int) -> bool:
        way = self._ways.get((source, target))
        if way is None or way.copies < MOST_A_PAIR:
            return True
        ports = (self._giving.ports.get(source), self._taking.ports.get(target))
        known = [p.promised_bytes_per_s for p in ports if p is not None]
        return bool(known) and way.bytes < HORIZON_S * min(known)
