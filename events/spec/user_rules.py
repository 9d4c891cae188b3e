"""Which users are accepted: by their document alone, and in the cluster they are to be users of."""

import ipaddress
import re
from collections.abc import Iterator, Mapping

from events.spec import problems as p
from events.spec.model import KafkaClusterDocument
from events.spec.positions import NOWHERE, Positions
from events.spec.problems import Path, Problem, shorten
from events.spec.quota_rules import user_quota_problems
from events.spec.scalars import TOPIC_NAME
from events.spec.topic_names import KAFKAS_OWN, KEDGES_PREFIX
from events.spec.user_model import THE_CLUSTER, Acl, KafkaUserDocument
from events.spec.user_names import why_no_user

OPERATIONS: Mapping[str, frozenset[str]] = {
    "topic": frozenset({"Read", "Write", "Create", "Delete", "Alter", "Describe", "DescribeConfigs", "AlterConfigs"}),
    "group": frozenset({"Read", "Delete", "Describe", "DescribeConfigs", "AlterConfigs"}),
    "transactional-id": frozenset({"Write", "Describe", "TwoPhaseCommit"}),
    "cluster": frozenset(
        {"Create", "Alter", "Describe", "ClusterAction", "DescribeConfigs", "AlterConfigs", "IdempotentWrite"}
    ),
    "delegation-token": frozenset({"Describe"}),
}
"""What each type of resource knows, beside `All`: `AclEntry.supportedOperations` of Kafka 4.1 and 4.2, printed."""

ADMINISTRATORS = frozenset({"All", "Alter", "AlterConfigs", "ClusterAction"})
"""By these on the cluster a principal gives itself every right (`Alter`: CreateAcls), passes for a broker, or has
listeners recognise others by a CA of its own (`AlterConfigs`: `ssl.truststore.certificates` is a live setting of
brokers, `SslConfigs.RECONFIGURABLE_CONFIGS` of Kafka 4.1)."""

_OF_ALL = "*"
_READING = frozenset({"Read", "Describe", "DescribeConfigs"})
_OF_KEDGES_TOPICS = _READING | {"Write", "Create"}
"""Agents that write heartbeats or metrics to another cluster are users of it."""
_NAME: Path = ("metadata", "name")
_TYPE: Path = ("spec", "authentication", "type")
_ACLS: Path = ("spec", "authorization", "acls")


def check_user(document: KafkaUserDocument, *, positions: Positions = NOWHERE) -> list[Problem]:
    """Everything wrong with a user whose fields have the right shape, as far as it can be told without its cluster."""
    found = list(_name(document.user, positions))
    for index, acl in enumerate(document.spec.authorization.acls):
        found += _acl(acl, (*_ACLS, index), positions, administrator=document.spec.authorization.administrator)
    asked = document.spec.authentication
    if asked.deliver_to is not None and asked.type != "scram-sha-512":
        message = f"`{document.user}` proves itself by `{asked.type}`: there is no password to deliver"
        path = ("spec", "authentication", "deliverTo")
        found.append(positions.problem(p.DELIVERY, path, message, "Leave `deliverTo` out.", key=True))
    return [*found, *user_quota_problems(document.spec.quotas, positions)]


