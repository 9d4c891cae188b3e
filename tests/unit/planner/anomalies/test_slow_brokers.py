"""Who is slow: several latencies, against peers and own past, in several windows."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from planner.anomalies.slow import BrokerWindow, SlowRule, slow_brokers, suspects, too_many

WIDTH = timedelta(minutes=5)
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
BROKERS = (1000, 1001, 1002, 1003)
CALM = {"produce_local_p99_ms": 8.0, "request_queue_p99_ms": 6.0, "log_flush_p99_ms": 30.0}
SLOW = {"produce_local_p99_ms": 200.0, "request_queue_p99_ms": 150.0}
PAST, SAMPLES = 20, 3
NOW = BEGAN + (PAST + SAMPLES) * WIDTH


def a_window(broker: int, number: int, figures: Mapping[str, float] = CALM, **changes: object) -> BrokerWindow:
    start = BEGAN + number * WIDTH
    values: dict[str, object] = {"started": BEGAN - timedelta(days=3), "completeness": 1.0, **changes}
    return BrokerWindow(broker, start, start + WIDTH, figures=figures, **values)  # type: ignore[arg-type]


def windows(
    slow: Mapping[int, Mapping[str, float]],
    *,
    samples: int = SAMPLES,
    past: Mapping[int, Mapping[str, float]] | None = None,
) -> list[BrokerWindow]:
    """PAST calm windows (but for `past`), then LOOKS of which the last `samples` are slow as `slow` says."""
    before = [a_window(b, n, {**CALM, **(past or {}).get(b, {})}) for b in BROKERS for n in range(PAST)]
    late = range(PAST, PAST + SAMPLES)
    now = [
        a_window(b, n, {**CALM, **(slow.get(b, {}) if n >= PAST + SAMPLES - samples else {})})
        for b in BROKERS
        for n in late
    ]
    return before + now


def found(every: list[BrokerWindow], **known: object) -> list[int]:
    told = slow_brokers(every, every, NOW, **known)  # type: ignore[arg-type]
    assert told is not None
    return [one.broker for one in told]


def test_a_broker_beyond_peers_and_past_in_two_latencies_is_slow_and_the_numbers_are_told() -> None:
    every = windows({1001: SLOW})
    assert suspects(every, NOW) == {1001}
    told = slow_brokers(every, every, NOW)
    assert told is not None
    (one,) = told
    assert one.broker == 1001
    assert one.sentence == (
        "broker 1001 was slow in 3 of the last 3 windows, in ms: "
        "produce_local_p99_ms 200 (peers 8, its own past 8); request_queue_p99_ms 150 (peers 6, its own past 6)"
    )


@pytest.mark.parametrize(
    ("why", "every"),
    [
        ("one latency alone", windows({1001: {"produce_local_p99_ms": 200.0}})),
        ("below its floor", windows({1001: {"produce_local_p99_ms": 19.0, "request_queue_p99_ms": 19.0}})),
        ("all alike", windows(dict.fromkeys(BROKERS, SLOW))),
        ("it was always so", windows({1001: SLOW}, past={1001: SLOW})),
        ("one window is a long collection of garbage", windows({1001: SLOW}, samples=1)),
        ("better than others", windows({1001: {"produce_local_p99_ms": 0.1, "request_queue_p99_ms": 0.1}})),
        ("no past of its own", [w for w in windows({1001: SLOW}) if w.broker != 1001 or w.start >= BEGAN + 12 * WIDTH]),
        ("too few peers", [w for w in windows({1001: SLOW}) if w.broker in (1000, 1001)]),
    ],
)
def test_who_is_not_slow(why: str, every: list[BrokerWindow]) -> None:
    assert found(every) == [], why


@pytest.mark.parametrize(("started", "expected"), [(PAST, []), (PAST - 3, [1001])])
def test_a_broker_is_not_judged_in_its_first_quarter_of_an_hour(started: int, expected: list[int]) -> None:
    at = BEGAN + started * WIDTH
    fresh = [a_window(1001, n, {**CALM, **SLOW}, started=at) for n in range(PAST, PAST + SAMPLES)]
    assert found([w for w in windows({}) if w.broker != 1001 or w.start < BEGAN + PAST * WIDTH] + fresh) == expected


def test_a_broker_that_was_slow_stays_so_until_none_of_the_last_windows_says_it() -> None:
    every = windows({1001: SLOW}, samples=1)
    assert found(every) == []
    assert found(every, known=[1001]) == [1001]
    assert found(windows({}), known=[1001]) == []


def test_old_windows_say_nothing_at_all() -> None:
    every = windows({1001: SLOW})
    assert slow_brokers(every, every, NOW + timedelta(hours=1)) is None
    assert slow_brokers([], [], NOW) is None
    assert suspects(every, NOW + timedelta(hours=1)) == frozenset()


@pytest.mark.parametrize(("slow", "brokers", "are"), [(1, 3, False), (2, 3, True), (3, 30, False), (4, 30, True)])
def test_many_slow_at_once_have_a_common_cause(slow: int, brokers: int, are: bool) -> None:
    assert too_many(slow, brokers, SlowRule()) is are
