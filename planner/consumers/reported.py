"""Consumer groups as they are told to people, and remembered until the next look."""

from dataclasses import dataclass
from datetime import datetime

READING, WAITING, STUCK = "Reading", "NoOffset", "Stuck"
UNREAD, REBALANCING, NO_MEMBERS, LEFT = "Unread", "Rebalancing", "NoMembers", "NotSubscribed"
UNKNOWN, BEYOND = "Unknown", "BeyondEnd"
"""States of a partition. `NotSubscribed`: read once, and no member subscribes to its topic any more. `Unknown`: it is
given to no member that can be read, and there is one that cannot. `BeyondEnd`: its committed offset lies beyond the
log's end, which was longer once: what the group has read of the log is not known.
"""

STUCK_AFTER_S = 300.0
"""How long an offset stands still while its log grows, or a partition is given to nobody, before it is called so.

Five minutes: auto commit is every 5 s, and clients notice new partitions within `metadata.max.age.ms`, 5 min.
"""


@dataclass(frozen=True, slots=True)
class PartitionStatus:
    """One partition of a group. `committed` and `end` are offsets, None where they are not known.

    `still_since`: since when the offset is known to stand still while the group had members; `end_then`: the log's
    end at that time.
    """

    topic: str
    partition: int
    state: str
    since: datetime
    """Since when it is known to be in this state."""
    member: str = ""
    committed: int | None = None
    end: int | None = None
    still_since: datetime | None = None
    end_then: int | None = None

    @property
    def is_beyond(self) -> bool:
        """Whether its offset lies beyond the log's end: another log of that name, or one that was cut short."""
        return self.committed is not None and self.end is not None and self.committed > self.end

    @property
    def lag(self) -> int | None:
        """Records that are not read yet. None where that is not known, so also where the offset and the log's end
        contradict each other: perhaps all of them are unread.
        """
        if self.committed is None or self.end is None or self.is_beyond:
            return None
        return self.end - self.committed


def beyond_words(name: str, committed: int | None, end: int | None) -> str:
    """What an offset beyond its log's end means, in words. `name`: topic and partition."""
    return (
        f"{name}: its offset {committed} lies beyond the log's end {end}: the topic was made anew, or its log cut "
        f"short; what was read of this log is not known, and readers go on as their auto.offset.reset says"
    )


@dataclass(frozen=True, slots=True)
class MemberStatus:
    """One member, and how many partitions it was given. `unreadable`: why that, or what it subscribes to, is not
    known."""

    id: str
    client: str
    host: str
    partitions: int
    unreadable: str = ""


@dataclass(frozen=True, slots=True)
class GroupStatus:
    """One group. `base_*` is the lag of an earlier look, which the trend is measured against."""

    name: str
    state: str
    kind: str
    coordinator: int
    at: datetime
    members: tuple[MemberStatus, ...] = ()
    partitions: tuple[PartitionStatus, ...] = ()
    base_lag: int | None = None
    base_at: datetime | None = None

    @property
    def lag(self) -> int | None:
        """Of all partitions it subscribes to whose lag is known; None where none is."""
        known = [p.lag for p in self.partitions if p.lag is not None and p.state != LEFT]
        return sum(known) if known else None

    @property
    def trend_per_s(self) -> float | None:
        """Records a second by which the lag grows; negative where it shrinks, None before the second look."""
        if self.lag is None or self.base_lag is None or self.base_at is None or self.at <= self.base_at:
            return None
        return (self.lag - self.base_lag) / (self.at - self.base_at).total_seconds()

    @property
    def stuck(self) -> tuple[PartitionStatus, ...]:
        return tuple(p for p in self.partitions if p.state == STUCK)

    @property
    def unread(self) -> tuple[PartitionStatus, ...]:
        """Partitions of subscribed topics that have been nobody's for long enough to be told."""
        return tuple(
            p for p in self.partitions if p.state == UNREAD and (self.at - p.since).total_seconds() >= STUCK_AFTER_S
        )

    @property
    def beyond(self) -> tuple[PartitionStatus, ...]:
        return tuple(p for p in self.partitions if p.state == BEYOND)

    @property
    def word(self) -> str:
        """The worst of it in one word."""
        if self.stuck:
            return STUCK
        if self.unread:
            return UNREAD
        if self.beyond:
            return BEYOND
        if not self.members:
            return NO_MEMBERS
        if self.is_rebalancing:
            return REBALANCING
        return UNKNOWN if any(m.unreadable for m in self.members) else READING

    @property
    def is_rebalancing(self) -> bool:
        """Whether it has members and no settled assignment, by Kafka's own word."""
        return bool(self.members) and self.state in UNSETTLED


UNSETTLED = frozenset({"PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling"})
"""States of classic groups (KIP-518) and of the new ones (KIP-848) while partitions change hands."""


@dataclass(frozen=True, slots=True)
class GroupsStatus:
    """All groups of a cluster at one time, by name. `silent` and `left_out` as in `GroupsSeen`."""

    at: datetime
    groups: tuple[GroupStatus, ...] = ()
    silent: tuple[int, ...] = ()
    left_out: int = 0

    def named(self, name: str) -> GroupStatus | None:
        return next((g for g in self.groups if g.name == name), None)
