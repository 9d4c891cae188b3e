"""How far a copy is behind, out of looks at the logs of both clusters. Pure: no clock, no calls.

How far it has come is told twice. MirrorMaker writes down every 5 s the last offset it has copied; and where the last
records of both logs were seen to be the same one, the target's end tells it at once, as long as offsets stay at that
distance: after a replicator's crash they may not, so tails are to be read anew behind each start of one.
What is left of a partition is told as at most so many: offsets of markers and of compacted records count, and since
MirrorMaker passes no marker at a log's end, the last one stays "left" until a tail says that it is none
(`suspected_markers`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from controlplane.fleet.failovers.seen import CopySeen
from controlplane.kafka.pair_copies.values import CopyPositions, LogExtent, PartitionTail, TailMatch
from events.failover_facts import TopicEnds
from planner.observed import TopicPartition

MOST_LOOKS = 120
"""Kept of a copy that is behind. More are thinned out, so that its seconds are told as more than they are."""

Tails = Mapping[TopicPartition, PartitionTail]
_NO_TAILS: Tails = {}


@dataclass(frozen=True, slots=True)
class PastEnds:
    """Where the logs of the source ended at that time."""

    at: datetime
    ends: Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class FlowFindings:
    """What came out of all looks at one flow. `gaps`: records that retention took before they are known to be copied,
    at most; `remade`: partitions whose log begins anew, or ended before what was copied of it; `ids`: of each topic on
    the source and on the target, as first seen; `anew`: topics that have had another one since."""

    gaps: Mapping[TopicPartition, int] = field(default_factory=dict)
    remade: frozenset[TopicPartition] = frozenset()
    ids: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    anew: frozenset[str] = frozenset()


NOTHING_FOUND = FlowFindings()


@dataclass(frozen=True, slots=True)
class CopyHistory:
    """The last look, and earlier ends back to the last ones that are all copied. `found`: what is kept of a flow
    whatever becomes of a server."""

    last: CopyPositions | None = None
    past: tuple[PastEnds, ...] = ()
    found: FlowFindings = NOTHING_FOUND


def with_look(history: CopyHistory, seen: CopyPositions, tails: Tails = _NO_TAILS) -> CopyHistory:
    """The history with one look more. Begin with an empty one for each flow.

    A clock that went back, and a log that did, make what was seen before them worthless: how many seconds are left is
    not known then until all of it is copied once.
    """
    before = history.found
    remade = before.remade | _remade(history.last, seen)
    gaps = {**before.gaps}
    for p, count in _gaps(seen, tails).items():
        gaps[p] = max(count, gaps.get(p, 0))
    now_ids = {t: (one, seen.target_ids[t]) for t, one in seen.source_ids.items() if t in seen.target_ids}
    anew = before.anew | {t for t, ids in now_ids.items() if before.ids.get(t, ids) != ids}
    is_usable = history.last is not None and history.last.at <= seen.at and remade == before.remade
    past = history.past if is_usable else ()
    ends = PastEnds(seen.at, {p: extent.end for p, extent in seen.source.items()})
    found = FlowFindings(gaps, remade, {**now_ids, **before.ids}, anew)
    return CopyHistory(seen, _bounded(_needed((*past, ends), seen, tails)), found)


def copied_to(seen: CopyPositions, p: TopicPartition, tails: Tails = _NO_TAILS) -> int | None:
    """The offset of the source from which on nothing is known to be copied; None where nobody knows.

    What lies behind the log's end tells of another log: its topic was made anew, or records were lost.
    """
    source, target, tail = seen.source[p], seen.target.get(p), tails.get(p)
    if is_emptied(seen, p):
        return None
    known = [source.end] if source.first == source.end or _is_drained(seen, p, tail) else []
    if p in seen.committed:
        known.append(seen.committed[p] + 1)
    if target is not None and tail is not None and tail.delta is not None:
        known.append(target.end - tail.delta)
    if target == LogExtent(0, 0):
        known.append(source.first)  # nothing was ever copied, and MirrorMaker begins at the beginning
    return max((offset for offset in known if offset <= source.end), default=None)


def is_emptied(seen: CopyPositions, p: TopicPartition) -> bool:
    """The target's log never had a record, and MirrorMaker says that it has copied some: its topic was made anew."""
    return p in seen.committed and seen.target.get(p) in (None, LogExtent(0, 0))


def left_records(seen: CopyPositions, tails: Tails = _NO_TAILS) -> dict[TopicPartition, int | None]:
    """By partition how many records are not known to be copied, at most; None where nobody knows. What retention took
    is not left: it is a gap."""
    found: dict[TopicPartition, int | None] = {}
    for p, source in sorted(seen.source.items()):
        copied = copied_to(seen, p, tails)
        found[p] = None if copied is None else max(0, source.end - max(copied, source.first))
    return found


def suspected_markers(history: CopyHistory, tails: Tails = _NO_TAILS) -> frozenset[TopicPartition]:
    """Partitions of which something is left and whose ends have not moved since the look before: it may be markers
    alone. Whoever wants to know reads their tails."""
    if history.last is None:
        return frozenset()
    before = history.past[-2].ends if len(history.past) > 1 else {}
    left = left_records(history.last, tails)
    return frozenset(p for p, count in left.items() if count != 0 and before.get(p) == history.last.source[p].end)


def lag_s(history: CopyHistory, now: datetime, tails: Tails = _NO_TAILS) -> float | None:
    """Seconds since the last time at which all that there was then is copied by now: what was acknowledged earlier is
    at the target. None where no such time is known, or the clock went back. It grows while nobody looks."""
    seen = history.last
    if seen is None or not seen.source or now < seen.at or history.found.anew:
        return None
    for past in reversed(history.past):
        if _is_copied(past, seen, tails):
            return (now - past.at).total_seconds()
    return None


