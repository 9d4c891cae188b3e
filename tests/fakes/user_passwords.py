"""Passwords of users that are no secret."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from pydantic import SecretStr

from controlplane.storage.user_passwords import PasswordNotAtHand
from events.ids import ClusterUid


@dataclass(slots=True)
class FakePasswords:
    """The same for the same number; of users in `lost` nobody has one."""

    lost: set[str] = field(default_factory=set)
    kept: frozenset[int] = frozenset()

    def of(self, uid: ClusterUid, wanted: Mapping[str, int]) -> Mapping[str, SecretStr]:
        if self.lost & wanted.keys():
            raise PasswordNotAtHand("the seal of its password does not open")
        return {user: SecretStr(f"{user}-{number}") for user, number in wanted.items()}

    def keep_only(self, uid: ClusterUid, numbers: Collection[int], *, up_to: int) -> None:
        self.kept = frozenset(numbers)
