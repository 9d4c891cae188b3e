"""Replicas moved between the log directories of one broker: to even its disks out, or to empty one of them. Pure.

Nothing crosses the network, and no partition loses a replica meanwhile: Kafka copies each log beside the one that
serves and swaps them once it has caught up (KIP-113).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planner.observed import LogDirSeen, TopicPartition
from planner.quantities import human_bytes

DISK_LIMIT = 0.9
"""No disk is planned fuller than this, the log that leaves another one counted at both until it has arrived."""

BAND = 0.05
"""Disks within so much of their even share, as a part of a disk, are even."""


@dataclass(frozen=True, slots=True)
class DirMove:
    """One replica from one directory of its broker to another one. `bytes`: its log, as known when planned."""

    name: TopicPartition
    before: str
    after: str
    bytes: int


class NoRoom(ValueError):
    """What is to leave a directory does not fit into the others. What now: a larger disk, or fewer replicas here."""


@dataclass(slots=True)
class _Disk:
    """One directory while a plan is made: bytes in use, logs on their way in counted whole."""

    path: str
    total: int
    used: int

    def full(self, more: int = 0) -> float:
        return (self.used + more) / self.total

    def takes(self, size: int) -> bool:
        return self.used + size <= int(self.total * DISK_LIMIT)


def emptied(dirs: Sequence[LogDirSeen], sizes: Mapping[TopicPartition, int], path: str) -> tuple[DirMove, ...]:
    """What is still to leave `path`: each replica in it that is not on its way already, the largest first, to the disk
    that is least full after it. Its bytes are exactly those of what is in it: no plan needs fewer.

    `sizes`: bytes of each log; one that is not in it is taken for empty. Raises NoRoom, ValueError for a directory
    that is not among them.
    """
    leaving = next((d for d in dirs if d.path == path), None)
    if leaving is None:
        raise ValueError(f"there is no log directory {path}; there is {', '.join(d.path for d in dirs)}")
    disks = _disks([d for d in dirs if d.path != path], sizes)
    coming = {name for d in dirs if d.path != path for name in d.arriving}
    found: list[DirMove] = []
    for name in _largest_first(leaving, sizes):
        if name in coming:
            continue
        size = sizes.get(name, 0)
        able = [s for s in disks if s.takes(size)]
        if not able:
            missing = sum(sizes.get(n, 0) for n in leaving.replicas if n not in coming)
            room = sum(max(0, int(s.total * DISK_LIMIT) - s.used) for s in _disks_but(dirs, sizes, path))
            raise NoRoom(
                f"{path} holds {human_bytes(missing)} that are to leave, the other log directories have room for "
                f"{human_bytes(room)} up to {DISK_LIMIT:.0%}; {name} with {human_bytes(size)} finds none"
            )
        home = min(able, key=lambda s: (s.full(size), s.path))
        home.used += size
        found.append(DirMove(name, path, home.path, size))
    return tuple(found)


def evened(dirs: Sequence[LogDirSeen], sizes: Mapping[TopicPartition, int]) -> tuple[DirMove, ...]:
    """What evens the disks out by the share of each that is in use: from the fullest to the emptiest one, the largest
    log that takes neither past its even share, until all are within `BAND` of it or nothing fits.

    Never more bytes than `bytes_above(...)`, what is above the even shares in all. Empty while they are even.
    """
    disks = {s.path: s for s in _disks(dirs, sizes)}
    coming = {name for d in dirs for name in d.arriving}
    even = _even(list(disks.values()))
    movable = {d.path: [n for n in _largest_first(d, sizes) if n not in coming and sizes.get(n, 0)] for d in dirs}
    # What is on its way out is at both until it has arrived: it leaves, so it is no surplus of the one it is still in.
    for d in dirs:
        disks[d.path].used -= sum(sizes.get(n, 0) for n in d.replicas if n in coming)
    found: list[DirMove] = []
    while len(disks) > 1:
        move = _next(disks, movable, sizes, even)
        if move is None:
            break
        disks[move.before].used -= move.bytes
        disks[move.after].used += move.bytes
        movable[move.before].remove(move.name)
        found.append(move)
    return tuple(found)


def bytes_above(dirs: Sequence[LogDirSeen], sizes: Mapping[TopicPartition, int]) -> int:
    """Bytes that are above the even share of their disk: what a plan that evens them out exactly has to move."""
    disks = _disks(dirs, sizes)
    even = _even(disks)
    return sum(max(0, s.used - int(even * s.total)) for s in disks)


def _next(
    disks: Mapping[str, _Disk],
    movable: Mapping[str, list[TopicPartition]],
    sizes: Mapping[TopicPartition, int],
    even: float,
) -> DirMove | None:
    if all(abs(s.full() - even) <= BAND for s in disks.values()):
        return None
    for giver in sorted(disks.values(), key=lambda s: (-s.full(), s.path)):
        surplus = giver.used - int(even * giver.total)
        for taker in sorted(disks.values(), key=lambda s: (s.full(), s.path)):
            lacks = int(even * taker.total) - taker.used
            for name in movable[giver.path]:
                if sizes[name] <= min(surplus, lacks) and taker.takes(sizes[name]):
                    return DirMove(name, giver.path, taker.path, sizes[name])
    return None


def _even(disks: Sequence[_Disk]) -> float:
    """The share of each disk that is in use once all are alike."""
    total = sum(s.total for s in disks)
    return sum(s.used for s in disks) / total if total else 0.0


def _disks(dirs: Sequence[LogDirSeen], sizes: Mapping[TopicPartition, int]) -> list[_Disk]:
    return [_Disk(d.path, d.total_bytes, d.total_bytes - d.usable_bytes + _to_come(d, sizes)) for d in dirs]


def _disks_but(dirs: Sequence[LogDirSeen], sizes: Mapping[TopicPartition, int], path: str) -> list[_Disk]:
    return _disks([d for d in dirs if d.path != path], sizes)


def _to_come(d: LogDirSeen, sizes: Mapping[TopicPartition, int]) -> int:
    """Bytes of logs on their way in that are not there yet."""
    return sum(max(0, sizes.get(name, 0) - there) for name, there in d.arriving.items())


def _largest_first(d: LogDirSeen, sizes: Mapping[TopicPartition, int]) -> list[TopicPartition]:
    return sorted(d.replicas, key=lambda name: (-sizes.get(name, 0), name))
