"""What is asked of Kafka for users in one go, and in which order.

Between two of these requests a server may die, a broker apply the one and not yet the other. So at no moment has a
user a right that neither the old nor the new ACLs give, nor lacks one that both give:

    new ACLs that deny     less than the old ones give, but nothing that the new ones give as well is lost
    new ACLs that allow    what either set gives, less what either set denies
    old ACLs that allow    taken away: what is left the new ones give
    old ACLs that deny     taken away last: what they still forbade, the new ones may allow

A new user gets its credential after its rights and quotas: who can sign in finds them there (an idempotent producer
that is refused once gives up for good) and is bounded. One that is deleted loses the credential first, its quotas last.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

from planner.rights.acls import Acl
from planner.rights.wanted import QuotaEntity

QuotaChange = Mapping[str, float | None]
"""Key -> value; None takes it away."""


class RightsStage(Enum):
    """One request of a step each, in this order."""

    REMOVE_CREDENTIALS = "removing credentials"
    SET_QUOTAS = "setting quotas"
    DENY = "creating ACLs that deny"
    ALLOW = "creating ACLs that allow"
    END_ALLOW = "deleting ACLs that allowed"
    END_DENY = "deleting ACLs that denied"
    REMOVE_QUOTAS = "removing quotas"
    SET_CREDENTIALS = "setting credentials"


@dataclass(frozen=True, slots=True)
class UserStep:
    """What is to be done about one user. `credential`: `set` gives Kafka the password that waits, `remove` takes all of
    its mechanisms in `mechanisms` away."""

    name: str
    create: tuple[Acl, ...] = ()
    delete: tuple[Acl, ...] = ()
    quotas: Mapping[QuotaEntity, QuotaChange] = field(default_factory=dict)
    credential: Literal["", "set", "remove"] = ""
    mechanisms: tuple[str, ...] = ()
    ends: bool = False
    """It is being deleted: its quotas hold until nothing else of it is left."""

    def __bool__(self) -> bool:
        return bool(self.create or self.delete or self.quotas or self.credential)

    def part(self, stage: RightsStage) -> bool:
        """Whether it has something in this request."""
        match stage:
            case RightsStage.DENY | RightsStage.ALLOW:
                return any(acl.is_deny is (stage is RightsStage.DENY) for acl in self.create)
            case RightsStage.END_ALLOW | RightsStage.END_DENY:
                return any(acl.is_deny is (stage is RightsStage.END_DENY) for acl in self.delete)
            case RightsStage.SET_QUOTAS | RightsStage.REMOVE_QUOTAS:
                return bool(self.quotas) and self.ends is (stage is RightsStage.REMOVE_QUOTAS)
            case RightsStage.SET_CREDENTIALS | RightsStage.REMOVE_CREDENTIALS:
                return self.credential == ("set" if stage is RightsStage.SET_CREDENTIALS else "remove")


@dataclass(frozen=True, slots=True)
class RightsStep:
    """Of several users, by name."""

    users: Mapping[str, UserStep] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.users)

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self.users)

    def without(self, names: frozenset[str]) -> "RightsStep":
        """The step but for these users."""
        return RightsStep({name: user for name, user in self.users.items() if name not in names})

    def stages(self) -> Iterator[tuple[RightsStage, tuple[UserStep, ...]]]:
        """The requests in order, each with those who have a part in it. Who is refused in one has no part in later
        ones: what was to replace an ACL has to be there before that goes."""
        for stage in RightsStage:
            part = tuple(user for _, user in sorted(self.users.items()) if user.part(stage))
            if part:
                yield stage, part


def acls_in(stage: RightsStage, users: Iterable[UserStep]) -> tuple[Acl, ...]:
    """The ACLs this request is about."""
    denies = stage in (RightsStage.DENY, RightsStage.END_DENY)
    creates = stage in (RightsStage.DENY, RightsStage.ALLOW)
    return tuple(acl for user in users for acl in (user.create if creates else user.delete) if acl.is_deny is denies)
