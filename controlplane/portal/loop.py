"""How the loop does, for administrators; and the whole log, as far as one may read it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from controlplane.api.access.caller import Caller
from controlplane.api.event_log import MOST_LOOKED_AT, EventQuery, FoundEvents
from controlplane.api.presenters.loop import log_event_out
from controlplane.api.read_models.changes import changes_of
from controlplane.api.read_models.ladder import ladder_rows
from controlplane.api.routes.loop import Word, log_of, loop_of
from controlplane.api.schemas.loop import LogEventOut
from controlplane.api.services import Services
from controlplane.cluster.commands import ClusterNotFound
from controlplane.portal.csv_rows import MOST_EXPORTED, Before, MostExported, csv_answer, cut_at
from controlplane.portal.frame import page
from controlplane.portal.zones import span_of_fields
from events.ids import ClusterUid

router = APIRouter(tags=["pages"], include_in_schema=False)

ON_A_PAGE = 100


@router.get("/loop")
def loop(request: Request, services: Services, rights: Caller) -> Response:
    """Beats, timers, jobs, clusters in trouble, and the ladder as it stands in the code."""
    told = loop_of(services, rights)
    return page(
        request,
        "loop.html",
        told=told,
        last=told.beats[0].at if told.beats else None,
        slowest=max((b.seconds for b in told.beats), default=0.0),
        open_jobs=[j for j in told.jobs if j.ended_at is None],
        kept_jobs=[j for j in told.jobs if j.ended_at is not None],
        living={view.name for view in services.fleet.clusters.views() if not view.deleted},
        ladder=ladder_rows(),
    )


@router.get("/events")
def events(
    request: Request,
    services: Services,
    rights: Caller,
    cluster: Word = "",
    kind: Annotated[str, Query(alias="type", max_length=200)] = "",
    actor: Word = "",
    since: Word = "",
    until: Word = "",
    before: Before = 0,
) -> Response:
    """A page of the log, newest first."""
    asked = {"cluster": cluster, "type": kind, "actor": actor, "since": since, "until": until}
    span = span_of_fields(request, since, until)
    problem = span.problem
    wanted = EventQuery(
        type=kind.strip(), actor=actor.strip(), since=span.since, until=span.until, before=before, limit=ON_A_PAGE
    )
    found: FoundEvents | None = None
    names: Mapping[ClusterUid, str] = {}
    try:
        found, names = log_of(services, rights, wanted, cluster=cluster.strip())
    except ClusterNotFound:
        problem = f"There is no cluster {cluster.strip()!r} that you may read."
    recorded = found.events if found else ()
    return page(
        request,
        "events.html",
        status=422 if problem else 200,
        problem=problem,
        rows=[(log_event_out(e, names), changes_of([e])[0]) for e in recorded],
        older=found.looked_to if found and not found.is_all else 0,
        head=found.head if found else 0,
        before=before,
        most_exported=MOST_EXPORTED,
        most_looked_at=MOST_LOOKED_AT,
        query=urlencode({name: value for name, value in asked.items() if value}),
        names=sorted({name for name in names.values() if name}),
        **asked,
    )


@router.get("/events.csv")
def events_csv(
    request: Request,
    services: Services,
    rights: Caller,
    cluster: Word = "",
    kind: Annotated[str, Query(alias="type", max_length=200)] = "",
    actor: Word = "",
    since: Word = "",
    until: Word = "",
    before: Before = 0,
    limit: MostExported = MOST_EXPORTED,
) -> Response:
    """The newest that match, as a sheet: of those that one answer looks through. Times are in UTC. Where older ones may
    match its name says so, and `Link` has the address of the next sheet. 422 for a moment that is none."""
    span = span_of_fields(request, since, until).sound
    wanted = EventQuery(
        type=kind.strip(),
        actor=actor.strip(),
        since=span.since,
        until=span.until,
        before=before,
        limit=limit,
    )
    found, names = log_of(services, rights, wanted, cluster=cluster.strip())
    rows = [_Line.of(log_event_out(e, names), changes_of([e])[0].sentence) for e in found.events]
    cut = None if found.is_all else cut_at(request, found.looked_to)
    file = f"events-cut-at-{found.looked_to}.csv" if cut else "events.csv"
    return csv_answer(file, [f.name for f in fields(_Line)], rows, cut)


@dataclass(frozen=True, slots=True)
class _Line:
    """One event as a line; `data` is JSON."""

    position: int
    at: str
    cluster: str
    stream: str
    type: str
    actor: str
    sentence: str
    data: str

    @classmethod
    def of(cls, event: LogEventOut, sentence: str) -> "_Line":
        data = json.dumps(event.data, sort_keys=True, ensure_ascii=False)
        at = event.at.isoformat()
        return cls(event.position, at, event.cluster, event.stream, event.type, event.actor, sentence, data)
