"""How far a cluster's windows are closed. Pure; the stream keeps it, the lake alone is its memory.

The watermark is ours and not Spark's: Spark's is one for all clusters (a cluster whose topic stalls would lose what the
others' progress makes late), drops late rows without a trace, and cannot be asked which windows it has closed. This one
is a function of the raw table, so whatever dies, the next start finds the same windows closed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Frontier:
    """One cluster, epoch milliseconds. `latest_ms`: the interval up to which it was read."""

    latest_ms: int = 0
    windows_closed_ms: int = 0
    hours_closed_ms: int = 0


@dataclass(frozen=True, slots=True, order=True)
class WindowSpan:
    """Windows with start in [from_ms, to_ms), of `clusters`."""

    from_ms: int
    to_ms: int
    clusters: tuple[str, ...]


Frontiers = Mapping[str, Frontier]


def seen(frontiers: Frontiers, latest: Mapping[str, int]) -> Frontiers:
    """After raw messages were written whose latest interval per cluster is `latest`."""
    grown = {
        cluster: replace(frontier, latest_ms=max(latest_ms, frontier.latest_ms))
        for cluster, latest_ms in latest.items()
        for frontier in [frontiers.get(cluster, Frontier())]
    }
    return {**frontiers, **grown}


def watermarks(frontiers: Frontiers, *, delay_ms: int) -> dict[str, int]:
    """Cluster -> watermark: `delay_ms` behind the latest interval."""
    return {cluster: frontier.latest_ms - delay_ms for cluster, frontier in frontiers.items()}


def closing_windows(frontiers: Frontiers, *, delay_ms: int, width_ms: int) -> tuple[Frontiers, list[WindowSpan]]:
    """The frontiers with all windows closed that the watermark has passed, and which those are."""
    after = {
        cluster: replace(frontier, windows_closed_ms=max(frontier.windows_closed_ms, mark // width_ms * width_ms))
        for cluster, mark in watermarks(frontiers, delay_ms=delay_ms).items()
        for frontier in [frontiers[cluster]]
    }
    return after, _spans((c, f.windows_closed_ms, after[c].windows_closed_ms) for c, f in frontiers.items())


def closing_hours(frontiers: Frontiers, *, hour_ms: int) -> tuple[Frontiers, list[WindowSpan]]:
    """The same for hours: one closes when its last window is closed."""
    after = {
        cluster: replace(
            frontier, hours_closed_ms=max(frontier.hours_closed_ms, frontier.windows_closed_ms // hour_ms * hour_ms)
        )
        for cluster, frontier in frontiers.items()
    }
    return after, _spans((c, f.hours_closed_ms, after[c].hours_closed_ms) for c, f in frontiers.items())


def _spans(ranges: Iterable[tuple[str, int, int]]) -> list[WindowSpan]:
    """Clusters that close the same range share a span."""
    clusters: dict[tuple[int, int], list[str]] = {}
    for cluster, from_ms, to_ms in ranges:
        if from_ms < to_ms:
            clusters.setdefault((from_ms, to_ms), []).append(cluster)
    return sorted(WindowSpan(from_ms, to_ms, tuple(sorted(names))) for (from_ms, to_ms), names in clusters.items())
