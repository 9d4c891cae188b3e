"""Passwords of users on their way: made by Kedge, sealed in the database until Kafka has them and a person took them.

A password is known by the cluster and a number that no other of its passwords has. What Kedge keeps of it is dropped
when it is given away, and when another one took its place.
"""

import contextlib
import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from pydantic import SecretStr
from sqlalchemy import Engine, delete, insert, select
from sqlalchemy.exc import IntegrityError

from controlplane.storage.tables import USER_PASSWORD
from controlplane.storage.terraform_states.encryption import KeySeal, WrongKey
from events.clock import Clock, utc_now
from events.engine import reading, writing
from events.ids import ClusterUid

PASSWORD_BYTES: Final = 24
"""192 random bits, as 32 letters, digits, `-` and `_`: no file of properties needs them quoted."""


class PasswordNotAtHand(Exception):
    """Nobody here can say what a password is; the message says why, and what next."""


class PendingPasswords(Protocol):
    """Where they are kept."""

    def of(self, uid: ClusterUid, wanted: Mapping[str, int]) -> Mapping[str, SecretStr]:
        """The passwords that Kafka is to be given, by user; `wanted` has the number of each. What is not there is made.
        Raises PasswordNotAtHand, StoreUnavailable."""

    def take(self, uid: ClusterUid, number: int) -> SecretStr | None:
        """The password, for the last time. None where it is not kept. Raises PasswordNotAtHand, StoreUnavailable."""

    def read(self, uid: ClusterUid, number: int) -> SecretStr | None:
        """The password, which stays kept. None where it is not; none is made. Raises PasswordNotAtHand,
        StoreUnavailable."""

    def look(self, uid: ClusterUid, number: int) -> bool:
        """Whether it is kept and opens. Raises PasswordNotAtHand where it does not open; StoreUnavailable."""

    def keep_only(self, uid: ClusterUid, numbers: Collection[int], *, up_to: int) -> None:
        """Drops all others of the cluster up to that number, the highest one its caller knows of: a later one was given
        meanwhile, and is not its caller's to judge. Raises StoreUnavailable."""


@dataclass(frozen=True, slots=True)
class SqlPendingPasswords:
    """Thread-safe. `seal` is of the home's server key, which all homes of a database share."""

    engine: Engine
    seal: KeySeal
    clock: Clock = utc_now

    def of(self, uid: ClusterUid, wanted: Mapping[str, int]) -> Mapping[str, SecretStr]:
        """See PendingPasswords. Of two servers at once one makes a password."""
        if not wanted:
            return {}
        found = self._read(uid, wanted.values())
        for user, number in wanted.items():
            if number not in found:
                self._make(uid, user, number)
        found = self._read(uid, wanted.values())
        return {user: found[number] for user, number in wanted.items() if number in found}

    def take(self, uid: ClusterUid, number: int) -> SecretStr | None:
        """See PendingPasswords. Of two who ask at once one gets it."""
        found = self._read(uid, [number]).get(number)
        if found is None:
            return None
        gone = delete(USER_PASSWORD).where(USER_PASSWORD.c.cluster_uid == uid, USER_PASSWORD.c.number == number)
        with writing(self.engine) as transaction:
            is_ours = transaction.execute(gone).rowcount == 1
        return found if is_ours else None

    def read(self, uid: ClusterUid, number: int) -> SecretStr | None:
        """See PendingPasswords."""
        return self._read(uid, [number]).get(number)

    def look(self, uid: ClusterUid, number: int) -> bool:
        """See PendingPasswords."""
        return number in self._read(uid, [number])

    def keep_only(self, uid: ClusterUid, numbers: Collection[int], *, up_to: int) -> None:
        """See PendingPasswords."""
        of_cluster = USER_PASSWORD.c.cluster_uid == uid
        known = select(USER_PASSWORD.c.number).where(of_cluster, USER_PASSWORD.c.number <= up_to)
        with reading(self.engine) as connection:
            there = set(connection.execute(known).scalars())
        over = there - set(numbers)
        if over:
            with writing(self.engine) as transaction:
                transaction.execute(delete(USER_PASSWORD).where(of_cluster, USER_PASSWORD.c.number.in_(over)))

    def _read(self, uid: ClusterUid, numbers: Collection[int]) -> dict[int, SecretStr]:
        wanted = select(USER_PASSWORD).where(
            USER_PASSWORD.c.cluster_uid == uid, USER_PASSWORD.c.number.in_(list(numbers))
        )
        with reading(self.engine) as connection:
            rows = list(connection.execute(wanted))
        return {row.number: self._opened(uid, row.user_name, row.number, bytes(row.sealed)) for row in rows}

    def _make(self, uid: ClusterUid, user: str, number: int) -> None:
        password = secrets.token_urlsafe(PASSWORD_BYTES).encode()
        row = {
            "cluster_uid": uid,
            "number": number,
            "user_name": user,
            "sealed": self.seal.seal(password, subject=_subject(uid, user, number)),
            "made_at": self.clock(),
        }
        # Another server may be first: then its password counts.
        with contextlib.suppress(IntegrityError), writing(self.engine) as transaction:
            transaction.execute(insert(USER_PASSWORD), [row])

    def _opened(self, uid: ClusterUid, user: str, number: int, sealed: bytes) -> SecretStr:
        try:
            return SecretStr(self.seal.open(sealed, subject=_subject(uid, user, number)).decode())
        except WrongKey:
            raise PasswordNotAtHand(
                f"the password {number} of {user} does not open: it was sealed under the `server-key` of another home, "
                "or was changed. Put that file into this home, or give the user another password: kedge users rotate"
            ) from None


def _subject(uid: ClusterUid, user: str, number: int) -> str:
    return f"{uid}/user/{user}/{number}"
