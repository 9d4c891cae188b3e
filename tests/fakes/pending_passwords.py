"""Passwords of users on their way, in memory."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from pydantic import SecretStr

from events.ids import ClusterUid


@dataclass
class MemoryPendingPasswords:
    """See `PendingPasswords`."""

    kept: dict[tuple[ClusterUid, int], SecretStr] = field(default_factory=dict)

    def of(self, uid: ClusterUid, wanted: Mapping[str, int]) -> Mapping[str, SecretStr]:
        return {
            user: self.kept.setdefault((uid, number), SecretStr(f"password-{number}-of-{user}".ljust(32, "x")))
            for user, number in wanted.items()
        }

    def take(self, uid: ClusterUid, number: int) -> SecretStr | None:
        return self.kept.pop((uid, number), None)

    def read(self, uid: ClusterUid, number: int) -> SecretStr | None:
        return self.kept.get((uid, number))

    def look(self, uid: ClusterUid, number: int) -> bool:
        return (uid, number) in self.kept

    def keep_only(self, uid: ClusterUid, numbers: Collection[int], *, up_to: int) -> None:
        self.kept = {key: one for key, one in self.kept.items() if key[0] != uid or key[1] in numbers or key[1] > up_to}
