"""What Kafka's StandardAuthorizer says to a request, and why. Held against Kafka's own classes in `tests/kafka`.

From `StandardAuthorizerData` of Kafka 4.1 (the same in 3.9 and 4.3): who is a super user may do everything; an ACL that
denies wins over all that allow; with none that matches the answer is no (`allow.everyone.if.no.acl.found=false`).
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum

from planner.rights.acls import (
    ALL,
    ALTER,
    ALTER_CONFIGS,
    ANY,
    DELETE,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    READ,
    WRITE,
    Acl,
    AclRequest,
)

IMPLY_DESCRIBE = frozenset({DESCRIBE, READ, WRITE, DELETE, ALTER})
IMPLY_DESCRIBE_CONFIGS = frozenset({DESCRIBE_CONFIGS, ALTER_CONFIGS})
_EVERYBODY = "User:*"


class AclRule(StrEnum):
    """By what a request is decided."""

    SUPER_USER = "super user"
    DENIED = "denied by an ACL"
    ALLOWED = "allowed by an ACL"
    NO_ACL = "no ACL matches"


@dataclass(frozen=True, slots=True)
class AclAnswer:
    """`acls`: those that decide, all of them; empty where none does."""

    rule: AclRule
    acls: tuple[Acl, ...] = ()

    @property
    def allowed(self) -> bool:
        return self.rule in (AclRule.SUPER_USER, AclRule.ALLOWED)


def authorize(request: AclRequest, acls: Iterable[Acl], super_users: Collection[str] = ()) -> AclAnswer:
    """The answer of an authorizer that has these ACLs."""
    if request.principal in super_users:
        return AclAnswer(AclRule.SUPER_USER)
    matching = [acl for acl in acls if matches(acl, request)]
    denying = tuple(sorted(acl for acl in matching if acl.is_deny))
    if denying:
        return AclAnswer(AclRule.DENIED, denying)
    return AclAnswer(AclRule.ALLOWED, tuple(sorted(matching))) if matching else AclAnswer(AclRule.NO_ACL)


def matches(acl: Acl, request: AclRequest) -> bool:
    """Whether this ACL has a say in the request."""
    return (
        covers(acl, request.resource, request.name)
        and acl.principal in (request.principal, _EVERYBODY)
        and acl.host in (ANY, request.host)
        and _is_about(acl, request.operation)
    )


def covers(acl: Acl, resource: str, name: str) -> bool:
    """Whether this ACL is about that resource, whoever it is for and whatever it says."""
    if acl.resource != resource:
        return False
    if acl.pattern == "prefix":
        return name.startswith(acl.name)
    return acl.name in (ANY, name)


def _is_about(acl: Acl, operation: str) -> bool:
    """Only what allows implies something else: who may not Read may still Describe."""
    if acl.operation in (ALL, operation):
        return True
    if acl.is_deny:
        return False
    if operation == DESCRIBE:
        return acl.operation in IMPLY_DESCRIBE
    return operation == DESCRIBE_CONFIGS and acl.operation in IMPLY_DESCRIBE_CONFIGS
