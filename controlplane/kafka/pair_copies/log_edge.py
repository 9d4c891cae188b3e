"""Logs and groups of one cluster during one call: what the comparisons of `PairLogs` rest on."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from controlplane.kafka.pair_copies.values import LogExtent
from planner.consumers.seen import GroupSeen
from planner.observed import TopicPartition

Headers: TypeAlias = tuple[tuple[str, bytes | None], ...]
KeyedRecord: TypeAlias = tuple[bytes, bytes | None]
"""Key and value; without a value it takes the key back."""


@dataclass(frozen=True, slots=True)
class LogRecord:
    """A data record. `is_stamped`: the time (ms since 1970) is the log's own (`LogAppendTime`), not the producer's."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    is_stamped: bool = False

    def is_copy_of(self, other: "LogRecord") -> bool:
        """Whether nothing but the offset tells them apart. A log that sets its own times keeps none of another's."""
        if not (self.is_stamped or other.is_stamped) and self.timestamp_ms != other.timestamp_ms:
            return False
        return (self.key, self.value, self.headers) == (other.key, other.value, other.headers)


@dataclass(frozen=True, slots=True)
class LogStretch:
    """A part of a log, from the batch on that holds the offset that was asked for. Offsets from `first` to before
    `next` that no record has are of markers, or were compacted away. Nothing there: `next` is what was asked for."""

    records: tuple[LogRecord, ...]
    first: int
    next: int


class UnreadableRecords(str):
    """Why, of records that no later look can read either."""

    __slots__ = ()


class ClusterLogs(Protocol):
    """One cluster until the call's time is over. Raises KafkaUnavailable and KafkaRefused."""

    @property
    def name(self) -> str:
        """The cluster, for messages."""

    def extents(self, topics: Collection[str]) -> Mapping[TopicPartition, LogExtent]:
        """Of every partition of these topics; a topic that is not there is missing. Raises KafkaUnavailable where the
        leader of one did not answer."""

    def topic_ids(self, topics: Collection[str]) -> Mapping[str, str]:
        """Of each topic that is there: another one once it was made anew."""

    def stretches(self, at: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, LogStretch | str]:
        """Some whole batches of each log from that offset on. Why not, of one that could not be read: now, or at any
        time (UnreadableRecords)."""

    def first_at(self, times: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """The first offset at or after that time (ms since 1970), -1 where nothing is so young."""

    def groups(self, names: Collection[str] | None) -> Sequence[GroupSeen]:
        """These groups of consumers, or all. Raises KafkaUnavailable where one could not be read."""

    def commit(self, group: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Put a group's offsets, known to the cluster or not. Raises KafkaRefused where somebody is a member."""

    def make_compacted(self, topic: str, replication_factor: int) -> None:
        """Have a topic of one partition that is compacted; one that is there stays. Raises KafkaRefused where it has
        more partitions."""

    def append(self, partition: TopicPartition, records: Sequence[KeyedRecord]) -> None:
        """Returns once all replicas in sync have them."""
