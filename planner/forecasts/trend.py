"""How a figure of a broker grows, from its days. Pure.

A day counts as one number, so that what repeats every day is not taken for growth. The slope is the median of the
slopes between all pairs of days (Theil 1950, Sen 1968): a quarter of the days may be anything. Its interval is Sen's,
from the ranks of those slopes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

Figure = Literal["disk", "nic-in", "nic-out", "cpu"]
"""Bytes that a broker's logs hold; bytes/s in and out; share of its processors."""

FIGURES: tuple[Figure, ...] = ("disk", "nic-in", "nic-out", "cpu")

DAYS = 28
"""Days before today that are looked at."""
LEAST_DAYS = 7
"""Fewer say nothing about growth: a week has days that differ."""
LEAST_HOURS = 18
"""Hours of a day that have to be known. Without its busy hours a day says too little."""
OTHER_REPLICAS = 0.1
"""A broker that has so much of its replicas more or fewer from one day to the next begins anew: they were moved."""
CONFIDENCE = 0.9


@dataclass(frozen=True, slots=True)
class Day:
    """One day of a broker: `day` in days since the epoch, how many `hours` are known, `replicas` on average, and the
    busiest hour's mean of each figure, None where it is not known."""

    day: int
    hours: int
    replicas: float
    figures: dict[Figure, float | None]


@dataclass(frozen=True, slots=True)
class Trend:
    """`level` on the last day, and growth a day, with its interval. `days`: of how many. `unknown`: why there is no
    growth, "" where there is; the figures are 0 then."""

    figure: Figure
    days: int
    level: float = 0.0
    per_day: float = 0.0
    least_per_day: float = 0.0
    most_per_day: float = 0.0
    unknown: str = ""


def trends_of(days: Sequence[Day]) -> list[Trend]:
    """A trend of each figure; `days` in any order."""
    usable = _since_moved([day for day in sorted(days, key=lambda d: d.day) if day.hours >= LEAST_HOURS])
    return [_trend(figure, usable) for figure in FIGURES]


def _since_moved(days: Sequence[Day]) -> Sequence[Day]:
    """Those after the last day on which replicas came or went in numbers."""
    first = 0
    for n in range(1, len(days)):
        before, after = days[n - 1].replicas, days[n].replicas
        if abs(after - before) > OTHER_REPLICAS * max(before, 1.0):
            first = n
    return days[first:]


def _trend(figure: Figure, days: Sequence[Day]) -> Trend:
    known = [(day.day, value) for day in days if (value := day.figures[figure]) is not None]
    if len(known) < LEAST_DAYS:
        why = f"{len(known)} of {LEAST_DAYS} days are known with the replicas it has now"
        return Trend(figure, len(known), unknown=why)
    at, values = np.array(known, dtype=np.float64).T
    slope, least, most = _slopes(at, values)
    level = float(np.median(values - slope * at) + slope * at[-1])
    return Trend(figure, len(known), level, slope, least, most)


def _slopes(at: Floats, values: Floats) -> tuple[float, float, float]:
    """The median slope, and the ends of its interval: Sen's, by the variance of Kendall's statistic. (scipy.stats has
    them too, and takes seconds to load.)"""
    first, second = np.triu_indices(at.size, 1)
    slopes = np.sort((values[second] - values[first]) / (at[second] - at[first]))
    n = at.size
    spread = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    lower = max(round((slopes.size - spread) / 2), 0)
    upper = min(round((slopes.size + spread) / 2), slopes.size - 1)
    return float(np.median(slopes)), float(slopes[lower]), float(slopes[upper])
