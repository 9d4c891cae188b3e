"""Local users and role bindings: memory, SQLite, PostgreSQL. Passwords are kept as Argon2id hashes only."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from sqlalchemy import Engine, Row, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.storage.tables import PORTAL_USER, ROLE_BINDING
from events.engine import reading, writing


@dataclass(frozen=True, slots=True)
class User:
    """A person who signs in here. `must_change`: the password was made by the server and is to be replaced.

    Disabled, neither they nor their tokens come in; their bindings stay.
    """

    name: str
    password_hash: str
    must_change: bool
    made_at: datetime
    disabled_at: datetime | None = None

    @property
    def subject(self) -> str:
        return f"user:{self.name}"

    def __repr__(self) -> str:
        return f"User({self.name})"


class UserStore(Protocol):
    """Contract: tests/contract/test_portal_people.py."""

    def all(self) -> Sequence[User]:
        """By name."""

    def get(self, name: str) -> User | None: ...

    def add(self, user: User) -> bool:
        """False when the name is taken: nothing is changed then."""

    def add_first(self, user: User, role: Binding) -> bool:
        """The user with the binding, in one step, where there is no user at all; False otherwise."""

    def set_password(self, name: str, password_hash: str, *, must_change: bool) -> bool:
        """False when there is no such user."""

    def disable(self, name: str, at: datetime | None) -> bool:
        """Keeps them out from then on; None lets them in again. False when there is no such user."""

    def remove(self, name: str) -> bool:
        """The user and their bindings. False when there is no such user."""

    def bindings(self) -> Sequence[Binding]:
        """All, in order."""

    def bind(self, binding: Binding) -> bool:
        """False when it is there already."""

    def unbind(self, binding: Binding) -> bool:
        """False when it is not there."""


class SqlUserStore:
    """A `UserStore` of rows. All verbs may raise StoreUnavailable."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def all(self) -> Sequence[User]:
        with reading(self._engine) as connection:
            return [_user(row) for row in connection.execute(select(PORTAL_USER).order_by(PORTAL_USER.c.name))]

    def get(self, name: str) -> User | None:
        with reading(self._engine) as connection:
            row = connection.execute(select(PORTAL_USER).where(PORTAL_USER.c.name == name)).one_or_none()
            return None if row is None else _user(row)

    def add(self, user: User) -> bool:
        """See UserStore. Of two at once the table's key lets one in."""
        try:
            with writing(self._engine) as transaction:
                transaction.execute(insert(PORTAL_USER).values(_values(user)))
            return True
        except IntegrityError:
            return False

    def add_first(self, user: User, role: Binding) -> bool:
        """See UserStore. Two servers that start together use the same name, and the table's key lets one in."""
        try:
            with writing(self._engine) as transaction:
                if transaction.execute(select(PORTAL_USER.c.name).limit(1)).first() is not None:
                    return False
                transaction.execute(insert(PORTAL_USER).values(_values(user)))
                transaction.execute(insert(ROLE_BINDING).values(_parts(role)))
            return True
        except IntegrityError:
            return False

    def set_password(self, name: str, password_hash: str, *, must_change: bool) -> bool:
        changed = update(PORTAL_USER).where(PORTAL_USER.c.name == name)
        with writing(self._engine) as transaction:
            found = transaction.execute(changed.values(password_hash=password_hash, must_change=must_change))
            return found.rowcount == 1

    def disable(self, name: str, at: datetime | None) -> bool:
        changed = update(PORTAL_USER).where(PORTAL_USER.c.name == name).values(disabled_at=at)
        with writing(self._engine) as transaction:
            return transaction.execute(changed).rowcount == 1

    def remove(self, name: str) -> bool:
        with writing(self._engine) as transaction:
            transaction.execute(delete(ROLE_BINDING).where(ROLE_BINDING.c.subject == f"user:{name}"))
            return transaction.execute(delete(PORTAL_USER).where(PORTAL_USER.c.name == name)).rowcount == 1

    def bindings(self) -> Sequence[Binding]:
        with reading(self._engine) as connection:
            rows = connection.execute(select(ROLE_BINDING))
            return sorted(Binding(row.subject, Role(row.role), row.scope) for row in rows)

    def bind(self, binding: Binding) -> bool:
        try:
            with writing(self._engine) as transaction:
                transaction.execute(insert(ROLE_BINDING).values(_parts(binding)))
            return True
        except IntegrityError:
            return False

    def unbind(self, binding: Binding) -> bool:
        table, parts = ROLE_BINDING.c, _parts(binding)
        same = (table.subject == parts["subject"]) & (table.role == parts["role"]) & (table.scope == parts["scope"])
        with writing(self._engine) as transaction:
            return transaction.execute(delete(ROLE_BINDING).where(same)).rowcount == 1


def _user(row: Row[Any]) -> User:
    return User(row.name, row.password_hash, row.must_change, row.made_at, row.disabled_at)


def _values(user: User) -> dict[str, object]:
    return {
        "name": user.name,
        "password_hash": user.password_hash,
        "must_change": user.must_change,
        "made_at": user.made_at,
        "disabled_at": user.disabled_at,
    }


def _parts(binding: Binding) -> dict[str, str]:
    return {"subject": binding.subject, "role": binding.role.value, "scope": binding.scope}
