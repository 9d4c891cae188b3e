"""When a broker's disk is full, or its network or processors have little left. Pure."""

import math
from dataclasses import dataclass

from planner.forecasts.trend import Figure, Trend

BUSY = 0.8
"""Share of a network or of processors beyond which a broker has too little left for copies and for one that is away."""
FULL = 0.95
"""Share of a disk that counts as full: an agent tells `disk_full` from there on."""
FARTHEST_DAYS = 365.0
"""Nothing is said beyond: four weeks tell little about next year."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """Days until the figure is at `limit`: `likely`, with the interval from `earliest` to `latest`. None: not within a
    year. `unknown`: why nothing can be said, "" where it can.
    """

    figure: Figure
    limit: float
    level: float = 0.0
    per_day: float = 0.0
    earliest: float | None = None
    likely: float | None = None
    latest: float | None = None
    days: int = 0
    unknown: str = ""

    @property
    def sentence(self) -> str:
        """For people, as in `full in about 12 days (9 to 17)`."""
        if self.unknown:
            return f"not known: {self.unknown}"
        at = "full" if self.figure == "disk" else f"at {BUSY:.0%}"
        if self.likely is None:
            soonest = f", in {_days(self.earliest)} at the soonest" if self.earliest is not None else ""
            return f"not {at} within a year{soonest}"
        if self.likely == 0:
            return f"{at} now"
        return f"{at} in about {_days(self.likely)} ({_span(self.earliest, self.latest)})"


def forecast(trend: Trend, capacity: float | None, *, level: float | None = None) -> Forecast:
    """`capacity`: bytes of the disk, bytes/s of the network, 1 for processors; None where nobody knows. `level`: what
    was measured now, where that is newer than the trend."""
    if capacity is None or capacity <= 0:
        return Forecast(trend.figure, 0.0, days=trend.days, unknown="nobody has said what the machine can take")
    limit = capacity * (FULL if trend.figure == "disk" else BUSY)
    if trend.unknown:
        return Forecast(trend.figure, limit, days=trend.days, unknown=trend.unknown)
    now = trend.level if level is None else level
    return Forecast(
        figure=trend.figure,
        limit=limit,
        level=now,
        per_day=trend.per_day,
        earliest=_until(limit - now, trend.most_per_day),
        likely=_until(limit - now, trend.per_day),
        latest=_until(limit - now, trend.least_per_day),
        days=trend.days,
    )


def _until(left: float, per_day: float) -> float | None:
    if left <= 0:
        return 0.0
    days = left / per_day if per_day > 0 else math.inf
    return days if days <= FARTHEST_DAYS else None


def _days(days: float | None) -> str:
    if days is None:
        return "more than a year"
    return "less than a day" if days < 1 else f"{days:.0f} day{'' if round(days) == 1 else 's'}"


def _span(earliest: float | None, latest: float | None) -> str:
    until = f"to {latest:.0f}" if latest is not None else "or more"
    return f"{earliest or 0.0:.0f} {until}"
