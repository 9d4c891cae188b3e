"""What the API says of the pipeline that reads metrics into the lake."""

from datetime import datetime

from pydantic import Field

from controlplane.api.schemas.messages import Message


class MetricStreamOut(Message):
    """One topic of metrics that is read."""

    name: str = Field(description="the cluster whose topic it is")
    topic: str
    state: str = Field(description="`starting`, `reading` or `failed`")
    batches: int = Field(description="since the process began")
    records: int = Field(description="messages of brokers, since the process began")
    behind: int | None = Field(
        description="messages not read yet at the last batch, of the partition that is farthest back"
    )
    batch_s: float | None = Field(description="what the last batch took")
    batch_at: datetime | None = Field(description="when the last batch began, also one that found nothing new")
    failures: int = Field(description="tries in a row that failed")
    error: str = Field(description="the last one, kept after the topic is read again")
    error_at: datetime | None
    retry_at: datetime | None = Field(description="when it is tried again")


class MetricPipelineOut(Message):
    """The process that reads metrics, on the server that leads."""

    state: str = Field(description="`off`, `idle`, `starting`, `running`, `backing off` or `stopped`")
    since: datetime
    reason: str = Field(description="why it is off or idle, or what ended it")
    problem: str = Field(description='what a person should know is wrong; "" where nothing is')
    pid: int | None
    restarts: int = Field(description="starts after the first, since this server began")
    error: str = Field(description="the last one, kept after it recovered")
    error_at: datetime | None
    memory_bytes: int | None = Field(description="resident, of all its processes")
    lake: str
    housekeeping_at: datetime | None = Field(description="when the lake was last tidied up, by this process")
    streams: list[MetricStreamOut]
