"""Where the offsets of groups go at the target of a copy that is drained. Places are proved by comparing records."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from controlplane.kafka.pair_copies.log_edge import ClusterLogs, LogRecord
from controlplane.kafka.pair_copies.tails import find_copies, records_from
from controlplane.kafka.pair_copies.values import LogExtent, PartitionTail, TailMatch
from planner.consumers.seen import GroupSeen
from planner.observed import TopicPartition

Places = Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class DrainedCopy:
    """Both clusters, and where the ends of their logs match: tails are SAME or EMPTY."""

    source: ClusterLogs
    target: ClusterLogs
    tails: Mapping[TopicPartition, PartitionTail]
    source_extents: Mapping[TopicPartition, LogExtent]
    target_extents: Mapping[TopicPartition, LogExtent]


@dataclass(frozen=True, slots=True)
class GroupPlaces:
    """Offsets of a group at the target, and how many records it reads again there."""

    offsets: Places
    read_again: int


def aligned_groups(groups: Iterable[GroupSeen], not_groups: Collection[str]) -> list[GroupSeen]:
    """Those whose offsets are aligned. Raises ValueError for a pattern that is none."""
    try:
        left = [re.compile(pattern) for pattern in not_groups]
    except re.error as e:
        raise ValueError(f"no pattern of groups: {e}") from e
    return [g for g in groups if not any(pattern.fullmatch(g.name) for pattern in left)]


def exact_places(
    copy: DrainedCopy, wanted: Iterable[tuple[TopicPartition, int]]
) -> dict[tuple[TopicPartition, int], int]:
    """For offsets of the source, as groups have them committed: where the same record is at the target. What is not
    proved is missing."""
    found: dict[tuple[TopicPartition, int], int] = {}
    left = set(wanted)
    for p, offset in list(left):
        tail, place = copy.tails[p], _behind_all(copy, p, offset)
        if place is not None:
            found[p, offset] = place
        if place is not None or tail.delta is None or offset < copy.source_extents[p].first:
            left.discard((p, offset))
    while left:
        batch = dict(sorted(left, reverse=True))  # one offset of each partition: a request names each once
        left -= set(batch.items())
        found |= {(p, batch[p]): place for p, place in _proved(copy, batch).items()}
    return found


def _behind_all(copy: DrainedCopy, p: TopicPartition, offset: int) -> int | None:
    """Of a group that has read every record of the source: behind the last one, where there is none to compare."""
    tail = copy.tails[p]
    if tail.match is TailMatch.EMPTY:
        return copy.target_extents[p].end if offset >= copy.source_extents[p].first else None
    if tail.source_offset is None or tail.target_offset is None or offset <= tail.source_offset:
        return None
    return tail.target_offset + 1


def _proved(copy: DrainedCopy, at: Places) -> dict[TopicPartition, int]:
    """At the same distance from the end, and where that is another record, the first copy from its time on."""
    unread = {p: r for p, r in records_from(copy.source, at, copy.source_extents).items() if r is not None}
    expected = {p: r.offset + (copy.tails[p].delta or 0) for p, r in unread.items()}
    there = records_from(copy.target, expected, copy.target_extents)
    found = {p: o for p, o in expected.items() if _is_at(there.get(p), o, unread[p])}
    missing = {p: r for p, r in unread.items() if p not in found}
    return found | dict(find_copies(copy.target, missing, copy.target_extents))


def _is_at(record: LogRecord | None, offset: int, unread: LogRecord) -> bool:
    return record is not None and record.offset == offset and record.is_copy_of(unread)


def places_of(
    copy: DrainedCopy,
    group: GroupSeen,
    topics: Collection[str],
    exact: Mapping[tuple[TopicPartition, int], int],
    synced: Places,
) -> GroupPlaces:
    """Exact where it is proved; else what MirrorMaker has `synced`, within the log, or the log's beginning."""
    offsets, again = {}, 0
    for p, committed in sorted(group.committed.items()):
        if p.topic not in topics or p not in copy.tails:
            continue
        place = exact.get((p, committed))
        offsets[p] = _fallback(copy, p, committed, synced.get(p)) if place is None else place
        again += _read_again(copy.tails[p], committed, offsets[p], copy.target_extents[p])
    return GroupPlaces(offsets, again)


def _fallback(copy: DrainedCopy, p: TopicPartition, committed: int, synced: int | None) -> int:
    """Never behind the target's last record while the source has one that the group has not read.

    What is synced may be of an offset that the group had before it went back. Where no record was copied to an earlier
    offset than it had, its place is not before the offset it has; elsewhere it begins anew.
    """
    tail, log = copy.tails[p], copy.target_extents[p]
    if tail.delta is None or tail.delta < 0:
        return log.first
    has_unread = tail.source_offset is not None and committed <= tail.source_offset
    most = log.end if not has_unread or tail.target_offset is None else tail.target_offset
    return log.first if synced is None else max(log.first, min(synced, most, committed))


def _read_again(tail: PartitionTail, committed: int, place: int, log: LogExtent) -> int:
    """Records at the target from there on, but for those that the group has not read at the source."""
    last = tail.target_offset
    to_come = log.end - place if last is None else last + 1 - place
    unread = 0 if tail.source_offset is None else tail.source_offset + 1 - committed
    return max(0, to_come - max(0, unread))
