"""Windows in the time of a place, over the changes of its clocks, and freezes."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, strategies as st

from planner.rollout.windows import WEEK, Freeze, UnknownZone, Window, next_chance, next_opening, open_at, open_until

ZURICH, HOUR = "Europe/Zurich", timedelta(hours=1)
NIGHTLY = Window(time(2, 30), 4 * HOUR, ZURICH)
SUNDAYS = Window(time(2, 0), 4 * HOUR, "UTC", frozenset({"sun"}))

ZONES = st.sampled_from(
    [ZURICH, "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC", "America/Santiago"]
)
WINDOWS = st.builds(
    Window,
    start=st.times().map(lambda t: t.replace(second=0, microsecond=0, tzinfo=None)),
    lasts=st.integers(15, 7 * 24 * 60).map(lambda m: timedelta(minutes=m)),
    zone=ZONES,
    days=st.frozensets(st.sampled_from(WEEK)),
)
MOMENTS = st.datetimes(datetime(2025, 1, 1), datetime(2028, 1, 1), timezones=st.just(UTC))


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_a_weekly_window_is_open_from_its_first_instant_to_before_its_last() -> None:
    sunday = utc("2026-01-04T02:00")
    assert not open_at([SUNDAYS], sunday - timedelta(microseconds=1))
    assert open_at([SUNDAYS], sunday)
    assert open_at([SUNDAYS], sunday + 4 * HOUR - timedelta(microseconds=1))
    assert not open_at([SUNDAYS], sunday + 4 * HOUR)
    assert next_opening([SUNDAYS], sunday) == sunday + timedelta(days=7)


def test_a_start_that_clocks_skip_in_spring_is_an_hour_later_by_the_new_clock() -> None:
    # 2026-03-29 02:00 CET becomes 03:00 CEST: 02:30 does not exist.
    opens = next_opening([NIGHTLY], utc("2026-03-28T20:00"))
    assert opens == utc("2026-03-29T01:30")
    assert opens.astimezone(ZoneInfo(ZURICH)).strftime("%H:%M") == "03:30"


def test_of_a_start_that_comes_twice_in_autumn_the_first_counts_and_it_opens_once() -> None:
    # 2026-10-25 03:00 CEST becomes 02:00 CET: 02:30 comes at 00:30 and at 01:30 UTC.
    opens = next_opening([Window(time(2, 30), timedelta(minutes=30), ZURICH)], utc("2026-10-24T20:00"))
    assert opens == utc("2026-10-25T00:30")
    assert not open_at([Window(time(2, 30), timedelta(minutes=30), ZURICH)], utc("2026-10-25T01:45"))


def test_it_lasts_as_long_when_the_clocks_change_meanwhile() -> None:
    long = Window(time(1, 0), 4 * HOUR, ZURICH)
    assert open_until([long], utc("2026-03-29T00:00")) == utc("2026-03-29T04:00")
    assert open_until([long], utc("2026-10-24T23:00")) == utc("2026-10-25T03:00")


def test_days_are_those_of_the_windows_own_zone() -> None:
    monday = Window(time(0, 30), HOUR, "Asia/Kathmandu", frozenset({"mon"}))  # UTC+5:45
    assert next_opening([monday], utc("2026-01-01T00:00")) == utc("2026-01-04T18:45")


def test_windows_that_follow_without_a_gap_close_with_the_last_of_them() -> None:
    then = Window(time(6, 0), 2 * HOUR, "UTC")
    assert open_until([SUNDAYS, then], utc("2026-01-04T03:00")) == utc("2026-01-04T08:00")


def test_a_zone_nobody_knows_is_said_and_never_taken_for_open() -> None:
    with pytest.raises(UnknownZone, match="'Mars/Olympus'"):
        open_at([Window(time(2), HOUR, "Mars/Olympus")], utc("2026-01-04T02:00"))


@given(WINDOWS, MOMENTS)
def test_the_next_opening_is_open_and_a_moment_before_it_nothing_begins(window: Window, now: datetime) -> None:
    opens = next_opening([window], now)
    assert opens is not None
    assert now < opens <= now + timedelta(days=8)
    assert open_at([window], opens)
    begun = [begin for begin, _ in window.openings(now, opens)]
    assert [b for b in begun if b > now] == []


@given(WINDOWS, MOMENTS)
def test_a_window_opens_by_the_wall_clock_unless_clocks_skip_that_time(window: Window, now: datetime) -> None:
    zone = ZoneInfo(window.zone)
    opens = next_opening([window], now)
    assert opens is not None
    local = opens.astimezone(zone)
    naive = datetime.combine(local.date(), window.start)
    exists = naive.replace(tzinfo=zone).astimezone(UTC).astimezone(zone).replace(tzinfo=None) == naive
    assert local.time() == window.start if exists else local.time() > window.start
    assert not window.days or WEEK[local.weekday()] in window.days


@given(WINDOWS, MOMENTS)
def test_what_is_open_stays_so_until_it_is_said_to_close(window: Window, now: datetime) -> None:
    closes = open_until([window], now)
    assert (closes is not None) == open_at([window], now)
    if closes is None:
        return
    assert open_at([window], now + (closes - now) / 2)
    if closes < now + timedelta(days=7):
        assert not open_at([window], closes)


@given(WINDOWS, MOMENTS)
def test_a_week_has_as_many_openings_as_it_has_days(window: Window, now: datetime) -> None:
    openings = list(window.openings(now, now + timedelta(days=70)))
    a_week = len(window.days) or 7
    assert abs(len(openings) - 10 * a_week) <= 1
    assert all(end - begin == window.lasts for begin, end in openings)
    assert openings == sorted(openings)


def a_freeze(begins: str, ends: str, **named: object) -> Freeze:
    return Freeze(utc(begins), utc(ends), "sale", **named)  # type: ignore[arg-type]


def test_a_freeze_names_clusters_by_name_owner_or_all_of_its_labels() -> None:
    assert a_freeze("2026-01-01", "2026-01-02").names("orders", "", {})
    assert a_freeze("2026-01-01", "2026-01-02", clusters=frozenset({"orders"})).names("orders", "", {})
    assert not a_freeze("2026-01-01", "2026-01-02", clusters=frozenset({"orders"})).names("payments", "", {})
    assert a_freeze("2026-01-01", "2026-01-02", owners=frozenset({"shop"})).names("orders", "shop", {})
    labels = {"stage": "production", "region": "eu"}
    assert a_freeze("2026-01-01", "2026-01-02", labels=labels).names("orders", "", {**labels, "more": "x"})
    assert not a_freeze("2026-01-01", "2026-01-02", labels=labels).names("orders", "", {"stage": "production"})


def test_the_next_chance_is_the_first_opening_that_no_freeze_lies_over() -> None:
    freeze = a_freeze("2026-01-04T00:00", "2026-01-11T03:00")
    assert next_chance([SUNDAYS], [freeze], utc("2026-01-03T00:00")) == utc("2026-01-11T03:00")
    assert next_chance([SUNDAYS], [], utc("2026-01-03T00:00")) == utc("2026-01-04T02:00")
    assert next_chance([], [freeze], utc("2026-01-05T00:00")) == utc("2026-01-11T03:00")
    assert next_chance([SUNDAYS], [], utc("2026-01-04T03:00")) == utc("2026-01-04T03:00")


def test_a_freeze_over_all_openings_of_years_leaves_no_chance_to_name() -> None:
    always = [a_freeze(f"2026-01-{d:02}T02:00", f"2026-01-{d:02}T06:00") for d in (4, 11, 18, 25)]
    assert next_chance([SUNDAYS], always, utc("2026-01-01T00:00")) == utc("2026-02-01T02:00")
