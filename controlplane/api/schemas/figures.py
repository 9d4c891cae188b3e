"""What the API says of what brokers did of late."""

from datetime import datetime

from pydantic import Field

from controlplane.api.schemas.messages import Message


class BrokerFiguresOut(Message):
    """One broker in one minute, the newest that is closed. What is null is not known."""

    broker: int
    at: datetime = Field(description="when that minute began")
    cpu: float | None = Field(description="share of its machine, 0 to 1")
    gc_share: float | None = Field(description="share of the time spent in garbage collections, 0 to 1")
    request_handler_idle: float | None
    nic_in_bytes_per_s: float | None = Field(description="of Kafka, clients and replication together")
    nic_out_bytes_per_s: float | None
    disk_read_bytes_per_s: float | None
    disk_write_bytes_per_s: float | None
    produce_total_p99_ms: float | None = Field(description="how long clients waited, replication with it")
    produce_local_p99_ms: float | None = Field(description="how long the broker itself took")
    fetch_local_p99_ms: float | None
    request_queue_p99_ms: float | None
    log_flush_p99_ms: float | None


class ForecastOut(Message):
    """When a broker's disk is full, or its network or processors are at four fifths, by its last four weeks."""

    broker: int
    figure: str = Field(description="`disk` (bytes), `nic-in`, `nic-out` (bytes/s), `cpu` (share)")
    level: float | None = Field(description="now; null where nothing can be said")
    limit: float | None = Field(description="what counts as full or busy; null where nobody knows it")
    per_day: float | None = Field(description="growth")
    earliest: float | None = Field(description="days, the early end of the interval; null: not within a year")
    likely: float | None = Field(description="days; null: not within a year, or unknown")
    latest: float | None = Field(description="days, the late end; null: not within a year")
    days: int = Field(description="of how many days it is made")
    words: str
    unknown: str = Field(description='why nothing can be said; "" where something is')


class TrafficOut(Message):
    """All brokers in the time from `at` to the next, clients and replication together."""

    at: datetime
    in_bytes_per_s: float | None = Field(description="null where a broker's share is not known")
    out_bytes_per_s: float | None


class RollMarkOut(Message):
    """A step of the roll in hand, or the last one."""

    at: datetime
    words: str


class FiguresOut(Message):
    """As the metric lake has it, where a minute is there some five minutes after it ended; of the time since then, and
    of the last hour where there is no lake, as agents told it."""

    cluster: str
    brokers: list[BrokerFiguresOut] = Field(description="by id, those that were measured in the last 20 minutes")
    traffic: list[TrafficOut] = Field(description="of the last six hours, oldest first; the newest are shorter")
    marks: list[RollMarkOut] = Field(description="in the same time")
    forecasts: list[ForecastOut] = Field(default_factory=list, description="by broker and figure; made once a day")
    why_none: str = Field(description='where there is nothing: why; else ""')
