"""What brokers answer when a person looks closer at a topic or a broker: values, not judgements."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class ValueOrigin(StrEnum):
    """Where a value comes from, the strongest first (Kafka's `DescribeConfigsResponse.ConfigSource`)."""

    TOPIC = "topic"
    BROKER_LIVE = "broker"
    CLUSTER_LIVE = "cluster"
    FILE = "file"
    KAFKA_DEFAULT = "kafka"
    OTHER = "other"
    """One that a newer Kafka has."""


@dataclass(frozen=True, slots=True)
class ValueSeen:
    """A setting as it counts. `value` is None where there is none, and where Kafka keeps it to itself (`is_secret`).

    `behind` is what would count without it, where from, and under which name: brokers have names of their own for most
    settings of topics, of some in another unit. "" where there is nothing behind, or Kafka does not tell, as of the
    retention and the segments' age of a topic (Kafka 4.1).
    """

    value: str | None
    origin: ValueOrigin
    behind: str | None = None
    behind_origin: str = ""
    behind_name: str = ""
    is_secret: bool = False


@dataclass(frozen=True, slots=True)
class LogBounds:
    """Of one partition: the offset of the oldest record there is, and the one the next record gets (the high
    watermark). What is None its leader did not tell."""

    first: int | None
    end: int | None

    @property
    def records(self) -> int | None:
        """At most so many: compaction and transactions leave gaps."""
        return None if self.first is None or self.end is None else max(0, self.end - self.first)


@dataclass(frozen=True, slots=True)
class TopicLogs:
    """The logs of a topic by partition, as their leaders told from `at` on. `left_out` partitions were not asked."""

    at: datetime
    partitions: Mapping[int, LogBounds] = field(default_factory=dict)
    left_out: int = 0
