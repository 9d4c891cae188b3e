"""People whom an OIDC provider let in, with the groups it told at their last sign-in; and which sign-ins came back."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

from sqlalchemy import Engine, Row, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from controlplane.storage.tables import OIDC_ATTEMPT, OIDC_PERSON, ROLE_BINDING
from events.engine import reading, writing

ATTEMPT_LIFE = timedelta(minutes=10)
"""From the way to the provider until the way back."""


@dataclass(frozen=True, slots=True)
class OidcPerson:
    """`sub` is who they are at the provider, for ever; `name` is what it calls them, and may pass to somebody else."""

    name: str
    sub: str
    groups: tuple[str, ...]
    made_at: datetime
    signed_in_at: datetime
    disabled_at: datetime | None = None

    @property
    def subject(self) -> str:
        return f"oidc:{self.name}"


class OidcPeopleStore(Protocol):
    """Contract: tests/contract/test_portal_tokens.py."""

    def all(self) -> Sequence[OidcPerson]:
        """By name."""

    def get(self, name: str) -> OidcPerson | None: ...

    def signed_in(self, person: OidcPerson) -> OidcPerson | None:
        """Makes or refreshes them: groups and time. None when the name is another `sub`'s; nothing changes then."""

    def disable(self, name: str, at: datetime | None) -> bool:
        """Keeps them out from then on; None lets them in again. False when there is no such person."""

    def remove(self, name: str) -> bool:
        """The person and the bindings of their own. The provider may let them in again."""

    def take(self, state_sha256: str, now: datetime) -> bool:
        """False when a sign-in with that state came back before."""


class SqlOidcPeople:
    """An `OidcPeopleStore` of rows. All verbs may raise StoreUnavailable."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def all(self) -> Sequence[OidcPerson]:
        with reading(self._engine) as connection:
            return [_person(row) for row in connection.execute(select(OIDC_PERSON).order_by(OIDC_PERSON.c.name))]

    def get(self, name: str) -> OidcPerson | None:
        with reading(self._engine) as connection:
            row = connection.execute(select(OIDC_PERSON).where(OIDC_PERSON.c.name == name)).one_or_none()
            return None if row is None else _person(row)

    def signed_in(self, person: OidcPerson) -> OidcPerson | None:
        """See OidcPeopleStore. Of two servers the table's key lets one make them; the other refreshes."""
        fresh = {"groups": list(person.groups), "signed_in_at": person.signed_in_at}
        made = {"name": person.name, "sub": person.sub, "made_at": person.made_at, **fresh}
        same = (OIDC_PERSON.c.name == person.name) & (OIDC_PERSON.c.sub == person.sub)
        for _ in range(2):
            try:
                with writing(self._engine) as transaction:
                    known = transaction.execute(update(OIDC_PERSON).where(same).values(fresh)).rowcount
                    if not known:
                        transaction.execute(insert(OIDC_PERSON).values(made))
                return self.get(person.name)
            except IntegrityError:
                continue
        return None

    def disable(self, name: str, at: datetime | None) -> bool:
        changed = update(OIDC_PERSON).where(OIDC_PERSON.c.name == name).values(disabled_at=at)
        with writing(self._engine) as transaction:
            return transaction.execute(changed).rowcount == 1

    def remove(self, name: str) -> bool:
        with writing(self._engine) as transaction:
            transaction.execute(delete(ROLE_BINDING).where(ROLE_BINDING.c.subject == f"oidc:{name}"))
            return transaction.execute(delete(OIDC_PERSON).where(OIDC_PERSON.c.name == name)).rowcount == 1

    def take(self, state_sha256: str, now: datetime) -> bool:
        try:
            with writing(self._engine) as transaction:
                transaction.execute(delete(OIDC_ATTEMPT).where(OIDC_ATTEMPT.c.ended_at <= now - 2 * ATTEMPT_LIFE))
                transaction.execute(insert(OIDC_ATTEMPT).values(state_sha256=state_sha256, ended_at=now))
            return True
        except IntegrityError:
            return False


def _person(row: Row[Any]) -> OidcPerson:
    return OidcPerson(row.name, row.sub, tuple(row.groups), row.made_at, row.signed_in_at, row.disabled_at)
