"""/v1/users and /v1/bindings: people of the portal, for administrators."""

from fastapi import APIRouter, Request

from controlplane.api.access.bindings import Binding, binding
from controlplane.api.access.rights import Rights
from controlplane.api.access.roles import Verb
from controlplane.api.paging import MOST_ON_A_PAGE, After, Most, PartOf, Turning, by_name
from controlplane.api.request_identity import Keyed, Once
from controlplane.api.schemas import commands as command_api, messages as message_api
from controlplane.api.schemas.access import BindingIn, PasswordOut, UserIn, UserOut
from controlplane.api.services import Services

router = APIRouter(prefix=message_api.API_PREFIX, tags=["people"])


@router.get("/users")
def list_users(
    request: Request,
    services: Services,
    turn: Turning,
    q: PartOf = "",
    after: After = "",
    limit: Most = MOST_ON_A_PAGE,
) -> list[UserOut]:
    """Everybody by name, with what they may do."""
    _require(request)
    bindings = services.access.people.users.bindings()
    users = [user for user in services.access.people.users.all() if q in user.name]
    return [
        UserOut.like(
            user,
            disabled=user.disabled_at is not None,
            bindings=[_binding_out(b) for b in bindings if b.subject == user.subject],
        )
        for user in turn.page(by_name(users, lambda user: user.name, after=after), lambda user: user.name, limit)
    ]


@router.post("/users", dependencies=[Keyed, Once])
def add_user(request: Request, body: UserIn, services: Services) -> PasswordOut:
    """A new user. The password in the answer is told this once."""
    _require(request, f"added {body.name}")
    return PasswordOut(name=body.name, password=services.access.people.add(body.name, services.clock()))


@router.post("/users/{name}/password", dependencies=[Keyed, Once])
def renew_password(request: Request, name: str, services: Services) -> PasswordOut:
    """A new password for somebody who lost theirs; their sessions end."""
    _require(request)
    return PasswordOut(name=name, password=services.access.people.renew(name))


@router.post("/users/{name}/disable", dependencies=[Keyed])
def disable_user(request: Request, name: str, services: Services) -> command_api.ChangedOut:
    """Keeps somebody and their tokens out; their bindings stay. People of the provider are `oidc:NAME`."""
    _require(request)
    return command_api.ChangedOut(changed=services.access.people.disable(name, disabled=True))


@router.post("/users/{name}/enable", dependencies=[Keyed])
def enable_user(request: Request, name: str, services: Services) -> command_api.ChangedOut:
    """Lets them in again."""
    _require(request)
    return command_api.ChangedOut(changed=services.access.people.disable(name, disabled=False))


@router.delete("/users/{name}", dependencies=[Keyed])
def remove_user(request: Request, name: str, services: Services) -> command_api.ChangedOut:
    """The user with their bindings, sessions and tokens."""
    _require(request)
    return command_api.ChangedOut(changed=services.access.people.remove(name))


@router.post("/bindings", dependencies=[Keyed])
def bind(request: Request, body: BindingIn, services: Services) -> command_api.ChangedOut:
    """Gives a role on a scope."""
    _require(request, f"gave {body.subject} {body.role} on {body.scope}")
    return command_api.ChangedOut(changed=services.access.people.bind(binding(body.subject, body.role, body.scope)))


@router.post("/bindings/remove", dependencies=[Keyed])
def unbind(request: Request, body: BindingIn, services: Services) -> command_api.ChangedOut:
    """Takes it away."""
    _require(request, f"took from {body.subject} {body.role} on {body.scope}")
    return command_api.ChangedOut(changed=services.access.people.unbind(binding(body.subject, body.role, body.scope)))


def _require(request: Request, note: str = "") -> None:
    rights: Rights = request.state.rights
    rights.trail.note = note
    rights.require_everywhere(Verb.ADMINISTER, "people")


def _binding_out(found: Binding) -> BindingIn:
    return BindingIn(subject=found.subject, role=found.role.value, scope=found.scope)
