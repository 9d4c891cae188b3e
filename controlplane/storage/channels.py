"""Hints between the processes of one installation, by LISTEN and NOTIFY of PostgreSQL.

A hint says that it is worth looking now and nothing else: each may be lost with a connection, so whoever acts on one
looks by a timer as well. After each new connection all subscribers hear `EVERYTHING`, as nobody knows what was missed.
"""

import threading
from collections import defaultdict
from collections.abc import Callable
from typing import Protocol, cast

import psycopg
from sqlalchemy import Engine, text
from sqlalchemy.engine import make_url

from controlplane.runtime.process_errors import TROUBLES, Troubles
from events.engine import answering, build_engine, writing
from events.errors import StoreUnavailable

REPORTED, FOUND = "kedge_reported", "kedge_found"
"""A report came that the loop is not to wait with; an agent found something. The message is the cluster's uid."""

EVERYTHING = ""
"""The message where it is not known who changed."""

_LISTENS, _TELLS = "hints of other processes", "hints to other processes"
_LOOK_EVERY_S = 1.0
_AGAIN_AFTER_S = 2.0
_GATHER_S = 0.02
_DEAD_AFTER = {
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "2",
    "tcp_user_timeout": "15000",
}
"""Of libpq: a host that is gone without a word is noticed within some 20 s."""

_TELL = text("""
SELECT pg_notify(told.channel, told.message)
  FROM unnest(CAST(:channels AS text[]), CAST(:messages AS text[])) AS told (channel, message)
""")

Heard = Callable[[str], None]


class Channels(Protocol):
    """`subscribe` before `start`. What is published is heard by every process that subscribed, this one too."""

    def subscribe(self, channel: str, heard: Heard) -> None: ...

    def publish(self, channel: str, message: str) -> None: ...

    def start(self) -> None: ...

    def stop(self) -> None: ...


class NullChannels:
    """Where a server has its database for itself: there is nobody to tell."""

    def subscribe(self, channel: str, heard: Heard) -> None:
        """See Channels, as all below."""

    def publish(self, channel: str, message: str) -> None: ...

    def start(self) -> None: ...

    def stop(self) -> None: ...


class PostgresChannels:
    """On two connections of its own, a thread each. Thread-safe. Subscribers are called one after the other, and are
    to be quick."""

    def __init__(self, engine: Engine, *, troubles: Troubles = TROUBLES) -> None:
        self._engine, self._troubles = engine, troubles
        self._subscribers: defaultdict[str, list[Heard]] = defaultdict(list)
        self._changed = threading.Condition()
        self._pending: set[tuple[str, str]] = set()
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []

    def subscribe(self, channel: str, heard: Heard) -> None:
        """Has it called with each message of the channel from the start on."""
        self._subscribers[channel].append(heard)

    def publish(self, channel: str, message: str) -> None:
        """Tells it within a moment; waits for nobody. The same message twice in that moment is one."""
        with self._changed:
            self._pending.add((channel, message))
            self._changed.notify()

    def start(self) -> None:
        """Listens, and tells."""
        loops = [self._tell_all, *([self._listen] if self._subscribers else [])]
        self._threads = [threading.Thread(target=one, name="channels", daemon=True) for one in loops]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Nobody is called after this returns, and the connections are given back."""
        self._stop.set()
        with self._changed:
            self._changed.notify()
        for thread in self._threads:
            thread.join(timeout=10)
        self._engine.dispose()

    def _listen(self) -> None:
        while not self._stop.is_set():
            with self._troubles.turn(_LISTENS):
                self._listen_once()
            self._stop.wait(_AGAIN_AFTER_S)

    def _listen_once(self) -> None:
        with answering(self._engine), self._engine.connect() as pooled:
            connection = pooled.execution_options(isolation_level="AUTOCOMMIT")
            for channel in self._subscribers:
                connection.exec_driver_sql(f"LISTEN {channel}")
            for channel in self._subscribers:
                self._deliver(channel, EVERYTHING)
            driver = cast("psycopg.Connection[object]", connection.connection.driver_connection)
            while not self._stop.is_set():
                try:
                    told = list(driver.notifies(timeout=_LOOK_EVERY_S, stop_after=1))
                except psycopg.OperationalError as error:  # past SQLAlchemy, which would not know that it is gone
                    connection.invalidate(error)
                    raise StoreUnavailable(f"the connection that hints come by is lost: {error}") from error
                for one in told:
                    self._deliver(one.channel, one.payload)
                connection.exec_driver_sql("SELECT 1")  # raises where nobody is at the other end
                self._troubles.went_well(_LISTENS)
            connection.exec_driver_sql("UNLISTEN *")

    def _deliver(self, channel: str, message: str) -> None:
        for heard in self._subscribers[channel]:
            with self._troubles.turn(f"{_LISTENS}: {channel}"):
                heard(message)

    def _tell_all(self) -> None:
        while not self._stop.is_set():
            with self._changed:
                self._changed.wait_for(lambda: bool(self._pending) or self._stop.is_set())
                pending, self._pending = sorted(self._pending), set()
            if pending:
                with self._troubles.turn(_TELLS):
                    self._tell(pending)
            self._stop.wait(_GATHER_S)

    def _tell(self, pending: list[tuple[str, str]]) -> None:
        channels, messages = zip(*pending, strict=True)
        with writing(self._engine) as transaction:
            transaction.execute(_TELL, {"channels": list(channels), "messages": list(messages)})


def channels_of(database_url: str) -> Channels:
    """Those of a database: of SQLite, which has one process, none. Nothing is started."""
    url = make_url(database_url)
    if url.get_backend_name() == "sqlite":
        return NullChannels()
    watched = url.update_query_dict({name: value for name, value in _DEAD_AFTER.items() if name not in url.query})
    return PostgresChannels(build_engine(watched.render_as_string(hide_password=False), pool_size=1, durable=False))
