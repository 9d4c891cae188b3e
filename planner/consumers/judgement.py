"""What two looks at consumer groups mean together. Pure: the looks carry their times.

Kafka tells where a group stands, not whether it moves. An offset that is the same at two looks while the log has grown
between them is one nobody moves on; how long so is counted from the first look that had it. Stillness counts only
while the group had members at both looks and the looks are near: a group that was away all night and came back a
second ago is not stuck. (The checks are those of Netflix's Keystone: every partition is consumed, offsets are not
stuck behind the log's end.)
"""

from datetime import datetime, timedelta

from planner.consumers.reported import (
    BEYOND,
    LEFT,
    NO_MEMBERS,
    READING,
    REBALANCING,
    STUCK,
    STUCK_AFTER_S,
    UNKNOWN,
    UNREAD,
    UNSETTLED,
    WAITING,
    GroupsStatus,
    GroupStatus,
    MemberStatus,
    PartitionStatus,
)
from planner.consumers.seen import GroupSeen, GroupsSeen, MemberSeen
from planner.observed import TopicPartition

MOST_GAP = timedelta(minutes=10)
"""Between two looks that are compared; over a longer gap nothing is said."""
TREND_OVER = timedelta(seconds=30)
"""A trend is measured over at least this long, where looks come faster."""


def judged(seen: GroupsSeen, before: GroupsStatus | None) -> GroupsStatus:
    """The look in words, `before` being the one before it. Groups of brokers that were silent are kept as they were."""
    if before is not None and seen.at - before.at > MOST_GAP:
        before = None
    known = {g.name: g for g in before.groups} if before else {}
    groups = {g.name: _group(g, seen, known.get(g.name)) for g in seen.groups}
    kept = {n: g for n, g in known.items() if n not in groups and g.coordinator in seen.silent}
    every = tuple(group for _, group in sorted({**kept, **groups}.items()))
    return GroupsStatus(seen.at, every, seen.silent, seen.left_out)


def _group(group: GroupSeen, seen: GroupsSeen, before: GroupStatus | None) -> GroupStatus:
    owners = {p: m for m in group.members for p in m.partitions}
    known = {TopicPartition(p.topic, p.partition): p for p in before.partitions} if before else {}
    accompanied = bool(group.members) and before is not None and bool(before.members)
    partitions = tuple(
        _partition(name, group, seen, owners.get(name), known.get(name), accompanied=accompanied)
        for name in sorted(group.every_partition(seen.partitions))
    )
    members = tuple(
        MemberStatus(m.id, m.client, m.host, len(m.partitions), m.unreadable)
        for m in sorted(group.members, key=lambda m: m.id)
    )
    base_lag, base_at = _base(before, seen.at)
    return GroupStatus(
        group.name, group.state, group.kind, group.coordinator, seen.at, members, partitions, base_lag, base_at
    )


def _partition(
    name: TopicPartition,
    group: GroupSeen,
    seen: GroupsSeen,
    owner: MemberSeen | None,
    before: PartitionStatus | None,
    *,
    accompanied: bool,
) -> PartitionStatus:
    committed, end = group.committed.get(name), seen.ends.get(name)
    still_since, end_then = _stillness(committed, end, before if accompanied else None, seen.at)
    state = _state(group, owner, name.topic, before)
    if state in (READING, REBALANCING) and _is_stuck(committed, end, still_since, end_then, seen.at):
        state = STUCK
    if state == READING and committed is None:
        state = WAITING
    if state in (READING, REBALANCING, NO_MEMBERS) and committed is not None and end is not None and committed > end:
        state = BEYOND
    since = before.since if before is not None and before.state == state else seen.at
    if state == STUCK and still_since is not None:
        since = still_since
    member = f"{owner.client} at {owner.host}" if owner else ""
    return PartitionStatus(name.topic, name.partition, state, since, member, committed, end, still_since, end_then)


def _stillness(
    committed: int | None, end: int | None, before: PartitionStatus | None, at: datetime
) -> tuple[datetime | None, int | None]:
    """Since when the offset stands where it does, and where the log ended then. One that has read all moves on."""
    if committed is None or end is None or committed >= end:
        return None, None
    if before is None or before.committed != committed or before.still_since is None:
        return at, end
    return before.still_since, before.end_then


def _is_stuck(
    committed: int | None, end: int | None, still_since: datetime | None, end_then: int | None, at: datetime
) -> bool:
    if committed is None or end is None or still_since is None or end_then is None:
        return False
    return end > end_then and (at - still_since).total_seconds() >= STUCK_AFTER_S


def _state(group: GroupSeen, owner: MemberSeen | None, topic: str, before: PartitionStatus | None) -> str:
    """Whose it is, whatever its offset does."""
    if not group.members:
        return NO_MEMBERS
    if owner is not None:
        return READING
    if group.state in UNSETTLED:
        # Classic groups tell neither subscriptions nor assignments until they have settled.
        return LEFT if before is not None and before.state == LEFT else REBALANCING
    if any(m.unreadable for m in group.members):
        return UNKNOWN  # that member may read it, or have left it: either would be a guess
    return UNREAD if topic in group.topics else LEFT


def _base(before: GroupStatus | None, at: datetime) -> tuple[int | None, datetime | None]:
    if before is None:
        return None, None
    if at - before.at >= TREND_OVER or before.base_at is None:
        return before.lag, before.at
    return before.base_lag, before.base_at
