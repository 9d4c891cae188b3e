"""The database is locked, gone, damaged, or its answer is lost: typed errors, and a retry that tells what happened."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from controlplane.storage import migrate
from events.engine import build_engine, database_time, reading, writing
from events.envelope import NewEvent, Origin
from events.errors import PositionGap, StoreUnavailable
from events.sql_store import SqlEventStore
from tests.fakes.cutting_proxy import CuttingProxy
from tests.postgres_server import ADDRESS, PostgresServer, running_postgres
from tests.present import present

ORIGIN = Origin("converger")


def one(event_id: str) -> list[NewEvent]:
    return [NewEvent(event_id, "test", 1, {"of": event_id})]


@pytest.mark.postgres
def test_a_lost_commit_reply_on_postgresql_is_unavailable_and_the_retry_finds_the_events(
    postgres_server: PostgresServer, fresh_database: Callable[[str], str]
) -> None:
    database = fresh_database("postgresql").rsplit("/", 1)[1]
    proxy = CuttingProxy((ADDRESS, postgres_server.port))
    engine = build_engine(f"postgresql://postgres@{ADDRESS}:{proxy.port}/{database}")
    try:
        store = SqlEventStore(engine)
        store.append("a", one("before"), expected_version=0, origin=ORIGIN)
        proxy.cut_next_reply(marker=b'"event_id": "lost"')
        with pytest.raises(StoreUnavailable, match="same write again"):
            store.append("a", one("lost"), expected_version=1, origin=ORIGIN)
        assert proxy.cuts == 1
        again = store.append("a", one("lost"), expected_version=1, origin=ORIGIN)
        assert [(event.event_id, event.version, event.position) for event in again] == [("lost", 2, 2)]
        assert store.verify() == 2
    finally:
        engine.dispose()
        proxy.close()


@pytest.mark.postgres
def test_a_postgresql_server_that_stops_is_unavailable_not_a_driver_error() -> None:
    with running_postgres() as server:
        url = server.create_database()
        migrate.upgrade(url)
        engine = build_engine(url)
        store = SqlEventStore(engine)
        store.append("a", one("1"), expected_version=0, origin=ORIGIN)
        server.stop()
        with pytest.raises(StoreUnavailable):
            store.append("a", one("2"), expected_version=1, origin=ORIGIN)
        with pytest.raises(StoreUnavailable):
            store.head()
        engine.dispose()


@pytest.mark.postgres
def test_a_forgotten_transaction_that_holds_the_counter_makes_appends_unavailable_and_is_ended(
    fresh_database: Callable[[str], str],
) -> None:
    url = fresh_database("postgresql")
    forgetful = build_engine(url, idle_in_transaction_timeout_s=0.6)
    hurried = build_engine(url, lock_timeout_s=0.1)
    patient = build_engine(url, lock_timeout_s=10)
    try:
        transaction = forgetful.connect()
        SqlEventStore(forgetful).append_within(transaction, "a", one("1"), expected_version=0, origin=ORIGIN)
        with pytest.raises(StoreUnavailable, match="lock timeout"):
            SqlEventStore(hurried).append("b", one("2"), expected_version=0, origin=ORIGIN)
        SqlEventStore(patient).append("b", one("2"), expected_version=0, origin=ORIGIN)
        with pytest.raises(DBAPIError):
            transaction.commit()
        assert SqlEventStore(patient).verify() == 1
    finally:
        for engine in (forgetful, hurried, patient):
            engine.dispose()


def test_a_locked_sqlite_file_is_unavailable_and_readable(fresh_database: Callable[[str], str]) -> None:
    url = fresh_database("sqlite")
    engine = build_engine(url, lock_timeout_s=0.1)
    store = SqlEventStore(engine)
    store.append("a", one("1"), expected_version=0, origin=ORIGIN)
    stranger = sqlite3.connect(present(engine.url.database), isolation_level=None)
    stranger.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable, match="locked"):
        store.append("a", one("2"), expected_version=1, origin=ORIGIN)
    assert store.head() == 1
    stranger.execute("ROLLBACK")
    stranger.close()
    assert store.append("a", one("2"), expected_version=1, origin=ORIGIN)[0].position == 2
    engine.dispose()


def test_a_thread_that_writes_too_long_makes_the_others_unavailable_not_stuck(
    fresh_database: Callable[[str], str],
) -> None:
    engine = build_engine(fresh_database("sqlite"), lock_timeout_s=0.1)
    with writing(engine), pytest.raises(StoreUnavailable, match="another thread"):
        SqlEventStore(engine).append("a", one("1"), expected_version=0, origin=ORIGIN)
    assert SqlEventStore(engine).append("a", one("1"), expected_version=0, origin=ORIGIN)[0].position == 1
    engine.dispose()


def test_a_database_without_tables_says_so(tmp_path: Path) -> None:
    engine = build_engine(f"sqlite:///{tmp_path}/empty.db")
    with pytest.raises(StoreUnavailable, match="never made"):
        SqlEventStore(engine).head()
    engine.dispose()


def test_sqlite_is_set_up_to_survive_a_power_cut_and_waiting_writers(fresh_database: Callable[[str], str]) -> None:
    engine = build_engine(fresh_database("sqlite"), lock_timeout_s=7)
    with reading(engine) as connection:

        def pragma(name: str) -> object:
            return connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()

        assert pragma("journal_mode") == "wal"
        assert pragma("synchronous") == 2  # FULL
        assert pragma("busy_timeout") == 7000
        assert pragma("foreign_keys") == 1
    engine.dispose()


@pytest.mark.postgres
def test_postgresql_sessions_carry_their_timeouts(fresh_database: Callable[[str], str]) -> None:
    engine = build_engine(fresh_database("postgresql"), lock_timeout_s=7, idle_in_transaction_timeout_s=11)
    with reading(engine) as connection:

        def setting(name: str) -> object:
            return connection.exec_driver_sql(f"SHOW {name}").scalar_one()

        assert setting("lock_timeout") == "7s"
        assert setting("idle_in_transaction_session_timeout") == "11s"
        assert setting("synchronous_commit") == "on"
        assert setting("timezone") == "UTC"
    engine.dispose()


def test_database_time_is_aware_and_moves(engine: Engine) -> None:
    with reading(engine) as connection:
        first, second = database_time(connection), database_time(connection)
    assert present(first.utcoffset()).total_seconds() == 0
    assert second >= first


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "mysql://root@127.0.0.1/x"])
def test_databases_that_cannot_keep_the_promises_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match="not supported"):
        build_engine(url)


class TestVerify:
    def test_a_whole_log_passes_with_its_head(self, engine: Engine) -> None:
        store = SqlEventStore(engine)
        assert store.verify() == 0
        store.append("a", [*one("1"), *one("2")], expected_version=0, origin=ORIGIN)
        assert store.verify() == 2

    def test_a_log_that_lost_an_event_is_refused(self, engine: Engine, owner: Engine) -> None:
        store = SqlEventStore(engine)
        store.append("a", [*one("1"), *one("2"), *one("3")], expected_version=0, origin=ORIGIN)
        with writing(owner) as transaction:
            _switch_protection_off(transaction)
            transaction.execute(text("DELETE FROM event WHERE position = 2"))
        with pytest.raises(PositionGap, match="number of events 2") as gap:
            store.verify()
        assert (gap.value.highest, gap.value.count, gap.value.counter) == (3, 2, 3)

    def test_a_counter_that_runs_ahead_is_refused(self, engine: Engine) -> None:
        store = SqlEventStore(engine)
        store.append("a", one("1"), expected_version=0, origin=ORIGIN)
        with writing(engine) as transaction:
            transaction.execute(text("UPDATE counter SET position = 5"))
        with pytest.raises(PositionGap):
            store.verify()


@pytest.mark.parametrize("statement", ["UPDATE event SET actor = 'me'", "DELETE FROM event"])
def test_the_database_itself_refuses_its_owner_to_change_history(engine: Engine, owner: Engine, statement: str) -> None:
    store = SqlEventStore(engine)
    store.append("a", one("1"), expected_version=0, origin=ORIGIN)
    with pytest.raises(DBAPIError, match="append-only"), owner.begin() as transaction:
        transaction.execute(text(statement))
    assert [event.actor for event in store.read_all()] == ["converger"]


def _switch_protection_off(transaction: Connection) -> None:
    """What only an administrator can do."""
    if transaction.dialect.name == "sqlite":
        transaction.execute(text("DROP TRIGGER event_no_delete"))
    else:
        transaction.execute(text("SET LOCAL session_replication_role = replica"))
