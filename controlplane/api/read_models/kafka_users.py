"""Users of a cluster's Kafka as pages show them: rights and quotas in short, what happened to one, and who has
something in Kafka without a document. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from controlplane.api.read_models.changes import EventChange, changes_of
from controlplane.api.schemas.kafka_users import KafkaUserOut, UserAclOut
from controlplane.cluster.view import ClusterView
from events.envelope import Recorded
from planner.quantities import human_bytes
from planner.rights.acls import ANY, is_protected, principal_of, user_of
from planner.rights.seen import RightsSeen
from planner.rights.wanted import client_words, user_entity

TROUBLE, COLLECT, UNDECLARED = "trouble", "collect", "undeclared"
"""Which users a list is of: those not as declared, those whose password can be collected, those without a document."""

_SHORT = 2
"""Resources that are named in a row of a list."""
_OF_USERS = ("user.", "users.")


@dataclass(frozen=True, slots=True)
class UndeclaredPrincipal:
    """A principal with something in Kafka that no document declares. `rights` and `quotas` in words; `mechanisms`: by
    which it has a password."""

    principal: str
    rights: tuple[str, ...]
    quotas: tuple[str, ...]
    mechanisms: tuple[str, ...]
    is_protected: bool
    """Nobody may declare it: nodes, Kedge, everybody, who is not asked."""


def names_in(view: ClusterView, *, only: str, text: str) -> list[str]:
    """The declared users of that kind with this in their names, by name."""
    of_kind = {TROUBLE: _in_trouble, COLLECT: _to_collect}.get(only, _declared)(view)
    return sorted(name for name in of_kind if text in name)


def counts_of(view: ClusterView) -> Mapping[str, int]:
    """How many there are of each kind; under "" all."""
    return {"": len(view.users.by_name), TROUBLE: len(_in_trouble(view)), COLLECT: len(_to_collect(view))}


def rights_text(acls: Iterable[UserAclOut]) -> str:
    """As in `topic payments: Describe, Write; topic pay-*: Read; and 3 more`."""
    operations: dict[str, list[str]] = defaultdict(list)
    for acl in acls:
        operations[_resource(acl.type, acl.name, acl.pattern)].append(acl.operation)
    told = [f"{resource}: {', '.join(found)}" for resource, found in list(operations.items())[:_SHORT]]
    more = len(operations) - _SHORT
    return "; ".join((*told, f"and {more} more") if more > 0 else told)


def quota_texts(quotas: Mapping[str, float]) -> list[str]:
    """As in `producer_byte_rate 10.0 MiB/s`, by name."""
    return [f"{key} {_amount(key, value)}" for key, value in sorted(quotas.items())]


def declared_quota_texts(user: KafkaUserOut) -> list[str]:
    """All its document says, those by client id among them."""
    found = [f"as tier {user.tier}"] if user.tier else []
    found += quota_texts(user.quotas)
    for client, quotas in sorted(user.client_quotas.items()):
        with_one = f"client {client}" if client else "any other client"
        found += [f"{text} with {with_one}" for text in quota_texts(quotas)]
    return found


def changes_of_user(events: Iterable[Recorded], name: str) -> list[EventChange]:
    """What happened to one user, the newest first."""
    return changes_of(e for e in events if e.type.startswith(_OF_USERS) and _is_of(e.data, name))


def undeclared_principals(view: ClusterView, seen: RightsSeen) -> list[UndeclaredPrincipal]:
    """By name."""
    rights: dict[str, list[str]] = {principal_of(user): [] for user in seen.users}
    for acl in sorted(seen.acls or ()):
        rights.setdefault(acl.principal, []).append(str(acl).replace(f" {acl.principal}", "", 1))
    found = []
    for principal in sorted(rights):
        name = user_of(principal)
        if name in view.users.by_name:
            continue
        found.append(
            UndeclaredPrincipal(
                principal,
                tuple(rights[principal]),
                _kafka_quotas(seen, name),
                tuple(sorted(seen.credentials.get(name or "", {}))),
                name is None or is_protected(name),
            )
        )
    return found


def _declared(view: ClusterView) -> Iterable[str]:
    return view.users.by_name


def _in_trouble(view: ClusterView) -> list[str]:
    return [name for name in view.users.all_troubles if name in view.users.by_name]


def _to_collect(view: ClusterView) -> list[str]:
    users = view.users.by_name.values()
    return [u.name for u in users if u.is_scram and not u.tombstone and u.password.is_collectable]


def _resource(kind: str, name: str, pattern: str) -> str:
    if kind == "cluster":
        return "the cluster"
    if pattern == "prefix":
        return f"{kind} {name}*"
    return f"every {kind}" if name == ANY else f"{kind} {name}"


def _amount(key: str, value: float) -> str:
    if key.endswith("byte_rate"):
        return f"{human_bytes(value)}/s"
    return f"{value:g} %" if key == "request_percentage" else f"{value:g} partitions/s"


def _kafka_quotas(seen: RightsSeen, name: str | None) -> tuple[str, ...]:
    if name is None:
        return ()
    found = []
    for entity, values in sorted(seen.quotas_of(name).items(), key=str):
        client = "" if entity == user_entity(name) else f" with {client_words(entity)}"
        found += [f"{text}{client}" for text in quota_texts(values)]
    return tuple(found)


def _is_of(data: Mapping[str, Any], name: str) -> bool:
    if data.get("name") == name:
        return True
    named = (one["name"] for field in ("users", "troubles") for one in data.get(field, ()))
    listed = ("names", "passwords", "grant", "revoke", "quotas", "delete", "kept", "settled", "deleted", "left")
    return name in named or any(name in data.get(field, ()) for field in listed)
