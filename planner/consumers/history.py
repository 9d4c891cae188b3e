"""How the lag of a consumer group went, thinned out with age. Pure.

Looks come once a minute at best, and only while groups are watched: what lies between two points is not known.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

APART = timedelta(seconds=55)
"""Looks closer together add no point: people reload pages."""
FINE = timedelta(hours=1)
COARSE = timedelta(minutes=10)
"""Of points older than `FINE` one in this time is kept, that with the largest lag."""
KEPT = timedelta(hours=12)


@dataclass(frozen=True, slots=True)
class LagPoint:
    """The lag of a group at one look, in records."""

    at: datetime
    lag: int


def with_point(points: Sequence[LagPoint], new: LagPoint) -> tuple[LagPoint, ...]:
    """The history with one look more, oldest first: at most some 130 points. A look older than the last adds none."""
    last = points[-1].at if points else None
    known = points if last is not None and new.at - last < APART else (*points, new)
    return tuple(_thinned([p for p in known if new.at - p.at <= KEPT], new.at))


def _thinned(points: Sequence[LagPoint], now: datetime) -> Iterator[LagPoint]:
    held: LagPoint | None = None
    for point in points:
        if now - point.at < FINE:
            break
        if held is not None and _slot(held) != _slot(point):
            yield held
            held = None
        if held is None or point.lag > held.lag:
            held = point
    if held is not None:
        yield held
    yield from (p for p in points if now - p.at < FINE)


def _slot(point: LagPoint) -> int:
    return int(point.at.timestamp() // COARSE.total_seconds())
