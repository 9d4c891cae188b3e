"""Which log directory of a fake broker each copy lies in."""

from collections.abc import Mapping

from planner.observed import FailedDirsSeen, LogDirSeen, LogDirsSeen, TopicPartition
from tests.fakes.kafka_parts import FakeBroker, FakePartition

UNBOUND_BYTES_PER_S = 200_000_000
"""What a disk does where nothing bounds moves between directories."""


class FakeLogDirs:
    """As brokers do it: a new copy goes where it was wished, else where the fewest partitions lie."""

    def __init__(self, brokers: Mapping[int, FakeBroker], partitions: Mapping[TopicPartition, FakePartition]) -> None:
        """Both are read whenever something is asked."""
        self._brokers, self._partitions = brokers, partitions
        self.taken: dict[int, int] = {}
        """By broker, bytes on its disk that are not Kafka's."""
        self._wished: dict[tuple[int, TopicPartition], str] = {}
        self._path_of: dict[tuple[int, TopicPartition], str] = {}
        self._moving: dict[tuple[int, TopicPartition], tuple[str, float]] = {}
        """Replicas on their way to another directory of their broker: which, and how much of the log is there."""
        self.rates: dict[int, int] = {}
        """By broker, what bounds these in bytes/s."""
        self.moved_bytes = 0.0

    def prefer(self, broker: int, paths: Mapping[TopicPartition, str]) -> None:
        """Remembered until the copy is made; one that is in another directory begins to move."""
        self.sort_in()
        for name, path in paths.items():
            key = broker, name
            here = self._path_of.get(key)
            if here is None:
                self._wished[key] = path
            elif path == here:
                self._moving.pop(key, None)
            elif self._moving.get(key, ("", 0.0))[0] != path:
                self._moving[key] = path, 0.0

    def advance(self, seconds: float) -> None:
        """Moves between directories go on; those that have the whole log take the place of the others."""
        self._forget_moves()
        for broker in {b for b, _ in self._moving}:
            budget = seconds * self.rates.get(broker, UNBOUND_BYTES_PER_S)
            for key in sorted(k for k in self._moving if k[0] == broker):
                path, there = self._moving[key]
                size = self._partitions[key[1]].copies[broker].bytes
                step = min(budget, max(0.0, size - there))
                budget, self.moved_bytes = budget - step, self.moved_bytes + step
                if there + step >= size:
                    del self._moving[key]
                    self._path_of[key] = path
                else:
                    self._moving[key] = path, there + step

    @property
    def is_moving(self) -> bool:
        self._forget_moves()
        return bool(self._moving)

    def _forget_moves(self) -> None:
        """What has left the broker, or is to go to a directory that has failed, moves no more; nobody copies while its
        broker does not run."""
        if not self._moving:
            return
        self.sort_in()
        self._moving = {
            (b, name): to
            for (b, name), to in self._moving.items()
            if (b, name) in self._path_of and to[0] not in self._brokers[b].failed_dirs
        }

    def sort_in(self) -> None:
        """Gives every copy that has none a directory, and forgets those of copies that are gone."""
        many = {b.id for b in self._brokers.values() if len(b.log_dirs) > 1}
        copies = {(b, name) for name, p in self._partitions.items() for b in p.copies if b in many} if many else set()
        self._path_of = {key: path for key, path in self._path_of.items() if key in copies}
        for broker, name in sorted(copies - set(self._path_of)):
            held = [path for (b, _), path in self._path_of.items() if b == broker]
            sound = [path for path in self._brokers[broker].log_dirs if path not in self._brokers[broker].failed_dirs]
            fewest = min(sound, key=held.count)
            self._path_of[broker, name] = self._wished.pop((broker, name), fewest)

    def log_dirs(self, broker: FakeBroker) -> LogDirsSeen:
        """What the broker says of its disk, directory by directory."""
        copies = [p.copies[broker.id] for p in self._partitions.values() if broker.id in p.copies]
        used = int(sum(c.bytes for c in copies))
        free = max(0, broker.disk_bytes - used - self.taken.get(broker.id, 0))
        if len(broker.log_dirs) == 1:
            alone = (LogDirSeen(broker.log_dirs[0], used, broker.disk_bytes, free),)
            return LogDirsSeen(len(copies), used, broker.disk_bytes, free, alone)
        self.sort_in()
        dirs = tuple(self._log_dir(broker, path) for path in broker.log_dirs)
        return LogDirsSeen(len(copies), used, broker.disk_bytes, free, dirs)

    def free_bytes(self, broker: int) -> int:
        """What still fits on the disk of a broker, all its directories together."""
        found = self._brokers[broker]
        used = sum(p.copies[broker].bytes for p in self._partitions.values() if broker in p.copies)
        return max(0, int(found.disk_bytes - used - self.taken.get(broker, 0)))

    def grow(self, broker: int, times: float) -> None:
        """The only disk of a broker becomes so much larger."""
        found = self._brokers.get(broker)
        if found is not None and len(found.log_dirs) == 1:
            found.disk_bytes = int(found.disk_bytes * times)

    def full(self) -> frozenset[int]:
        """Brokers on which others have left no room: nothing is copied to them."""
        return frozenset(b for b in self.taken if not self.free_bytes(b)) if self.taken else frozenset()

    def held_in(self, broker: int, path: str) -> list[TopicPartition]:
        """What lies in one of several directories."""
        self.sort_in()
        return [name for (b, name), at in sorted(self._path_of.items()) if (b, at) == (broker, path)]

    def failed_dirs(self, broker: FakeBroker) -> FailedDirsSeen:
        """What a broker says of which some directories are offline."""
        self.sort_in()
        sound = [self._log_dir(broker, path) for path in broker.log_dirs if path not in broker.failed_dirs]
        used = sum(d.used_bytes for d in sound)
        held = frozenset(name for d in sound for name in d.replicas)
        return FailedDirsSeen(tuple(sorted(broker.failed_dirs)), len(held), used, held)

    def _log_dir(self, broker: FakeBroker, path: str) -> LogDirSeen:
        names = [name for (b, name), at in self._path_of.items() if (b, at) == (broker.id, path)]
        used = int(sum(self._partitions[name].copies[broker.id].bytes for name in names))
        total = broker.disk_bytes // len(broker.log_dirs)
        coming = {n: int(there) for (b, n), (to, there) in self._moving.items() if (b, to) == (broker.id, path)}
        used += sum(coming.values())
        return LogDirSeen(path, used, total, max(0, total - used), frozenset(names), coming)
