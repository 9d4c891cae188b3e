"""What the HTTP API says and takes of offsets that are put elsewhere; the rest of the contract is in `schemas`."""

from typing import Annotated, Literal

from pydantic import Field

from controlplane.api.moments import Moment
from controlplane.api.schemas.messages import Message
from controlplane.cluster.request_limits import MOST_OFFSETS

_FURTHEST = 2**53
Name = Annotated[str, Field(min_length=1, max_length=250)]
Number = Annotated[int, Field(ge=0, le=2**31 - 1)]
Offset = Annotated[int, Field(ge=0, le=_FURTHEST)]


class PartitionIn(Message):
    """One partition of a topic."""

    topic: Name
    partition: Number


class ResetPlanIn(Message):
    """Where offsets of a group are wished to. Without `topics` and `partitions`: all that have one.

    `at` belongs to `time`; `number` is the offset of `offset`, and of `shift` how many records on, negative for back.
    """

    group: Name
    to: Literal["earliest", "latest", "time", "offset", "shift"]
    at: Moment | None = None
    number: int = Field(default=0, ge=-_FURTHEST, le=_FURTHEST)
    topics: list[Name] = Field(default_factory=list, max_length=1000)
    partitions: list[PartitionIn] = Field(default_factory=list, max_length=MOST_OFFSETS)


class OffsetIn(Message):
    """One offset as it was planned. `before`: what is committed, null for nothing."""

    topic: Name
    partition: Number
    before: Offset | None
    after: Offset


class ResetIn(Message):
    """A reset as it was planned: done only while each offset is still at `before`."""

    group: Name
    offsets: list[OffsetIn] = Field(min_length=1, max_length=MOST_OFFSETS)
    reason: str = Field(default="", max_length=200)


class OffsetChangeOut(OffsetIn):
    """One offset that would change. `again`: records that would be read twice; `skipped`: that would never be."""

    first: int = Field(description="where its log begins")
    end: int = Field(description="where its log ends")
    again: int
    skipped: int
    beyond: bool = Field(
        default=False,
        description="`before` lies beyond the log's end: what was read of this log is not known",
    )


class OffsetUnknownOut(Message):
    """A partition that is meant and cannot be judged."""

    topic: str
    partition: int
    why: str


class ResetPlanOut(Message):
    """What a wish means now. `refused`: why it may not be done now, empty where it may."""

    cluster: str
    group: str
    refused: str
    changes: list[OffsetChangeOut]
    same: int = Field(description="offsets that are there already")
    unknown: list[OffsetUnknownOut]
    again: int = Field(description="records that would be read twice, of all partitions")
    skipped: int = Field(description="records that would never be read, of all partitions")


class ResetOut(Message):
    """What came of a reset. `refused`: by `topic-partition`, in Kafka's words, what stayed as it was."""

    cluster: str
    group: str
    sentence: str
    refused: dict[str, str]
