"""How a broker's figures grow, and when its disk is full; unknown before a week is known."""

from dataclasses import replace

import numpy as np
import pytest

from planner.forecasts.forecast import BUSY, FULL, forecast
from planner.forecasts.trend import LEAST_DAYS, Day, Figure, Trend, trends_of

GIB = 2.0**30


def day(number: int, *, disk: float | None = 100 * GIB, cpu: float | None = 0.3, **parts: float) -> Day:
    figures: dict[Figure, float | None] = {"disk": disk, "nic-in": 1e6, "nic-out": 2e6, "cpu": cpu}
    return Day(number, int(parts.get("hours", 24)), parts.get("replicas", 100.0), figures)


def trend_of(days: list[Day], figure: Figure = "disk") -> Trend:
    return next(trend for trend in trends_of(days) if trend.figure == figure)


def growing(count: int = 14, *, per_day: float = 2 * GIB) -> list[Day]:
    return [day(20_000 + n, disk=100 * GIB + n * per_day) for n in range(count)]


def test_steady_growth_is_found_with_a_narrow_interval() -> None:
    trend = trend_of(growing())
    assert trend.per_day == pytest.approx(2 * GIB)
    assert (trend.least_per_day, trend.most_per_day) == (pytest.approx(2 * GIB), pytest.approx(2 * GIB))
    assert trend.level == pytest.approx(126 * GIB)


def test_noise_widens_the_interval_and_a_few_wild_days_change_little() -> None:
    noise = np.random.default_rng(7).normal(0, 3 * GIB, 28)
    noisy = [day(20_000 + n, disk=100 * GIB + n * 2 * GIB + noise[n]) for n in range(28)]
    trend = trend_of(noisy)
    assert trend.least_per_day < trend.per_day < trend.most_per_day
    assert trend.least_per_day < 2 * GIB < trend.most_per_day
    wild = [
        replace(d, figures={**d.figures, "disk": 900 * GIB}) if n in (4, 11, 19) else d for n, d in enumerate(noisy)
    ]
    assert trend_of(wild).per_day == pytest.approx(2 * GIB, rel=0.25)


def test_a_broker_at_rest_does_not_grow() -> None:
    assert trend_of([day(n) for n in range(10)]).per_day == 0


@pytest.mark.parametrize(
    "days",
    [
        growing(LEAST_DAYS - 1),
        [replace(d, hours=12) for d in growing(20)],
        [day(n, disk=None) for n in range(20)],
        [day(n, replicas=100.0 if n < 10 else 130.0) for n in range(14)],
    ],
    ids=["young", "half days", "not measured", "replicas were moved"],
)
def test_too_short_a_past_is_unknown_and_says_so(days: list[Day]) -> None:
    trend = trend_of(days)
    assert f"of {LEAST_DAYS} days are known" in trend.unknown
    told = forecast(trend, 200 * GIB)
    assert (told.earliest, told.likely, told.latest) == (None, None, None)
    assert told.sentence.startswith("not known: ")


def test_replicas_that_came_long_ago_leave_the_days_since() -> None:
    days = [day(n, replicas=50.0, disk=10 * GIB) for n in range(10)]
    days += [day(10 + n, disk=100 * GIB + n * GIB) for n in range(12)]
    trend = trend_of(days)
    assert (trend.days, trend.per_day) == (12, pytest.approx(GIB))


def test_a_disk_is_full_before_its_last_byte() -> None:
    told = forecast(trend_of(growing()), 200 * GIB)
    assert told.limit == 200 * GIB * FULL
    assert told.likely == pytest.approx((190 - 126) / 2)
    assert told.sentence == "full in about 32 days (32 to 32)"


def test_what_was_measured_now_counts_before_the_trend() -> None:
    assert forecast(trend_of(growing()), 200 * GIB, level=188 * GIB).likely == pytest.approx(1)
    assert forecast(trend_of(growing()), 200 * GIB, level=195 * GIB).sentence == "full now"


def test_processors_are_busy_at_four_fifths_and_the_interval_may_have_no_end() -> None:
    trend = Trend("cpu", 14, 0.5, 0.01, -0.002, 0.02)
    told = forecast(trend, 1.0)
    assert (told.limit, told.latest) == (BUSY, None)
    assert told.sentence == "at 80% in about 30 days (15 or more)"


def test_what_shrinks_is_never_full_and_an_unknown_machine_is_unknown() -> None:
    assert forecast(trend_of(growing(per_day=-GIB)), 200 * GIB).sentence == "not full within a year"
    assert forecast(trend_of(growing()), None).unknown == "nobody has said what the machine can take"
    slow = Trend("disk", 14, 1 * GIB, 0.0, 0.0, 10 * GIB)
    assert forecast(slow, 200 * GIB).sentence == "not full within a year, in 19 days at the soonest"
