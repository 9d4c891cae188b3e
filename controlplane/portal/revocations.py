"""The revocation of what one VM was given, on a page of its own: the plan, the cluster's name typed out, a reason."""

from typing import Annotated

from fastapi import APIRouter, Form, Request
from starlette.responses import Response

from controlplane.api.access.caller import Caller
from controlplane.api.access.rights import Rights
from controlplane.api.access.roles import Verb
from controlplane.api.auth import actor_of
from controlplane.api.given_commands import carry_out
from controlplane.api.services import PortalServices, Services
from controlplane.cluster.commands import RevokeCertificates
from controlplane.cluster.view import ClusterView
from controlplane.commands.deciders.lookups import Lookups
from controlplane.commands.deciders.revocations import revocation_asked
from controlplane.portal.confirmation import Asking, YesForm, asked_and_answered, capital, judged_now, show_asking
from controlplane.portal.frame import CsrfChecked, onwards

router = APIRouter(prefix="/clusters/{name}", tags=["pages"], include_in_schema=False, dependencies=[CsrfChecked])

Yes = Annotated[YesForm, Form()]


@router.get("/certificates/{key}/revoke")
def asks_to_revoke(request: Request, name: str, key: str, services: Services, rights: Caller) -> Response:
    """What would come of it. Records nothing; raises CommandRefused where no such VM is there."""
    view = judged_now(services, rights, name, Verb.DELETE)
    return show_asking(request, _asking(services, view, _order(view, rights, key, YesForm())))


@router.post("/certificates/{key}/revoke")
def revokes(request: Request, name: str, key: str, services: Services, rights: Caller, form: Yes) -> Response:
    """It is not recognised any more, and is replaced."""
    view = judged_now(services, rights, name, Verb.DELETE)
    command = _order(view, rights, key, form)

    def done() -> Response:
        carry_out(services, command)
        return onwards(request, f"/clusters/{name}/certificates")

    return asked_and_answered(request, _asking(services, view, command), form, done)


def _order(view: ClusterView, rights: Rights, key: str, form: YesForm) -> RevokeCertificates:
    return RevokeCertificates(
        name=view.name,
        actor=actor_of(rights),
        command_id=form.key,
        node=key,
        confirm=view.name,
        reason=form.reason,
    )


def _asking(services: PortalServices, view: ClusterView, command: RevokeCertificates) -> Asking:
    """By the function the handler asks. Raises CommandRefused."""
    known = Lookups(kafka=services.fleet.clusters.last_snapshot(view.uid), judge=services.cluster.judge)
    decided = revocation_asked(view, command, known)
    return Asking(
        title=f"Revoke what {command.node} was given",
        crumbs=((f"/clusters/{view.name}", view.name), (f"/clusters/{view.name}/certificates", "Certificates")),
        pin=command.node,
        sentences=tuple(capital(sentence) for sentence in decided.sentence.split(". ")),
        button="Revoke" if decided.fact is not None else "",
        typed=view.name,
        needs_reason=True,
        is_grave=True,
    )
