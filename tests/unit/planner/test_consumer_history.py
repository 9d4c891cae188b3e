"""The lag of a group over time: every look for an hour, one in ten minutes before that, nothing after twelve hours."""

from datetime import UTC, datetime, timedelta

from planner.consumers.history import KEPT, LagPoint, with_point

START = datetime(2026, 1, 1, tzinfo=UTC)


def watched(minutes: int) -> tuple[LagPoint, ...]:
    points: tuple[LagPoint, ...] = ()
    for minute in range(minutes):
        points = with_point(points, LagPoint(START + timedelta(minutes=minute), minute))
    return points


def test_samples_of_the_last_hour_are_all_kept() -> None:
    assert [p.lag for p in watched(50)] == list(range(50))


def test_older_ones_are_thinned_to_the_largest_of_each_ten_minutes() -> None:
    points = watched(120)
    assert [p.lag for p in points[:6]] == [9, 19, 29, 39, 49, 59]
    assert [p.lag for p in points[6:]] == list(range(60, 120))


def test_a_day_of_samples_keeps_half_of_it_in_few_points() -> None:
    points = watched(24 * 60)
    assert len(points) < 140
    assert points[-1].at - points[0].at <= KEPT
    assert points[-1].at - points[0].at > KEPT - timedelta(minutes=20)


def test_a_second_look_within_the_minute_adds_nothing_and_a_late_answer_neither() -> None:
    one = with_point((), LagPoint(START, 5))
    assert with_point(one, LagPoint(START + timedelta(seconds=20), 9)) == one
    assert with_point(one, LagPoint(START - timedelta(minutes=5), 9)) == one


def test_the_largest_lag_of_a_stretch_survives_its_thinning() -> None:
    points: tuple[LagPoint, ...] = ()
    for minute in range(90):
        points = with_point(points, LagPoint(START + timedelta(minutes=minute), 1_000 if minute == 4 else 1))
    assert points[0].lag == 1_000
