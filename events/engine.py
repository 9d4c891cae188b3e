"""How this house talks to a database: one place for drivers, pragmas, timeouts and what a driver error means.

SQLite is the default, PostgreSQL is for production. Both are set up so that a commit that was answered is on disk.
"""

import errno
import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from pydantic_core import from_json
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, TimeoutError as PoolTimeout

from events.errors import QueryTooLong, StoreUnavailable

_READ_ONLY = "kedge_read_only"
_NONE_LEFT = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
_CHECK_EVERY = 10_000
"""Steps of SQLite's machine between two looks at the clock, a fraction of a millisecond."""
_limit_s: ContextVar[float | None] = ContextVar("query_limit_s", default=None)


def build_engine(
    url: str,
    *,
    lock_timeout_s: float = 10.0,
    idle_in_transaction_timeout_s: float = 30.0,
    statement_timeout_s: float = 600.0,
    connect_timeout_s: int = 5,
    pool_size: int = 10,
    durable: bool = True,
) -> Engine:
    """An engine for `sqlite:///FILE` or `postgresql://...` (psycopg 3 is used whatever the driver part says).

    `statement_timeout_s` is the longest a statement of PostgreSQL may take, 0 for no end; `answered_within` shortens it
    for what somebody waits for.

    `durable=False` lets the last commits be lost in a power cut; only for values that may be lost (`latest`).
    Raises ValueError for other databases and for SQLite in memory, which every thread would see differently.
    """
    parsed = make_url(url)
    shared: dict[str, Any] = {
        "json_serializer": partial(json.dumps, ensure_ascii=False, separators=(",", ":"), allow_nan=False),
        "json_deserializer": from_json,
        "hide_parameters": True,  # an error tells the statement; what was in it may be a secret
        "pool_size": pool_size,
        "max_overflow": pool_size,
        "pool_timeout": lock_timeout_s,
    }
    match parsed.get_backend_name():
        case "sqlite":
            return _sqlite(parsed, lock_timeout_s, durable, shared)
        case "postgresql" | "postgres":
            session = {
                "lock_timeout": round(lock_timeout_s * 1000),
                "statement_timeout": round(statement_timeout_s * 1000),
                "idle_in_transaction_session_timeout": round(idle_in_transaction_timeout_s * 1000),
                "synchronous_commit": "on" if durable else "off",
                "timezone": "UTC",
            }
            return _postgresql(parsed, connect_timeout_s, session, shared)
        case other:
            raise ValueError(f"database {other!r} is not supported: use sqlite:///FILE or postgresql://USER@HOST/NAME")


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A connection with one consistent view, for statements that only read. Raises StoreUnavailable.

    On SQLite it does not take the write lock; writing in it fails once another writer is at work.
    """
    with answering(engine), engine.connect().execution_options(**{_READ_ONLY: True}) as connection:
        yield connection


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction that may write, committed at the end of the block. Raises StoreUnavailable.

    Keep it short and do not nest it: SQLite has one writer at a time.
    """
    with _noting(engine), answering(engine), _turn(engine), engine.begin() as connection:
        yield connection


@contextmanager
def answered_within(limit_s: float | None) -> Iterator[None]:
    """Transactions of this context give up after `limit_s`: on PostgreSQL each statement, on SQLite the whole of them.
    None lifts a limit that somebody set around it.

    For what somebody waits for, be it a page or a search; who folds the log or migrates takes the time that takes.
    They raise QueryTooLong then.
    """
    token = _limit_s.set(limit_s)
    try:
        yield
    finally:
        _limit_s.reset(token)


@contextmanager
def answering(engine: Engine) -> Iterator[None]:
    """Turns "the database did not answer" of every driver into StoreUnavailable; other errors pass.

    A process that has no descriptor or memory left for the connection reaches no database either, and drivers let that
    error through as it is.
    """
    try:
        yield
    except (OperationalError, InterfaceError, PoolTimeout) as error:
        raise _unavailable(engine, error) from error
    except DBAPIError as error:
        if error.connection_invalidated or is_refused(error):
            raise _unavailable(engine, error) from error
        raise
    except OSError as error:
        if error.errno in _NONE_LEFT:
            raise _unavailable(engine, error) from error
        raise


@dataclass(frozen=True, slots=True)
class DatabaseTrouble:
    """Writes fail: since when (UTC), and what the last one said."""

    since: datetime
    why: str


def trouble_with(engine: Engine) -> DatabaseTrouble | None:
    """Why the last write of this process failed, None where the last one was kept. Asks nobody."""
    return _TROUBLES.get(engine)


def shown_url(url: str) -> str:
    """The URL of a database for people, without its password. Raises ArgumentError for one that is none."""
    return make_url(url).render_as_string(hide_password=True)


def is_refused(error: DBAPIError) -> bool:
    """Whether PostgreSQL refuses this role a statement: `insufficient_privilege`."""
    return getattr(error.orig, "sqlstate", None) == "42501"


