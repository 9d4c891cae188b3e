"""What the HTTP API says of what brokers answer when they are asked: settings, and where logs begin and end."""

from datetime import datetime

from pydantic import Field

from controlplane.portal.schemas import Message

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
    left_out: int = Field(description="partitions that were not asked: there are more than one look reads")
    partitions: list[PartitionLogOut]
