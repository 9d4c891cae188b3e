"""Changes that wait for a second person: the list, and one with its plan, its cost and the two buttons."""

from typing import Annotated

from fastapi import APIRouter, Form, Request
from starlette.responses import Response

from controlplane.cli.plan_view import plan_lines
from controlplane.portal import answers
from controlplane.portal.pages.frame import Caller, CsrfChecked, onwards, page
from controlplane.portal.routes.proposals import desk_of, now_of
from controlplane.portal.services import Services
from controlplane.portal.specs import Judged
from controlplane.proposals.view import ProposalState

router = APIRouter(prefix="/proposals", tags=["pages"], include_in_schema=False, dependencies=[CsrfChecked])

Note = Annotated[str, Form(max_length=500)]


@router.get("")
def proposals(request: Request, services: Services) -> Response:
    """All that the caller may read, the newest first."""
    known = services.gate.policies.current()
    return page(request, "proposals.html", proposals=desk_of(services).all(), policies=known)


@router.get("/{number}")
def proposal(request: Request, number: str, services: Services, rights: Caller) -> Response:
    """One of them."""
    desk = desk_of(services)
    found = desk.get(number)
    judged, still = now_of(services, found)
    return page(
        request,
        "proposal.html",
        proposal=found,
        plan=words_of(judged) if judged else [],
        problems=[p for p in judged.problems if p.is_error] if judged else [],
        still=still,
        is_open=found.state is ProposalState.OPEN,
        may_approve=desk.may_approve(found),
        is_author=desk.is_author(found),
        may_take_back=rights.subject == found.made.author,
    )


@router.post("/{number}/approve")
def approve(request: Request, number: str, services: Services, note: Note = "") -> Response:
    """A yes."""
    desk_of(services).approve(number, note)
    return onwards(request, f"/proposals/{number}")


@router.post("/{number}/reject")
def reject(request: Request, number: str, services: Services, note: Note = "") -> Response:
    """A no."""
    desk_of(services).reject(number, note)
    return onwards(request, f"/proposals/{number}")


def words_of(judged: Judged) -> list[str]:
    """The plans of a file as text: what `kedge plan` shows."""
    lines = [line.plain for plan in judged.plans for line in plan_lines(answers.plan_out(plan))]
    return [*lines, *judged.topic_plan]
