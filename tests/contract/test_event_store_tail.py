"""A reader that follows the log by position misses nothing, whatever writers and rollbacks do beside it."""

import contextlib
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Engine
from sqlalchemy.exc import IntegrityError

from events.engine import writing
from events.envelope import NewEvent, Origin, Recorded
from events.errors import StreamConflict
from events.sql_store import SqlEventStore
from tests.fakes.event_store import MemoryEventStore

WRITERS = 16
APPENDS = 25
ORIGIN = Origin("converger")


class _RolledBack(Exception):
    pass


class Writer:
    """Appends to its own stream; every tenth append takes its place in the log and is then rolled back."""

    def __init__(self, store: MemoryEventStore | SqlEventStore, engine: Engine | None, number: int) -> None:
        self.store = store
        self.engine = engine
        self.stream = f"stream-{number}"
        self.random = random.Random(number)
        self.written: list[str] = []
        self.rolled_back = 0

    def run(self) -> None:
        for number in range(APPENDS):
            if self.random.random() < 0.10 or number == 0:
                self.roll_back(number)
            size = self.random.choice((1, 1, 1, 3))
            events = [NewEvent(f"{self.stream}-{number}-{part}", "test", 1, {"n": number}) for part in range(size)]
            self.store.append(self.stream, events, expected_version=len(self.written), origin=ORIGIN)
            self.written += [event.event_id for event in events]

    def roll_back(self, number: int) -> None:
        self.rolled_back += 1
        doomed = [NewEvent(f"doomed-{self.stream}-{number}", "test", 1, {})]
        if self.engine is None or isinstance(self.store, MemoryEventStore):
            with pytest.raises(StreamConflict):
                self.store.append(self.stream, doomed, expected_version=999, origin=ORIGIN)
            return
        with contextlib.suppress(_RolledBack), writing(self.engine) as transaction:
            version = len(self.written)
            self.store.append_within(transaction, self.stream, doomed, expected_version=version, origin=ORIGIN)
            time.sleep(self.random.random() * 0.005)  # a slow transaction: others must not overtake it
            raise _RolledBack


def follow(store: MemoryEventStore | SqlEventStore, seen: list[Recorded], writers_done: threading.Event) -> None:
    position = 0
    while True:
        finished = writers_done.is_set()
        page = store.read_all(position, 50)
        seen += page
        if page:
            position = page[-1].position
        elif finished:
            return


@pytest.mark.timeout(90)
def test_a_tail_reader_beside_16_writers_with_rollbacks_misses_nothing_and_sees_no_gap(
    engine_or_memory: Engine | None,
) -> None:
    store = MemoryEventStore() if engine_or_memory is None else SqlEventStore(engine_or_memory)
    writers = [Writer(store, engine_or_memory, number) for number in range(WRITERS)]
    seen: list[Recorded] = []
    done = threading.Event()
    reader = threading.Thread(target=follow, args=(store, seen, done))
    reader.start()
    try:
        with ThreadPoolExecutor(WRITERS) as pool:
            list(pool.map(Writer.run, writers))
    finally:
        done.set()
        reader.join()

    written = {event_id for writer in writers for event_id in writer.written}
    assert {one.event_id for one in seen} == written
    assert [one.position for one in seen] == list(range(1, len(written) + 1))
    assert seen == list(store.iterate_all())
    assert sum(writer.rolled_back for writer in writers) >= WRITERS
    for writer in writers:
        assert [one.event_id for one in store.read_stream(writer.stream)] == writer.written
    if isinstance(store, SqlEventStore):
        assert store.verify() == len(written)


def test_an_append_within_a_transaction_that_waited_for_a_rival_fails_instead_of_leaving_a_gap(
    postgresql: Engine,
) -> None:
    """PostgreSQL only: SQLite lets no second writer begin, so nobody waits inside a transaction."""
    engine = postgresql
    store = SqlEventStore(engine)
    waiting = threading.Event()
    outcome: list[IntegrityError] = []

    def late() -> None:
        try:
            with writing(engine) as transaction:
                waiting.set()
                late_event = [NewEvent("late", "test", 1, {})]
                store.append_within(transaction, "a", late_event, expected_version=0, origin=ORIGIN)
        except IntegrityError as error:
            outcome.append(error)

    with writing(engine) as transaction:
        store.append_within(transaction, "a", [NewEvent("early", "test", 1, {})], expected_version=0, origin=ORIGIN)
        rival = threading.Thread(target=late)
        rival.start()
        waiting.wait()
        _await_a_waiting_lock(engine)
    rival.join()
    assert len(outcome) == 1
    assert [one.event_id for one in store.read_all()] == ["early"]
    assert store.append("a", [NewEvent("next", "test", 1, {})], expected_version=1, origin=ORIGIN)[0].position == 2


def _await_a_waiting_lock(engine: Engine) -> None:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        with engine.connect() as connection:
            if connection.exec_driver_sql("SELECT count(*) FROM pg_locks WHERE NOT granted").scalar_one():
                return
        time.sleep(0.01)
    raise AssertionError("the second writer never waited for the counter")