def check_user_in(
    document: KafkaUserDocument, cluster: KafkaClusterDocument, *, positions: Positions = NOWHERE
) -> list[Problem]:
    """What is wrong with a user in this very cluster; `check_user` has accepted it."""
    found = list(_home(document, cluster, positions))
    if document.spec.authorization.acls and not has_authorizer(cluster):
        message = (
            f"`{document.user}` is to have rights, and {cluster.metadata.name} has no authorizer: whoever reaches it "
            "may do everything"
        )
        fix = "Leave `authorization` out, or use a cluster with `security: {internal: tls}`."
        found.append(positions.problem(p.NO_AUTHORIZER, _ACLS, message, fix))
    tier = document.spec.tier
    if tier is not None and tier not in cluster.spec.quotas.tiers:
        message = f"{cluster.metadata.name} has no quotas for tier `{tier}`: `{document.user}` gets none by it"
        fix = f"Give `spec.quotas.tiers.{tier}` in the cluster's spec, or leave `tier` out."
        found.append(positions.problem(p.TIER_WITHOUT_QUOTAS, ("spec", "tier"), message, fix))
    wanted = document.spec.authentication.type
    if wanted != "none" and all(one.authentication.type != wanted for one in cluster.spec.listeners):
        message = (
            f"no listener of {cluster.metadata.name} asks for `{wanted}`: `{document.user}` can come in by none yet"
        )
        fix = f"Add a listener with `authentication: {{type: {wanted}}}`."
        found.append(positions.problem(p.NO_LISTENER_FOR_USER, _TYPE, message, fix))
    return [*found, *_named_by_tokens(document, cluster, positions)]


def check_user_change(
    document: KafkaUserDocument, *, type_before: str, positions: Positions = NOWHERE
) -> list[Problem]:
    """What refuses the step from a user that proves itself that way."""
    wanted = document.spec.authentication.type
    if wanted == type_before:
        return []
    message = f"`{document.user}` proves itself by `{type_before}` and is to by `{wanted}`: the old way would stay open"
    fix = f"Write `{type_before}`, or declare a user of another name, have its clients move, and delete this one."
    return [positions.problem(p.USER_TYPE, _TYPE, message, fix)]


def has_authorizer(cluster: KafkaClusterDocument) -> bool:
    """Whether its brokers and controllers ask for rights: those that speak TLS among themselves do, whatever
    `authorization` says (`client_security`)."""
    return cluster.spec.security.internal == "tls"


def kafka_host(host: str) -> str:
    """The host as Kafka compares it: `*`, or an address as Java prints it, an IPv6 one in full without leading zeros
    (`InetAddress.getHostAddress`). Raises ValueError for anything else."""
    if host == _OF_ALL:
        return host
    address = ipaddress.ip_address(host)
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.scope_id is not None:
        raise ValueError(f"{host!r} has a scope")
    return ":".join(f"{int(group, 16):x}" for group in address.exploded.split(":"))


def _name(name: str, where: Positions) -> Iterator[Problem]:
    if why := why_no_user(name):
        message = f"`{shorten(name)}` is no name of a user: {why}"
        yield where.problem(p.RESERVED_USER, _NAME, message, "Give it another name.")


def _home(document: KafkaUserDocument, cluster: KafkaClusterDocument, where: Positions) -> Iterator[Problem]:
    name, path = cluster.metadata.name, ("spec", "cluster")
    if cluster.spec.external is not None:
        message = f"{name} is run by others in part: its users are theirs"
        yield where.problem(p.USER_HOME, path, message, "Declare it where that cluster is run.")
    elif cluster.spec.kafka.mode == "zookeeper" and cluster.spec.security.internal == "plaintext":
        message = f"nodes of {name} speak plaintext: who reaches its ZooKeeper owns every user and every right"
        yield where.problem(p.USER_HOME, path, message, "Migrate the cluster to `kraft` first.")


def _named_by_tokens(document: KafkaUserDocument, cluster: KafkaClusterDocument, where: Positions) -> Iterator[Problem]:
    """Who proves itself another way, in a cluster where a provider may give the same name to somebody."""
    asking = next((one for one in cluster.spec.listeners if one.authentication.type == "oauth"), None)
    if asking is None or document.spec.authentication.type in ("oauth", "none"):
        return
    message = f"a token of {asking.authentication.issuer} that says it is `{document.user}` is `{document.user}`, too"
    if document.spec.authorization.administrator:
        fix = "Write `type: oauth` for who may give itself every right, or leave `administrator` out."
        yield where.problem(p.OAUTH_NAMES, _TYPE, message, fix)
    else:
        fix = "Have the provider give that name to nobody else, or choose one it never gives."
        yield where.problem(p.OAUTH_SAME_NAME, _TYPE, message, fix)


