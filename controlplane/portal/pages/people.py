"""Users and their bindings, for administrators."""

from typing import Annotated

from fastapi import APIRouter, Form, Request
from starlette.responses import Response

from controlplane.portal.access.bindings import BindingRefused, binding
from controlplane.portal.access.people import UserRefused
from controlplane.portal.access.roles import ALLOWS, Role, Verb
from controlplane.portal.pages.frame import Caller, CsrfChecked, onwards, page
from controlplane.portal.services import PortalServices, Services

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
    rights.require_everywhere(Verb.ADMINISTER, "people")
    try:
        password = services.people.add(name.strip(), services.clock())
    except UserRefused as refused:
        return _page(request, services, problem=str(refused), status=422)
    return _page(request, services, made=(name.strip(), password))


@router.post("/{name}/password")
def renew(request: Request, name: str, services: Services, rights: Caller) -> Response:
    """A new password for somebody who lost theirs."""
    rights.require_everywhere(Verb.ADMINISTER, "people")
    return _page(request, services, made=(name, services.people.renew(name)))


@router.post("/{name}/remove")
def remove(request: Request, name: str, services: Services, rights: Caller) -> Response:
    """Ends the user with all sessions and bindings. Not oneself: somebody must be left to let others in."""
    rights.require_everywhere(Verb.ADMINISTER, "people")
    if rights.subject == f"user:{name}":
        return _page(request, services, problem="You cannot remove yourself.", status=422)
    services.people.remove(name)
    return onwards(request, "/people")


@router.post("/bind")
def bind(
    request: Request, services: Services, rights: Caller, name: Word = "", role: Word = "", scope: Word = ""
) -> Response:
    """Gives a role."""
    rights.require_everywhere(Verb.ADMINISTER, "people")
    try:
        services.people.users.bind(binding(f"user:{name.strip()}", role, scope.strip()))
    except BindingRefused as refused:
        return _page(request, services, problem=str(refused), status=422)
    return onwards(request, "/people")


@router.post("/unbind")
def unbind(
    request: Request, services: Services, rights: Caller, name: Word = "", role: Word = "", scope: Word = ""
) -> Response:
    """Takes a role away. Not one's own: the last administrator would lock the door behind them."""
    rights.require_everywhere(Verb.ADMINISTER, "people")
    if rights.subject == f"user:{name}":
        return _page(request, services, problem="You cannot take a role from yourself.", status=422)
    services.people.users.unbind(binding(f"user:{name}", role, scope))
    return onwards(request, "/people")


def _page(
    request: Request,
    services: PortalServices,
    *,
    made: tuple[str, str] | None = None,
    problem: str = "",
    status: int = 200,
) -> Response:
    bindings = services.people.users.bindings()
    users = [(user, [b for b in bindings if b.subject == user.subject]) for user in services.people.users.all()]
    roles = {role.value: ", ".join(sorted(ALLOWS[role])) for role in Role}
    content = {"users": users, "roles": roles, "made": made, "problem": problem}
    return page(request, "people.html", status=status, **content)
