"""What a declared user is to have."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from planner.rights.acls import Acl

QUOTAS: Final = ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate")
"""Keys of a user's quotas (`QuotaConfig` of Kafka): bytes/s, bytes/s, percent of a thread, partitions/s; each on one
broker, but for the last."""

QuotaEntity = tuple[tuple[str, str | None], ...]
"""Whom a quota is for: (type, name) pairs in order, as `(("client-id", "app"), ("user", "alice"))`; None: default."""


def user_entity(user: str) -> QuotaEntity:
    """A user, whatever its client calls itself."""
    return (("user", user),)


@dataclass(frozen=True, slots=True)
class UserRights:
    """A user as it is declared: all its ACLs and all its quotas (key -> value).

    `mechanisms`: by which it may have a password, as `SCRAM-SHA-512`; one by any other would be a way in that nobody
    declared. None: how it signs in is others' business. `pending`: a password that Kafka is to be given waits.
    """

    name: str
    acls: frozenset[Acl] = frozenset()
    quotas: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    mechanisms: frozenset[str] | None = frozenset()
    pending: bool = False
