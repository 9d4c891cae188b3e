"""Another password for a user, its deletion, and its password, which is shown once: on the answer to a form, which no
cache keeps and no address leads to."""

import uuid
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Form, Request
from starlette.responses import Response

from controlplane.api.access.caller import Caller
from controlplane.api.access.rights import Rights
from controlplane.api.access.roles import Verb
from controlplane.api.given_commands import carry_out
from controlplane.api.request_identity import heading_of
from controlplane.api.routes.kafka_users import collected_password
from controlplane.api.services import PortalServices, Services
from controlplane.cluster.user_commands import DeleteUser, RotatePassword
from controlplane.cluster.view import ClusterView
from controlplane.commands.deciders.users import password_rotated, user_deleted
from controlplane.portal import confirmation
from controlplane.portal.frame import CsrfChecked, onwards, page
from events.user_facts import UserDeletionRequested

router = APIRouter(
    prefix="/clusters/{name}/users/{user}", tags=["pages"], include_in_schema=False, dependencies=[CsrfChecked]
)

Yes = Annotated[confirmation.YesForm, Form()]

_ROTATION = (
    "Kedge makes a new password, and Kafka has it within a minute or so; then it can be collected, once",
    "From then on no connection begins with the old one. Those that are there end when their listener has them "
    "authenticate again (`reauthenticate`)",
    "For an overlap declare a second user, move the clients, and delete this one",
)
_DELETION = (
    "Its credential goes first, then its rights, then its quotas. Clients that use it are refused",
    "Its declaration is no longer in force. Topics and records stay",
)
_KEEP = "Keep it in Kafka: credential, rights and quotas stay as they are, and Kedge stops managing them"


@router.get("/password/rotate")
def asks_to_rotate(request: Request, name: str, user: str, services: Services, rights: Caller) -> Response:
    """What another password would mean. Records nothing; raises CommandRefused for one that would be refused."""
    return confirmation.show_asking(request, _rotation(services, rights, name, user, confirmation.YesForm()))


@router.post("/password/rotate")
def rotates(request: Request, name: str, user: str, services: Services, rights: Caller, form: Yes) -> Response:
    """Another password is asked for."""
    command = RotatePassword(**heading_of(rights, name, form.key), user=user, reason=form.reason)

    def done() -> Response:
        carry_out(services, command)
        return onwards(request, _address(name, user))

    return confirmation.asked_and_answered(request, _rotation(services, rights, name, user, form), form, done)


@router.post("/password/collect")
def collects(request: Request, name: str, user: str, services: Services, rights: Caller) -> Response:
    """The password, on this answer alone: whoever sends the form again is told that it was collected."""
    given = collected_password(services, rights, heading_of(rights, name, uuid.uuid4().hex), user)
    return page(request, "userpassword.html", cluster=given.cluster, given=given)


@router.get("/delete")
def asks_to_delete(request: Request, name: str, user: str, services: Services, rights: Caller) -> Response:
    """What a deletion would do. Records nothing; raises CommandRefused for one that would be refused."""
    return confirmation.show_asking(request, _deletion(services, rights, name, user, confirmation.YesForm()))


@router.post("/delete")
def deletes(request: Request, name: str, user: str, services: Services, rights: Caller, form: Yes) -> Response:
    """The tombstone; with `retain` Kedge lets go of the user."""
    command = DeleteUser(
        **heading_of(rights, name, form.key),
        user=user,
        confirm=form.confirm.strip(),
        reason=form.reason,
        retain=form.retain,
    )

    def done() -> Response:
        carry_out(services, command)
        return onwards(request, f"/clusters/{name}/users" if form.retain else _address(name, user))

    return confirmation.asked_and_answered(request, _deletion(services, rights, name, user, form), form, done)


def _rotation(
    services: PortalServices, rights: Rights, name: str, user: str, form: confirmation.YesForm
) -> confirmation.Asking:
    """By the functions the handler asks. Raises CommandRefused, Forbidden."""
    view = confirmation.judged_now(services, rights, name, Verb.DECLARE)
    asked = password_rotated(view, RotatePassword(**heading_of(rights, name, form.key), user=user, reason=""))
    begun = _begun(view, user, f"Another password for {user}", asked.sentence)
    return begun if asked.fact is None else replace(begun, sentences=_ROTATION, button="Make another one")


def _deletion(
    services: PortalServices, rights: Rights, name: str, user: str, form: confirmation.YesForm
) -> confirmation.Asking:
    """As for a rotation."""
    view = confirmation.judged_now(services, rights, name, Verb.DELETE)
    command = DeleteUser(**heading_of(rights, name, form.key), user=user, confirm=user, reason="", retain=False)
    asked = user_deleted(view, command)
    begun = _begun(view, user, f"Delete user {user}", asked.sentence)
    if not isinstance(asked.fact, UserDeletionRequested):
        return begun
    return replace(begun, sentences=_DELETION, button="Delete it", typed=user, retain=_KEEP, is_grave=True)


def _begun(view: ClusterView, user: str, title: str, sentence: str) -> confirmation.Asking:
    """A page that has nothing to ask yet."""
    home = f"/clusters/{view.name}"
    crumbs = ((home, view.name), (f"{home}/users", "users"), (_address(view.name, user), user))
    pin = repr(view.users.by_name.get(user))
    return confirmation.Asking(title=title, crumbs=crumbs, pin=pin, sentences=(sentence,))


def _address(name: str, user: str) -> str:
    return f"/clusters/{name}/users/{user}"
