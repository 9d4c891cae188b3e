"""What the HTTP API says of what brokers answer when they are asked: settings, and where logs begin and end."""

from datetime import datetime

from pydantic import Field

from controlplane.api.schemas.messages import Message

Where = Field(
    description="topic: set on it; broker: live on that broker; cluster: live for all; file: in its file; "
    "kafka: its own default; other: somewhere a newer Kafka has"
)


class ValueOut(Message):
    """One setting as it counts. `value` is null where there is none, and where Kafka keeps it to itself (`secret`)."""

    name: str
    value: str | None
    origin: str = Where
    secret: bool
    declared: str | None = Field(description="what the spec says, null where it says nothing")
    behind: str | None = Field(description="what would count without it, null where Kafka does not tell")
    behind_origin: str = Field(description="where that comes from, as `origin`; empty where Kafka does not tell")
    behind_name: str = Field(description="its name there: brokers have names, and some units, of their own")


class ValuesOut(Message):
    """Every setting of a topic or a broker, by name."""

    cluster: str
    values: list[ValueOut]


class PartitionLogOut(Message):
    """The log of one partition by its leader's word; what is null it did not tell."""

    partition: int
    first: int | None = Field(description="the offset of the oldest record there is")
    end: int | None = Field(description="the offset the next record gets: the high watermark")
    records: int | None = Field(description="end - first: there are at most so many")
    records_per_s: float | None = Field(description="null until a second look, 5 s to 10 min after the first")
    write_bytes_per_s: float | None
    read_bytes_per_s: float | None = Field(description="what clients fetch of it; the metric lake alone knows")


class TopicLogsOut(Message):
    """The logs of a topic. Sums are null unless every partition is known."""

    cluster: str
    topic: str
    at: datetime = Field(description="when its leaders were asked")
    apart_s: float | None = Field(description="between the two looks `records_per_s` is from")
    records: int | None
    records_per_s: float | None
    write_bytes_per_s: float | None
    read_bytes_per_s: float | None
    rates_from: str = Field(description="where bytes per second are from and how old; empty where there are none")
    left_out: int = Field(description="partitions that were not read: one reading has a limit")
    partitions: list[PartitionLogOut]


class LedTopicOut(Message):
    """A topic with partitions that a broker leads."""

    topic: str
    led: int
    of: int = Field(description="partitions of the topic")
    written_per_s: float | None = Field(description="bytes a second into those it leads; null where it is not known")


class ReaderOut(Message):
    """A consumer group that reads from a broker, or commits to it."""

    group: str
    word: str
    coordinated: bool = Field(description="its offsets are committed to this broker")
    led: int = Field(description="partitions it reads from this broker")
    of: int = Field(description="partitions it reads")
    clients: list[str] = Field(description="members that were given those, as `client at host`")


class DependentsOut(Message):
    """Who depends on a broker. Producers are not told by Kafka: `topics` says what is written."""

    cluster: str
    broker: int
    read_at: datetime = Field(description="when the metadata was read")
    topics: list[LedTopicOut]
    followers: dict[int, int] = Field(description="by broker, the partitions it copies from this one")
    sole: list[str] = Field(description="partitions it leads that nobody else is in sync with")
    readers: list[ReaderOut]
    readers_unknown: str = Field(description="why groups could not be read, empty where they could")
