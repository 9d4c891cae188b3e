"""Offsets of consumer groups that people put elsewhere: part of a cluster's stream, see `facts`."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from events.registry import fact


@dataclass(frozen=True, slots=True)
class OffsetPut:
    """One offset of a group. `before` is None where nothing was committed."""

    topic: str
    partition: int
    before: int | None
    after: int


@fact("group.reset_requested", schema=1)
@dataclass(frozen=True, slots=True)
class OffsetsResetRequested:
    """A person has the offsets of a group put elsewhere, recorded before the brokers are asked."""

    reset: str
    group: str
    offsets: tuple[OffsetPut, ...]
    reason: str


@fact("group.reset", schema=1)
@dataclass(frozen=True, slots=True)
class OffsetsReset:
    """The brokers have answered. `refused`: by `topic-partition`, in Kafka's words, what stayed as it was."""

    reset: str
    group: str
    refused: Mapping[str, str] = field(default_factory=dict)