def database_time(connection: Connection) -> datetime:
    """The database's wall clock, in UTC: the one clock that all servers of an installation share."""
    if connection.dialect.name == "sqlite":
        moment = connection.execute(text("SELECT strftime('%Y-%m-%dT%H:%M:%f', 'now')")).scalar_one()
        return datetime.fromisoformat(moment).replace(tzinfo=UTC)
    # clock_timestamp, not now(): now() is the start of the transaction, which may have waited for a lock since.
    answer: datetime = connection.execute(text("SELECT clock_timestamp()")).scalar_one()
    return answer.astimezone(UTC)


@contextmanager
def _noting(engine: Engine) -> Iterator[None]:
    """Remembers that writes fail, until one is kept. Of a query that was ended for its length nothing is concluded."""
    try:
        yield
    except QueryTooLong:
        raise
    except StoreUnavailable as error:
        before = _TROUBLES.get(engine)
        _TROUBLES[engine] = DatabaseTrouble(before.since if before else datetime.now(UTC), str(error))
        raise
    else:
        _TROUBLES.pop(engine, None)


@contextmanager
def _turn(engine: Engine) -> Iterator[None]:
    """SQLite lets waiting writers race for its lock and starves some for seconds: threads of one process queue here."""
    turn = _TURNS.get(engine)
    if turn is None:
        yield
        return
    if not turn.lock.acquire(timeout=turn.timeout_s):
        raise StoreUnavailable(
            f"database {engine.url.render_as_string(hide_password=True)}: another thread has been writing for "
            f"{turn.timeout_s:g} s. Nothing was written; try again."
        )
    try:
        yield
    finally:
        turn.lock.release()


@dataclass(frozen=True, slots=True)
class _Turn:
    timeout_s: float
    lock: threading.Lock = field(default_factory=threading.Lock)


_TURNS: WeakKeyDictionary[Engine, _Turn] = WeakKeyDictionary()
_TROUBLES: WeakKeyDictionary[Engine, DatabaseTrouble] = WeakKeyDictionary()


def _unavailable(engine: Engine, error: Exception) -> StoreUnavailable:
    where = engine.url.render_as_string(hide_password=True)
    if _is_too_long(error):
        limit_s = _limit_s.get()
        limit = f"{limit_s:g} s" if limit_s is not None else "the server's statement_timeout"
        return QueryTooLong(f"database {where}: the answer took longer than {limit}. The query was ended.")
    reason = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
    if "no such table" in reason:
        return StoreUnavailable(f"database {where}: {reason}. Its tables were never made: start `kedge server` once.")
    if isinstance(error, DBAPIError) and is_refused(error):
        return StoreUnavailable(
            f"database {where}: {reason}. The role lacks a right: the owner runs what `kedge db grants` prints."
        )
    return StoreUnavailable(
        f"database {where} did not answer: {reason}. Whether a write in flight was kept is unknown; "
        "the same write again, with the same ids, is safe."
    )


def _is_too_long(error: Exception) -> bool:
    """`query_canceled` of PostgreSQL, which is not what a lock that is not given says; SQLite's word for our end."""
    origin = getattr(error, "orig", None)
    return (
        getattr(origin, "sqlstate", None) == "57014" or getattr(origin, "sqlite_errorname", None) == "SQLITE_INTERRUPT"
    )


def _sqlite(url: URL, busy_timeout_s: float, durable: bool, shared: dict[str, Any]) -> Engine:
    if not url.database or url.database == ":memory:" or "mode=memory" in url.database:
        raise ValueError("SQLite in memory is not supported: give a file (sqlite:///FILE)")
    engine = create_engine(
        url.set(drivername="sqlite+pysqlite"),
        connect_args={"check_same_thread": False, "timeout": busy_timeout_s},
        **shared,
    )

    @event.listens_for(engine, "connect")
    def configure(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # the driver must not send BEGIN on its own; `begin` below does
        for pragma in (
            f"busy_timeout={round(busy_timeout_s * 1000)}",
            "journal_mode=WAL",
            f"synchronous={'FULL' if durable else 'NORMAL'}",
            "foreign_keys=ON",
        ):
            connection.execute(f"PRAGMA {pragma}").close()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # A deferred transaction that turns from reader to writer fails with SQLITE_BUSY whatever the timeout says,
        # so writers take the lock at once and wait for it there.
        read_only = connection.get_execution_options().get(_READ_ONLY)
        connection.exec_driver_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")
        limit_s = _limit_s.get()
        driver: Any = connection.connection.driver_connection
        if limit_s is None:
            driver.set_progress_handler(None, 0)
        else:
            until_s = time.monotonic() + limit_s
            driver.set_progress_handler(lambda: time.monotonic() > until_s, _CHECK_EVERY)

    _TURNS[engine] = _Turn(busy_timeout_s)
    return engine


def _postgresql(url: URL, connect_timeout_s: int, session: Mapping[str, object], shared: dict[str, Any]) -> Engine:
    options = " ".join(f"-c {name}={value}" for name, value in session.items())
    engine = create_engine(
        url.set(drivername="postgresql+psycopg"),
        connect_args={"connect_timeout": connect_timeout_s, "options": options, "application_name": "kedge"},
        pool_pre_ping=True,
        **shared,
    )

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        limit_s = _limit_s.get()
        if limit_s is not None:  # of this transaction alone: the connection goes back to the pool as it was
            connection.exec_driver_sql(f"SET LOCAL statement_timeout = {max(1, round(limit_s * 1000))}")

    return engine
