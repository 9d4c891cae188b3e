"""Which windows close when: pure arithmetic, cluster by cluster."""

from spark.metrics.frontier import Frontier, WindowSpan, closing_hours, closing_windows, seen, watermarks

MINUTE, FIVE, HOUR = 60_000, 300_000, 3_600_000


def test_a_window_closes_when_the_watermark_reaches_its_end() -> None:
    frontiers = seen({"a": Frontier(latest_ms=0, windows_closed_ms=0)}, {"a": FIVE + 2 * MINUTE - 1})
    assert closing_windows(frontiers, delay_ms=2 * MINUTE, width_ms=FIVE)[1] == []
    after, spans = closing_windows(seen(frontiers, {"a": FIVE + 2 * MINUTE}), delay_ms=2 * MINUTE, width_ms=FIVE)
    assert spans == [WindowSpan(0, FIVE, ("a",))]
    assert closing_windows(after, delay_ms=2 * MINUTE, width_ms=FIVE)[1] == []


def test_a_cluster_that_stalls_is_not_closed_by_the_others() -> None:
    frontiers = seen({}, {"stalled": MINUTE, "lively": 20 * MINUTE})
    assert watermarks(frontiers, delay_ms=MINUTE) == {"stalled": 0, "lively": 19 * MINUTE}
    assert closing_windows(frontiers, delay_ms=MINUTE, width_ms=FIVE)[1] == [WindowSpan(0, 15 * MINUTE, ("lively",))]


def test_clusters_that_close_the_same_windows_share_a_span() -> None:
    frontiers = seen({}, {"b": 11 * MINUTE, "a": 12 * MINUTE, "c": 21 * MINUTE})
    spans = closing_windows(frontiers, delay_ms=MINUTE, width_ms=FIVE)[1]
    assert spans == [WindowSpan(0, 10 * MINUTE, ("a", "b")), WindowSpan(0, 20 * MINUTE, ("c",))]


def test_an_older_interval_moves_nothing_back() -> None:
    frontiers, _ = closing_windows(seen({}, {"a": 20 * MINUTE}), delay_ms=0, width_ms=FIVE)
    assert seen(frontiers, {"a": MINUTE}) == frontiers


def test_an_hour_closes_with_its_last_window() -> None:
    open_hour = {"a": Frontier(latest_ms=HOUR, windows_closed_ms=HOUR - FIVE)}
    assert closing_hours(open_hour, hour_ms=HOUR)[1] == []
    closed = {"a": Frontier(latest_ms=HOUR, windows_closed_ms=HOUR)}
    after, spans = closing_hours(closed, hour_ms=HOUR)
    assert spans == [WindowSpan(0, HOUR, ("a",))]
    assert closing_hours(after, hour_ms=HOUR)[1] == []
