"""The sum of what brokers take in and give out: unknown where one is, an hour of it, few bytes a point."""

from datetime import timedelta

from controlplane.cluster.observed.broker_traffic import KEPT, BrokerCounters, RecentTraffic, TrafficPoint
from tests.builders import NOW

BOTH = frozenset({1000, 1001})


def counted(seconds: float, into: float | None, out: float | None = 0.0, *, clock_s: float = 0.0) -> BrokerCounters:
    return BrokerCounters(NOW + timedelta(seconds=seconds + clock_s), 0.0, into, out)


def seen(*looks: tuple[float, dict[int, BrokerCounters]], live: frozenset[int] = BOTH) -> tuple[TrafficPoint, ...]:
    recent = RecentTraffic()
    for seconds, counters in looks:
        recent.see(NOW + timedelta(seconds=seconds), live, counters)
    return recent.points()


def test_all_brokers_together_each_by_its_agents_own_clock() -> None:
    (point,) = seen(
        (0, {1000: counted(0, 100, 10), 1001: counted(0, 0, 0, clock_s=3600)}),
        (10, {1000: counted(10, 300, 40), 1001: counted(5, 50, 5, clock_s=3600)}),
    )
    assert point == TrafficPoint(NOW, 20 + 10, 3 + 1)


def test_looks_too_close_together_make_one_point() -> None:
    looks = [(s, {b: counted(s, s * 10) for b in BOTH}) for s in (0, 3, 9.9, 10, 19, 20)]
    assert [p.at for p in seen(*looks)] == [NOW, NOW + timedelta(seconds=10)]


def test_a_sum_without_one_of_them_is_not_told() -> None:
    known = {b: counted(0, 0) for b in BOTH}
    whole, silent, told_again = seen(
        (0, known),
        (10, {b: counted(10, 50) for b in BOTH}),
        (20, {1000: counted(20, 90)}),
        (30, {b: counted(30, 100) for b in BOTH}),
    )
    assert whole.in_bytes_per_s == 10
    assert (silent.in_bytes_per_s, silent.out_bytes_per_s) == (None, None)
    assert told_again.in_bytes_per_s is None, "since when 1001 has counted is not known"


def test_a_broker_that_does_not_serve_is_not_waited_for() -> None:
    (point,) = seen((0, {1000: counted(0, 0)}), (10, {1000: counted(10, 70)}), live=frozenset({1000}))
    assert point.in_bytes_per_s == 7


def test_a_broker_that_joined_between_two_looks_has_counted_from_nothing() -> None:
    recent = RecentTraffic()
    recent.see(NOW, frozenset({1000}), {1000: counted(0, 0)})
    recent.see(NOW + timedelta(seconds=10), BOTH, {1000: counted(10, 70), 1001: counted(10, 30)})
    recent.see(NOW + timedelta(seconds=20), BOTH, {1000: counted(20, 70), 1001: counted(20, 40)})
    assert [p.in_bytes_per_s for p in recent.points()] == [10, 1]


def test_a_broker_that_is_back_is_unknown_until_the_next_look() -> None:
    recent, alone = RecentTraffic(), frozenset({1000})
    for seconds, live in ((0, BOTH), (10, alone), (20, BOTH), (30, BOTH)):
        recent.see(NOW + timedelta(seconds=seconds), live, {b: counted(seconds, 1e9 + seconds) for b in live})
    assert [p.in_bytes_per_s for p in recent.points()] == [1, None, 2]


def test_a_count_that_fell_or_is_missing_is_unknown_and_the_other_way_is_told() -> None:
    before, restarted = {b: counted(0, 100, 0) for b in BOTH}, {b: counted(10, 20, 10) for b in BOTH}
    (fell,) = seen((0, before), (10, restarted))
    (missing,) = seen((0, {b: counted(0, None, 0) for b in BOTH}), (10, restarted))
    assert fell == missing == TrafficPoint(NOW, None, 2)


def test_a_report_that_was_seen_before_tells_nothing_new() -> None:
    same = {b: counted(0, 100, 0) for b in BOTH}
    assert seen((0, same), (10, same)) == ()


def test_what_is_older_than_an_hour_is_forgotten() -> None:
    looks = [(float(s), {b: counted(s, s) for b in BOTH}) for s in range(0, 2 * int(KEPT.total_seconds()), 60)]
    points = seen(*looks)
    assert points[0].at >= points[-1].at + timedelta(seconds=60) - KEPT
    assert len(points) == 60
