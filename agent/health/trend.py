"""A straight line through noisy measurements that a few wild ones do not bend."""

from collections.abc import Sequence
from statistics import median


def slope(points: Sequence[tuple[float, float]]) -> float | None:
    """Change of y per unit of x: the median of the slopes of all pairs (Theil 1950, Sen 1968). None below 3 points.

    Up to 29 % of the points may be anything without moving it far. `points` are (x, y); equal x are passed over.
    """
    slopes = [(y2 - y1) / (x2 - x1) for n, (x1, y1) in enumerate(points) for x2, y2 in points[n + 1 :] if x2 != x1]
    return median(slopes) if len(points) >= 3 and slopes else None


def thinned(points: Sequence[tuple[float, float]], most: int) -> Sequence[tuple[float, float]]:
    """At most that many of them, evenly spread, first and last included: the pairs of many points are very many."""
    if len(points) <= most:
        return points
    step = (len(points) - 1) / (most - 1)
    return [points[round(n * step)] for n in range(most)]
