"""The band a topic's own past tells: of stable hours, of enough days, that follows what grows."""

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given, strategies as st

from planner.anomalies.learned_rates import (
    KEPT_DAYS,
    LEAST_DAYS,
    OLDEST_DAY,
    HourOfDay,
    LearnedBand,
    NotJudged,
    Past,
    learned,
    with_hour,
)
from planner.anomalies.topic_rates import ENDLESS, WINDOW, Band, RateSeen, Side, reason_of, side_of

TODAY = date(2026, 3, 16)
NOW = datetime(2026, 3, 16, 10, 30, tzinfo=UTC)
WINDOWS = 12
DAYS = st.integers(LEAST_DAYS, KEPT_DAYS)
LEVELS = st.floats(10, 1e7)
NOISE = st.lists(st.floats(-0.05, 0.05), min_size=WINDOWS * KEPT_DAYS + 3, max_size=WINDOWS * KEPT_DAYS + 3)


def past(days: int, rate: Callable[[int, int], float], *, today: date = TODAY) -> Past:
    """`rate` by how many days ago, and window."""
    ago = range(days, 0, -1)
    return tuple(HourOfDay(today - timedelta(days=n), tuple(rate(n, w) for w in range(WINDOWS))) for n in ago)


def sides(band: LearnedBand, rates: Sequence[float]) -> Side | None:
    seen = [RateSeen(NOW + n * WINDOW, 300.0, rate, band) for n, rate in enumerate(rates)]
    return side_of(seen, None, seen[-1].at)


def judged(known: Past) -> LearnedBand:
    band = learned(known, TODAY)
    assert isinstance(band, LearnedBand), band
    return band


def test_the_band_is_the_median_and_so_many_mads_about_it() -> None:
    band = judged(past(9, lambda _, w: 940.0 + 60 * (w % 3)))
    assert band.least == pytest.approx(1000 - 3.5 / 0.6745 * 60)
    assert band.most == pytest.approx(1000 + 3.5 / 0.6745 * 60)
    assert band.sentence == "learned from 9 days: 689 to 1311 records/s at this hour of the day"


def test_a_week_of_an_hour_must_be_known() -> None:
    short = learned(past(LEAST_DAYS - 1, lambda *_: 100.0), TODAY)
    assert short == NotJudged("not learned yet: 6 of 7 days of this hour are known", is_known=False)
    assert isinstance(learned(past(LEAST_DAYS, lambda *_: 100.0), TODAY), LearnedBand)


def test_what_is_too_old_and_the_day_itself_are_no_past() -> None:
    old = past(KEPT_DAYS, lambda *_: 100.0, today=TODAY - OLDEST_DAY + timedelta(days=LEAST_DAYS - 1))
    assert isinstance(learned(old, TODAY), NotJudged)
    assert isinstance(learned(past(LEAST_DAYS, lambda *_: 100.0, today=TODAY + timedelta(days=1)), TODAY), NotJudged)


def test_after_two_weeks_the_same_weekday_decides() -> None:
    def quiet_weekend(ago: int, _: int) -> float:
        return 100.0 if (TODAY - timedelta(days=ago)).weekday() >= 5 else 1000.0

    band = judged(past(14, quiet_weekend))
    assert band.sentence == "learned from 2 weeks: 750 to 1250 records/s at this hour of the week"
    sunday = TODAY - timedelta(days=1)
    calm = learned(past(15, quiet_weekend), sunday)
    assert isinstance(calm, LearnedBand)
    assert (calm.least, calm.most) == (75.0, 125.0)


def test_before_that_days_that_differ_are_not_judged() -> None:
    band = learned(past(9, lambda ago, _: 100.0 if ago in (1, 2) else 1000.0), TODAY)
    assert isinstance(band, NotJudged)
    assert band.is_known
    assert band.sentence == (
        "not stable, not judged until two weeks are known: at this hour it took 100/s on 2026-03-15, "
        "750 to 1250 records/s on others"
    )


@pytest.mark.parametrize(
    "rate",
    [
        lambda ago, window: 1000.0 if window % 2 else 2000.0,
        lambda ago, window: 0.0,
        lambda ago, window: 0.05 * (window % 3),
        lambda ago, window: 0.1,
    ],
    ids=["in batches", "nothing", "seldom", "too few records to tell chance from change"],
)
def test_what_is_not_stable_is_not_judged_and_says_so(rate: Callable[[int, int], float]) -> None:
    band = learned(past(10, rate), TODAY)
    assert isinstance(band, NotJudged)
    assert band.is_known
    assert band.sentence.startswith("not stable, not judged: its windows are ")
    assert band.sentence.endswith("at this hour of the day, and 45% are allowed")


