"""Where the offsets of a consumer group would be put: what is wished, and what that means for each partition. Pure.

The wishes are those of `kafka-consumer-groups --reset-offsets`, and so is what becomes of an offset outside its log:
it is put to the log's beginning or end.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from planner.consumers.seen import GroupSeen
from planner.observed import TopicPartition


class Whither(StrEnum):
    """What offsets are put to."""

    EARLIEST = "earliest"
    LATEST = "latest"
    TIME = "time"
    """The first record at or after a time; the log's end where there is none."""
    OFFSET = "offset"
    SHIFT = "shift"
    """So many records on from what is committed, or back where that is negative."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetWish:
    """`at` belongs to TIME, `number` to OFFSET and SHIFT. Without `topics` and `partitions` all that has an offset."""

    to: Whither
    at: datetime | None = None
    number: int = 0
    topics: frozenset[str] = frozenset()
    partitions: frozenset[TopicPartition] = frozenset()

    def wants(self, name: TopicPartition) -> bool:
        """Whether that partition is meant."""
        if not self.topics and not self.partitions:
            return True
        return name.topic in self.topics or name in self.partitions


@dataclass(frozen=True, slots=True)
class LogSpan:
    """Where a log begins and ends, and its first record at or after the time asked for; None is not known."""

    first: int | None
    end: int | None
    found: int | None = None


@dataclass(frozen=True, slots=True)
class OffsetSeen:
    """What a reset rests on: the group as its coordinator tells it, and the logs it reads."""

    group: GroupSeen
    spans: Mapping[TopicPartition, LogSpan]


@dataclass(frozen=True, slots=True)
class OffsetChange:
    """One offset that would change. `before` is None where nothing is committed."""

    topic: str
    partition: int
    before: int | None
    after: int
    first: int
    end: int

    @property
    def name(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    @property
    def beyond(self) -> bool:
        """Whether `before` lies beyond the log's end: what was read of this log is then not known."""
        return self.before is not None and self.before > self.end

    @property
    def again(self) -> int:
        """Records of the log that are read a second time; with an unknown `before` none is known to be."""
        return 0 if self.before is None else self._between(self.after, self.before)

    @property
    def skipped(self) -> int:
        """Records of the log that are never read."""
        return 0 if self.before is None else self._between(self.before, self.after)

    def _between(self, one: int, other: int) -> int:
        """Records the log has from one offset up to the other; none where that is no way up."""
        return max(0, min(other, self.end) - max(one, self.first))


@dataclass(frozen=True, slots=True)
class ResetPlan:
    """What a wish means now. `unknown`: partitions that are meant and cannot be judged, with the reason."""

    changes: tuple[OffsetChange, ...]
    same: int
    unknown: Mapping[TopicPartition, str]


def reset_plan(seen: OffsetSeen, wish: ResetWish) -> ResetPlan:
    """By topic and partition. Partitions of its topics that nobody committed to are named where they are meant."""
    changes, same, unknown = [], 0, {}
    named = {*seen.group.committed, *wish.partitions, *(p for p in seen.spans if p.topic in wish.topics)}
    for name in sorted(p for p in named if wish.wants(p)):
        span, before = seen.spans.get(name), seen.group.committed.get(name)
        if span is None or span.first is None or span.end is None:
            unknown[name] = "its log was not told: it is gone, or its leader does not answer"
            continue
        after = _after(wish, before, span)
        if after is None:
            unknown[name] = "nothing is committed there, so nothing can be shifted"
            continue
        after = min(max(after, span.first), span.end)
        if after == before:
            same += 1
        else:
            changes.append(OffsetChange(name.topic, name.partition, before, after, span.first, span.end))
    return ResetPlan(tuple(changes), same, unknown)


def why_not(group: GroupSeen) -> str:
    """Why the offsets of that group may not be changed now, "" where they may. Members would commit their own again."""
    if not group.members:
        return ""
    shown = ", ".join(sorted({f"{m.client} at {m.host}" for m in group.members})[:3])
    more = f" and {len(group.members) - 3} more" if len(group.members) > 3 else ""
    return f"{group.name} has members ({shown}{more}), which go on from where they are and commit that"


def _after(wish: ResetWish, before: int | None, span: LogSpan) -> int | None:
    if wish.to is Whither.EARLIEST:
        return span.first
    if wish.to is Whither.LATEST:
        return span.end
    if wish.to is Whither.OFFSET:
        return wish.number
    if wish.to is Whither.TIME:
        return span.end if span.found is None else span.found
    return None if before is None else before + wish.number
