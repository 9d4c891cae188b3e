"""ACLs as the API tells them. Pure."""

import hashlib
from collections.abc import Iterable

from controlplane.api.schemas import acls as acl_api
from controlplane.cluster.kedge_rights import has_kedge_rights, kedge_acls_of, kedge_principals
from controlplane.cluster.super_users import super_users_anywhere
from controlplane.cluster.view import ClusterView
from controlplane.converger.questions.users.wanted import acl_of
from planner.rights.acls import ANY, Acl, AclRequest, user_of
from planner.rights.authorize import AclAnswer, AclRule, authorize, covers
from planner.rights.seen import RightsSeen

NO_AUTHORIZER = "no authorizer"


def acls_out(view: ClusterView, seen: RightsSeen, *, part: str) -> acl_api.AclsOut:
    """All whose principal or name has that in it, by principal."""
    found = sorted(acl for acl in seen.acls or () if part in acl.principal or part in acl.name)
    return acl_api.AclsOut(cluster=view.name, authorizer=seen.acls is not None, acls=list(_rows(view, found)))


def acls_on(view: ClusterView, seen: RightsSeen, resource: str, name: str) -> list[acl_api.AclOut]:
    """All that are about this resource: by its name, by how it begins, by every one of its type. By principal."""
    return list(_rows(view, sorted(acl for acl in seen.acls or () if covers(acl, resource, name))))


def explain_out(view: ClusterView, seen: RightsSeen, request: AclRequest) -> acl_api.AclExplainOut:
    """What comes of one request, and by which ACLs."""
    if seen.acls is None:
        answer, allowed, rule = AclAnswer(AclRule.NO_ACL), True, NO_AUTHORIZER
    else:
        answer = authorize(request, seen.acls, super_users_anywhere(view))
        allowed, rule = answer.allowed, answer.rule.value
    known = view.users.by_name.get(user_of(request.principal) or "")
    return acl_api.AclExplainOut(
        cluster=view.name,
        principal=request.principal,
        resource=request.resource,
        name=request.name,
        operation=request.operation,
        host=request.host,
        allowed=allowed,
        rule=rule,
        sentence=_sentence(request, allowed, rule),
        acls=list(_rows(view, answer.acls)),
        declared_at=known.declared_at if known is not None else None,
    )


def _sentence(request: AclRequest, allowed: bool, rule: str) -> str:
    what = "the cluster" if request.resource == "cluster" else f"{request.resource} {request.name}"
    where = "" if request.host == ANY else f" from {request.host}"
    return f"{request.principal} {'may' if allowed else 'may not'} {request.operation} on {what}{where}: {rule}"


def _rows(view: ClusterView, acls: Iterable[Acl]) -> Iterable[acl_api.AclOut]:
    declared: dict[str, frozenset[Acl]] = {}
    kedge = kedge_principals(view)
    own = kedge_acls_of(view) if has_kedge_rights(view) else frozenset()
    for acl in acls:
        name = user_of(acl.principal) or ""
        user = view.users.by_name.get(name)
        if user is not None and name not in declared:
            declared[name] = frozenset(acl_of(name, binding) for binding in user.declared.acls)
        if own and acl.principal in kedge:
            word = "kedge" if acl in own else "differs"
        elif user is None:
            word = "nobody"
        else:
            word = "declared" if acl in declared[name] and not user.tombstone else "differs"
        yield acl_api.AclOut(
            id=hashlib.sha256("\0".join(acl).encode()).hexdigest()[:24],
            principal=acl.principal,
            resource=acl.resource,
            name=acl.name,
            pattern=acl.pattern,
            operation=acl.operation,
            permission=acl.permission,
            host=acl.host,
            declared=word,
        )
