"""How far a service came lately, from its vitals. Pure.

A finding says what is wrong at a moment; this says whether it gets better by itself. A service that is busy and
advances is not stuck, however old what it shows is.

Two measures are needed for metadata: a broker applies all that it fetched at once as one change, and its applied offset
stands still until the last partition of that is there (`BrokerMetadataPublisher` tells the offset at its end).
Meanwhile it opens partitions and leads them, one after the other.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from agent.health.vitals import Vitals

MEASURED_OVER_S = 120.0
"""Standing still is told only of so long a time: less says nothing on a machine that is busy. Coming on is told at
once."""

NEARLY_ALL = 0.85
"""Of heap, threads or descriptors: what findings call exhausted (`agent.health.judge`)."""

THRASHES = 0.5
"""Of the time, in collections of garbage."""


@dataclass(frozen=True, slots=True)
class HealthProgress:
    """What came on by how much in `over_s`. `left`: what is left; `closer`: how much less that is than before."""

    name: str
    over_s: float
    advanced: float
    left: float | None = None
    closer: float | None = None
    position: float | None = None


def measure(recent: Sequence[Vitals]) -> tuple[HealthProgress, ...]:
    """What is known to come on, or to stand still, by samples of one process, oldest first; what is not known is left
    out."""
    stretch = _stretch(recent)
    return tuple(found for measured in _MEASURES for found in measured(stretch)) if len(stretch) > 1 else ()


def _stretch(recent: Sequence[Vitals]) -> Sequence[Vitals]:
    """The samples of the last `MEASURED_OVER_S`, one from before that among them where there is one."""
    if not recent:
        return ()
    since_s = recent[-1].at_s - MEASURED_OVER_S
    older = [n for n, vitals in enumerate(recent) if vitals.at_s <= since_s]
    return recent[older[-1] if older else 0 :]


def _metadata(stretch: Sequence[Vitals]) -> Iterator[HealthProgress]:
    first, last = stretch[0], stretch[-1]
    if first.metadata.applied is None or last.metadata.applied is None:
        return
    left = None if last.metadata.log_end is None else float(last.metadata.log_end - last.metadata.applied)
    before = None if first.metadata.log_end is None else float(first.metadata.log_end - first.metadata.applied)
    yield from _progress(
        stretch,
        "metadata",
        float(max(0, last.metadata.applied - first.metadata.applied)),
        left=left,
        closer=None if left is None or before is None else before - left,
        position=float(last.metadata.applied),
    )


def _partitions(stretch: Sequence[Vitals]) -> Iterator[HealthProgress]:
    """Opened, closed, or led by it or no more: any of it is work on metadata."""
    counts = [(v.partitions, v.leaders) for v in stretch]
    if any(partitions is None or leaders is None for partitions, leaders in counts):
        return
    moved = sum(abs((b or 0) - (a or 0)) for one, other in pairwise(counts) for a, b in zip(one, other, strict=True))
    yield from _progress(stretch, "partitions", float(moved))


def _recovery(stretch: Sequence[Vitals]) -> Iterator[HealthProgress]:
    """The number of logs that are still to be opened is told while there are any; a large log comes on by segments."""
    last = stretch[-1]
    if last.logs_to_recover is None:
        return
    known = [v for v in stretch if v.logs_to_recover is not None]
    fell = max(0, (known[0].logs_to_recover or 0) - last.logs_to_recover)
    segments = [v.segments_to_recover for v in known if v.segments_to_recover is not None]
    moved = sum(a != b for a, b in pairwise(segments))
    if len(known) > 1:
        yield from _progress(
            known, "recovery", float(fell or moved), left=float(last.logs_to_recover), closer=float(fell)
        )


def _replicas(stretch: Sequence[Vitals]) -> Iterator[HealthProgress]:
    """By the replica that is furthest behind: one that stands still is not hidden by others that come on."""
    before, left = stretch[0].replica_lag, stretch[-1].replica_lag
    if before is not None and left is not None:
        yield from _progress(
            stretch, "replicas", float(max(0, before - left)), left=float(left), closer=float(before - left)
        )


def _collecting(stretch: Sequence[Vitals]) -> Iterator[HealthProgress]:
    """Whether less of the time goes into collections in the second half."""
    spent = [(v.at_s, v.jvm.collecting_ms_total) for v in stretch]
    known = [(at_s, ms / 1000) for at_s, ms in spent if ms is not None]
    if len(known) < 3 or len(known) != len(spent):
        return
    middle = len(known) // 2
    before, after = _share(known[0], known[middle]), _share(known[middle], known[-1])
    fell = before - after
    yield from _progress(stretch, "collecting", max(0.0, fell), left=max(0.0, after - THRASHES), closer=fell)


def _share(one: tuple[float, float], other: tuple[float, float]) -> float:
    return (other[1] - one[1]) / (other[0] - one[0])


def _falling(name: str, value: Callable[[Vitals], int | None], most: Callable[[Vitals], int | None]) -> "_Measure":
    """Of what is exhausted when `NEARLY_ALL` of it is used."""

    def measured(stretch: Sequence[Vitals]) -> Iterator[HealthProgress]:
        first, last, limit = value(stretch[0]), value(stretch[-1]), most(stretch[-1])
        if first is None or last is None or not limit:
            return
        left = max(0.0, last - NEARLY_ALL * limit)
        yield from _progress(stretch, name, float(max(0, first - last)), left=left, closer=float(first - last))

    return measured


def _uncleanable(stretch: Sequence[Vitals]) -> Iterator[HealthProgress]:
    first, last = stretch[0].uncleanable_partitions, stretch[-1].uncleanable_partitions
    if first is not None and last is not None:
        yield from _progress(
            stretch, "uncleanable", float(max(0, first - last)), left=float(last), closer=float(first - last)
        )


def _progress(
    stretch: Sequence[Vitals],
    name: str,
    advanced: float,
    *,
    left: float | None = None,
    closer: float | None = None,
    position: float | None = None,
) -> Iterator[HealthProgress]:
    over_s = stretch[-1].at_s - stretch[0].at_s
    if over_s > 0 and (advanced > 0 or over_s >= MEASURED_OVER_S):
        yield HealthProgress(name, over_s, advanced, left, closer, position)


_Measure = Callable[[Sequence[Vitals]], Iterator[HealthProgress]]

_MEASURES: tuple[_Measure, ...] = (
    _metadata,
    _partitions,
    _recovery,
    _replicas,
    _collecting,
    _falling("heap", lambda v: v.jvm.old_used_bytes, lambda v: v.jvm.old_max_bytes),
    _falling("threads", lambda v: v.jvm.threads, lambda v: v.jvm.threads_max),
    _falling("descriptors", lambda v: v.jvm.descriptors, lambda v: v.jvm.descriptors_max),
    _uncleanable,
)
