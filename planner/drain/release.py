"""Which entries of a plan start now: its release order, carried out by a tick that comes about once a second.

Rule of the plan file (docs/planning.md): an entry starts as soon as its source and each of its targets have a free
slot; the list is scanned from its head and later entries may overtake a blocked one. A log that copies faster than
ticks come would leave its slot empty until the next one, so a broker may also hold more open copies than slots as
long as the bytes still open there last less than HORIZON_S at its promised rate: what then starts early is what the
plan starts next, in the plan's order, and the throttle keeps the rate.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from planner.drain.plan import Move, Port

HORIZON_S = 3.0
"""A few ticks: the one that hands over, the one that sees it run, and one that came late."""

LEAST_BYTES = 256 * 1024
"""What any copy counts for at least: an empty log too costs its target some rounds of fetching."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A move as it would run, or runs: read from `source`, `bytes_each` still to come to each of `targets`."""

    move: Move
    source: int
    targets: tuple[int, ...]
    bytes_each: int


@dataclass(slots=True)
class _Load:
    copies: int = 0
    bytes: int = 0


@dataclass(slots=True)
class _Desk:
    """What is open in one direction."""

    ports: Mapping[int, Port]
    open: dict[int, _Load] = field(default_factory=dict)

    def has_room(self, broker: int) -> bool:
        port, load = self.ports.get(broker), self.open.get(broker)
        if port is None or port.slots is None or load is None:
            return True
        return load.copies < port.slots or load.bytes < HORIZON_S * port.promised_bytes_per_s

    def take(self, broker: int, copies: int, size: int) -> None:
        load = self.open.setdefault(broker, _Load())
        load.copies += copies
        load.bytes += max(size, LEAST_BYTES) * copies


def released(
    waiting: Iterable[Entry],
    running: Sequence[Entry],
    *,
    into: Mapping[int, Port],
    out: Mapping[int, Port],
    most: int,
) -> list[Move]:
    """The waiting entries (in list order) that start now, at most `most`. Entries without targets take no slot."""
    taking, giving = _Desk(into), _Desk(out)
    for entry in running:
        _open(entry, taking, giving)
    chosen: list[Move] = []
    for entry in waiting:
        if len(chosen) >= most:
            break
        if entry.targets and not (giving.has_room(entry.source) and all(map(taking.has_room, entry.targets))):
            continue
        _open(entry, taking, giving)
        chosen.append(entry.move)
    return chosen


def _open(entry: Entry, taking: _Desk, giving: _Desk) -> None:
    if entry.targets:
        giving.take(entry.source, len(entry.targets), entry.bytes_each)
        for target in entry.targets:
            taking.take(target, 1, entry.bytes_each)
