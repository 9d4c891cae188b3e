"""The copy from one cluster to another as brokers tell of it. Values alone."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from planner.observed import TopicPartition


@dataclass(frozen=True, slots=True)
class FlowEnd:
    """A cluster by its uid, which is also MirrorMaker's name of it and how dialers know its TLS and its addresses.
    `bootstrap` (`host:port`) are brokers that let Kedge in while the door is shut."""

    cluster: str
    bootstrap: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FlowEnds:
    """Records go from `source` to `target`. `replication_factor`: of the topic at the target that says how far."""

    source: FlowEnd
    target: FlowEnd
    replication_factor: int = 3

    @property
    def back(self) -> "FlowEnds":
        """The other way."""
        return FlowEnds(self.target, self.source, self.replication_factor)


@dataclass(frozen=True, slots=True)
class LogExtent:
    """The offset of the oldest record there is, and the one the next record gets (high watermark)."""

    first: int
    end: int


@dataclass(frozen=True, slots=True)
class CopyPositions:
    """One look, complete for its topics. `at` is before the first request; the target was asked before the source, so
    that what is left is never told as less than it was."""

    at: datetime
    source: Mapping[TopicPartition, LogExtent]
    target: Mapping[TopicPartition, LogExtent]
    committed: Mapping[TopicPartition, int] = field(default_factory=dict)
    """The last offset of the source that MirrorMaker has written down as copied; it does so every 5 s."""
    source_ids: Mapping[str, str] = field(default_factory=dict)
    target_ids: Mapping[str, str] = field(default_factory=dict)
    """Of topics by name, as each cluster gave them: another one once a topic was deleted and made anew."""


class TailMatch(StrEnum):
    """Whether the last data records of both logs are one."""

    SAME = "same"
    DIFFERENT = "different"
    EMPTY = "empty"
    """The source holds no data record: it never had one, retention took all, or markers of transactions are left."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class PartitionTail:
    """The ends of both logs compared. Offsets are those of the last data records, None where there is none or nobody
    told; `why` is for people. `source_end`, `target_end`: as both logs ended at this look."""

    match: TailMatch
    source_offset: int | None = None
    target_offset: int | None = None
    source_end: int | None = None
    target_end: int | None = None
    why: str = ""

    @property
    def delta(self) -> int | None:
        """What is added to an offset of the source near its end to get the target's: exact where it is the SAME."""
        if self.match is not TailMatch.SAME or self.source_offset is None or self.target_offset is None:
            return None
        return self.target_offset - self.source_offset
