"""Log directories of live brokers: how full their disks are and how large each partition is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka.protocol.admin import DescribeLogDirsRequest

from controlplane.kafka.deadline import Deadline
from controlplane.kafka.dialer import Connection
from planner.observed import FailedDirsSeen, LogDirSeen, LogDirsSeen, TopicPartition

_ANSWER_S = 3.0

_STORAGE_ERROR = 56
"""KAFKA_STORAGE_ERROR: the broker has taken this directory offline (ReplicaManager.describeLogDirs)."""


@dataclass(frozen=True, slots=True)
class BrokerDisks:
    """By broker, the largest size in bytes any answering broker reports for a partition, and each broker's own."""

    brokers: Mapping[int, LogDirsSeen]
    sizes: Mapping[TopicPartition, int]
    held: Mapping[int, Mapping[TopicPartition, int]] = field(default_factory=dict)
    failed: Mapping[int, FailedDirsSeen] = field(default_factory=dict)

    def of_leader(self, name: TopicPartition, leader: int) -> int:
        """Bytes of the partition on its leader; -1 when that has not answered or does not name it."""
        return self.held.get(leader, {}).get(name, -1)

    def arrived(self, name: TopicPartition, adding: Sequence[int]) -> tuple[int, ...]:
        """Bytes of the partition on each of these brokers; empty when one of them has not answered."""
        if any(b not in self.held for b in adding):
            return ()
        return tuple(self.held[b].get(name, 0) for b in adding)


def read_disks(connection: Connection, live: frozenset[int], deadline: Deadline) -> BrokerDisks:
    """Ask every live broker at once. One that does not answer is left out whole; one that has a directory offline
    is among `failed` alone."""
    requests = {n: DescribeLogDirsRequest(topics=None) for n in live}
    answers = connection.ask_each(requests, timeout_s=deadline.capped(_ANSWER_S))
    sizes: dict[TopicPartition, int] = {}
    brokers = {}
    held: dict[int, dict[TopicPartition, int]] = {}
    failed = {}
    for broker, answer in sorted(answers.items()):
        errors = {d.error_code for d in answer.results} - {0}
        if answer.error_code or errors - {_STORAGE_ERROR}:
            continue
        if errors:
            failed[broker] = _failed(answer.results)
            continue
        brokers[broker] = _broker(answer.results, sizes, held.setdefault(broker, {}))
    return BrokerDisks(brokers, sizes, held, failed)


def _failed(directories: list[Any]) -> FailedDirsSeen:
    sound = [d for d in directories if not d.error_code]
    readable = _broker(sound, {}, {})
    offline = tuple(sorted(str(d.log_dir) for d in directories if d.error_code))
    held = frozenset(name for d in sound for name in _replicas(d))
    return FailedDirsSeen(offline, readable.replicas, readable.used_bytes, held)


def _broker(directories: list[Any], sizes: dict[TopicPartition, int], held: dict[TopicPartition, int]) -> LogDirsSeen:
    """`total`/`usable` are of the volume a directory is in: two directories on one volume would count it
    twice."""
    replicas = used = 0
    for directory in directories:
        for topic in directory.topics:
            for partition in topic.partitions:
                used += partition.partition_size
                if partition.is_future_key:
                    continue  # a copy of what is in another directory: no replica more, and no larger log
                name = TopicPartition(topic.name, partition.partition_index)
                sizes[name] = max(sizes.get(name, 0), partition.partition_size)
                held[name] = held.get(name, 0) + partition.partition_size
                replicas += 1
    return LogDirsSeen(
        replicas=replicas,
        used_bytes=used,
        total_bytes=_together([d.total_bytes for d in directories]),
        usable_bytes=_together([d.usable_bytes for d in directories]),
        dirs=_one_by_one(directories),
    )


def _together(figures: list[int]) -> int:
    """Their sum; 0, as of a broker that tells nothing, where one of them is not told (-1: brokers before 3.3)."""
    return 0 if min(figures, default=0) < 0 else sum(figures)


def _one_by_one(directories: list[Any]) -> tuple[LogDirSeen, ...]:
    """Empty where the broker does not tell how large their volumes are."""
    if any(d.total_bytes <= 0 for d in directories):
        return ()
    return tuple(
        LogDirSeen(
            path=d.log_dir,
            used_bytes=sum(p.partition_size for t in d.topics for p in t.partitions),
            total_bytes=d.total_bytes,
            usable_bytes=d.usable_bytes,
            replicas=_replicas(d) if len(directories) > 1 else frozenset(),
            arriving=_arriving(d),
        )
        for d in sorted(directories, key=lambda d: str(d.log_dir))
    )


def _arriving(directory: Any) -> dict[TopicPartition, int]:
    """Those alone that are on their way in from another directory of the broker, with the bytes that are there."""
    return {
        TopicPartition(topic.name, partition.partition_index): partition.partition_size
        for topic in directory.topics
        for partition in topic.partitions
        if partition.is_future_key
    }


def _replicas(directory: Any) -> frozenset[TopicPartition]:
    """Without those that are on their way in from another directory of the broker."""
    return frozenset(
        TopicPartition(topic.name, partition.partition_index)
        for topic in directory.topics
        for partition in topic.partitions
        if not partition.is_future_key
    )
