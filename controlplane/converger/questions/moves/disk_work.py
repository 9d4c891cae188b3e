"""What is left of moves between the log directories of a broker, by the broker's own word. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from controlplane.cluster.observed.disks import directory_in
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.healing import DiskMovesView
from events.quantities import counted
from planner.log_dirs.moves import DirMove, NoRoom, emptied, evened
from planner.observed import KafkaSnapshot, LogDirSeen, TopicPartition
from planner.quantities import human_bytes


@dataclass(frozen=True, slots=True)
class DiskWork:
    """`moves` that are to begin, `arriving` what is on its way. `over`: why nothing is left to do, once nothing is on
    its way any more; `waits`: for what, where nothing may begin now. `words`: which broker, and how much is left."""

    words: str
    moves: tuple[DirMove, ...] = ()
    arriving: frozenset[TopicPartition] = frozenset()
    over: str = ""
    waits: str = ""


def disk_work(view: ClusterView, kafka: KafkaSnapshot, broker: int, wanted: DiskMovesView) -> DiskWork:
    """What the request comes to now."""
    words = f"broker {broker}: emptying {wanted.path}" if wanted.path else f"broker {broker}: evening out its disks"
    if broker not in {i.service_id for i in view.brokers()}:
        return DiskWork(words, over="the broker is gone")
    failed = kafka.failed_dirs.get(broker)
    if failed is not None:
        return DiskWork(words, over=f"given up: {', '.join(failed.paths)} is offline")
    dirs = dirs_of(kafka, broker)
    if not dirs:
        return DiskWork(words, waits="the broker has not told of its log directories")
    return _work(words, dirs, log_sizes(kafka), wanted.path)


def dirs_of(kafka: KafkaSnapshot, broker: int) -> tuple[LogDirSeen, ...]:
    """The directories of a broker that serves, by path; none where it has not told of them."""
    seen = kafka.log_dirs.get(broker)
    return seen.dirs if seen is not None and broker in kafka.live_brokers() else ()


def log_sizes(kafka: KafkaSnapshot) -> Mapping[TopicPartition, int]:
    """Bytes of each log, the largest that any broker tells."""
    return {p.name: p.size_bytes for p in kafka.partitions}


def named_dir(dirs: Sequence[LogDirSeen], disk: str) -> LogDirSeen | None:
    """The directory with this path, or on the volume of this name."""
    return next((d for d in dirs if disk in (d.path, directory_in(d.path, (disk,)))), None)


def _work(words: str, dirs: Sequence[LogDirSeen], sizes: Mapping[TopicPartition, int], path: str) -> DiskWork:
    arriving = frozenset(name for d in dirs for name in d.arriving)
    if not path:
        moves = evened(dirs, sizes)
        left = sum(m.bytes for m in moves)
        words = f"{words}, {counted(len(moves), 'replica')} with {human_bytes(left)} left" if moves else words
        return DiskWork(words, moves, arriving, over="" if moves else "its disks are even")
    here = next((d for d in dirs if d.path == path), None)
    if here is None:
        return DiskWork(words, over=f"it has no log directory {path} any more")
    if not here.replicas:
        return DiskWork(words, arriving=arriving, over=f"{path} is empty")
    left = sum(sizes.get(name, 0) for name in here.replicas)
    words = f"{words}, {counted(len(here.replicas), 'replica')} with {human_bytes(left)} left"
    try:
        moves = emptied(dirs, sizes, path)
    except NoRoom as error:
        return DiskWork(words, arriving=arriving, over=f"given up: {error}")
    return DiskWork(words, moves, arriving)
