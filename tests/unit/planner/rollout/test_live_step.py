"""The next live values: one step that every broker takes, and own values taken away again."""

import pytest

from planner.observed import SettingSeen, SettingsSeen
from planner.rollout.live_step import LiveStep, deviations, next_live_step

THREADS, BYTES = "num.io.threads", "message.max.bytes"


def _seen(name: str, *values: str | None, own: tuple[int, ...] = (), default: str | None = None) -> SettingsSeen:
    brokers = {1000 + n: {name: SettingSeen(value, 1000 + n in own)} for n, value in enumerate(values)}
    return SettingsSeen(brokers, {} if default is None else {name: default})


def _step(name: str, wanted: str, seen: SettingsSeen) -> LiveStep:
    return next_live_step(deviations({name: wanted}, seen), seen)


def test_nothing_is_sent_where_all_run_with_the_value() -> None:
    assert not _step(BYTES, "5", _seen(BYTES, "5", "05", own=(1001,)))


def test_a_value_becomes_the_clusters_default_in_one_step() -> None:
    assert _step(BYTES, "5", _seen(BYTES, "1", "5")) == LiveStep({BYTES: "5"})


def test_a_broker_that_does_not_know_a_setting_is_not_waited_for() -> None:
    seen = SettingsSeen({1000: {}, 1001: {BYTES: SettingSeen("5")}}, {})
    assert not next_live_step(deviations({BYTES: "5"}, seen), seen)


@pytest.mark.parametrize(
    ("now", "wanted", "step"),
    [
        (("2", "2"), "9", "4"),
        (("8", "8"), "9", "9"),
        (("9", "9"), "1", "4"),
        (("4", "8"), "16", "8"),
        (("3",), "1", "1"),
    ],
)
def test_a_pool_of_threads_goes_as_far_as_each_broker_takes(now: tuple[str, ...], wanted: str, step: str) -> None:
    assert _step(THREADS, wanted, _seen(THREADS, *now)) == LiveStep({THREADS: step})


def test_brokers_too_far_apart_for_one_default_go_by_values_of_their_own() -> None:
    seen = _seen(THREADS, "1", "16")
    assert _step(THREADS, "8", seen) == LiveStep({}, {1000: {THREADS: "2"}, 1001: {THREADS: "8"}})


@pytest.mark.parametrize(
    ("name", "now", "wanted"),
    [
        ("compression.type", "producer", "lz4"),
        ("log.cleanup.policy", "delete", "compact,delete"),
        ("log.preallocate", "false", "true"),
        ("unclean.leader.election.enable", "false", "true"),
        ("log.cleaner.min.cleanable.ratio", "0.5", "0.25"),
        ("log.cleaner.io.max.bytes.per.second", "1.7976931348623157E308", "1000000"),
        ("max.connections.per.ip.overrides", "", "10.0.0.1:5"),
        ("compression.gzip.level", "-1", "3"),
        ("log.flush.interval.ms", None, "1000"),
    ],
)
def test_case_1_a_live_word_a_boolean_or_a_fraction_is_set_in_one_step(name: str, now: str | None, wanted: str) -> None:
    assert _step(name, wanted, _seen(name, now, now)) == LiveStep({name: wanted})
    assert _step(name, wanted, _seen(name, now, now, own=(1000,), default=wanted)) == LiveStep(
        {name: wanted}, {1000: {name: None}}
    )


def test_a_value_that_kafka_prints_in_another_form_is_the_one_that_was_set() -> None:
    assert not _step("log.cleaner.min.cleanable.ratio", "0.50", _seen("log.cleaner.min.cleanable.ratio", "0.5"))
    assert not _step("log.preallocate", "TRUE", _seen("log.preallocate", "true"))
    assert not _step("log.cleanup.policy", "compact, delete", _seen("log.cleanup.policy", "compact,delete"))


@pytest.mark.parametrize("now", ["0", "many", "-1"])
def test_a_pool_of_threads_without_a_number_to_step_from_is_sent_what_it_should_have(now: str) -> None:
    """Kafka says what it does not take: a person hears that, and the cluster goes on."""
    assert _step(THREADS, "4", _seen(THREADS, now)) == LiveStep({THREADS: "4"})
    own = _seen(THREADS, now, own=(1000,), default="4")
    assert _step(THREADS, "4", own) == LiveStep({}, {1000: {THREADS: None}})


def test_an_own_value_is_taken_away_once_the_default_is_right() -> None:
    alone = _seen(BYTES, "5", "7", own=(1001,))
    assert _step(BYTES, "5", alone) == LiveStep({BYTES: "5"})
    after = _seen(BYTES, "5", "7", own=(1001,), default="5")
    assert _step(BYTES, "5", after) == LiveStep({}, {1001: {BYTES: None}})


def test_an_own_pool_of_threads_is_brought_near_before_it_is_taken_away() -> None:
    far = _seen(THREADS, "8", "3", own=(1001,), default="8")
    assert _step(THREADS, "8", far) == LiveStep({}, {1001: {THREADS: "6"}})
    near = _seen(THREADS, "8", "6", own=(1001,), default="8")
    assert _step(THREADS, "8", near) == LiveStep({}, {1001: {THREADS: None}})


def test_no_value_is_a_deviation_unless_it_is_said_to_be_right() -> None:
    seen = _seen("log.retention.ms", None)
    assert deviations({"log.retention.ms": "5"}, seen)
    assert not deviations({"log.retention.ms": "5"}, seen, unset_is_right=True)


@pytest.mark.parametrize("now", [("1", "64"), ("64", "3", "17"), ("2", "2", "2"), ("1", "7")])
@pytest.mark.parametrize("wanted", ["1", "5", "100"])
def test_the_steps_end_with_every_broker_at_the_value_and_each_is_one_it_takes(
    now: tuple[str, ...], wanted: str
) -> None:
    running, own = {1000 + n: v for n, v in enumerate(now)}, dict[int, str]()
    default: str | None = None
    for _ in range(30):
        seen = SettingsSeen(
            {b: {THREADS: SettingSeen(own.get(b, default or v), b in own)} for b, v in running.items()},
            {} if default is None else {THREADS: default},
        )
        step = next_live_step(deviations({THREADS: wanted}, seen), seen)
        if not step:
            break
        default = step.defaults.get(THREADS, default)
        for broker, values in step.own.items():
            value = values[THREADS]
            own.pop(broker, None)
            own |= {} if value is None else {broker: value}
        for b, v in running.items():
            before, after = int(str(seen.brokers[b][THREADS].value)), int(own.get(b, default or v))
            assert before // 2 <= after <= 2 * before
    assert {own.get(b, default or v) for b, v in running.items()} == {wanted}
