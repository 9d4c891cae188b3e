"""The last data records of logs, compared; and where in one log the copy of another one's record is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from controlplane.kafka.errors import KafkaUnavailable
from controlplane.kafka.pair_copies.log_edge import ClusterLogs, LogRecord, LogStretch, UnreadableRecords
from controlplane.kafka.pair_copies.values import LogExtent, PartitionTail, TailMatch
from planner.observed import TopicPartition

_MOST_ROUNDS = 64
"""Reads of one log until its last data record is found. Steps back double, so only many markers need several."""
_SEARCH_RECORDS = 20_000
"""Of one log, looked through for a record, from the record's time on."""


@dataclass(frozen=True, slots=True)
class LastRecord:
    """None: there is no data record."""

    record: LogRecord | None


@dataclass(slots=True)
class _Probe:
    """A look for the last data record, from `start` on. What is at `known` and behind it are markers alone."""

    extent: LogExtent
    start: int
    at: int
    known: int
    step: int = 1
    best: LogRecord | None = None
    lowest: int | None = None


def last_records(
    logs: ClusterLogs, extents: Mapping[TopicPartition, LogExtent]
) -> Mapping[TopicPartition, LastRecord | str]:
    """Of each log the last record that is no marker, or why it is not known. Raises KafkaUnavailable."""
    found: dict[TopicPartition, LastRecord | str] = {
        p: LastRecord(None) for p, e in extents.items() if e.first >= e.end
    }
    probes = {p: _Probe(e, e.end - 1, e.end - 1, e.end) for p, e in extents.items() if e.first < e.end}
    for _ in range(_MOST_ROUNDS):
        if not probes:
            return found
        answers = logs.stretches({p: probe.at for p, probe in probes.items()})
        for p, probe in list(probes.items()):
            answer = answers[p]
            result = answer if isinstance(answer, str) else _advance(probe, answer)
            if result is not None:
                found[p] = result
                del probes[p]
    return found | dict.fromkeys(probes, "no data record was found among its last ones")


def _advance(probe: _Probe, read: LogStretch) -> LastRecord | None:
    """Takes in what was read. The result once it is known, None while there is more to read."""
    probe.lowest = read.first if probe.lowest is None else min(probe.lowest, read.first)
    for record in read.records:
        if record.offset < probe.known:
            probe.best = record
    if read.next > probe.at and read.next < probe.known:
        probe.at = read.next
        return None
    if probe.best is not None:
        return LastRecord(probe.best)
    below = min(probe.start, probe.lowest)
    if below <= probe.extent.first:
        return LastRecord(None)
    probe.known = below
    probe.start = probe.at = max(probe.extent.first, below - probe.step)
    probe.step, probe.lowest = probe.step * 2, None
    return None


def tail_of(
    source: LastRecord | str | None,
    target: LastRecord | str | None,
    source_extent: LogExtent | None,
    target_extent: LogExtent | None,
) -> PartitionTail:
    """Both ends of a partition compared; None where the cluster has no such partition."""
    ends = (source_extent.end if source_extent else None, target_extent.end if target_extent else None)
    if not isinstance(source, LastRecord):
        return PartitionTail(TailMatch.UNKNOWN, None, None, *ends, _why_unknown("source", source))
    if not isinstance(target, LastRecord):
        return PartitionTail(TailMatch.UNKNOWN, None, None, *ends, _why_unknown("target", target))
    one, other = source.record, target.record
    offsets = (one.offset if one else None, other.offset if other else None)
    if one is None:
        return PartitionTail(TailMatch.EMPTY, *offsets, *ends, "the source holds no data record")
    if other is None:
        return PartitionTail(TailMatch.DIFFERENT, *offsets, *ends, "the target holds no data record")
    if one.is_copy_of(other):
        return PartitionTail(TailMatch.SAME, *offsets, *ends)
    return PartitionTail(TailMatch.DIFFERENT, *offsets, *ends, "the last records differ")


def _why_unknown(side: str, found: str | None) -> str:
    return f"the {side} has no such partition" if found is None else f"of the {side}: {found}"


def require_readable(logs: ClusterLogs, p: TopicPartition, why: str) -> None:
    """Raise KafkaUnavailable for what a later look may read: "not found" would be a guess."""
    if not isinstance(why, UnreadableRecords):
        raise KafkaUnavailable(what=f"reading {p}", where=logs.name, why=why)


def records_from(
    logs: ClusterLogs, at: Mapping[TopicPartition, int], extents: Mapping[TopicPartition, LogExtent]
) -> Mapping[TopicPartition, LogRecord | None]:
    """The first data record at or behind each offset; None where none follows, or it cannot be read."""
    found: dict[TopicPartition, LogRecord | None] = dict.fromkeys(at)

    def takes(p: TopicPartition, record: LogRecord) -> bool:
        found[p] = record
        return True

    inside = {p: o for p, o in at.items() if p in extents and extents[p].first <= o < extents[p].end}
    _read_through(logs, inside, extents, takes)
    return found


def find_copies(
    logs: ClusterLogs, wanted: Mapping[TopicPartition, LogRecord], extents: Mapping[TopicPartition, LogExtent]
) -> Mapping[TopicPartition, int]:
    """Where in these logs the first copy of each record is: its offset. Looked for from the record's time on, so a
    time that the producer set has to be its own; those that are not found are missing."""
    found: dict[TopicPartition, int] = {}

    def is_found(p: TopicPartition, record: LogRecord) -> bool:
        if wanted[p].is_copy_of(record):
            found[p] = record.offset
            return True
        return False

    times = {p: max(0, r.timestamp_ms) for p, r in wanted.items() if p in extents}
    starts = {p: o for p, o in logs.first_at(times).items() if o >= 0}
    _read_through(logs, starts, extents, is_found)
    return found


def _read_through(
    logs: ClusterLogs,
    starts: Mapping[TopicPartition, int],
    extents: Mapping[TopicPartition, LogExtent],
    is_enough: Callable[[TopicPartition, LogRecord], bool],
) -> None:
    """Hands on the records of each log from there on until one is enough, the log or the bound is at its end. What can
    never be read ends it for that log. Raises KafkaUnavailable for what was not read this time."""
    left, counts = dict(starts), dict.fromkeys(starts, 0)
    while left:
        for p, answer in logs.stretches(left).items():
            at = left.pop(p)
            if isinstance(answer, str):
                require_readable(logs, p, answer)
                continue
            read = [r for r in answer.records if r.offset >= at]
            counts[p] += len(read)
            is_over = at >= answer.next or answer.next >= extents[p].end or counts[p] >= _SEARCH_RECORDS
            if not any(is_enough(p, record) for record in read) and not is_over:
                left[p] = answer.next
