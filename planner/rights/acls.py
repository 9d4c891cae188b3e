"""Access control lists as values: who may do what on which resource, from where."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple

ANY: Final = "*"
"""Every host; as a literal name every resource of a type; in `User:*` every principal."""

READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE = "Read", "Write", "Create", "Delete", "Alter", "Describe"
DESCRIBE_CONFIGS, ALTER_CONFIGS, ALL = "DescribeConfigs", "AlterConfigs", "All"
CLUSTER_ACTION, IDEMPOTENT_WRITE = "ClusterAction", "IdempotentWrite"
CREATE_TOKENS, DESCRIBE_TOKENS, TWO_PHASE_COMMIT = "CreateTokens", "DescribeTokens", "TwoPhaseCommit"

OPERATIONS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "topic": (READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS, ALL),
        "group": (READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS, ALL),
        "cluster": (
            CREATE,
            CLUSTER_ACTION,
            DESCRIBE_CONFIGS,
            ALTER_CONFIGS,
            IDEMPOTENT_WRITE,
            ALTER,
            DESCRIBE,
            ALL,
        ),
        "transactional-id": (DESCRIBE, WRITE, TWO_PHASE_COMMIT, ALL),
        "delegation-token": (DESCRIBE, ALL),
        "user": (CREATE_TOKENS, DESCRIBE_TOKENS, ALL),
    }
)
"""What may be asked of each type of resource (`AclEntry.supportedOperations` of Kafka 4.1)."""

CLUSTER: Final = "kafka-cluster"
"""The one name of the resource `cluster`."""


class Acl(NamedTuple):
    """One ACL. `principal` as Kafka has it (`User:alice`), `pattern` is `literal` or `prefix`, `permission` `allow` or
    `deny`. A type or operation that is newer than this table is its number."""

    principal: str
    resource: str
    name: str
    pattern: str
    operation: str
    permission: str = "allow"
    host: str = ANY

    @property
    def is_deny(self) -> bool:
        return self.permission == "deny"

    def __str__(self) -> str:
        """As in `allow User:alice Read on topics that begin with pay-, from 10.0.0.7`."""
        if self.resource == "cluster":
            what = "the cluster"
        elif self.pattern == "prefix":
            what = f"{self.resource}s that begin with {self.name}"
        else:
            what = f"every {self.resource}" if self.name == ANY else f"{self.resource} {self.name}"
        where = "" if self.host == ANY else f", from {self.host}"
        return f"{self.permission} {self.principal} {self.operation} on {what}{where}"


def principal_of(user: str) -> str:
    """The principal of a user's name."""
    return f"User:{user}"


def user_of(principal: str) -> str | None:
    """The user's name of a principal; None for one of another type."""
    kind, _, name = principal.partition(":")
    return name if kind == "User" else None


def is_protected(user: str) -> bool:
    """Whether this is nobody's to declare: everybody, who did not sign in, and Kedge's and the nodes' own names, which
    hold a `=` (`CN=kedge-node-…`), whether or not they begin with a blank."""
    return user in ("", ANY, "ANONYMOUS") or "=" in user or ";" in user or user.startswith("kedge-")


@dataclass(frozen=True, slots=True)
class AclRequest:
    """What somebody wants to do: `host` is the address they come from, `ANY` one that no ACL names."""

    principal: str
    resource: str
    name: str
    operation: str
    host: str = ANY
