"""Changes that wait for a second person: the list, and one with its plan, its cost and the two buttons."""

from typing import Annotated

from fastapi import APIRouter, Form, Request
from starlette.responses import Response

from controlplane.api.access.caller import Caller
from controlplane.api.move_proposals import REBALANCE, order_of
from controlplane.api.presenters.judged_text import words_of
from controlplane.api.presenters.moves import planned
from controlplane.api.routes.proposals import now_of, proposals_of
from controlplane.api.services import PortalServices, Services
from controlplane.commands.previews.moves import NoPreview
from controlplane.fleet.proposals.fold import ProposalState, ProposalView
from controlplane.portal.frame import CsrfChecked, onwards, page
from planner.quantities import human_seconds, human_share

router = APIRouter(prefix="/proposals", tags=["pages"], include_in_schema=False, dependencies=[CsrfChecked])

Note = Annotated[str, Form(max_length=500)]


@router.get("")
def proposals(request: Request, services: Services) -> Response:
    """All that the caller may read, the newest first."""
    known = services.cluster.judge.gate.policies.current()
    return page(request, "proposals.html", proposals=proposals_of(services).all(), policies=known)


@router.get("/{number}")
def proposal(request: Request, number: str, services: Services, rights: Caller) -> Response:
    """One of them."""
    service = proposals_of(services)
    found = service.get(number)
    judged, still = now_of(services, found)
    return page(
        request,
        "proposal.html",
        proposal=found,
        plan=words_of(judged) if judged else _moves(services, found),
        problems=[p for p in judged.problems if p.is_error] if judged else [],
        still=still,
        is_open=found.state is ProposalState.OPEN,
        may_approve=service.may_approve(found),
        is_author=service.is_author(found),
        may_take_back=rights.subject == found.made.author,
    )


@router.post("/{number}/approve")
def approve(request: Request, number: str, services: Services, note: Note = "") -> Response:
    """A yes."""
    proposals_of(services).approve(number, note)
    return onwards(request, f"/proposals/{number}")


@router.post("/{number}/reject")
def reject(request: Request, number: str, services: Services, note: Note = "") -> Response:
    """A no."""
    proposals_of(services).reject(number, note)
    return onwards(request, f"/proposals/{number}")


def _moves(services: PortalServices, proposal: ProposalView) -> list[str]:
    """What a rebalance that still waits would move now, or why nobody can tell."""
    if proposal.made.change != REBALANCE or proposal.state is not ProposalState.OPEN:
        return []
    order = order_of(proposal)
    view = services.cluster.commands.current(order.name)
    try:
        preview = planned(services, view, order)
    except NoPreview as why:
        return [f"there is no plan to show now: {why}"]
    course = preview.course
    brokers = [
        f"  broker {b.id}: replicas {b.replicas_before} -> {b.replicas_after}, leaders {b.leaders_before} -> "
        f"{b.leaders_after}, disk {human_share(b.disk_before)} -> {human_share(b.disk_after)}"
        for b in preview.brokers
    ]
    onto = [f"onto {', '.join(map(str, order.targets))} alone"] if order.targets else []
    time = f"{course.words}, done in about {human_seconds(course.seconds)}"
    return [*onto, time, *brokers, *filter(None, [preview.shortfall])]
