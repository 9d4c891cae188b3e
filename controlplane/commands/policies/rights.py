"""What rights of a user may be about: names that begin as those of its team (`limits.resourcePrefixes`); and rights to
names of everybody, which `reserved.wideRights` leaves to a second person. Pure."""

from collections.abc import Iterator, Mapping

from controlplane.commands.policies.decision import Reason, Refusal
from controlplane.commands.policies.model import EVERY_TEAM, TEAM, Policy
from events.spec.problems import Path
from events.spec.user_model import Acl, KafkaUserDocument

NAMED_BY_TEAMS = ("topic", "group", "transactional-id")
"""Resources whose names teams give; a cluster has one name."""

_OWNER: Path = ("metadata", "owner")
_ACLS: Path = ("spec", "authorization", "acls")
_OF_ALL = "*"


def judge_rights(policy: Policy, user: KafkaUserDocument) -> Iterator[Refusal | Reason]:
    """What this policy says of the rights of one user."""
    limit, reserves = policy.limits.resource_prefixes, policy.reserved.wide_rights
    prefixes = prefixes_of(limit, user.metadata.owner) if limit else ()
    for index, acl in enumerate(user.spec.authorization.acls):
        if acl.resource.type not in NAMED_BY_TEAMS:
            continue
        if reserves and _is_wide(acl, prefixes):
            yield Reason(policy.name, f"the user {user.user} may {', '.join(acl.operations)} on {_reach(acl)}")
        elif limit and not _is_within(acl, prefixes):
            yield _refusal(policy, user, acl, prefixes, index)


def prefixes_of(limit: Mapping[str, tuple[str, ...]], team: str) -> tuple[str, ...]:
    """How names of a team begin; none for a team of which nothing is said, and for nobody's."""
    if not team:
        return ()
    return tuple(one.replace(TEAM, team) for one in limit.get(team, limit.get(EVERY_TEAM, ())))


def _is_within(acl: Acl, prefixes: tuple[str, ...]) -> bool:
    if acl.resource.pattern_type == "literal" and acl.resource.name == _OF_ALL:
        return False
    return acl.resource.name.startswith(prefixes)


def _is_wide(acl: Acl, prefixes: tuple[str, ...]) -> bool:
    """It is about all names, or about those of a team and more."""
    name = acl.resource.name
    if acl.resource.pattern_type == "literal":
        return name == _OF_ALL
    return any(one.startswith(name) and one != name for one in prefixes)


def _refusal(policy: Policy, user: KafkaUserDocument, acl: Acl, prefixes: tuple[str, ...], index: int) -> Refusal:
    owner, path = user.metadata.owner, (*_ACLS, index, "resource", "name")
    if not owner:
        message = f"`{user.user}` is nobody's, and a right to {_reach(acl)} is for users of a team"
        return Refusal(policy.name, _OWNER, message, "Write the team as `metadata.owner`.", user.user)
    if not prefixes:
        message = f"no name is {owner}'s by this policy, and `{user.user}` is to have a right to {_reach(acl)}"
        return Refusal(policy.name, path, message, "Have whoever keeps the policies name its prefixes.", user.user)
    message = f"a right to {_reach(acl)} is not {owner}'s to give"
    return Refusal(policy.name, path, message, f"Names of {owner} begin with {' or '.join(prefixes)}.", user.user)


def _reach(acl: Acl) -> str:
    kind, name = acl.resource.type, acl.resource.name
    if acl.resource.pattern_type == "prefix":
        return f"{kind}s that begin with {name}"
    return f"every {kind}" if name == _OF_ALL else f"{kind} {name}"
