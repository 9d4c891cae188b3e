"""Hints between processes by LISTEN and NOTIFY of a real PostgreSQL, and of SQLite, which has none."""

import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial

import pytest
from sqlalchemy import Engine, text

from controlplane.runtime.process_errors import Troubles
from controlplane.storage.channels import EVERYTHING, FOUND, REPORTED, Channels, NullChannels, channels_of
from events.envelope import NewEvent, Origin
from events.sql_store import RECORDED, SqlEventStore
from tests.waiting import until

pytestmark = pytest.mark.postgres


_END_WHO_LISTENS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
 WHERE pid <> pg_backend_pid() AND (query LIKE 'SELECT 1%' OR query LIKE 'LISTEN%')
"""


class Process:
    """One process's end of them: what it heard, by channel."""

    def __init__(self, url: str) -> None:
        self.channels: Channels = channels_of(url)
        self.heard: list[tuple[str, str]] = []
        for channel in (RECORDED, REPORTED, FOUND):
            self.channels.subscribe(channel, partial(self._hear, channel))
        self.channels.start()
        self.wait_until_it_listens(1)

    def _hear(self, channel: str, message: str) -> None:
        self.heard.append((channel, message))

    def wait_until_it_listens(self, times: int) -> None:
        until(lambda: self.heard.count((FOUND, EVERYTHING)) == times, "it listens", timeout_s=60)


@pytest.fixture
def url(wiped_database: Callable[[str], str]) -> str:
    return wiped_database("postgresql")


@pytest.fixture
def start(url: str) -> Iterator[Callable[[], Process]]:
    started: list[Process] = []

    def start() -> Process:
        started.append(Process(url))
        return started[-1]

    yield start
    for process in started:
        process.channels.stop()


def test_what_one_process_publishes_every_process_hears(start: Callable[[], Process]) -> None:
    one, other = start(), start()
    one.channels.publish(REPORTED, "c1")
    for process in (one, other):
        until(partial(process.heard.count, (REPORTED, "c1")))
    other.channels.publish(FOUND, "c2")
    until(lambda: (FOUND, "c2") in one.heard)
    assert (REPORTED, "c2") not in one.heard


@pytest.mark.parametrize("postgresql", ["postgresql"], indirect=True)
def test_whoever_follows_the_log_is_told_of_each_batch_as_it_is_committed(
    postgresql: Engine, start: Callable[[], Process]
) -> None:
    process, store = start(), SqlEventStore(postgresql)
    before = process.heard.count((RECORDED, EVERYTHING))
    batch = [NewEvent(f"e{number}", "test.happened", 1, {}) for number in range(3)]
    store.append("cluster-1", batch, expected_version=0, origin=Origin("test"))
    until(lambda: process.heard.count((RECORDED, EVERYTHING)) > before)
    assert process.heard.count((RECORDED, EVERYTHING)) == before + 1, "once for a batch"
    assert [event.position for event in store.read_all()] == [1, 2, 3]


@pytest.mark.parametrize("postgresql", ["postgresql"], indirect=True)
def test_after_a_lost_connection_everybody_hears_that_anything_may_have_been_missed(
    postgresql: Engine, start: Callable[[], Process], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    process = start()
    with postgresql.connect() as connection, suppress(Exception):
        connection.execute(text(_END_WHO_LISTENS))
    process.wait_until_it_listens(2)
    process.channels.publish(REPORTED, "c1")
    until(lambda: (REPORTED, "c1") in process.heard)


def test_sqlite_has_one_process_and_nobody_to_tell(wiped_database: Callable[[str], str]) -> None:
    channels = channels_of(wiped_database("sqlite"))
    assert isinstance(channels, NullChannels)
    channels.subscribe(FOUND, lambda _: pytest.fail("nobody is told"))
    channels.start()
    channels.publish(FOUND, "c1")
    channels.stop()


def test_one_subscriber_that_fails_keeps_out_no_other(url: str) -> None:
    heard: list[str] = []

    def fails(_: str) -> None:
        raise RuntimeError("it fails")

    channels = channels_of(url)
    channels._troubles = Troubles()  # type: ignore[attr-defined]
    channels.subscribe(FOUND, fails)
    channels.subscribe(FOUND, heard.append)
    channels.start()
    until(lambda: EVERYTHING in heard, "it listens", timeout_s=60)
    channels.publish(FOUND, "c1")
    until(lambda: "c1" in heard)
    channels.stop()
