"""How long the demo waits for Spark."""

from controlplane.cli.demo.spark_wait import IDLE_WITHIN_S, MOST_STARTS, SparkWait


def test_a_session_that_starts_is_waited_for_however_long_that_takes() -> None:
    waiting = SparkWait(0.0)
    assert [waiting.given_up("starting", float(at)) for at in range(0, 1800, 5)] == [""] * 360


def test_a_server_that_starts_none_is_given_up() -> None:
    waiting = SparkWait(0.0)
    assert waiting.given_up("in-process", IDLE_WITHIN_S) == ""
    assert waiting.given_up("in-process", IDLE_WITHIN_S + 1) == "no session of it has started for 180 s (in-process)"


def test_time_without_a_start_adds_up_over_starts() -> None:
    waiting = SparkWait(0.0)
    assert waiting.given_up("in-process", 100.0) == ""
    assert waiting.given_up("starting", 400.0) == ""
    assert waiting.given_up("in-process", 450.0) == ""
    assert waiting.given_up("in-process", 490.0)


def test_starts_that_come_to_nothing_are_counted() -> None:
    waiting = SparkWait(0.0)
    at_s = 0.0
    for _ in range(MOST_STARTS):
        for planner in ("starting", "in-process"):
            at_s += 1
            assert waiting.given_up(planner, at_s) == ""
    assert waiting.given_up("starting", at_s + 1) == "3 starts of its session failed"
