"""Log directories of a cluster as it was seen, for its state file: of brokers that have several."""

from collections.abc import Iterator, Mapping
from typing import Any

from planner.observed import KafkaSnapshot, LogDirSeen, TopicPartition

DirsByReplica = Mapping[int, Mapping[TopicPartition, str]]
"""Broker id -> which partition is in which path; only brokers whose directories go into the file."""


def several_log_dirs(
    snapshot: KafkaSnapshot, disk_bytes: Mapping[int, int | None]
) -> dict[int, tuple[LogDirSeen, ...]]:
    """The directories to tell of, by broker. `disk_bytes`: what each broker's disks are taken for. One that is taken
    for more than its directories hold is left out: where the rest would be, nobody knows.
    """
    return {
        broker: dirs
        for broker, dirs in _several_dirs(snapshot).items()
        if (disk_bytes.get(broker) or 0) <= sum(_disk_bytes(d) for d in dirs)
    }


def left_out(snapshot: KafkaSnapshot, kept: Mapping[int, tuple[LogDirSeen, ...]]) -> Iterator[str]:
    """An assumption for brokers whose directories could not go into the file."""
    without = sorted(set(_several_dirs(snapshot)) - set(kept))
    if without:
        yield f"log directories of brokers {without} hold less than the disk that was given: each seen as one disk"


def log_dir_entries(snapshot: KafkaSnapshot, broker: int, dirs: tuple[LogDirSeen, ...]) -> list[dict[str, Any]]:
    """As in the state file: of a directory's disk what Kafka may use. A copy that runs to none that is known may end
    in each of them.
    """
    held = {name for d in dirs for name in d.replicas}
    coming = sum(p.size_bytes for p in snapshot.partitions if broker in p.adding and p.name not in held)
    return [{"path": d.path, "disk_bytes": _disk_bytes(d), "used_bytes": d.used_bytes + coming} for d in dirs]


def dirs_by_replica(dirs: Mapping[int, tuple[LogDirSeen, ...]]) -> DirsByReplica:
    return {broker: {name: d.path for d in seen for name in d.replicas} for broker, seen in dirs.items()}


def replica_paths(dirs_of: DirsByReplica, name: TopicPartition, replicas: list[int]) -> list[str | None]:
    return [dirs_of.get(broker, {}).get(name) for broker in replicas]


def _several_dirs(snapshot: KafkaSnapshot) -> dict[int, tuple[LogDirSeen, ...]]:
    found = {broker: seen.dirs for broker, seen in snapshot.log_dirs.items() if len(seen.dirs) > 1}
    return {broker: dirs for broker, dirs in found.items() if all(d.path.startswith("/") for d in dirs)}


def _disk_bytes(seen: LogDirSeen) -> int:
    return max(1, seen.used_bytes + seen.usable_bytes)
