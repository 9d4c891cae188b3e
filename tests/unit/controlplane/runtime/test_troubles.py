"""What repeats for as long as the server lives ends by no error: it is told, and the next turn comes."""

import threading
from datetime import UTC, datetime, timedelta

import pytest

from controlplane.runtime.process_errors import Troubles, repeat
from events.errors import StoreUnavailable


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


def test_a_task_that_fails_is_done_again_until_it_is_told_to_stop() -> None:
    troubles, stop, turns = Troubles(Clock()), threading.Event(), list[int]()

    def step() -> float:
        turns.append(len(turns))
        if len(turns) == 2:
            raise OSError(24, "Too many open files")
        if len(turns) == 4:
            stop.set()
        return 0.0

    repeat(step, "lease", stop, troubles=troubles, pause_s=0.0)
    assert turns == [0, 1, 2, 3]
    (told,) = troubles.all()
    assert (told.task, told.count, told.since) == ("lease", 1, None)
    assert "Too many open files" in told.error


def test_the_same_failure_again_and_again_is_logged_once_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    troubles = Troubles(Clock())
    for _ in range(3):
        with troubles.turn("loop"):
            raise ValueError("no sense")
    (told,) = troubles.all()
    assert (told.count, told.since) == (3, datetime(2026, 1, 1, 0, 0, 1, tzinfo=UTC))
    assert len([r for r in caplog.records if "loop failed" in r.getMessage()]) == 1
    with troubles.turn("loop"):
        pass
    assert troubles.all()[0].since is None


def test_an_order_to_stop_is_no_failure() -> None:
    troubles = Troubles(Clock())
    with pytest.raises(KeyboardInterrupt), troubles.turn("loop"):
        raise KeyboardInterrupt
    assert troubles.all() == []


def test_a_database_that_is_away_is_told_without_a_traceback(caplog: pytest.LogCaptureFixture) -> None:
    troubles = Troubles(Clock())
    for error in (StoreUnavailable("no answer"), ValueError("no sense")):
        with troubles.turn("hints"):
            raise error
    assert [(r.exc_info is None, r.levelname) for r in caplog.records] == [(True, "ERROR"), (False, "ERROR")]
