"""What Kafka has of users."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from planner.rights.acls import Acl, principal_of, user_of
from planner.rights.wanted import QuotaEntity

_T = TypeVar("_T")

SCRAM_SHA_256, SCRAM_SHA_512 = "SCRAM-SHA-256", "SCRAM-SHA-512"


@dataclass(frozen=True)
class RightsSeen:
    """All ACLs, quotas and credentials of a cluster. `acls` None: its brokers have no authorizer. `credentials`: user
    -> mechanism -> iterations; Kafka tells nothing else of them."""

    acls: tuple[Acl, ...] | None = ()
    quotas: Mapping[QuotaEntity, Mapping[str, float]] = field(default_factory=dict)
    credentials: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def acls_of(self, user: str) -> frozenset[Acl]:
        return self._acls.get(principal_of(user), frozenset())

    def quotas_of(self, user: str) -> Mapping[QuotaEntity, Mapping[str, float]]:
        """The user's own, and those of the user with one client."""
        return self._quotas.get(user, {})

    def once_for(self, beside: tuple[object, ...], of: Callable[[], _T]) -> _T:
        """What follows from this and from those other values, worked out once while all are the same objects."""
        known: tuple[tuple[object, ...], _T] | None = self.__dict__.get("_once_for")
        if known is None or not all(one is other for one, other in zip(known[0], beside, strict=True)):
            known = self.__dict__["_once_for"] = beside, of()
        return known[1]

    @cached_property
    def users(self) -> frozenset[str]:
        """Everybody that has something here."""
        named = {user for principal in self._acls if (user := user_of(principal)) is not None}
        return frozenset(named | self._quotas.keys() | self.credentials.keys())

    @cached_property
    def _acls(self) -> Mapping[str, frozenset[Acl]]:
        found: dict[str, list[Acl]] = defaultdict(list)
        for acl in self.acls or ():
            found[acl.principal].append(acl)
        return {principal: frozenset(acls) for principal, acls in found.items()}

    @cached_property
    def _quotas(self) -> Mapping[str, Mapping[QuotaEntity, Mapping[str, float]]]:
        found: dict[str, dict[QuotaEntity, Mapping[str, float]]] = defaultdict(dict)
        for entity, values in self.quotas.items():
            user = dict(entity).get("user")
            if user is not None and values:
                found[user][entity] = values
        return dict(found)
