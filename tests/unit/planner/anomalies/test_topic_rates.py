"""When a topic's rate is outside its declared band: three windows, on one side, by offsets that can be compared."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, strategies as st

from planner.anomalies.topic_rates import (
    LONGEST,
    OLDEST,
    WINDOW,
    Band,
    RateSeen,
    Side,
    rate_between,
    rate_subject,
    reason_of,
    side_of,
    topic_of_rate,
)
from planner.broker_answers import LogBounds, TopicLogs

NOW = datetime(2026, 3, 1, 10, tzinfo=UTC)
BAND = Band(100, 200)
RATES = st.floats(0, 1e6, allow_nan=False)
BANDS = st.tuples(st.none() | st.integers(1, 1000), st.none() | st.integers(1000, 2000)).map(lambda b: Band(*b))


def logs(*ends: int | None, after: timedelta = timedelta(0), left_out: int = 0) -> TopicLogs:
    return TopicLogs(NOW + after, {n: LogBounds(0, end) for n, end in enumerate(ends)}, left_out)


def rates(*per_s: float, ended: timedelta = timedelta(0)) -> list[RateSeen]:
    last = len(per_s) - 1
    return [RateSeen(NOW - ended - (last - n) * WINDOW, 300.0, rate) for n, rate in enumerate(per_s)]


def test_a_rate_is_what_all_partitions_took_between_two_readings() -> None:
    found = rate_between(logs(10, 20), logs(310, 320, after=WINDOW))
    assert found == RateSeen(NOW + WINDOW, 300.0, 2.0)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (logs(10), logs(20)),
        (logs(10), logs(20, after=LONGEST + timedelta(seconds=1))),
        (logs(10), logs(9, after=WINDOW)),
        (logs(10), logs(20, 5, after=WINDOW)),
        (logs(10, None), logs(20, 30, after=WINDOW)),
        (logs(10), logs(None, after=WINDOW)),
        (logs(10, left_out=1), logs(20, after=WINDOW)),
        (logs(), logs(after=WINDOW)),
    ],
    ids=["at one time", "too far apart", "made anew", "grown", "untold", "untold now", "left out", "no partition"],
)
def test_readings_that_cannot_be_compared_tell_no_rate(before: TopicLogs, after: TopicLogs) -> None:
    assert rate_between(before, after) is None


@pytest.mark.parametrize(
    ("per_s", "was_outside", "side"),
    [
        ((150.0, 150.0, 150.0), False, Side.INSIDE),
        ((100.0, 200.0, 150.0), False, Side.INSIDE),
        ((150.0, 50.0, 50.0, 50.0), False, Side.BELOW),
        ((250.0, 250.0, 250.0), False, Side.ABOVE),
        ((150.0, 50.0, 50.0), False, Side.INSIDE),
        ((50.0, 50.0, 250.0), False, Side.INSIDE),
        ((50.0, 150.0, 150.0), True, None),
        ((50.0, 150.0, 150.0, 150.0), True, Side.INSIDE),
        ((50.0, 50.0), False, None),
        ((), True, None),
    ],
)
def test_three_windows_in_a_row_decide(per_s: tuple[float, ...], was_outside: bool, side: Side | None) -> None:
    assert side_of(rates(*per_s), BAND, NOW, was_outside=was_outside) is side


def test_windows_of_long_ago_say_nothing_about_now() -> None:
    assert side_of(rates(50, 50, 50, ended=OLDEST), BAND, NOW) is None


def test_an_end_that_is_not_declared_is_no_end() -> None:
    assert side_of(rates(0, 0, 0), Band(None, 200), NOW) is Side.INSIDE
    assert side_of(rates(1e9, 1e9, 1e9), Band(100, None), NOW) is Side.INSIDE
    assert [Band(None, 200).words, Band(100, None).words, BAND.words] == [
        "at most 200/s",
        "at least 100/s",
        "100 to 200/s",
    ]


def test_the_reason_has_the_numbers() -> None:
    assert reason_of("orders", Side.BELOW, rates(50, 60, 40.25), BAND) == (
        "orders takes 50.0/s, 60.0/s, 40.2/s in the last 15 min, below the declared 100 to 200/s "
        "(records, by Kafka's offsets)"
    )


def test_a_rate_is_another_subject_than_its_topic() -> None:
    assert topic_of_rate(rate_subject("a.b-c_d")) == "a.b-c_d"
    assert topic_of_rate("a.b-c_d") is None


@given(st.lists(RATES, max_size=6), BANDS)
def test_a_topic_that_was_well_is_found_only_when_all_windows_are_on_that_side(per_s: list[float], band: Band) -> None:
    side = side_of(rates(*per_s), band, NOW)
    last = per_s[-3:]
    below = [band.least is not None and r < band.least for r in last]
    above = [band.most is not None and r > band.most for r in last]
    assert (side is Side.BELOW) == (len(last) == 3 and all(below))
    assert (side is Side.ABOVE) == (len(last) == 3 and all(above))


@given(st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)), min_size=1, max_size=20), st.integers(1, 600))
def test_no_rate_is_ever_negative_and_it_adds_up(pairs: list[tuple[int, int]], seconds: int) -> None:
    before, after = logs(*(a for a, _ in pairs)), logs(*(b for _, b in pairs), after=timedelta(seconds=seconds))
    found = rate_between(before, after)
    if all(a <= b for a, b in pairs):
        assert found is not None
        assert found.per_s * seconds == pytest.approx(sum(b - a for a, b in pairs))
    else:
        assert found is None
