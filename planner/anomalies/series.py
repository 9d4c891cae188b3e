"""What a broker's figures were beside those of its peers: to see why it was called slow, or hot. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from statistics import median

from planner.anomalies.slow import BrokerWindow


@dataclass(frozen=True, slots=True)
class LatencyPoint:
    """One closed window, by its end. `peers` is the median of the others; None where it is not known."""

    at: datetime
    own: float | None
    peers: float | None


def latency_series(windows: Iterable[BrokerWindow], broker: int, figure: str) -> tuple[LatencyPoint, ...]:
    """One figure of a broker and its peers over their windows, oldest first; windows of neither are left out."""
    by_end: dict[datetime, list[BrokerWindow]] = {}
    for window in windows:
        by_end.setdefault(window.end, []).append(window)
    found = []
    for end, there in sorted(by_end.items()):
        own = next((w.figures.get(figure) for w in there if w.broker == broker), None)
        others = [w.figures[figure] for w in there if w.broker != broker and figure in w.figures]
        if own is not None or others:
            found.append(LatencyPoint(end, own, median(others) if others else None))
    return tuple(found)
