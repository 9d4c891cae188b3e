"""Projections: exactly once, halted by poison, rebuilt beside and swapped; on SQLite and PostgreSQL."""

import random
import threading
from collections.abc import Iterator

import pytest
from sqlalchemy import (
    Column,
    Connection,
    Engine,
    Integer,
    MetaData,
    String,
    Table,
    delete,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.exc import OperationalError

from events.engine import reading, writing
from events.envelope import NewEvent, Origin, Recorded
from events.errors import StoreUnavailable
from events.projection import Progress, ProjectionRunner, live_build
from events.sql_store import SqlEventStore

TALLY = Table(
    "tally",
    MetaData(),
    Column("build", Integer, primary_key=True),
    Column("stream", String, primary_key=True),
    Column("events", Integer, nullable=False),
    Column("trace", String, nullable=False),  # every position that was folded in: a repetition would show
)


class Tally:
    """Counts the events of each stream. `poison` are event ids it cannot apply."""

    name = "tally"

    def __init__(self) -> None:
        self.poison: set[str] = set()
        self.crash_at: int | None = None
        self.applied = threading.Event()

    def apply(self, transaction: Connection, build: int, event: Recorded) -> None:
        mine = (TALLY.c.build == build) & (TALLY.c.stream == event.stream)
        row = transaction.execute(select(TALLY).where(mine)).one_or_none()
        if row is None:
            values = {"build": build, "stream": event.stream, "events": 1, "trace": str(event.position)}
            transaction.execute(insert(TALLY).values(values))
        else:
            trace = f"{row.trace},{event.position}"
            transaction.execute(update(TALLY).where(mine).values(events=row.events + 1, trace=trace))
        self.applied.set()
        if event.event_id in self.poison:
            raise LookupError(f"no idea what {event.event_id} means")
        if event.position == self.crash_at:
            raise KeyboardInterrupt  # not an Exception: the process is being ended

    def clear(self, transaction: Connection, build: int) -> None:
        transaction.execute(delete(TALLY).where(TALLY.c.build == build))


@pytest.fixture
def tables(engine: Engine, owner: Engine) -> Iterator[Engine]:
    TALLY.metadata.create_all(owner)
    if owner is not engine:
        with writing(owner) as transaction:
            transaction.execute(text(f"GRANT ALL ON {', '.join(TALLY.metadata.tables)} TO {engine.url.username}"))
    yield engine
    TALLY.metadata.drop_all(owner)


@pytest.fixture
def store(tables: Engine) -> SqlEventStore:
    return SqlEventStore(tables)


@pytest.fixture
def tally() -> Tally:
    return Tally()


@pytest.fixture
def runner(tables: Engine, store: SqlEventStore, tally: Tally) -> ProjectionRunner:
    return ProjectionRunner(tables, store, tally, batch=3)


def write(store: SqlEventStore, stream: str, *ids: str) -> None:
    version = len(store.read_stream(stream))
    events = [NewEvent(one, "test", 1, {}) for one in ids]
    store.append(stream, events, expected_version=version, origin=Origin("converger"))


def shown(engine: Engine) -> dict[str, tuple[int, str]]:
    """What a reader sees: the live build's rows."""
    with reading(engine) as connection:
        build = live_build(connection, "tally")
        rows = connection.execute(select(TALLY).where(TALLY.c.build == build)).all()
    return {row.stream: (row.events, row.trace) for row in rows}


def test_everything_up_to_the_head_is_folded_once(tables, store, runner):
    write(store, "a", "1", "2", "3", "4")
    write(store, "b", "5")
    assert runner.catch_up() == Progress(position=5, behind=0)
    assert runner.catch_up() == Progress(position=5, behind=0)
    assert shown(tables) == {"a": (4, "1,2,3,4"), "b": (1, "5")}
    write(store, "b", "6")
    runner.catch_up()
    assert shown(tables)["b"] == (2, "5,6")


def test_an_empty_log_is_no_trouble(tables, runner):
    assert runner.catch_up() == Progress(position=0, behind=0)
    assert shown(tables) == {}


@pytest.mark.parametrize("crash_at", [1, 2, 3, 4, 5, 6, 7])
def test_a_crash_at_any_event_repeats_and_loses_nothing(tables, store, runner, tally, crash_at):
    write(store, "a", *map(str, range(1, 8)))
    tally.crash_at = crash_at
    with pytest.raises(KeyboardInterrupt):
        runner.catch_up()
    tally.crash_at = None
    assert runner.catch_up().behind == 0
    assert shown(tables) == {"a": (7, "1,2,3,4,5,6,7")}


class TestPoison:
    def test_a_poison_event_halts_before_it_with_an_alert_that_names_it(self, tables, store, runner, tally):
        write(store, "a", "1", "2", "3", "4", "bad", "6", "7")
        tally.poison = {"bad"}
        progress = runner.catch_up()
        assert (progress.position, progress.behind) == (4, 3)
        assert (progress.halted.projection, progress.halted.position) == ("tally", 5)
        assert "LookupError: no idea what bad means" in str(progress.halted)
        assert shown(tables) == {"a": (4, "1,2,3,4")}

    def test_it_stays_halted_and_says_so_after_a_restart(self, tables, store, tally):
        write(store, "a", "bad", "2")
        tally.poison = {"bad"}
        ProjectionRunner(tables, store, tally).catch_up()
        healthy = ProjectionRunner(tables, store, Tally()).catch_up()
        assert healthy.halted.position == 1
        assert healthy.position == 0
        assert shown(tables) == {}

    def test_after_an_upgrade_it_resumes_where_it_stood(self, tables, store, runner, tally):
        write(store, "a", "1", "bad", "3")
        tally.poison = {"bad"}
        assert runner.catch_up().halted is not None
        assert runner.resume().halted is not None
        tally.poison = set()
        assert runner.resume() == Progress(position=3, behind=0)
        assert shown(tables) == {"a": (3, "1,2,3")}

    def test_one_poisoned_projection_does_not_stop_another(self, tables, store, runner, tally):
        write(store, "a", "bad")
        tally.poison = {"bad"}
        assert runner.catch_up().halted is not None
        other = Tally()
        other.name = "other"
        assert ProjectionRunner(tables, store, other).catch_up().position == 1


class TestRebuild:
    def test_a_rebuild_equals_what_ran_live(self, tables, store, runner):
        write(store, "a", *map(str, range(5)))
        write(store, "b", "x")
        runner.catch_up()
        live = shown(tables)
        assert runner.rebuild() == Progress(position=6, behind=0)
        assert shown(tables) == live
        runner.rebuild()
        assert shown(tables) == live

    def test_random_histories_rebuilt_equal_live(self, tables, store, runner):
        chance = random.Random(7)
        for number in range(40):
            write(store, chance.choice("abc"), f"e{number}")
            if chance.random() < 0.3:
                runner.catch_up()
            if chance.random() < 0.1:
                runner.rebuild()
        runner.catch_up()
        live = shown(tables)
        runner.rebuild()
        assert shown(tables) == live
        assert sum(events for events, _ in live.values()) == 40

    def test_readers_see_the_old_build_until_the_swap_and_no_rows_are_left_behind(self, tables, store, runner, tally):
        write(store, "a", "1", "2", "3", "4")
        runner.catch_up()
        tally.crash_at = 4
        with pytest.raises(KeyboardInterrupt):
            runner.rebuild()
        assert shown(tables) == {"a": (4, "1,2,3,4")}
        tally.crash_at = None
        runner.rebuild()
        with reading(tables) as connection:
            assert connection.execute(select(TALLY.c.build).distinct()).scalars().all() == [3]
        assert shown(tables) == {"a": (4, "1,2,3,4")}

    def test_a_rebuild_that_meets_poison_swaps_nothing(self, tables, store, runner, tally):
        write(store, "a", "1", "2")
        runner.catch_up()
        tally.poison = {"2"}
        assert runner.rebuild().halted.position == 2
        assert shown(tables) == {"a": (2, "1,2")}
        write(store, "a", "3")
        assert runner.catch_up() == Progress(position=3, behind=0)

    def test_events_keep_arriving_during_a_rebuild(self, tables, store, runner, tally):
        write(store, "a", "1", "2", "3")
        runner.catch_up()
        tally.applied.clear()

        def busy() -> None:
            tally.applied.wait(10)
            other = ProjectionRunner(tables, store, Tally())
            for number in range(4, 24):
                write(store, "a", str(number))
                other.catch_up()

        writer = threading.Thread(target=busy)
        writer.start()
        runner.rebuild()
        writer.join()
        runner.catch_up()
        assert shown(tables) == {"a": (23, ",".join(map(str, range(1, 24))))}


def test_several_runners_of_one_projection_fold_each_event_once(tables, store):
    write(store, "a", *map(str, range(60)))
    runners = [threading.Thread(target=ProjectionRunner(tables, store, Tally(), batch=5).catch_up) for _ in range(4)]
    for one in runners:
        one.start()
    for one in runners:
        one.join()
    assert shown(tables) == {"a": (60, ",".join(map(str, range(1, 61))))}


def test_a_database_that_fails_is_an_outage_and_no_poison(tables, store):
    class Unlucky(Tally):
        def apply(self, transaction: Connection, build: int, event: Recorded) -> None:
            raise OperationalError("INSERT", {}, Exception("the server went away"))

    write(store, "a", "1")
    with pytest.raises(StoreUnavailable, match="went away"):
        ProjectionRunner(tables, store, Unlucky()).catch_up()
    assert ProjectionRunner(tables, store, Tally()).catch_up() == Progress(position=1, behind=0)