def drained_topics(history: CopyHistory, tails: Tails) -> Mapping[str, TopicEnds] | None:
    """Where both logs of all partitions end, once all of them are drained; None before that.

    Drained: the log of the source ended at the tail's look where it ends at this one, and either its last data record
    is the target's last, at the same offset or at or before the one MirrorMaker has written down; or it holds no data
    record, so that nothing is left which could be copied. What was there once and is gone uncopied is a gap.
    """
    seen = history.last
    if seen is None or not seen.source or history.found.anew or undrained(seen, tails):
        return None
    by_topic: dict[str, list[TopicPartition]] = {}
    for p in sorted(seen.source):
        by_topic.setdefault(p.topic, []).append(p)
    return {
        topic: TopicEnds(
            seen.target_ids.get(topic, ""),
            tuple(seen.source[p].end for p in partitions),
            tuple(tails[p].target_end or 0 for p in partitions),
        )
        for topic, partitions in by_topic.items()
    }


def undrained(seen: CopyPositions, tails: Tails) -> frozenset[TopicPartition]:
    """Partitions that are not drained, by tails that may be older than the look."""
    return frozenset(p for p in seen.source if not _is_drained(seen, p, tails.get(p)) or is_emptied(seen, p))


def copy_seen(history: CopyHistory, now: datetime, *, tails: Tails | None = None) -> CopySeen:
    """What a pair's steps are decided by. `tails`: as last read since the replicator was started."""
    seen, known = history.last, tails or _NO_TAILS
    if seen is None:
        return CopySeen(problem="nobody has looked yet")
    left = left_records(seen, known)
    return CopySeen(
        lag_s=lag_s(history, now, known),
        lag_records={str(p): count for p, count in left.items() if count},
        drained=drained_topics(history, known),
        gaps={str(p): count for p, count in sorted(history.found.gaps.items())},
        problem=_problem([p for p, count in left.items() if count is None], history.found, known),
    )


def _is_drained(seen: CopyPositions, p: TopicPartition, tail: PartitionTail | None) -> bool:
    if tail is None or tail.source_end != seen.source[p].end:
        return False
    if tail.match is TailMatch.EMPTY:
        return True
    if tail.match is not TailMatch.SAME or tail.source_offset is None:
        return False
    return tail.delta == 0 or seen.committed.get(p, -1) >= tail.source_offset


def _is_copied(past: PastEnds, seen: CopyPositions, tails: Tails) -> bool:
    """A partition that was not there then has to be copied whole: nobody knows how old its records are."""
    for p, source in seen.source.items():
        copied = copied_to(seen, p, tails)
        if copied is None or copied < past.ends.get(p, source.end):
            return False
    return True


def _needed(past: tuple[PastEnds, ...], seen: CopyPositions, tails: Tails) -> tuple[PastEnds, ...]:
    """Without what is older than the last ends that are copied, but for the look before this one."""
    for index in range(len(past) - 1, -1, -1):
        if _is_copied(past[index], seen, tails):
            return past[max(0, min(index, len(past) - 2)) :]
    return past


def _bounded(past: tuple[PastEnds, ...]) -> tuple[PastEnds, ...]:
    """Without the one that is missed least for its age. The oldest stays, which may be the last that is copied, and so
    do the two latest."""
    if len(past) <= MOST_LOOKS:
        return past

    def spread(index: int) -> float:
        age = max(past[-1].at - past[index].at, timedelta(milliseconds=1))
        return (past[index + 1].at - past[index - 1].at) / age

    spare = min(range(1, len(past) - 2), key=spread)
    return past[:spare] + past[spare + 1 :]


def _gaps(seen: CopyPositions, tails: Tails) -> dict[TopicPartition, int]:
    """What retention took behind the last record that is known to be copied; a copy that began later has none before
    its first."""
    found: dict[TopicPartition, int] = {}
    for p, source in seen.source.items():
        known = seen.committed[p] + 1 if p in seen.committed else None
        tail, target = tails.get(p), seen.target.get(p)
        if known is not None and tail is not None and tail.delta is not None and target is not None:
            known = max(known, target.end - tail.delta)
        if known is not None and source.first > known:
            found[p] = source.first - known
    return found


def _remade(before: CopyPositions | None, seen: CopyPositions) -> frozenset[TopicPartition]:
    """Logs of the source that end before what was copied of them, or before their own end of the last look."""
    copied = {p for p, source in seen.source.items() if source.end < seen.committed.get(p, -1) + 1}
    copied |= {p for p in seen.source if is_emptied(seen, p)}
    if before is not None:
        copied |= {p for p, source in seen.source.items() if p in before.source and source.end < before.source[p].end}
    return frozenset(copied)


def _problem(unknown: Iterable[TopicPartition], found: FlowFindings, tails: Tails) -> str:
    parts = []
    if names := sorted(found.anew):
        parts.append(f"{_some(names)} was deleted and made anew since the copy began: it may never be copied whole")
    if names := [str(p) for p in unknown]:
        parts.append(f"how far {_some(names)} is copied is not known")
    if names := sorted(map(str, found.remade)):
        parts.append(f"{_some(names)} ended before what was copied of it: its topic was made anew, or it lost records")
    if names := [f"{p} ({t.why})" for p, t in sorted(tails.items()) if t.match is TailMatch.UNKNOWN]:
        parts.append(f"the end of {_some(names)} is not known")
    return "; ".join(parts)


def _some(names: list[str]) -> str:
    return names[0] + (f" (and {len(names) - 1} more)" if len(names) > 1 else "")
