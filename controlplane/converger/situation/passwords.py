"""Passwords of users: which one Kafka is to be given, and where it comes from."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from pydantic import SecretStr

from controlplane.storage.user_passwords import PasswordNotAtHand
from events.ids import ClusterUid


@dataclass(frozen=True, slots=True)
class PasswordToSet:
    """Which of a user's passwords Kafka is to be given, and with how many rounds of hashing."""

    number: int
    iterations: int


class UserPasswords(Protocol):
    """The passwords that Kedge makes for users, kept sealed until a person has taken them away."""

    def of(self, uid: ClusterUid, wanted: Mapping[str, int]) -> Mapping[str, SecretStr]:
        """Those that Kafka is to be given, by user; `wanted` has the number of each. Made at the first call, the same
        at each later one. Raises PasswordNotAtHand."""

    def keep_only(self, uid: ClusterUid, numbers: Collection[int], *, up_to: int) -> None:
        """Drops all others of the cluster up to that number, the highest one that the history knows."""


class NoPasswords:
    """Where none are kept."""

    def of(self, uid: ClusterUid, wanted: Mapping[str, int]) -> Mapping[str, SecretStr]:
        raise PasswordNotAtHand("this server keeps no passwords of users")

    def keep_only(self, uid: ClusterUid, numbers: Collection[int], *, up_to: int) -> None:
        return None


NO_PASSWORDS = NoPasswords()
