"""Who did what, and who was refused: for administrators and auditors."""

from typing import Annotated
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from controlplane.api.access.caller import Caller
from controlplane.api.access.roles import Verb
from controlplane.api.audit.entry import Outcome
from controlplane.api.audit.store import AuditFilter
from controlplane.api.problems import ApiError
from controlplane.api.schemas.access import AuditEntryOut, audit_entry_out
from controlplane.api.services import Services
from controlplane.portal.csv_rows import MOST_EXPORTED, Before, MostExported, csv_answer, cut_at
from controlplane.portal.frame import onwards, page
from controlplane.portal.zones import span_of_fields
from controlplane.storage.streams import cluster_stream

router = APIRouter(tags=["pages"], include_in_schema=False)

ON_A_PAGE = 100
LOOKED_BACK = 50
"""Events before the place an entry names: of those is what the call recorded."""

Word = Annotated[str, Query(max_length=200)]


@router.get("/audit")
def audit(
    request: Request,
    services: Services,
    rights: Caller,
    q: Word = "",
    who: Word = "",
    outcome: Word = "",
    since: Word = "",
    until: Word = "",
    request_id: Annotated[str, Query(max_length=200, alias="request")] = "",
    before: Before = 0,
) -> Response:
    """A page of the trail, newest first."""
    rights.require_everywhere(Verb.AUDIT, "the installation")
    asked = {"q": q, "who": who, "outcome": outcome, "since": since, "until": until, "request": request_id}
    shown_as = {**asked, "whose": asked["who"]}
    del shown_as["who"], shown_as["request"]  # in a page these are who looks at it, and how it came
    span = span_of_fields(request, since, until)
    problem = span.problem or _no_outcome(outcome)
    wanted = AuditFilter(q, who, _outcome(outcome), span.since, span.until, before, request=request_id)
    found = services.access.audit.page(wanted, ON_A_PAGE + 1)
    shown = found[:ON_A_PAGE]
    return page(
        request,
        "audit.html",
        status=422 if problem else 200,
        problem=problem,
        entries=shown,
        older=shown[-1].position if len(found) > ON_A_PAGE else 0,
        query=urlencode({name: value for name, value in asked.items() if value}),
        before=before,
        most_exported=MOST_EXPORTED,
        outcomes=[outcome.value for outcome in Outcome],
        request_id=request_id,
        **shown_as,
    )


@router.get("/audit.csv")
def audit_csv(
    request: Request,
    services: Services,
    rights: Caller,
    q: Word = "",
    who: Word = "",
    outcome: Word = "",
    since: Word = "",
    until: Word = "",
    request_id: Annotated[str, Query(max_length=200, alias="request")] = "",
    before: Before = 0,
    limit: MostExported = MOST_EXPORTED,
) -> Response:
    """The newest that match, as a sheet. Where older ones follow its name says so, and `Link` has the next one. 422 for
    a moment, or an outcome, that is none."""
    rights.require_everywhere(Verb.AUDIT, "the installation")
    span = span_of_fields(request, since, until).sound
    if problem := _no_outcome(outcome):
        raise ApiError(422, "no-such-outcome", problem, next_step="Leave `outcome` out for all of them.")
    wanted = AuditFilter(q, who, outcome, span.since, span.until, before, request=request_id)
    found = services.access.audit.page(wanted, limit + 1)
    shown = found[:limit]
    cut = cut_at(request, shown[-1].position) if len(found) > limit else None
    file = f"audit-cut-at-{shown[-1].position}.csv" if cut else "audit.csv"
    return csv_answer(file, list(AuditEntryOut.model_fields), [audit_entry_out(kept) for kept in shown], cut)


@router.get("/audit/{entry}/change")
def audited_change(request: Request, entry: int, services: Services, rights: Caller) -> Response:
    """On to what the call recorded: of a declaration what it changed, before and after; else the log at that place.

    404 for an entry that recorded nothing, or is not there.
    """
    rights.require_everywhere(Verb.AUDIT, "the installation")
    kept = next(iter(services.access.audit.page(AuditFilter(before=entry + 1), 1)), None) if 0 < entry < 2**62 else None
    position = kept.entry.event_position if kept is not None and kept.position == entry else None
    if kept is None or not position:
        raise ApiError(404, "change-not-found", f"no events were recorded with entry {entry} of the audit")
    named = {cluster_stream(v.uid): v.name for v in services.fleet.clusters.views() if v.name == kept.entry.object}
    named = named if kept.entry.verb == Verb.DECLARE else {}
    for event in reversed(services.store.read_all(max(0, position - LOOKED_BACK), limit=min(position, LOOKED_BACK))):
        if event.type == "cluster.declared" and event.stream in named:
            new = int(event.data["generation"])
            return onwards(request, f"/clusters/{quote(named[event.stream])}/compare?new={new}")
    return onwards(request, f"/events?before={position + 1}")


def _no_outcome(text: str) -> str:
    """What is wrong with it, "" for one there is, or none."""
    return "" if not text or _outcome(text) else f"{text!r} is not an outcome: there are {', '.join(Outcome)}"


def _outcome(text: str) -> str:
    return text if text in set(Outcome) else ""