def _acl(acl: Acl, path: Path, where: Positions, *, administrator: bool) -> Iterator[Problem]:
    kind, known = acl.resource.type, OPERATIONS[acl.resource.type]
    for index, operation in enumerate(acl.operations):
        here = (*path, "operations", index)
        if operation != "All" and operation not in known:
            message = f"there is no `{operation}` of a {kind}"
            yield where.problem(p.USER_ACL, here, message, f"Known of it: All, {', '.join(sorted(known))}.")
        elif kind == "cluster" and operation in ADMINISTRATORS and not administrator:
            message = f"by `{operation}` on the cluster it can give itself every right there is"
            fix = "Leave it out, or write `administrator: true` beside `acls`."
            yield where.problem(p.USER_ACL_RISK, here, message, fix)
    yield from _resource(acl, path, where)
    try:
        kafka_host(acl.host)
    except ValueError:
        message = f"`{shorten(acl.host)}` is not one IP address: Kafka compares no networks and no names"
        yield where.problem(p.USER_ADDRESS, (*path, "host"), message, "Write one address, or `*`.")


def _resource(acl: Acl, path: Path, where: Positions) -> Iterator[Problem]:
    kind, name, here = acl.resource.type, acl.resource.name, (*path, "resource", "name")
    shown = shorten(name)
    if not name or name != name.strip():
        message = "the name of a resource is empty" if not name else f"`{shown}` has a blank at an end"
        yield where.problem(p.USER_ACL, here, message, "Write its name, or `*` with `patternType: literal` for all.")
    elif acl.resource.pattern_type == "prefix" and (name == _OF_ALL or kind == "cluster"):
        message = (
            f"a prefix `{shown}` is that of names that begin with it"
            if kind != "cluster"
            else f"a cluster has one name, `{THE_CLUSTER}`, and no prefix"
        )
        fix = "Write `patternType: literal`."
        yield where.problem(p.USER_ACL, (*path, "resource", "patternType"), message, fix)
    elif kind == "cluster" and name != THE_CLUSTER:
        message = f"the resource of type `cluster` is called `{shown}`; Kafka knows it as `{THE_CLUSTER}` alone"
        yield where.problem(p.USER_ACL, here, message, f"Write `name: {THE_CLUSTER}`.")
    elif kind == "topic" and name != _OF_ALL and re.fullmatch(TOPIC_NAME, name) is None:
        message = f"`{shown}` is no name a topic can have, nor how one begins"
        fix = "Use letters, digits, dots, dashes and underscores; for all that begin so, write `patternType: prefix`."
        yield where.problem(p.USER_ACL, here, message, fix)
    elif kind == "topic":
        yield from _taken_topics(acl, path, where)


def _taken_topics(acl: Acl, path: Path, where: Positions) -> Iterator[Problem]:
    """Topics of Kafka and Kedge themselves may be read; what is written there they believe."""
    for owner, allowed in (("Kafka", _READING), ("Kedge", _OF_KEDGES_TOPICS)):
        over = sorted(set(acl.operations) - allowed)
        if over and _reaches(acl, owner):
            shown = shorten(acl.resource.name)
            message = f"`{shown}` reaches topics of {owner} itself, which nobody else may {over[0]}"
            fix = f"Allow {', '.join(sorted(allowed))} at most, or name the topics that are yours."
            yield where.problem(p.USER_ACL_RISK, (*path, "resource", "name"), message, fix)


def _reaches(acl: Acl, owner: str) -> bool:
    """Whether the name or the prefix was written for topics of that owner. `*` is for all, and is said as such."""
    name = acl.resource.name
    if acl.resource.pattern_type == "literal":
        return name in KAFKAS_OWN if owner == "Kafka" else name.startswith(KEDGES_PREFIX)
    if owner == "Kafka":
        return any(one.startswith(name) for one in KAFKAS_OWN)
    return name.startswith(KEDGES_PREFIX) or KEDGES_PREFIX.startswith(name)
