"""Who may do what on a resource, by the ACLs that brokers have: a row for those that say the same of a principal.
Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from controlplane.api.schemas.acls import AclOut
from planner.rights.acls import ANY, user_of


@dataclass(frozen=True, slots=True)
class AccessRow:
    """One principal, from one place, by ACLs of one pattern. `user`: its name where it is a user's, else ""; `by`: what
    they are written for; `declared` as of an `AclOut`."""

    principal: str
    user: str
    denies: bool
    operations: tuple[str, ...]
    host: str
    by: str
    declared: str


def access_rows(acls: Iterable[AclOut]) -> list[AccessRow]:
    """By principal; what denies first, as it wins."""
    operations: dict[tuple[str, bool, str, str, str], list[str]] = {}
    for acl in acls:
        same = (acl.principal, acl.permission != "deny", acl.host, _written_for(acl), acl.declared)
        operations.setdefault(same, []).append(acl.operation)
    return [
        AccessRow(principal, user_of(principal) or "", not allows, tuple(found), host, by, declared)
        for (principal, allows, host, by, declared), found in sorted(operations.items())
    ]


def _written_for(acl: AclOut) -> str:
    if acl.pattern == "prefix":
        return f"{acl.resource}s that begin with {acl.name}"
    return f"every {acl.resource}" if acl.name == ANY else f"this {acl.resource}"
