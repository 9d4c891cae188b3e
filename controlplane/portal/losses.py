"""VMs that a listing calls gone and Kedge does not believe to be: a person says that they are, on a page of its own."""

from typing import Annotated

from fastapi import APIRouter, Form, Request
from starlette.responses import Response

from controlplane.api.access.caller import Caller
from controlplane.api.access.rights import Rights
from controlplane.api.access.roles import Verb
from controlplane.api.auth import actor_of
from controlplane.api.given_commands import carry_out
from controlplane.api.services import PortalServices, Services
from controlplane.cluster.commands import ConfirmLoss
from controlplane.cluster.observed.agent_reports import reports_of
from controlplane.cluster.view import ClusterView
from controlplane.commands.deciders.lookups import Lookups
from controlplane.commands.deciders.losses import loss_confirmed
from controlplane.portal.confirmation import Asking, YesForm, asked_and_answered, judged_now, show_asking
from controlplane.portal.frame import CsrfChecked, onwards

router = APIRouter(prefix="/clusters/{name}", tags=["pages"], include_in_schema=False, dependencies=[CsrfChecked])

Yes = Annotated[YesForm, Form()]


@router.get("/losses")
def asks_to_confirm(request: Request, name: str, services: Services, rights: Caller) -> Response:
    """Which VMs would be taken for gone. Records nothing; raises CommandRefused where that would be refused."""
    view = judged_now(services, rights, name, Verb.DELETE)
    return show_asking(request, _asking(services, view, _order(view, rights, YesForm())))


@router.post("/losses")
def confirms(request: Request, name: str, services: Services, rights: Caller, form: Yes) -> Response:
    """A person's word that they are gone."""
    view = judged_now(services, rights, name, Verb.DELETE)
    command = _order(view, rights, form)

    def done() -> Response:
        carry_out(services, command)
        return onwards(request, f"/clusters/{name}")

    return asked_and_answered(request, _asking(services, view, command), form, done)


def _order(view: ClusterView, rights: Rights, form: YesForm) -> ConfirmLoss:
    """Of all that is in doubt; of one rack among several the command line does it."""
    racks = sorted({view.instances[k].planned.rack for k in view.vms.losses.doubted if k in view.instances})
    return ConfirmLoss(
        name=view.name,
        actor=actor_of(rights),
        command_id=form.key,
        racks=tuple(racks),
        confirm=view.name,
        reason=form.reason,
    )


def _asking(services: PortalServices, view: ClusterView, command: ConfirmLoss) -> Asking:
    """By the function the handler asks. Raises CommandRefused."""
    reports, kafka = reports_of(services.cluster.latest, view.uid), services.fleet.clusters.last_snapshot(view.uid)
    loss_confirmed(view, command, Lookups(reports=lambda: reports, kafka=kafka, now=services.clock))
    racks = f"--rack {' --rack '.join(command.racks)}"
    return Asking(
        title=f"Confirm what {view.name} has lost",
        crumbs=((f"/clusters/{view.name}", view.name),),
        pin=" ".join(view.vms.losses.doubted),
        sentences=(
            f"The cloud's listing says that these are gone: {', '.join(view.vms.losses.doubted)}. Kedge does not "
            "believe it: a wrong account or missing permissions look the same. Look at the cloud's own console first",
            "They are taken for gone, these alone, for as long as the listing says so: each gets its successor, like "
            "any VM that died. A disk that is gone with its VM does not come back",
            f"For some of the racks: kedge confirm-loss {view.name} {racks} --confirm {view.name}",
        ),
        button="They are gone",
        typed=view.name,
        is_grave=True,
    )
