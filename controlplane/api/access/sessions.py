"""Sessions of people, kept on the server. The cookie is a random text; what is stored is its hash.

A session ends by logout, by a changed password, after `IDLE` without a request, and after `LIFE` in any case.
"""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

from sqlalchemy import Engine, Row, delete, insert, select, update

from controlplane.storage.tables import PORTAL_SESSION
from events.engine import reading, writing

IDLE = timedelta(hours=8)
LIFE = timedelta(hours=24)
_NOTED_EVERY = timedelta(minutes=1)
"""A request is noted that often at most: looking is to cost no write."""


@dataclass(frozen=True, slots=True)
class BrowserSession:
    """`key` is the SHA-256 (hex) of the cookie. `csrf` goes into every form of this session and into no other."""

    key: str
    user: str
    csrf: str
    began_at: datetime
    seen_at: datetime
    ends_at: datetime | None = None
    """Earlier than `LIFE`: what the provider said of the person is asked anew then."""

    @property
    def subject(self) -> str:
        """Who it is, as bindings name them."""
        return self.user if self.user.startswith("oidc:") else f"user:{self.user}"

    def is_over(self, now: datetime) -> bool:
        """By idleness or by age."""
        is_due = self.ends_at is not None and now >= self.ends_at
        return is_due or now - self.seen_at >= IDLE or now - self.began_at >= LIFE

    def __repr__(self) -> str:
        return f"Session({self.user})"


class SessionStore(Protocol):
    """Contract: tests/contract/test_portal_people.py."""

    def put(self, session: BrowserSession) -> None:
        """Keeps a new one."""

    def get(self, key: str) -> BrowserSession | None:
        """Also one that is over: the caller looks at the clock."""

    def note(self, key: str, seen_at: datetime) -> None:
        """Somebody came with it."""

    def end(self, key: str) -> None:
        """It opens nothing any more. Idempotent."""

    def end_all_of(self, user: str) -> None:
        """All of a person's."""

    def sweep(self, now: datetime) -> None:
        """Removes those that are over."""


def begin_session(
    store: SessionStore, user: str, now: datetime, *, life: timedelta | None = None
) -> tuple[str, BrowserSession]:
    """A fresh session and its cookie. Whatever the browser had before opens nothing of it."""
    cookie = secrets.token_urlsafe(32)
    session = BrowserSession(key_of(cookie), user, secrets.token_urlsafe(32), now, now, now + life if life else None)
    store.sweep(now)
    store.put(session)
    return cookie, session


def session_of(store: SessionStore, cookie: str, now: datetime) -> BrowserSession | None:
    """The session a cookie opens, None when there is none or it is over. Raises StoreUnavailable."""
    found = store.get(key_of(cookie)) if cookie else None
    if found is None:
        return None
    if found.is_over(now):
        store.end(found.key)
        return None
    if now - found.seen_at >= _NOTED_EVERY:
        store.note(found.key, now)
    return found


def key_of(cookie: str) -> str:
    """What is stored in place of a cookie."""
    return hashlib.sha256(cookie.encode()).hexdigest()


class SqlSessionStore:
    """A `SessionStore` of rows: any server of the installation knows them. All verbs may raise StoreUnavailable."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def put(self, session: BrowserSession) -> None:
        values = {
            "key": session.key,
            "user_name": session.user,
            "csrf": session.csrf,
            "began_at": session.began_at,
            "seen_at": session.seen_at,
            "ends_at": session.ends_at,
        }
        with writing(self._engine) as transaction:
            transaction.execute(insert(PORTAL_SESSION).values(values))

    def get(self, key: str) -> BrowserSession | None:
        with reading(self._engine) as connection:
            row = connection.execute(select(PORTAL_SESSION).where(PORTAL_SESSION.c.key == key)).one_or_none()
            return None if row is None else _session(row)

    def note(self, key: str, seen_at: datetime) -> None:
        with writing(self._engine) as transaction:
            transaction.execute(update(PORTAL_SESSION).where(PORTAL_SESSION.c.key == key).values(seen_at=seen_at))

    def end(self, key: str) -> None:
        with writing(self._engine) as transaction:
            transaction.execute(delete(PORTAL_SESSION).where(PORTAL_SESSION.c.key == key))

    def end_all_of(self, user: str) -> None:
        with writing(self._engine) as transaction:
            transaction.execute(delete(PORTAL_SESSION).where(PORTAL_SESSION.c.user_name == user))

    def sweep(self, now: datetime) -> None:
        table = PORTAL_SESSION.c
        over = (table.seen_at <= now - IDLE) | (table.began_at <= now - LIFE) | (table.ends_at <= now)
        with writing(self._engine) as transaction:
            transaction.execute(delete(PORTAL_SESSION).where(over))


def _session(row: Row[Any]) -> BrowserSession:
    return BrowserSession(row.key, row.user_name, row.csrf, row.began_at, row.seen_at, row.ends_at)
