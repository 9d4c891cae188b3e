"""Tokens of people's programs: a random secret shown once, of which the SHA-256 is kept; with an end, and revocable.

`kedge_<id>_<secret>`: the id finds the row, the secret (256 bits) proves. A slow hash would protect nothing here:
nobody guesses 256 bits, and each call would wait for it.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

from sqlalchemy import Engine, Row, insert, select, update

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.storage.tables import API_TOKEN
from events.engine import reading, writing

INSTALLATION = "installation"
"""The maker of tokens that were made with the token of the server's home."""
LONGEST_LIFE = timedelta(days=366)
_NOTED_EVERY = timedelta(minutes=1)
_TEXT = re.compile(r"kedge_([0-9a-f]{12})_([A-Za-z0-9_-]{43})", re.ASCII)
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._@/-]{0,63}", re.ASCII)


class TokenRefused(ValueError):
    """No such token can be made. The message says why."""


@dataclass(frozen=True, slots=True)
class Token:
    """`maker` is a subject (`user:ada`) or `installation`. `limit` is the most it may do, however much they may."""

    id: str
    secret_sha256: str
    label: str
    maker: str
    role: Role
    scope: str
    made_at: datetime
    expires_at: datetime
    used_at: datetime | None = None
    used_from: str = ""
    revoked_at: datetime | None = None

    @property
    def limit(self) -> Binding:
        return Binding(self.maker, self.role, self.scope)

    def state(self, now: datetime) -> str:
        """`active`, `expired` or `revoked`."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if now >= self.expires_at else "active"

    def __repr__(self) -> str:
        return f"Token({self.id}, {self.label!r})"


class TokenStore(Protocol):
    """Contract: tests/contract/test_portal_tokens.py."""

    def put(self, token: Token) -> None:
        """Keeps a new one."""

    def get(self, token_id: str) -> Token | None:
        """Also one that is over."""

    def all(self) -> Sequence[Token]:
        """The newest first."""

    def note(self, token_id: str, at: datetime, client: str) -> None:
        """Somebody came with it."""

    def revoke(self, token_id: str, at: datetime) -> bool:
        """False when there is none, or it is revoked already."""

    def revoke_all_of(self, maker: str, at: datetime) -> None:
        """All of somebody who leaves."""


def make_token(store: TokenStore, *, label: str, limit: Binding, life: timedelta, now: datetime) -> tuple[str, Token]:
    """A new token and its text, which is kept nowhere. `limit.subject` is its maker. Raises TokenRefused."""
    if not _LABEL.fullmatch(label):
        raise TokenRefused(f"{label!r} is not a label: letters, digits, spaces and `._@/-`, at most 64, a letter first")
    if not timedelta() < life <= LONGEST_LIFE:
        raise TokenRefused(f"a token lives at least a moment and at most {LONGEST_LIFE.days} days")
    token_id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    token = Token(token_id, _sha256(secret), label, limit.subject, limit.role, limit.scope, now, now + life)
    store.put(token)
    return f"kedge_{token_id}_{secret}", token


def token_of(store: TokenStore, text: str, *, client: str, now: datetime) -> Token | None:
    """The token that text is of, None unless it is in force. Its use is noted once a minute."""
    parts = _TEXT.fullmatch(text)
    found = store.get(parts[1]) if parts else None
    if parts is None or found is None or not hmac.compare_digest(found.secret_sha256, _sha256(parts[2])):
        return None
    if found.state(now) != "active":
        return None
    if found.used_at is None or now - found.used_at >= _NOTED_EVERY or found.used_from != client:
        store.note(found.id, now, client)
    return found


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class SqlTokenStore:
    """A `TokenStore` of rows. All verbs may raise StoreUnavailable."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def put(self, token: Token) -> None:
        values = {column.name: getattr(token, column.name) for column in API_TOKEN.c} | {"role": token.role.value}
        with writing(self._engine) as transaction:
            transaction.execute(insert(API_TOKEN).values(values))

    def get(self, token_id: str) -> Token | None:
        with reading(self._engine) as connection:
            row = connection.execute(select(API_TOKEN).where(API_TOKEN.c.id == token_id)).one_or_none()
            return None if row is None else _token(row)

    def all(self) -> Sequence[Token]:
        newest_first = select(API_TOKEN).order_by(API_TOKEN.c.made_at.desc(), API_TOKEN.c.id)
        with reading(self._engine) as connection:
            return [_token(row) for row in connection.execute(newest_first)]

    def note(self, token_id: str, at: datetime, client: str) -> None:
        noted = update(API_TOKEN).where(API_TOKEN.c.id == token_id).values(used_at=at, used_from=client)
        with writing(self._engine) as transaction:
            transaction.execute(noted)

    def revoke(self, token_id: str, at: datetime) -> bool:
        alive = (API_TOKEN.c.id == token_id) & API_TOKEN.c.revoked_at.is_(None)
        with writing(self._engine) as transaction:
            return transaction.execute(update(API_TOKEN).where(alive).values(revoked_at=at)).rowcount == 1

    def revoke_all_of(self, maker: str, at: datetime) -> None:
        alive = (API_TOKEN.c.maker == maker) & API_TOKEN.c.revoked_at.is_(None)
        with writing(self._engine) as transaction:
            transaction.execute(update(API_TOKEN).where(alive).values(revoked_at=at))


def _token(row: Row[Any]) -> Token:
    return Token(**{**row._mapping, "role": Role(row.role)})
