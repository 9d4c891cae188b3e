"""Does what a plan is about to copy still fit? Judged on fresh figures, each time before a batch is let go.

A plan is made earlier than it is carried out, sometimes before its targets exist: foresight assumes a successor's disk
empty and of its nominal size. Replicas that changed meanwhile invalidate a move by themselves; a disk that turns out
smaller, or fuller, has to be looked for.
"""

from collections import Counter
from collections.abc import Sequence

from events.quantities import MIB
from planner.drain.plan import Move
from planner.observed import KafkaSnapshot, LogDirsSeen

DISK_LIMIT_FRACTION = 0.9
"""No disk is planned fuller than this."""


def room_by_broker(kafka: KafkaSnapshot) -> dict[int, int]:
    """Bytes each broker that has told of its disks may still be sent; what is on its way there is counted."""
    arriving = _arriving(kafka)
    return {
        b: int(d.total_bytes * DISK_LIMIT_FRACTION) - (d.total_bytes - d.usable_bytes) - arriving[b]
        for b, d in kafka.log_dirs.items()
        if _has_size(d)
    }


def untold_disks(kafka: KafkaSnapshot, moves: Sequence[Move]) -> list[int]:
    """Targets whose log dirs are not known: nothing may be sent there."""
    return sorted(b for b in _targets(moves) if not _has_size(kafka.log_dirs.get(b)))


def overfull_disk(kafka: KafkaSnapshot, moves: Sequence[Move]) -> str:
    """The first target these moves would fill beyond the limit, with the numbers; "" when all have room.

    A target only fills until the drain's end, so its worst moment is the last one. What others copy to it counts too.
    """
    planned, arriving = _planned(kafka, moves), _arriving(kafka)
    for broker in sorted(_targets(moves)):
        disk = kafka.log_dirs.get(broker)
        if disk is None or not planned[broker]:
            continue
        arriving[broker] += planned[broker]
        used, limit = disk.total_bytes - disk.usable_bytes, int(disk.total_bytes * DISK_LIMIT_FRACTION)
        if used + arriving[broker] > limit:
            return (
                f"broker {broker} has {used // MIB} of {disk.total_bytes // MIB} MiB in use and would get "
                f"{arriving[broker] // MIB} MiB more; {limit // MIB} MiB ({DISK_LIMIT_FRACTION:.0%}) are allowed"
            )
    return _overfull_log_dir(kafka, moves)


def _overfull_log_dir(kafka: KafkaSnapshot, moves: Sequence[Move]) -> str:
    """As `overfull_disk`, of the directories the moves name; one that its broker does not have is named too."""
    sizes = {p.name: p.size_bytes for p in kafka.partitions}
    planned: Counter[tuple[int, str]] = Counter()
    for move in moves:
        for broker, path in zip(move.added, move.log_dirs, strict=False):
            if path:
                planned[broker, path] += sizes.get(move.name, move.bytes)
    arriving = _arriving_in_dirs(kafka)
    for (broker, path), size in sorted(planned.items()):
        told = {d.path: d for d in kafka.log_dirs[broker].dirs}.get(path) if broker in kafka.log_dirs else None
        if told is None:
            return f"broker {broker} has no log directory {path}"
        used, limit = told.total_bytes - told.usable_bytes, int(told.total_bytes * DISK_LIMIT_FRACTION)
        coming = arriving[broker, path] + size
        if size and used + coming > limit:
            return (
                f"{path} of broker {broker} has {used // MIB} of {told.total_bytes // MIB} MiB in use and would get "
                f"{coming // MIB} MiB more; {limit // MIB} MiB ({DISK_LIMIT_FRACTION:.0%}) are allowed"
            )
    return ""


def _arriving_in_dirs(kafka: KafkaSnapshot) -> Counter[tuple[int, str]]:
    """Bytes of what runs that have not arrived, by the directory it is in; where that is not told, in each there is."""
    arriving: Counter[tuple[int, str]] = Counter()
    for partition in kafka.moving():
        there = partition.arrived_bytes or (0,) * len(partition.adding)
        for broker, arrived in zip(partition.adding, there, strict=True):
            log_dirs = kafka.log_dirs.get(broker)
            held = log_dirs.dir_of(partition.name) if log_dirs else None
            for seen in (held,) if held else log_dirs.dirs if log_dirs else ():
                arriving[broker, seen.path] += max(0, partition.size_bytes - arrived)
    return arriving


def _targets(moves: Sequence[Move]) -> set[int]:
    return {b for move in moves for b in move.added}


def _has_size(disk: LogDirsSeen | None) -> bool:
    return disk is not None and disk.total_bytes > 0


def _planned(kafka: KafkaSnapshot, moves: Sequence[Move]) -> Counter[int]:
    """Bytes these moves, none of which runs yet, will bring to each broker."""
    sizes = {p.name: p.size_bytes for p in kafka.partitions}
    planned: Counter[int] = Counter()
    for move in moves:
        for broker in move.added:
            planned[broker] += sizes.get(move.name, move.bytes)
    return planned


def _arriving(kafka: KafkaSnapshot) -> Counter[int]:
    """Bytes on their way to each broker by running reassignments."""
    arriving: Counter[int] = Counter()
    for partition in kafka.moving():
        for broker in partition.adding:
            arriving[broker] += partition.size_bytes
    return arriving
