"""The band of a topic learned from its own past, for topics with a steady workload. Pure.

The past of one hour of the day is the rates of its windows, day by day, in UTC. The band is that of a robust outlier
test: median +- 3.5 / 0.6745 x MAD, the median of the distances from the median (B. Iglewicz and D. Hoaglin, "How to
Detect and Handle Outliers", 1993; NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.5.17). It is never narrower than
a quarter of the median, nor than 3.5 standard deviations of a count of so many records that come one by one (the root
of the count). Where it would be wider than 45 % a halved rate could be inside: such an hour is not stable, and not
judged.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from math import sqrt
from statistics import median

from planner.anomalies.topic_rates import WINDOW, Band, Side

LEAST_DAYS = 7
"""Days that are known of an hour before it is judged."""
KEPT_DAYS = 14
OLDEST_DAY = timedelta(days=21)
"""What is older says nothing about now."""
LEAST_WINDOWS = 6
"""An hour of which less was seen is not learned from: half of it."""

_WEEKS = (7, 14)
_CUTOFF = 3.5
_MAD_OF_SIGMA = 0.6745
_NARROWEST, _WIDEST = 0.25, 0.45


@dataclass(frozen=True, slots=True)
class HourOfDay:
    """What was written in one hour of one day (UTC): records per second of its windows, oldest first."""

    day: date
    per_s: tuple[float, ...]


Past = tuple[HourOfDay, ...]
"""The same hour of the last days, oldest first."""


@dataclass(frozen=True, slots=True)
class LearnedBand(Band):
    """`learned_from` as people read it, `9 days` or `2 weeks`; the band is of one hour of the `cycle`."""

    learned_from: str
    cycle: str

    @property
    def words(self) -> str:
        return f"{_rate_text(self.least or 0.0)} to {_rate_text(self.most or 0.0)} records/s"

    @property
    def description(self) -> str:
        return f"what was {self.sentence}"

    @property
    def sentence(self) -> str:
        """For people, beside a topic."""
        return f"learned from {self.learned_from}: {self.words} at this hour of the {self.cycle}"


@dataclass(frozen=True, slots=True)
class NotJudged:
    """Why an hour has no band. `is_known`: enough of it was seen, and it is not stable."""

    sentence: str
    is_known: bool


def learned(past: Past, today: date) -> LearnedBand | NotJudged:
    """The band of that hour of `today`: by the same weekday where the last two weeks are known, else by all days."""
    young = [h for h in past if timedelta(0) < today - h.day <= OLDEST_DAY]
    if len(young) < LEAST_DAYS:
        return NotJudged(f"not learned yet: {len(young)} of {LEAST_DAYS} days of this hour are known", is_known=False)
    same = [h for h in young if (today - h.day).days in _WEEKS]
    if len(same) == len(_WEEKS):
        return _band(same, f"{len(_WEEKS)} weeks", "week")
    band = _band(young, f"{len(young)} days", "day")
    if isinstance(band, LearnedBand):
        odd = [h for h in young if band.side(median(h.per_s)) is not Side.INSIDE]
        if odd:
            words = (
                f"at this hour it took {_rate_text(median(odd[-1].per_s))}/s on {odd[-1].day}, {band.words} on others"
            )
            return NotJudged(f"not stable, not judged until two weeks are known: {words}", is_known=True)
    return band


def with_hour(past: Past, hour: HourOfDay) -> Past:
    """The past with one more hour. Of two of the same day the fuller one is kept; one too short is not learned from."""
    if len(hour.per_s) < LEAST_WINDOWS:
        return past
    by_day = {h.day: h for h in past}
    known = by_day.get(hour.day)
    if known is None or len(known.per_s) < len(hour.per_s):
        by_day[hour.day] = hour
    return tuple(by_day[day] for day in sorted(by_day)[-KEPT_DAYS:])


def _band(hours: Sequence[HourOfDay], learned_from: str, cycle: str) -> LearnedBand | NotJudged:
    rates = [rate for h in hours for rate in h.per_s]
    middle = median(rates)
    strays = _CUTOFF / _MAD_OF_SIGMA * median(abs(rate - middle) for rate in rates)
    by_chance = _CUTOFF * sqrt(middle / WINDOW.total_seconds())
    half = max(strays, by_chance, _NARROWEST * middle)
    if middle <= 0.0 or half > _WIDEST * middle:
        of = f"its windows are {_rate_text(middle)} +- {_rate_text(half)} records/s at this hour of the {cycle}"
        return NotJudged(f"not stable, not judged: {of}, and {_WIDEST:.0%} are allowed", is_known=True)
    return LearnedBand(middle - half, middle + half, learned_from, cycle)


def _rate_text(per_s: float) -> str:
    return f"{per_s:.0f}" if per_s >= 100 else f"{per_s:.3g}"
