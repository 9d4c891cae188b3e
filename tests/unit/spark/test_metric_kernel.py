"""Windows of one broker from its messages: held against numpy's own mean, max and percentile."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays

from spark.metrics.kernel import hour_of_broker, summary, windows_of_broker
from spark.metrics.partitions import BrokerPartitions, union
from spark.metrics.wire import MetricsMessage, decode
from tests.metric_messages import START_MS, a_message, a_partition


def message(minute: float, **changes: object) -> MetricsMessage:
    return decode(a_message(minute, **changes).encode())  # type: ignore[arg-type]


@settings(max_examples=60, deadline=None)
@given(
    arrays(
        np.float64,
        st.tuples(st.integers(1, 9), st.integers(1, 6)),
        elements=st.one_of(st.floats(0, 1e12), st.just(float("nan"))),
    )
)
def test_mean_max_and_p95_are_those_of_numpy_over_the_known_samples(samples: np.ndarray) -> None:
    found = summary(samples)
    for column in range(samples.shape[1]):
        known = samples[:, column][~np.isnan(samples[:, column])]
        assert found.samples[column] == len(known)
        if len(known):
            assert found.mean[column] == pytest.approx(known.mean(), rel=1e-12)
            assert found.max[column] == known.max()
            assert found.p95[column] == pytest.approx(np.percentile(known, 95), rel=1e-12)
        else:
            assert np.isnan([found.mean[column], found.max[column], found.p95[column]]).all()


def test_a_window_is_made_of_its_samples_and_comes_with_its_minutes() -> None:
    half_minutes = [message(m / 2, interval_ms=30_000) for m in range(10)]
    *minutes, window = windows_of_broker(half_minutes, width_ms=300_000)
    assert [(m.start_ms - START_MS) // 60_000 for m in minutes] == [0, 1, 2, 3, 4]
    assert {(m.expected, m.received) for m in minutes} == {(2, 2)}
    assert (window.expected, window.received, window.start_ms, window.width_ms) == (10, 10, START_MS, 300_000)
    samples = np.array([m.in_bytes_per_s for m in half_minutes])
    np.testing.assert_allclose(window.figures["in_bytes_per_s"].p95, np.percentile(samples, 95, axis=0))


def test_a_silent_interval_shows_in_what_was_received_not_in_the_figures() -> None:
    *minutes, window = windows_of_broker([message(m) for m in (0, 1, 3, 4)], width_ms=300_000)
    assert len(minutes) == 4
    assert (window.expected, window.received) == (5, 4)
    assert window.figures["log_bytes"].samples.tolist() == [4, 4, 4]
    assert window.figures["log_bytes"].mean.tolist() == [2.0, 1002.0, 2002.0]


def test_partitions_that_come_and_go_have_their_own_number_of_samples() -> None:
    first = message(0, partitions=[a_partition(0, log_bytes=1), a_partition(0, topic="bills", log_bytes=5)])
    later = message(1, partitions=[a_partition(0, log_bytes=3), a_partition(7, topic="users", log_bytes=9)])
    window = windows_of_broker([later, first], width_ms=300_000)[-1]
    names = [window.partitions.topics[code] for code in window.partitions.topic]
    sizes = window.figures["log_bytes"]
    assert list(
        zip(names, window.partitions.partition.tolist(), sizes.samples.tolist(), sizes.mean.tolist(), strict=True)
    ) == [
        ("bills", 0, 1, 5.0),
        ("orders", 0, 2, 2.0),
        ("users", 7, 1, 9.0),
    ]


def test_the_same_partitions_in_another_order_of_topics_are_the_same() -> None:
    one = BrokerPartitions(("a", "b"), np.array([0, 1], np.int32), np.array([3, 4], np.int32))
    other = BrokerPartitions(("b", "a"), np.array([0, 1], np.int32), np.array([4, 3], np.int32))
    together, places = union([one, other])
    assert (together.topics, together.topic.tolist(), together.partition.tolist()) == (("a", "b"), [0, 1], [3, 4])
    assert [np.asarray(place).tolist() for place in places] == [[0, 1], [1, 0]]


def test_an_hour_weighs_minutes_by_samples_and_takes_p95_of_their_means() -> None:
    minutes = [
        m
        for start in range(0, 60, 5)
        for m in windows_of_broker([message(start + i) for i in range(5)], width_ms=300_000)[:-1]
    ]
    hour = hour_of_broker(minutes)
    assert (hour.expected, hour.received, hour.start_ms, hour.width_ms) == (60, 60, START_MS, 3_600_000)
    means = np.array([m.figures["in_bytes_per_s"].mean for m in minutes])
    np.testing.assert_allclose(hour.figures["in_bytes_per_s"].mean, means.mean(axis=0))
    np.testing.assert_allclose(hour.figures["in_bytes_per_s"].p95, np.percentile(means, 95, axis=0))
    assert hour.figures["in_bytes_per_s"].samples.tolist() == [60, 60, 60]


def test_a_minute_with_fewer_samples_weighs_less_in_its_hour() -> None:
    full = windows_of_broker([message(0), message(0.5)], width_ms=300_000)[0]
    single = windows_of_broker([message(10)], width_ms=300_000)[0]
    hour = hour_of_broker([single, full])
    expected = (2 * full.figures["log_bytes"].mean + single.figures["log_bytes"].mean) / 3
    np.testing.assert_allclose(hour.figures["log_bytes"].mean, expected)


def test_the_latest_start_of_a_broker_is_kept() -> None:
    restarted = [message(0), replace(message(1), broker_started_ms=START_MS + 30_000)]
    assert windows_of_broker(restarted, width_ms=300_000)[-1].broker_started_ms == START_MS + 30_000
