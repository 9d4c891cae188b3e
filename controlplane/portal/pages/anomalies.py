"""The anomalies of a cluster: what was found, why it stands as it does, and what became of it."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from controlplane.portal.anomalyanswers import IN_WORDS, OPEN, TONES, chosen_anomalies, healing_out
from controlplane.portal.pages.cluster import head_of
from controlplane.portal.pages.frame import Caller, page
from controlplane.portal.routes.anomalies import book_of
from controlplane.portal.routes.clusters import living
from controlplane.portal.services import Services
from planner.anomalies.kinds import WORDS, Kind, State

router = APIRouter(prefix="/clusters/{name}", tags=["pages"], include_in_schema=False)

MOST_ROWS = 500

Text = Annotated[str, Query(max_length=250)]


@router.get("/anomalies")
def anomalies(
    request: Request, name: str, services: Services, rights: Caller, q: Text = "", kind: Text = "", state: Text = ""
) -> Response:
    """The table, open ones first; what is unknown in a filter lets everything through."""
    view = living(services, name)
    book = book_of(services, view)
    kinds, states = [k.value for k in Kind], [OPEN, *(s.value for s in State)]
    kind, state = kind if kind in kinds else "", state if state in states else ""
    found = chosen_anomalies(book, text=q, kind=kind, state=state)
    return page(
        request,
        "anomalies.html",
        head=head_of(request, services, rights, view),
        tab="anomalies",
        rows=found[:MOST_ROWS],
        found=len(found),
        open=len(book.open_),
        ever=book.found,
        healing=healing_out(view, services.clock()),
        tones=TONES,
        in_words=IN_WORDS,
        words=WORDS,
        kinds=kinds,
        states=states,
        q=q,
        kind=kind,
        state=state,
    )
