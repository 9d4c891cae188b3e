"""Whose turn it is to write the audit to its topic, where several processes could: one at a time.

On PostgreSQL it is an advisory lock of a session, which needs no right to any table and is over with the process.
"""

import logging
from typing import Protocol

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import SQLAlchemyError

from controlplane.api.audit.holder import KEY, WAITS, Holder, RelayWord, relays_by
from events.engine import answering
from events.errors import EventsError

_log = logging.getLogger(__name__)

_TRY = text("SELECT pg_try_advisory_lock(:key)").bindparams(key=KEY)
_TRY_OR_WAIT = text("""
SELECT set_config('application_name', CASE WHEN pg_try_advisory_lock(:key) THEN CAST(:works AS text) ELSE :waits END,
                  false) = :works
""").bindparams(key=KEY, works=RelayWord(None).spelled, waits=WAITS)
"""Named as the lock is had or not, by one statement: whoever looks finds a relay at work or one that waits."""
_GIVE_BACK = text("SELECT pg_advisory_unlock(:key)").bindparams(key=KEY)
_STILL = text("SELECT 1")
_NAMED = text("SELECT set_config('application_name', :name, false)")
_FOUND_DEAD_SOON = text("""
SELECT set_config('tcp_keepalives_idle', '10', false), set_config('tcp_keepalives_interval', '5', false),
       set_config('tcp_keepalives_count', '3', false)
""")
"""A host that is gone says no goodbye: its lock, and its name, would be over after two hours, with these after half a
minute."""


class AuditTurnTaken(EventsError):
    """Another process writes the audit to its topic. What now: nothing, it is tried again by itself."""


class Turn(Protocol):
    """Contract: tests/contract/test_audit_turn.py. For one thread."""

    def take(self) -> int:
        """The number of this hold: another one than before where somebody else may have written in between. Raises
        AuditTurnTaken, StoreUnavailable.
        """

    def is_ours(self) -> bool:
        """Whether it still is: asked before each record."""

    def pass_on(self) -> None:
        """After what there was to write: others may have it, where it is not kept."""

    def close(self) -> None:
        """It is nobody's."""


class NoOtherWriter:
    """The `Turn` where one process has the database to itself, as on SQLite: the server that leads."""

    def take(self) -> int:
        return 0

    def is_ours(self) -> bool:
        return True

    def pass_on(self) -> None:
        """See Turn."""

    def close(self) -> None:
        """See Turn."""


class SqlTurn:
    """The `Turn` on PostgreSQL. A server passes it on after each look, since one that no longer leads looks no more and
    could not give it back; a relay `keeps` it, and another one waits for its end, by a session whose name says so.
    """

    def __init__(self, engine: Engine, *, keeps: bool = False) -> None:
        self._engine, self._keeps = engine, keeps
        self._session: Connection | None = None
        self._waiting: Connection | None = None
        self._number = 0

    def take(self) -> int:
        if self._session is not None and self.is_ours():
            return self._number
        with answering(self._engine):
            session, self._waiting = self._waiting or self._begun(), None
            try:
                is_ours = session.execute(_TRY_OR_WAIT if self._keeps else _TRY).scalar_one()
                holder = None if is_ours else relays_by(session).holder
            except BaseException:
                _forget(session)
                raise
        if not is_ours:
            self._wait_by(session)
            raise AuditTurnTaken(self._held_text(holder))
        self._session, self._number = session, self._number + 1
        return self._number

    def is_ours(self) -> bool:
        """See Turn. A session that was lost took the lock along."""
        if self._session is None:
            return False
        try:
            self._session.execute(_STILL)
        except SQLAlchemyError as error:
            _log.warning("the turn to write to the audit's topic is lost with its session: %s", type(error).__name__)
            self._let_go()
            return False
        return True

    def pass_on(self) -> None:
        if not self._keeps:
            self.close()

    def tell(self, word: RelayWord) -> None:
        """Says how the holder does, to every role that looks; nothing where it is not ours."""
        if self._session is None:
            return
        try:
            self._session.execute(_NAMED, {"name": word.spelled})
        except SQLAlchemyError:
            self._let_go()

    def close(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            _forget(waiting)
        if self._session is None:
            return
        try:
            self._session.execute(_GIVE_BACK)
            if not self._keeps:
                self._session.close()
                self._session = None
        except SQLAlchemyError:
            _log.info("the turn to write to the audit's topic ends with its session, which was lost")
        self._let_go()  # one that was kept has a name, which goes with it

    def _begun(self) -> Connection:
        session = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        if self._keeps:
            try:
                session.execute(_FOUND_DEAD_SOON)
            except BaseException:
                _forget(session)
                raise
        return session

    def _wait_by(self, session: Connection) -> None:
        """A relay keeps its session while it waits: others see it by that. A server waits without one."""
        if self._keeps:
            self._waiting = session
        else:
            session.close()

    def _let_go(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            _forget(session)

    def _held_text(self, holder: Holder | None) -> str:
        who = "another process" if holder is None else f"another process, of role {holder.role},"
        sentence = f"{who} writes the audit to its topic: this one waits, and goes on when that one ends"
        if self._keeps or holder is None or not holder.is_relay:
            return sentence
        return f"{sentence}. Where a relay is to do it for good, say `apart = true` in [audit_topic] of this server"


def turn_of(engine: Engine) -> Turn:
    """A server's."""
    return SqlTurn(engine) if engine.dialect.name == "postgresql" else NoOtherWriter()


def _forget(session: Connection) -> None:
    """Ends the session itself, and with it what it holds: the pool gets none that is locked or named."""
    try:
        session.invalidate()
    finally:
        session.close()
