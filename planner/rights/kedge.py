"""What Kedge itself may do where nodes speak TLS. The one table: its ACLs are made of it, the page on security is held
to it, and an error says by it which right is missing. Pure.

Nobody of these is a super user. Each row is an ACL of its own, those too that another one implies (`Alter` lets one
`Describe`): what is not seen would be taken for what is not there.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from planner.rights.acls import (
    ALTER,
    ALTER_CONFIGS,
    ANY,
    CLUSTER,
    CREATE,
    DELETE,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    READ,
    Acl,
    principal_of,
)

Member = Literal["server", "portal", "metrics"]
"""Who connects: Kedge's server, a portal apart from its loop, the metric pipeline."""

_LOGS, _METRICS = "__kedge_logs", "__kedge_metrics"


@dataclass(frozen=True, slots=True)
class KedgeRight:
    """One right. `calls`: requests of Kafka's protocol that ask for it, by name; `purpose`: what Kedge does by them."""

    resource: Literal["cluster", "topic", "group"]
    name: str
    operation: str
    calls: tuple[str, ...]
    purpose: str

    def acl(self, principal: str) -> Acl:
        """It, for a principal."""
        return Acl(principal, self.resource, self.name, "literal", self.operation)

    @property
    def lets_see(self) -> bool:
        """Whether brokers leave out, without a word, what is not to be seen without it."""
        return self.operation == DESCRIBE and self.resource != "group"


_SEES = (
    KedgeRight(
        "cluster",
        CLUSTER,
        DESCRIBE,
        (
            "DescribeQuorum",
            "DescribeLogDirs",
            "ListPartitionReassignments",
            "ListGroups",
            "DescribeAcls",
            "DescribeUserScramCredentials",
        ),
        "quorum, log directories, reassignments, consumer groups, ACLs and who has a password",
    ),
    KedgeRight(
        "cluster",
        CLUSTER,
        DESCRIBE_CONFIGS,
        ("DescribeConfigs", "DescribeClientQuotas"),
        "settings of brokers, quotas",
    ),
    KedgeRight("topic", ANY, DESCRIBE, ("Metadata", "ListOffsets", "OffsetFetch"), "topics, where their logs end"),
    KedgeRight("topic", ANY, DESCRIBE_CONFIGS, ("DescribeConfigs",), "settings of topics"),
    KedgeRight("topic", _LOGS, READ, ("Fetch",), "lines of logs, where agents send them"),
    KedgeRight(
        "group",
        ANY,
        DESCRIBE,
        ("DescribeGroups", "ConsumerGroupDescribe", "OffsetFetch"),
        "consumer groups and what they committed",
    ),
)
_CHANGES = (
    KedgeRight(
        "cluster",
        CLUSTER,
        ALTER,
        (
            "AlterPartitionReassignments",
            "AlterReplicaLogDirs",
            "ElectLeaders",
            "UpdateFeatures",
            "UnregisterBroker",
            "AddRaftVoter",
            "RemoveRaftVoter",
            "CreateAcls",
            "DeleteAcls",
            "AlterUserScramCredentials",
        ),
        "moves, elections, feature levels, unregistering, voters, rights and passwords of users",
    ),
    KedgeRight(
        "cluster",
        CLUSTER,
        ALTER_CONFIGS,
        ("IncrementalAlterConfigs", "AlterClientQuotas"),
        "settings of brokers, throttles, quotas",
    ),
    KedgeRight("cluster", CLUSTER, CREATE, ("CreateTopics",), "new topics"),
    KedgeRight("topic", ANY, ALTER_CONFIGS, ("IncrementalAlterConfigs",), "settings of topics, throttles"),
    KedgeRight("topic", ANY, ALTER, ("CreatePartitions",), "more partitions"),
    KedgeRight("topic", ANY, DELETE, ("DeleteTopics",), "deletion of topics"),
)

KEDGE_RIGHTS: Final[Mapping[Member, tuple[KedgeRight, ...]]] = MappingProxyType(
    {
        "server": (*_SEES, *_CHANGES),
        "portal": _SEES,
        "metrics": (KedgeRight("topic", _METRICS, READ, ("Metadata", "ListOffsets", "Fetch"), "samples of metrics"),),
    }
)
"""What each may do."""


def kedge_acls(principals: Mapping[Member, str]) -> frozenset[Acl]:
    """All of them as ACLs; `principals` as Kafka has them."""
    return frozenset(right.acl(principals[member]) for member, rights in KEDGE_RIGHTS.items() for right in rights)


@dataclass(frozen=True, slots=True)
class KedgeRightsSeen:
    """What is not as the table has it. `denied`: ACLs that deny something to everybody, and so to Kedge."""

    lacking: tuple[Acl, ...] = ()
    surplus: tuple[Acl, ...] = ()
    denied: tuple[Acl, ...] = ()
    is_blind: bool = False
    """Something may be there that Kedge's server is not told of."""

    def __bool__(self) -> bool:
        return bool(self.lacking or self.surplus or self.denied)


def kedge_rights_seen(principals: Mapping[Member, str], acls: Iterable[Acl]) -> KedgeRightsSeen:
    """Beside the ACLs of a cluster, or those of them that are for these principals and for everybody."""
    found, wanted = frozenset(acls), kedge_acls(principals)
    own = {acl for acl in found if acl.principal in principals.values()}
    lacking, everybody = wanted - own, principal_of(ANY)
    denied = {a for a in found if a.is_deny and a.principal == everybody and any(_bars(a, w) for w in wanted)}
    server = [(right, right.acl(principals["server"])) for right in KEDGE_RIGHTS["server"] if right.lets_see]
    barring = {*denied, *(acl for acl in own if acl.is_deny)}
    is_blind = any(acl in lacking or any(_bars(each, acl) for each in barring) for _, acl in server)
    return KedgeRightsSeen(_sorted(lacking), _sorted(own - wanted), _sorted(denied), is_blind)


def right_asked_for(call: str, resource: str) -> str:
    """`Alter on the cluster`: what a request, by its name in Kafka's protocol, was refused for; "" where the table does
    not know it."""
    asking = [right for right in KEDGE_RIGHTS["server"] if call in right.calls] if resource else []
    # Who may create no topic at all is told that it may not create that one.
    for right in sorted(asking, key=lambda right: right.resource != resource):
        return f"{right.operation} on {'the cluster' if right.resource == 'cluster' else f'that {right.resource}'}"
    return ""


def _bars(denying: Acl, wanted: Acl) -> bool:
    """Whether it takes away some of what the other gives, from any host."""
    if denying.resource != wanted.resource or denying.operation not in ("All", wanted.operation):
        return False
    if wanted.name == ANY or denying.name == ANY:
        return True
    return wanted.name.startswith(denying.name) if denying.pattern == "prefix" else wanted.name == denying.name


def _sorted(acls: Iterable[Acl]) -> tuple[Acl, ...]:
    return tuple(sorted(acls))