def test_the_reason_says_from_what_it_was_learned() -> None:
    band = judged(past(9, lambda *_: 160.0))
    seen = [RateSeen(NOW + n * WINDOW, 300.0, 40.0, band) for n in range(3)]
    assert reason_of("orders", Side.BELOW, seen, None) == (
        "orders takes 40.0/s, 40.0/s, 40.0/s in the last 15 min, below what was learned from 9 days: 120 to 200 "
        "records/s at this hour of the day (records, by Kafka's offsets)"
    )


def test_each_window_is_judged_by_its_own_hour_and_one_without_a_band_leaves_all_open() -> None:
    calm, busy = Band(10, 20), Band(100, 200)
    at = [NOW + n * WINDOW for n in range(3)]
    turn = [RateSeen(at[0], 300.0, 15.0, calm), *(RateSeen(a, 300.0, 150.0, busy) for a in at[1:])]
    assert side_of(turn, None, at[-1]) is Side.INSIDE
    low = [RateSeen(at[0], 300.0, 5.0, calm), *(RateSeen(a, 300.0, 50.0, busy) for a in at[1:])]
    assert side_of(low, None, at[-1]) is Side.BELOW
    assert side_of([*low[:2], RateSeen(at[2], 300.0, 50.0)], None, at[-1]) is None
    assert side_of([RateSeen(a, 300.0, 5.0, ENDLESS) for a in at], None, at[-1], was_outside=True) is Side.INSIDE


def test_an_hour_is_kept_once_a_day_the_fuller_one_and_two_weeks_of_it() -> None:
    known = past(KEPT_DAYS, lambda *_: 100.0)
    grown = with_hour(known, HourOfDay(TODAY, (1.0,) * 7))
    assert [h.day for h in grown] == [h.day for h in known[1:]] + [TODAY]
    assert with_hour(grown, HourOfDay(TODAY, (2.0,) * 6)) == grown
    assert with_hour(grown, HourOfDay(TODAY, (2.0,) * 8))[-1].per_s == (2.0,) * 8
    assert with_hour(known, HourOfDay(TODAY, (1.0,) * 5)) == known


@given(DAYS, LEVELS, NOISE)
def test_a_stationary_rate_is_never_outside_of_what_it_taught(days: int, level: float, noise: list[float]) -> None:
    band = judged(past(days, lambda ago, w: level * (1 + noise[ago * WINDOWS - w])))
    assert sides(band, [level * (1 + n) for n in noise[-3:]]) is Side.INSIDE


@given(DAYS, LEVELS, NOISE)
def test_one_that_halves_or_doubles_is_outside_after_three_windows(days: int, level: float, noise: list[float]) -> None:
    band = judged(past(days, lambda ago, w: level * (1 + noise[ago * WINDOWS - w])))
    after = [level * (1 + n) for n in noise[-3:]]
    assert sides(band, [rate / 2 for rate in after]) is Side.BELOW
    assert sides(band, [rate * 2 for rate in after]) is Side.ABOVE
    assert sides(band, [after[0], *(rate / 2 for rate in after[1:])]) is Side.INSIDE


@given(DAYS, LEVELS, st.floats(-0.02, 0.02), NOISE)
def test_growth_and_decline_of_two_percent_a_day_are_followed(
    days: int, level: float, growth: float, noise: list[float]
) -> None:
    known = past(days, lambda ago, w: level * (1 + growth) ** -ago * (1 + noise[ago * WINDOWS - w] / 5))
    band = judged(known)
    assert sides(band, [level * (1 + n / 5) for n in noise[-3:]]) is Side.INSIDE


@given(st.lists(st.lists(st.floats(0, 1e9), min_size=6, max_size=WINDOWS), max_size=KEPT_DAYS))
def test_whatever_was_seen_a_band_is_wide_and_narrow_enough(rates: list[list[float]]) -> None:
    known = tuple(HourOfDay(TODAY - timedelta(days=len(rates) - n), tuple(r)) for n, r in enumerate(rates))
    band = learned(known, TODAY)
    if isinstance(band, LearnedBand):
        assert band.least is not None
        assert band.most is not None
        middle = (band.least + band.most) / 2
        assert 0.249 * middle <= middle - band.least <= 0.451 * middle
    else:
        assert band.is_known == (len(rates) >= LEAST_DAYS)
