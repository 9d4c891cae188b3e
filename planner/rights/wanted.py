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


def user_entity(user: str | None) -> QuotaEntity:
    """A user, whatever its client calls itself. None: whoever has none of its own."""
    return (("user", user),)


def client_entity(client_id: str | None, user: QuotaEntity = ()) -> QuotaEntity:
    """A client id, whoever uses it, or of a user. None: whichever has none of its own."""
    return (("client-id", client_id), *user)


def entity_words(entity: QuotaEntity) -> str:
    """As in `client id app of user alice`, `every user without its own`."""
    parts = [
        f"every {_TYPES.get(kind, kind)} without its own" if name is None else f"{_TYPES.get(kind, kind)} {name}"
        for kind, name in entity
    ]
    return " of ".join(parts)


def client_words(entity: QuotaEntity) -> str:
    """Of a user's quota with one client id: which."""
    client = dict(entity).get("client-id")
    return "any other client" if client is None else f"client {client}"


_TYPES: Final = MappingProxyType({"client-id": "client id"})


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
    client_quotas: Mapping[str | None, Mapping[str, float]] = field(default_factory=lambda: MappingProxyType({}))
    """By client id; None: of each that has none of its own."""

    @property
    def entities(self) -> Mapping[QuotaEntity, Mapping[str, float]]:
        """All its quotas, by whom they are for."""
        own = user_entity(self.name)
        found = {client_entity(client, own): values for client, values in self.client_quotas.items()}
        return found | ({own: self.quotas} if self.quotas else {})
