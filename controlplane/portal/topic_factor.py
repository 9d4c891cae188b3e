"""Another number of replicas for a topic that no document declares: chosen, then what would happen, then the yes."""

from dataclasses import replace
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import Response

from controlplane.api.access.caller import Caller
from controlplane.api.access.rights import Rights
from controlplane.api.access.roles import Verb
from controlplane.api.approvals import in_force_digest
from controlplane.api.given_commands import carry_out
from controlplane.api.request_identity import heading_of
from controlplane.api.services import PortalServices, Services
from controlplane.cluster.commands import CancelReplicationFactor, ChangeReplicationFactor
from controlplane.commands.deciders.factors import MOST_REPLICAS, factor_asked, factor_cancelled
from controlplane.commands.deciders.lookups import Lookups
from controlplane.portal import confirmation
from controlplane.portal.frame import CsrfChecked, onwards
from events.quantities import counted

router = APIRouter(
    prefix="/clusters/{name}/topics/{topic}", tags=["pages"], include_in_schema=False, dependencies=[CsrfChecked]
)

MOST_OFFERED = 5
"""Choices on the page; the command line and the API take any number."""

Yes = Annotated[confirmation.YesForm, Form()]
To = Annotated[int | None, Query(ge=0, le=MOST_REPLICAS)]
"""Replicas of each partition; 0: nothing more is begun of what was asked. None: to be chosen."""


@router.get("/replication-factor")
def asks_for_factor(
    request: Request, name: str, topic: str, services: Services, rights: Caller, to: To = None
) -> Response:
    """What another number would mean. Records nothing; raises CommandRefused for one that would be refused."""
    return confirmation.show_asking(request, _asking(services, rights, name, topic, to, confirmation.YesForm()))


@router.post("/replication-factor")
def changes_factor(
    request: Request, name: str, topic: str, services: Services, rights: Caller, form: Yes, to: To = None
) -> Response:
    """The order, or its end."""
    asking = _asking(services, rights, name, topic, to, form)

    def done() -> Response:
        carry_out(services, _command(rights, name, topic, to or 0, form))
        return onwards(request, _address(name, topic))

    return confirmation.asked_and_answered(request, asking, form, done)


def _asking(
    services: PortalServices, rights: Rights, name: str, topic: str, to: int | None, form: confirmation.YesForm
) -> confirmation.Asking:
    """By the functions the handler asks. Raises CommandRefused, Forbidden."""
    view = confirmation.judged_now(services, rights, name, Verb.STEER)
    home = f"/clusters/{view.name}"
    crumbs = ((home, view.name), (f"{home}/topics", "topics"), (_address(view.name, topic), topic))
    begun = confirmation.Asking(
        title=f"Replication factor of {topic}", crumbs=crumbs, pin=in_force_digest(view, topic), sentences=()
    )
    asked = view.topics.factors.get(topic)
    if to is None:
        here = f"{_address(view.name, topic)}/replication-factor?to="
        offered = [(f"{here}{n}", counted(n, "replica")) for n in range(1, MOST_OFFERED + 1)]
        if asked is not None:
            offered.append((f"{here}0", "begin nothing more; what moved stays"))
        words = (
            f"It is to have {counted(asked.factor, 'replica')}: {asked.reason}" if asked else "How many shall it have"
        )
        return replace(begun, sentences=(words,), choices=tuple(offered))
    command = _command(rights, name, topic, to, form)
    known = Lookups(kafka=services.fleet.clusters.last_snapshot(view.uid))
    if isinstance(command, ChangeReplicationFactor):
        decision = factor_asked(view, command, known)
        return replace(begun, sentences=(decision.sentence,), button="Change it" if decision.fact else "")
    decision = factor_cancelled(view, command, known)
    return replace(begun, sentences=(decision.sentence,), button="Begin nothing more" if decision.fact else "")


def _command(
    rights: Rights, name: str, topic: str, to: int, form: confirmation.YesForm
) -> ChangeReplicationFactor | CancelReplicationFactor:
    head = heading_of(rights, name, form.key)
    if to == 0:
        return CancelReplicationFactor(**head, reason=form.reason, topics=(topic,))
    return ChangeReplicationFactor(**head, reason=form.reason, topics=(topic,), factor=to)


def _address(name: str, topic: str) -> str:
    return f"/clusters/{name}/topics/{quote(topic, safe='')}"
