"""The fleet: every cluster the caller may read, in a line each; and the search over all of them."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from controlplane.api.access.caller import Caller
from controlplane.api.access.roles import Verb
from controlplane.api.presenters.fleet import FleetRow, fleet_rows, rows_like
from controlplane.api.search import search_all
from controlplane.api.services import Services
from controlplane.portal.frame import page

router = APIRouter(tags=["pages"], include_in_schema=False)

MOST_HITS = 50
MOST_ROWS = 200
"""Shown on one page; others follow it, and the filter narrows them down."""
MOST_SKIPPED = 10_000_000

SORTS = ("name", "team", "env", "kafka", "sync", "health", "brokers", "urp", "offline", "changed")


@router.get("/")
def fleet(
    request: Request,
    services: Services,
    rights: Caller,
    q: Annotated[str, Query(max_length=100)] = "",
    health: Annotated[str, Query(max_length=20)] = "",
    sort: Annotated[str, Query(max_length=20)] = "name",
    down: bool = False,
    skip: Annotated[int, Query(ge=0, le=MOST_SKIPPED)] = 0,
) -> Response:
    """The list. What is asked for is in the address, so a view of it can be kept and sent.

    With `skip`, those after so many of them; the first ones where there are no more than that.
    """
    rows = fleet_rows(services)
    shown = rows_like(rows, text=q, health=health)
    order = sort if sort in SORTS else "name"
    shown.sort(key=lambda r: _sort_key(r, order), reverse=down)
    begin = skip if skip < len(shown) else 0
    tally = {word: sum(r.health.text == word for r in rows) for word in sorted({r.health.text for r in rows})}
    return page(
        request,
        "fleet.html",
        rows=shown[begin : begin + MOST_ROWS],
        found=len(shown),
        begin=begin,
        most_rows=MOST_ROWS,
        total=len(rows),
        tally=tally,
        q=q,
        health=health,
        sort=order,
        down=down,
        may_declare=rights.may_everywhere(Verb.DECLARE),
        home_url=str(request.base_url).rstrip("/"),
    )


@router.get("/search")
def search(request: Request, services: Services, q: Annotated[str, Query(max_length=100)] = "") -> Response:
    """Clusters, nodes, broker ids, instance ids, addresses and topics that hold the text, of clusters the caller may
    read. Topics are those of the last metadata, by this server or by one before it: what is missing is said."""
    found = search_all(services, q, things=MOST_HITS, topics=MOST_HITS)
    return page(
        request,
        "search.html",
        q=q,
        hits=found.things,
        more=found.more_things,
        topics=found.topics,
        recorded=found.recorded,
        unread=found.unread,
    )


def _sort_key(row: FleetRow, by: str) -> tuple[object, str]:
    ranks = {"bad": 0, "warn": 1, "mute": 2, "busy": 3, "good": 4}
    first: dict[str, object] = {
        "name": row.cluster.name,
        "team": row.team,
        "env": row.environment,
        "changed": row.cluster.declared_at.timestamp() if row.cluster.declared_at else 0.0,
        "kafka": tuple(int(part) if part.isdigit() else 0 for part in row.cluster.kafka_version.split(".")),
        "sync": ranks[row.sync.tone],
        "health": ranks[row.health.tone],
        "brokers": row.cluster.brokers,
        "urp": -1 if row.under_replicated is None else row.under_replicated,
        "offline": -1 if row.offline is None else row.offline,
    }
    return first[by], row.cluster.name
