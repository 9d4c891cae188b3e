"""Users and their bindings, for administrators."""

from typing import Annotated

from fastapi import APIRouter, Form, Request
from starlette.responses import Response

from controlplane.api.access.accounts import UserRefused
from controlplane.api.access.bindings import TOKEN, BindingRefused, binding
from controlplane.api.access.caller import Caller
from controlplane.api.access.roles import ALLOWS, Role, Verb
from controlplane.api.services import PortalServices, Services
from controlplane.portal.frame import CsrfChecked, onwards, page

router = APIRouter(prefix="/people", tags=["pages"], include_in_schema=False, dependencies=[CsrfChecked])

Word = Annotated[str, Form(max_length=200)]


@router.get("")
def people(request: Request, services: Services, rights: Caller) -> Response:
    """Who may come in, and what they may do."""
    rights.require_everywhere(Verb.ADMINISTER, "people")
    return _page(request, services)


@router.post("/add")
def add(request: Request, services: Services, rights: Caller, name: Word = "") -> Response:
    """A new user; the password is on the page that answers, this once."""
    rights.trail.note = f"add {name.strip()}"
    rights.require_everywhere(Verb.ADMINISTER, "people")
    try:
        password = services.access.people.add(name.strip(), services.clock())
    except UserRefused as refused:
        return _page(request, services, problem=str(refused), status=422)
    return _page(request, services, made=(name.strip(), password))


@router.post("/{name}/password")
def renew(request: Request, name: str, services: Services, rights: Caller) -> Response:
    """A new password for somebody who lost theirs."""
    rights.require_everywhere(Verb.ADMINISTER, "people")
    return _page(request, services, made=(name, services.access.people.renew(name)))


@router.post("/{name}/remove")
def remove(request: Request, name: str, services: Services, rights: Caller) -> Response:
    """Ends the user with all sessions and bindings. Not oneself: somebody must be left to let others in."""
    rights.require_everywhere(Verb.ADMINISTER, "people")
    if rights.subject in (name, f"user:{name}"):
        return _page(request, services, problem="You cannot remove yourself.", status=422)
    try:
        services.access.people.remove(name)
    except UserRefused as refused:
        return _page(request, services, problem=str(refused), status=422)
    return onwards(request, "/people")


@router.post("/{name}/disable")
def disable(request: Request, name: str, services: Services, rights: Caller) -> Response:
    """Keeps somebody and their tokens out; their roles stay. Not oneself."""
    rights.require_everywhere(Verb.ADMINISTER, "people")
    if rights.subject in (name, f"user:{name}"):
        return _page(request, services, problem="You cannot disable yourself.", status=422)
    try:
        services.access.people.disable(name, disabled=True)
    except UserRefused as refused:
        return _page(request, services, problem=str(refused), status=422)
    return onwards(request, "/people")


@router.post("/{name}/enable")
def enable(request: Request, name: str, services: Services, rights: Caller) -> Response:
    """Lets them in again."""
    rights.require_everywhere(Verb.ADMINISTER, "people")
    services.access.people.disable(name, disabled=False)
    return onwards(request, "/people")


@router.post("/tokens/{token_id}/revoke")
def revoke_token(request: Request, token_id: str, services: Services, rights: Caller) -> Response:
    """Somebody's token opens nothing any more."""
    rights.require_everywhere(Verb.ADMINISTER, f"the token {token_id}")
    services.access.people.tokens.revoke(token_id, services.clock())
    return onwards(request, "/people")


@router.post("/bind")
def bind(
    request: Request, services: Services, rights: Caller, name: Word = "", role: Word = "", scope: Word = ""
) -> Response:
    """Gives a role."""
    subject = _subject(name.strip())
    rights.trail.note = f"give {subject} {role} on {scope.strip()}"
    rights.require_everywhere(Verb.ADMINISTER, "people")
    try:
        services.access.people.bind(binding(subject, role, scope.strip()))
    except BindingRefused as refused:
        return _page(request, services, problem=str(refused), status=422)
    return onwards(request, "/people")


@router.post("/unbind")
def unbind(
    request: Request, services: Services, rights: Caller, name: Word = "", role: Word = "", scope: Word = ""
) -> Response:
    """Takes a role away. Not one's own: the last administrator would lock the door behind them."""
    subject = _subject(name)
    rights.trail.note = f"take from {subject} {role} on {scope}"
    rights.require_everywhere(Verb.ADMINISTER, "people")
    if rights.subject == subject:
        return _page(request, services, problem="You cannot revoke a role of your own.", status=422)
    try:
        services.access.people.unbind(binding(subject, role, scope))
    except UserRefused as refused:
        return _page(request, services, problem=str(refused), status=422)
    return onwards(request, "/people")


def _subject(name: str) -> str:
    """A plain name is a user's; those of the provider, its groups and tokens say what they are."""
    return name if name.startswith(("oidc:", "group:", TOKEN)) else f"user:{name}"


def _page(
    request: Request,
    services: PortalServices,
    *,
    made: tuple[str, str] | None = None,
    problem: str = "",
    status: int = 200,
) -> Response:
    bindings = services.access.people.users.bindings()
    users = [(user, [b for b in bindings if b.subject == user.subject]) for user in services.access.people.users.all()]
    persons = [(p, [b for b in bindings if b.subject == p.subject]) for p in services.access.people.oidc.all()]
    groups = [b for b in bindings if b.subject.startswith("group:")]
    known = {u.subject for u, _ in users} | {p.subject for p, _ in persons}
    waiting = [b for b in bindings if b.subject not in known and b not in groups]
    now = services.clock()
    tokens = [t for t in services.access.people.tokens.all() if t.state(now) == "active"]
    roles = {role.value: ", ".join(sorted(ALLOWS[role])) for role in Role}
    content: dict[str, object] = {"users": users, "roles": roles, "made": made, "problem": problem, "tokens": tokens}
    content |= {"persons": persons, "others": groups + waiting}
    return page(request, "people.html", status=status, **content)
