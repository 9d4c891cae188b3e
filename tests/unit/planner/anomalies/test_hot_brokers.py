"""Who is hot: far more CPU or traffic than peers and own past, for twenty of the last minutes."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from planner.anomalies.hot import BYTES_IN, BYTES_OUT, CPU, HotRule, hot_brokers, hot_suspects
from planner.anomalies.slow import BrokerWindow

WIDTH = timedelta(minutes=5)
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
BROKERS = (1000, 1001, 1002, 1003)
MIB = 1024.0 * 1024
CALM = {CPU: 0.30, BYTES_IN: 20 * MIB, BYTES_OUT: 20 * MIB}
PAST, SAMPLES = 20, 5
NOW = BEGAN + (PAST + SAMPLES) * WIDTH
NICS = dict.fromkeys(BROKERS, int(200 * MIB))


def a_window(broker: int, number: int, figures: Mapping[str, float], **changes: object) -> BrokerWindow:
    start = BEGAN + number * WIDTH
    values: dict[str, object] = {"started": BEGAN - timedelta(days=3), "completeness": 1.0, **changes}
    return BrokerWindow(broker, start, start + WIDTH, figures=figures, **values)  # type: ignore[arg-type]


def windows(
    hot: Mapping[int, Mapping[str, float]],
    *,
    samples: int = SAMPLES,
    past: Mapping[int, Mapping[str, float]] | None = None,
    **changes: object,
) -> list[BrokerWindow]:
    """PAST calm windows (but for `past`), then LOOKS of which the last `samples` are hot as `hot` says."""
    before = [a_window(b, n, {**CALM, **(past or {}).get(b, {})}) for b in BROKERS for n in range(PAST)]
    now = [
        a_window(b, n, {**CALM, **(hot.get(b, {}) if n >= PAST + SAMPLES - samples else {})}, **changes)
        for b in BROKERS
        for n in range(PAST, PAST + SAMPLES)
    ]
    return before + now


def found(every: list[BrokerWindow], limits: Mapping[int, int] = NICS, **known: object) -> list[int]:
    told = hot_brokers(every, every, limits, NOW, **known)  # type: ignore[arg-type]
    assert told is not None
    return [one.broker for one in told]


def test_a_broker_of_far_more_cpu_than_its_peers_and_its_past_is_hot_and_the_numbers_are_told() -> None:
    every = windows({1001: {CPU: 0.82}})
    assert hot_suspects(every, NICS, NOW, HotRule()) == {1001}
    told = hot_brokers(every, every, NICS, NOW)
    assert told is not None
    (one,) = told
    assert one.at == NOW
    assert one.sentence == ("broker 1001 was hot in 25 of the last 25 min: CPU 82% (peers 30%, its own past 30%)")


def test_bytes_are_told_as_a_share_of_the_network_the_catalogue_knows() -> None:
    every = windows({1001: {BYTES_OUT: 150 * MIB}})
    told = hot_brokers(every, every, NICS, NOW)
    assert told is not None
    assert told[0].sentence == (
        "broker 1001 was hot in 25 of the last 25 min: bytes out 150.0 MiB/s, 75% of its network's 200.0 MiB/s "
        "(peers 20.0 MiB/s, its own past 20.0 MiB/s)"
    )


def test_without_a_known_network_bytes_are_held_against_peers_and_past_above_a_floor() -> None:
    assert found(windows({1001: {BYTES_IN: 40 * MIB}}), limits={}) == [1001]
    assert found(windows({1001: {BYTES_IN: 31 * MIB}}), limits={}) == []


def test_four_windows_of_five_are_enough_and_three_are_not() -> None:
    assert found(windows({1001: {CPU: 0.82}}, samples=4)) == [1001]
    assert found(windows({1001: {CPU: 0.82}}, samples=3)) == []


@pytest.mark.parametrize(
    ("why", "every"),
    [
        ("it has room", windows({1001: {CPU: 0.59, BYTES_IN: 119 * MIB, BYTES_OUT: 119 * MIB}})),
        ("all alike", windows({key: {CPU: 0.82} for key in BROKERS})),
        (
            "peers have nearly as much",
            windows({1001: {CPU: 0.82}, 1002: {CPU: 0.6}, 1003: {CPU: 0.6}, 1000: {CPU: 0.6}}),
        ),
        ("it was always so", windows({1001: {CPU: 0.82}}, past={1001: {CPU: 0.75}})),
        ("it began to serve just now", windows({1001: {CPU: 0.82}}, started=NOW - timedelta(minutes=30))),
        ("messages are missing", windows({1001: {CPU: 0.82}}, completeness=0.5)),
        ("nothing is known of its past", windows({1001: {CPU: 0.82}})[-SAMPLES * len(BROKERS) :]),
    ],
)
def test_what_is_no_hot_broker(why: str, every: list[BrokerWindow]) -> None:
    told = hot_brokers(every, every, NICS, NOW)
    assert not told, why


def test_a_large_machine_that_carries_more_is_not_hot_beside_small_ones() -> None:
    """It carries eight times as much over a network eight times as fast."""
    all_busy = {key: {BYTES_OUT: 130 * MIB} for key in BROKERS}
    large = windows({**all_busy, 1001: {BYTES_OUT: 8 * 130 * MIB}})
    assert found(large, limits={**NICS, 1001: int(1600 * MIB)}) == []
    assert found(large, limits={}) == [1001]


def test_one_known_to_be_hot_stays_so_beside_a_hot_past_until_no_window_says_it() -> None:
    lasting = windows({1001: {CPU: 0.82}}, past={1001: {CPU: 0.82}})
    assert found(lasting) == []
    assert found(lasting, known=[1001]) == [1001]
    assert found(windows({1001: {CPU: 0.82}}, samples=1), known=[1001]) == [1001]
    assert found(windows({}), known=[1001]) == []


def test_old_windows_say_nothing_and_silence_is_no_health() -> None:
    every = windows({1001: {CPU: 0.82}})
    assert hot_brokers(every, every, NICS, NOW + timedelta(minutes=16)) is None
    assert hot_brokers([], [], NICS, NOW) is None
