"""What happened to a cluster, newest first; a declaration as it was; and two of them side by side."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from controlplane.api.access.caller import Caller
from controlplane.api.cluster_lookup import living
from controlplane.api.event_log import redacted_event
from controlplane.api.generation_pair import compared, declaration_of, spec_text
from controlplane.api.generations import generations_out
from controlplane.api.presenters.cost_text import bill_words, difference_words
from controlplane.api.read_models.changes import changes_of
from controlplane.api.rolls import replaced_in, rolls_of, state_of
from controlplane.api.services import Services
from controlplane.portal.cluster import head_of
from controlplane.portal.frame import page
from controlplane.storage.streams import cluster_stream

router = APIRouter(prefix="/clusters/{name}", tags=["pages"], include_in_schema=False)

ON_A_PAGE = 100
MOST_ROLLS = 20
"""Of the rolls the newest; `GET /v1/clusters/NAME/rolls` has more."""
MOST_GENERATIONS = 20
"""Of the costs those of the newest; `GET /v1/clusters/NAME/generations` has more."""
WHOSE = ("all", "people", "kedge")


@router.get("/history")
def history(
    request: Request,
    name: str,
    services: Services,
    rights: Caller,
    whose: Annotated[str, Query(max_length=10)] = "all",
    q: Annotated[str, Query(max_length=100)] = "",
    before: Annotated[int, Query(ge=0)] = 0,
) -> Response:
    """A page of events, and the declarations to compare."""
    view = living(services, name)
    without_others = services.cluster.without_others()
    events = [redacted_event(event, without_others) for event in services.store.read_stream(cluster_stream(view.uid))]
    changes = changes_of(events)
    rolls = rolls_of(events)
    kinds = {"people": ("person", "git"), "kedge": ("kedge",)}.get(whose, ("person", "git", "kedge"))
    generations = generations_out(services, view, events, limit=MOST_GENERATIONS)
    found = [c for c in changes if c.kind in kinds and q.strip().lower() in f"{c.type} {c.who} {c.sentence}".lower()]
    shown = [c for c in found if not before or c.version < before]
    return page(
        request,
        "history.html",
        head=head_of(request, services, rights, view),
        tab="history",
        changes=shown[:ON_A_PAGE],
        older=shown[ON_A_PAGE - 1].version if len(shown) > ON_A_PAGE else 0,
        found=len(found),
        total=len(changes),
        declarations=[c for c in changes if c.generation],
        rolls=[(asked, state_of(asked), replaced_in(asked.roll)) for asked in rolls[: -MOST_ROLLS - 1 : -1]],
        all_rolls=len(rolls),
        costs=generations if any(g.bill for g in generations.generations) else None,
        bill_words=bill_words,
        difference_words=difference_words,
        whose=whose if whose in WHOSE else "all",
        q=q,
        before=before,
    )


@router.get("/compare")
def compare(
    request: Request,
    name: str,
    services: Services,
    rights: Caller,
    old: Annotated[int, Query(ge=0)] = 0,
    new: Annotated[int, Query(ge=0)] = 0,
) -> Response:
    """Two declarations by their generations; the last two where none are named."""
    view = living(services, name)
    pair = compared(services, view, old, new)
    return page(
        request,
        "compare.html",
        head=head_of(request, services, rights, view),
        tab="history",
        old=pair.old,
        new=pair.new,
        generations=sorted(pair.declared, reverse=True),
        declared=pair.declared,
        changes=pair.changes,
    )


@router.get("/generations/{generation}")
def declaration(request: Request, name: str, generation: int, services: Services, rights: Caller) -> Response:
    """The spec as it was declared then."""
    view = living(services, name)
    found = declaration_of(services, view, generation)
    return page(
        request,
        "declaration.html",
        head=head_of(request, services, rights, view),
        tab="history",
        event=found,
        text=spec_text(found),
    )
